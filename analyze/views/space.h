/*
 * space.h - the framework's segments at one moment with the live blocks placed in them, and the free ranges between.
 *
 * A segment here is what one block could lie in: a cuMemAlloc, or mapped pages side by side (of one size: pages of
 * 2 MiB serve small requests, larger ones large requests). What waits for another stream (record_stream) looks free.
 */
#ifndef VT_ANALYZE_SPACE_H
#define VT_ANALYZE_SPACE_H

#include "analyze/views/segments.h"

struct vt_space_block {
	uint64_t start, bytes;
	uint64_t alloc_ns;
	uint32_t op, stack;
};

struct vt_space_segment {
	uint64_t start, bytes;
	uint64_t page_bytes;	     /* of mapped memory; 0: a plain segment */
	size_t first_block, nblocks; /* in vt_space.blocks */
	uint64_t live_bytes;
	uint64_t largest_free_bytes;
	bool small; /* serves requests of up to 1 MiB */
};

/* Free ranges by size: below 512 KiB, 1 MiB, 10 MiB, 20 MiB, 100 MiB, 1 GiB, and above. */
#define VT_SPACE_CLASSES 7
extern const uint64_t vt_space_class_below[VT_SPACE_CLASSES]; /* the last: UINT64_MAX */

/* Of the segments of one pool. */
struct vt_space_pool {
	uint64_t segments, segment_bytes, live_blocks, live_bytes;
	uint64_t free_bytes, free_ranges, largest_free_bytes;
	uint64_t releasable_bytes; /* of free_bytes: whole segments (mapped memory: whole pages) without a live block */
	uint64_t class_bytes[VT_SPACE_CLASSES], class_ranges[VT_SPACE_CLASSES];
};

/* Zero-initialised is empty; the holder calls vt_space_done. */
struct vt_space {
	struct vt_space_segment *segments; /* by address */
	size_t nsegments, segments_room;
	struct vt_space_block *blocks; /* by address; those of a segment side by side */
	size_t nblocks, blocks_room;
	uint64_t stray_blocks, stray_bytes; /* live blocks in no segment seen: the picture is not whole */
	struct vt_space_pool pools[2];	    /* [0] small, [1] large */
};

/* Takes the state of a device as it is now. Inside callbacks and after the run. */
int vt_space_take(struct vt_space *ret, const struct vt_segments *segments, const struct vt_replay *replay,
		  uint32_t device, struct vt_err *err);
void vt_space_done(struct vt_space *space);

/*
 * External fragmentation of a pool: the share of its free bytes that are not in its largest free range (1 - largest /
 * free). 0: one range, or nothing free; near 1: many small ones.
 */
double vt_space_fragmentation(const struct vt_space_pool *pool);
/* Free bytes in segments that cannot be given back: memory_summary's "Non-releasable memory". */
uint64_t vt_space_pinned_bytes(const struct vt_space_pool *pool);
/* The share of a pool's free bytes in ranges too small for a request (Gorman's unusable free space index). */
double vt_space_unusable(const struct vt_space *space, bool small, uint64_t request_bytes);

/* Calls fn for each free range of a segment, by address. */
void vt_space_each_free(const struct vt_space *space, const struct vt_space_segment *segment,
			void (*fn)(void *arg, uint64_t start, uint64_t bytes), void *arg);

#endif
