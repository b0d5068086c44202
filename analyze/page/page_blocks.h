/*
 * page_blocks.h - the blocks that a page tells one by one: of each device those that held most over time, and the largest.
 *
 * A second pass finds the kernels that touched them, where the trace has launches and what they touch.
 */
#ifndef VT_ANALYZE_PAGE_BLOCKS_H
#define VT_ANALYZE_PAGE_BLOCKS_H

#include "analyze/attribute/attribute.h"

#define VT_PAGE_KERNELS 4 /* different kernels of a block; others are counted */

struct vt_page_block {
	struct vt_attributed block;
	uint64_t touches; /* launches that name an address in it */
	uint64_t first_touch_ns, last_touch_ns;
	uint32_t kernels[VT_PAGE_KERNELS]; /* configs (schema: kernel_config) */
	uint64_t kernel_counts[VT_PAGE_KERNELS];
	uint32_t nkernels;
};

struct vt_page_heap {
	struct vt_page_block *list; /* the least first */
	size_t count, room;
};

/* Zero-initialised, then most set; the holder calls vt_page_blocks_done. */
struct vt_page_blocks {
	size_t most;		    /* of each kind, on each device */
	struct vt_page_heap *heaps; /* two for each device: by bytes times life, by bytes */
	size_t heap_room;
	uint64_t seen;
	struct vt_page_block *list; /* after _finish: by device and time of allocation */
	size_t count;
	struct vt_map by_serial; /* -> place in list */
};

/* end_ns: of the trace, for what is not freed. 0 or -VT_E_NOMEM. */
int vt_page_blocks_add(struct vt_page_blocks *blocks, const struct vt_attributed *block, uint64_t end_ns);
int vt_page_blocks_finish(struct vt_page_blocks *blocks, struct vt_err *err);
void vt_page_blocks_done(struct vt_page_blocks *blocks);

#endif
