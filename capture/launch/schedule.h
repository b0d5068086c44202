/* schedule.h - `record --start-after` and `--duration`: when recording begins and ends by itself. */
#ifndef VT_LAUNCH_SCHEDULE_H
#define VT_LAUNCH_SCHEDULE_H

#include <stdbool.h>

#include "capture/launch/keeper.h"

struct vt_schedule {
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0: has begun */
	uint64_t duration_ns;
	uint64_t end_ns; /* 0: none, or over */
};

/* Before the program starts. Delay and duration 0: at once, without end. */
int vt_schedule_begin(struct vt_schedule *ret, uint64_t delay_ns, uint64_t duration_ns, struct vt_keeper *keeper,
		      struct vt_err *err);
/* Does what is due; true where recording has ended just now. */
bool vt_schedule_check(struct vt_schedule *schedule, struct vt_keeper *keeper);

#endif
