/*
 * pf_heap.h - heap profiles: live bytes by call stack at the peak, at each OOM and at the end, one heap per device.
 *
 * Perfetto wants totals since the start, rising from dump to dump, and shows differences. Live bytes are exact; what was
 * allocated and freed in between is only given for the last dump (groups.h keeps no history): for the earlier ones the
 * least that makes the totals rise.
 *
 * Rules found by test (shared with whoever changes this): each heap on a sequence of its own, dumps of one moment 1 ns
 * apart, no ':' in the heap's name, index consecutive per sequence.
 */
#ifndef VT_ANALYZE_PF_HEAP_H
#define VT_ANALYZE_PF_HEAP_H

#include "analyze/perfetto/pf_tracks.h"
#include "analyze/views/groups.h"

/* OOMs that get a dump; further ones only have their marker. */
#define VT_PF_OOM_DUMPS_MAX 16
/* Ends of steps that get one, of each device: of more, some of them at equal distances. */
#define VT_PF_STEP_DUMPS_MAX 24

struct vt_pf_heap_value {
	uint32_t group;
	uint64_t bytes, blocks;
};

/* What one device's groups held at a moment. */
struct vt_pf_heap_dump {
	uint32_t device;
	uint64_t time_ns;
	struct vt_pf_heap_value *values;
	size_t count;
};

struct vt_pf_heaps {
	uint64_t from_ns;    /* a peak before this is left out */
	struct vt_buf dumps; /* struct vt_pf_heap_dump */
	unsigned ooms;	     /* of those */
};

/* Keeps what the device holds now. */
int vt_pf_heaps_keep(struct vt_pf_heaps *heaps, const struct vt_groups *groups, uint32_t device, uint64_t time_ns,
		     struct vt_err *err);
/* Writes all dumps of all devices. After the run. */
int vt_pf_heaps_write(struct vt_pf_heaps *heaps, const struct vt_groups *groups, const struct vt_replay *replay,
		      const struct vt_pf_tracks *tracks, const struct vt_pf_clocks *clocks, struct vt_err *err);
void vt_pf_heaps_done(struct vt_pf_heaps *heaps);

#endif
