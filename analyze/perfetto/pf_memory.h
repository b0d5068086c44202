/*
 * pf_memory.h - what the memory of the timeline shows: a listener of the replay that writes packets.
 *
 * The replay runs from the begin of the trace, so that totals and what is live are right; packets are written from
 * from_ns on. Each device has a packet sequence of its own, whose default track is its counter "Allocated".
 */
#ifndef VT_ANALYZE_PF_MEMORY_H
#define VT_ANALYZE_PF_MEMORY_H

#include "analyze/page/page_steps.h"
#include "analyze/perfetto/perfetto.h"
#include "analyze/perfetto/pf_gpus.h"
#include "analyze/perfetto/pf_heap.h"
#include "analyze/perfetto/pf_tracks.h"

struct vt_pf_device {
	struct vt_pf_sequence sequence;
	const struct vt_pf_device_tracks *rows; /* NULL: not used yet */
	struct vt_idmap places;			/* op, stack -> place in place_texts */
	struct vt_pf_place_texts {
		uint64_t name, stack; /* iids */
	} * place_texts;
	size_t place_room;
	size_t next_step; /* in vt_pf_memory.steps, of this device */
	/* What was last written of the counters, so that only changes are. */
	uint64_t reserved, driver, used;
};

struct vt_pf_memory {
	enum vt_pf_detail detail;
	bool coarse; /* counters come from elsewhere (pf_lives.h) */
	uint64_t from_ns;
	const struct vt_symbols *symbols;
	const struct vt_pf_clocks *clocks;
	struct vt_pf_tracks *tracks;
	struct vt_pf_gpus *gpus;
	const struct vt_groups *groups;
	struct vt_pf_sequence *common; /* events of no device */
	struct vt_pf_heaps heaps;
	const struct vt_page_steps *steps; /* whose ends get a heap profile; NULL: none */
	struct vt_pf_device **devices;	   /* by index of the replay */
	size_t device_room;
};

struct vt_listener vt_pf_memory_listener(struct vt_pf_memory *memory);
void vt_pf_memory_done(struct vt_pf_memory *memory);

#endif
