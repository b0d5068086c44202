/* schedule.c - see schedule.h. */
#include "capture/launch/schedule.h"

#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

int vt_schedule_begin(struct vt_schedule *ret, uint64_t delay_ns, uint64_t duration_ns, struct vt_keeper *keeper,
		      struct vt_err *err)
{
	uint64_t now = now_ns();

	*ret = (struct vt_schedule){ .duration_ns = duration_ns };
	if (delay_ns == 0) {
		ret->end_ns = duration_ns ? now + duration_ns : 0;
		return 0;
	}
	ret->start_ns = now + delay_ns;
	return vt_keeper_pause(keeper, true, err);
}

bool vt_schedule_check(struct vt_schedule *schedule, struct vt_keeper *keeper)
{
	uint64_t now = now_ns();
	struct vt_err err;

	/* Where it cannot be done (the disk is full), it is tried again; the keeper says so. */
	if (schedule->start_ns && now >= schedule->start_ns && vt_keeper_pause(keeper, false, &err) == 0) {
		schedule->start_ns = 0;
		schedule->end_ns = schedule->duration_ns ? now + schedule->duration_ns : 0;
	}
	if (!schedule->end_ns || now < schedule->end_ns || vt_keeper_pause(keeper, true, &err) < 0)
		return false;
	schedule->end_ns = 0;
	return vt_keeper_flush(keeper, &err) == 0;
}
