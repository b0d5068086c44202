/*
 * activity_share.h - takes turns on CUPTI's activity API with a profiler of the program's own.
 *
 * The activity API is one per process: whoever registers buffer callbacks last gets all records, and kinds, flushes and
 * the clock are shared. So the program's calls come to us first (cupti_interpose.c). When it registers callbacks or
 * enables a kind, we stop recording kernels and copies (GAP_BEGIN), and everything it then calls is CUPTI's own. Some
 * time after it has disabled its last kind, we take the API back (GAP_END). Callbacks of driver calls (allocations,
 * launches) go on all the time; what has a gap is the device's own times.
 *
 * Kineto registers a clock of its own and never takes it back: while we have the API we register one that reads
 * CLOCK_REALTIME, which is CUPTI's default, and give Kineto's back when its next turn comes.
 */
#ifndef VT_AGENT_ACTIVITY_SHARE_H
#define VT_AGENT_ACTIVITY_SHARE_H

#include <stdbool.h>

#include "capture/agent/cupti_load.h"

/* How long the program's profiler must have been quiet, all its kinds disabled, before we take over. */
#define VT_ACTIVITY_QUIET_MS 1000

/* Our side: takes the API at the start; false with the step and CUPTI's code as vt_activity_start gives them. */
bool vt_activity_share_begin(const struct vt_cupti_library *library, const char **ret_step, int32_t *ret_result);
/* On the flush thread, while the program has the API: takes it back when it is time. */
void vt_activity_share_tick(void);

/* The program's side; each does what the CUPTI function of that name does. */
int32_t vt_activity_share_register(const struct vt_cupti_library *library, vt_cupti_buffer_request *request,
				   vt_cupti_buffer_complete *complete);
int32_t vt_activity_share_clock(const struct vt_cupti_library *library, vt_cupti_clock *clock);
int32_t vt_activity_share_enable(const struct vt_cupti_library *library, uint32_t kind);
int32_t vt_activity_share_disable(const struct vt_cupti_library *library, uint32_t kind);
int32_t vt_activity_share_flush(const struct vt_cupti_library *library, uint32_t flag);

#endif
