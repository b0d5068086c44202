/* allocator_int.h - what the files of the allocator's model share. See allocator.h. */
#ifndef VT_ANALYZE_ALLOCATOR_INT_H
#define VT_ANALYZE_ALLOCATOR_INT_H

#include "analyze/simulate/allocator.h"
#include "analyze/simulate/ordered.h"

#define VT_BLOCK_NONE 0u /* the first block of the array is never used */

#define VT_SMALL_REQUEST UINT64_C(1048576)
#define VT_MIN_BLOCK UINT64_C(512)

enum vt_block_state {
	VT_STATE_FREE,	   /* in its pool's set */
	VT_STATE_LIVE,	   /* handed out */
	VT_STATE_WAITING,  /* freed, and still used by another stream */
	VT_STATE_UNMAPPED, /* addresses of an expandable segment without memory behind them */
};

struct vt_model_block {
	uint64_t address, bytes;
	uint64_t requested_bytes;
	int64_t calls_before; /* calls of the pool when it became free: what GC takes for its age */
	uint32_t prev, next;  /* neighbours in the segment */
	uint32_t set;	      /* index into sets */
	uint32_t expandable;  /* index into expandables + 1; 0: a plain segment */
	uint8_t state;	      /* enum vt_block_state */
};

/* The free blocks of one pool and stream, by size and address; and the unmapped ones, by address. */
struct vt_free_set {
	uint64_t stream;
	uint32_t pool; /* index into pools */
	struct vt_ordered blocks;
	struct vt_ordered unmapped;
};

struct vt_model_pool {
	bool small;
	bool releasable; /* a default pool, or one whose graphs are gone */
	bool private;	 /* of graphs */
	int64_t calls;	 /* get_free_blocks_call_count */
};

struct vt_expandable {
	uint64_t start, bytes, page;
	bool used;
};

struct vt_allocator {
	struct vt_alloc_settings settings;
	struct vt_alloc_stats stats;
	struct vt_addresses addresses;
	uint64_t total_bytes;	/* of the device */
	uint64_t allowed_bytes; /* by the fraction; 0: no limit */
	struct vt_model_block *blocks;
	size_t nblocks, blocks_room;
	uint32_t spare; /* head of the list of unused blocks, by next */
	struct vt_free_set *sets;
	size_t nsets, sets_room;
	uint32_t last_set;	     /* the last look-up */
	struct vt_model_pool *pools; /* small and large of pool 0, then of 1, ... */
	size_t npools, pools_room;
	struct vt_expandable *expandables;
	size_t nexpandables, expandables_room;
	uint32_t *slots; /* blocks */
	size_t slots_room;
	struct vt_buf waiting; /* uint32_t: blocks */
};

/* One request on its way. */
struct vt_asking {
	uint64_t bytes;		/* rounded */
	uint64_t segment_bytes; /* what the driver would be asked for */
	uint32_t set;
	uint32_t block; /* the answer */
};

static inline struct vt_model_block *vt_model_block(const struct vt_allocator *allocator, uint32_t index)
{
	return &allocator->blocks[index];
}

static inline struct vt_model_pool *vt_model_pool_of(const struct vt_allocator *allocator, uint32_t set)
{
	return &allocator->pools[allocator->sets[set].pool];
}

/* allocator.c. All that can fail return -VT_E_NOMEM. */
int vt_model_block_new(struct vt_allocator *allocator, const struct vt_model_block *block, uint32_t *ret);
void vt_model_block_drop(struct vt_allocator *allocator, uint32_t index);
int vt_model_set_insert(struct vt_allocator *allocator, uint32_t index);
void vt_model_set_erase(struct vt_allocator *allocator, uint32_t index);
/* Joins the neighbour src into dst where both are free or both unmapped; src is taken out of its set. */
uint32_t vt_model_merge(struct vt_allocator *allocator, uint32_t dst, uint32_t src);
int vt_model_free_block(struct vt_allocator *allocator, uint32_t index);
void vt_model_reserve(struct vt_allocator *allocator, uint64_t bytes);
void vt_model_unreserve(struct vt_allocator *allocator, uint64_t bytes);
/* A split segment's free bytes, for inactive_split_bytes. */
static inline bool vt_model_is_split(const struct vt_model_block *block)
{
	return block->prev || block->next;
}

/* allocator_release.c: 1 where something was done so that another try makes sense, 0 where not. */
int vt_model_collect_garbage(struct vt_allocator *allocator);
int vt_model_release_available(struct vt_allocator *allocator, const struct vt_asking *asking);
int vt_model_release_cached(struct vt_allocator *allocator);

/* allocator_expand.c: 0 with asking->block, 1: no room on the device. */
int vt_model_expand(struct vt_allocator *allocator, struct vt_asking *asking);
/* Gives back the whole pages of free blocks. */
int vt_model_unmap(struct vt_allocator *allocator, uint32_t index);

#endif
