/*
 * allocator.h - a model of PyTorch's native caching allocator (CUDACachingAllocator of 2.11) on one device.
 *
 * Same rounding, pools, best fit, splitting, merging, garbage collection, order of retries and expandable segments; where
 * blocks lie is computed, nothing is stored in them. What it leaves out: streams' waiting times (the caller says when a
 * delayed block is free), and the driver's own behaviour beyond "there is room or not".
 *
 * With backend:cudaMallocAsync it plays a stream-ordered pool instead. How the driver places blocks in one is not
 * published: that is an estimate.
 *
 * Live blocks are known by slots: numbers that the caller gives, small and used again.
 */
#ifndef VT_ANALYZE_ALLOCATOR_H
#define VT_ANALYZE_ALLOCATOR_H

#include "analyze/simulate/addresses.h"
#include "analyze/simulate/settings.h"

/* In the words of torch.cuda.memory_stats(). */
struct vt_alloc_stats {
	uint64_t allocated_bytes, peak_allocated_bytes; /* blocks handed out */
	uint64_t active_bytes;				/* and those that wait for a stream */
	uint64_t requested_bytes, peak_requested_bytes;
	uint64_t reserved_bytes, peak_reserved_bytes;
	uint64_t segments, peak_segments;     /* expandable ones are not counted, as there */
	uint64_t device_allocs, device_frees; /* [num_device_alloc, num_device_free] */
	uint64_t retries;		      /* [num_alloc_retries] */
	uint64_t ooms;			      /* [num_ooms] */
	uint64_t inactive_split_bytes;	      /* free, in segments that are not wholly free */
	uint64_t allocs;
};

struct vt_allocator;

/* A request in the model's terms. */
struct vt_alloc_request {
	uint64_t bytes; /* as the program asked; at most VT_ADDRESSES_MAX */
	uint64_t stream;
	uint32_t pool; /* 0: the default pools; else a private pool of graphs */
	uint32_t slot;
};

int vt_allocator_new(struct vt_allocator **ret, const struct vt_alloc_settings *settings, struct vt_err *err);
void vt_allocator_free(struct vt_allocator *allocator); /* NULL is fine */
/* The device's capacity, of which PyTorch takes its fractions, and what others hold of it. */
void vt_allocator_set_device(struct vt_allocator *allocator, uint64_t total_bytes, uint64_t outside_bytes);
struct vt_addresses *vt_allocator_addresses(struct vt_allocator *allocator);

/* 0; 1: out of memory, after all retries: the slot holds nothing; -VT_E_NOMEM. The slot must be empty. */
int vt_allocator_alloc(struct vt_allocator *allocator, const struct vt_alloc_request *request);
/*
 * Frees what the slot holds; nothing where it is empty. waits: other streams still use the block: it becomes free at
 * vt_allocator_completed, or when all caches are given back. Both return 0 or -VT_E_NOMEM.
 */
int vt_allocator_release(struct vt_allocator *allocator, uint32_t slot, bool waits);
int vt_allocator_completed(struct vt_allocator *allocator, uint32_t slot);
/* torch.cuda.empty_cache() */
int vt_allocator_empty_cache(struct vt_allocator *allocator);
/* The graphs of a private pool are gone: empty_cache and retries may give its segments back. */
void vt_allocator_pool_unused(struct vt_allocator *allocator, uint32_t pool);

const struct vt_alloc_stats *vt_allocator_stats(const struct vt_allocator *allocator);
/* Of the block in a slot; false: it is empty. */
bool vt_allocator_block(const struct vt_allocator *allocator, uint32_t slot, struct vt_range *ret);
/*
 * Whether the model is whole: blocks tile their segments without gap or overlap, no two free neighbours could be one,
 * each free block is in its set, and the totals are the sums. For tests: walks everything. NULL, or what is wrong.
 */
const char *vt_allocator_check(const struct vt_allocator *allocator);

#endif
