/*
 * segments.h - the framework's segments as the driver calls made them, and the free space inside: a listener.
 *
 * A segment is a range that cuMemAlloc gave or cuMemMap mapped. It counts as the framework's once a block was handed
 * out in it. Needed to tell why a request could not be served from what is reserved.
 */
#ifndef VT_ANALYZE_SEGMENTS_H
#define VT_ANALYZE_SEGMENTS_H

#include "analyze/replay/replay.h"

/* Constants of c10's CUDACachingAllocator that are the same in PyTorch 1.13 to 2.14. */
#define VT_TORCH_SMALL_REQUEST UINT64_C(1048576) /* requests up to this are served from small segments */
#define VT_TORCH_SMALL_SEGMENT UINT64_C(2097152)
#define VT_TORCH_LARGE_SEGMENT UINT64_C(20971520) /* default of large_segment_size_mb */
#define VT_TORCH_LARGE_REQUEST UINT64_C(10485760) /* from here on a request has a segment of its own size */

/* What the allocator asks the driver for to serve a request of this (rounded) size; large_segment 0: the default. */
uint64_t vt_torch_segment_bytes(uint64_t request_bytes, uint64_t large_segment);

struct vt_segment {
	uint64_t start, bytes;
	bool mapped;	/* by cuMemMap: neighbours join into one range */
	bool framework; /* a block was handed out in it */
};

struct vt_segments;

int vt_segments_new(struct vt_segments **ret, struct vt_err *err);
void vt_segments_free(struct vt_segments *segments); /* NULL is fine */
struct vt_listener vt_segments_listener(struct vt_segments *segments);

struct vt_free_space {
	uint64_t segments, segment_bytes; /* the framework's, of both pools */
	uint64_t free_bytes;		  /* in segments of the pool that serves the request */
	uint64_t free_ranges;
	uint64_t largest_bytes;	   /* of those ranges */
	uint64_t other_free_bytes; /* in segments of the other pool: cannot serve it */
	uint64_t stray_blocks;	   /* live blocks in no segment seen: the picture is not whole */
	uint64_t stray_bytes;
};

/* Places the live blocks of a device. Inside callbacks of later listeners and after the run. */
int vt_segments_free_space(const struct vt_segments *segments, const struct vt_replay *replay, uint32_t device,
			   uint64_t request_bytes, struct vt_free_space *ret, struct vt_err *err);

/* Every segment of a device, the framework's or not, by address. Inside callbacks of later listeners and after the run. */
void vt_segments_each(const struct vt_segments *segments, uint32_t device,
		      void (*fn)(void *arg, const struct vt_segment *segment), void *arg);

#endif
