/*
 * pf_events.h - the events of the timeline: a listener of the replay that writes packets.
 *
 * Two sequences: memory events come in time order and go to one whose timestamps are differences; ops, driver calls,
 * kernels and copies are known when they end, so they go to one with absolute times.
 */
#ifndef VT_ANALYZE_PF_EVENTS_H
#define VT_ANALYZE_PF_EVENTS_H

#include "analyze/perfetto/perfetto.h"
#include "analyze/perfetto/pf_heap.h"
#include "analyze/perfetto/pf_tracks.h"

/* What was last written of a device's counters, so that only changes are. */
struct vt_pf_last {
	uint64_t reserved;
	uint64_t driver;
	uint64_t used;
	bool any;
};

struct vt_pf_events {
	enum vt_pf_detail detail;
	const struct vt_symbols *symbols;
	struct vt_pf_tracks *tracks;
	struct vt_pf_sequence *memory; /* incremental */
	struct vt_pf_sequence *calls;  /* absolute */
	const struct vt_groups *groups;
	struct vt_pf_heaps heaps;
	struct vt_pf_last *last; /* by device */
	size_t last_room;
	struct vt_idmap configs; /* (process, config id, 0) -> place in config_names */
	uint32_t *config_names;	 /* string id of the kernel's name */
	size_t config_room;
};

struct vt_listener vt_pf_events_listener(struct vt_pf_events *events);
/* Kernels and copies, which the replay does not hand to listeners. */
void vt_pf_events_kernel(struct vt_pf_events *events, uint32_t process, const struct vt_kernel *kernel);
void vt_pf_events_copy(struct vt_pf_events *events, uint32_t process, const struct vt_copy *copy);
void vt_pf_events_done(struct vt_pf_events *events);

#endif
