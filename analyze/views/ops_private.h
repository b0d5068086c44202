/* ops_private.h - the counters that ops.c fills and ops_build.c reads. */
#ifndef VT_ANALYZE_OPS_PRIVATE_H
#define VT_ANALYZE_OPS_PRIVATE_H

#include "analyze/views/idmap.h"
#include "analyze/views/ops_fold.h"

struct vt_ops_thread {
	uint32_t node;	/* op that was running at the thread's last event; 0: see ended */
	uint32_t ended; /* op whose end was the thread's last event: its callers are still running */
};

struct vt_ops {
	struct vt_idmap call_map; /* process, node */
	uint64_t *calls;
	size_t calls_room;
	struct vt_idmap self_map; /* device, node */
	int64_t *self;
	size_t self_room;
	struct vt_idmap thread_map; /* process, thread */
	struct vt_ops_thread *threads;
	size_t threads_room;
	struct vt_ops_fold fold;
};

#endif
