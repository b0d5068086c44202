/* page_touches.h - which kernels touched the blocks of a page: a listener of its pass, and its launches and kernels. */
#ifndef VT_ANALYZE_PAGE_TOUCHES_H
#define VT_ANALYZE_PAGE_TOUCHES_H

#include "analyze/page/page_blocks.h"

struct vt_page_live {
	uint64_t address, end;
	uint32_t place;	 /* in vt_page_blocks.list */
	uint32_t device; /* index into the replay's devices */
};

/* Zero-initialised, then blocks set; the holder calls vt_page_touches_done. */
struct vt_page_touches {
	struct vt_page_blocks *blocks;
	struct vt_map by_id;	   /* process and touch id -> place in sets */
	struct vt_buf sets;	   /* struct touch_set */
	struct vt_buf addresses;   /* uint64_t */
	struct vt_page_live *live; /* of those blocks, by device and address */
	size_t nlive, live_room;
	struct vt_page_launch *launches; /* whose kernel is still to come, by the low bits of their correlation */
	bool captured;			 /* there are launches that say what they touch */
};

/* Reads the table of touches. */
int vt_page_touches_begin(struct vt_page_touches *touches, struct vt_store *store, struct vt_err *err);
struct vt_listener vt_page_touches_listener(struct vt_page_touches *touches);
void vt_page_touches_done(struct vt_page_touches *touches);

#endif
