/*
 * pins.h - which live blocks stand in the way: of giving segments back to the driver, and of one large request.
 */
#ifndef VT_ANALYZE_PINS_H
#define VT_ANALYZE_PINS_H

#include "analyze/views/space.h"

/* A segment that is held by live blocks and has free room. */
struct vt_pin {
	size_t segment; /* index into vt_space.segments */
	uint64_t free_bytes;
};

/* Segments with live blocks and free bytes, most free bytes first; *ret_count of them. The caller frees *ret. */
int vt_pins_list(const struct vt_space *space, struct vt_pin **ret, size_t *ret_count, struct vt_err *err);

enum vt_obstacle_kind {
	VT_OBSTACLE_NONE,    /* a free range is large enough: no block stands in the way */
	VT_OBSTACLE_WINDOW,  /* the blocks in one stretch of one segment */
	VT_OBSTACLE_RELEASE, /* the blocks of whole segments, which would go back to the driver */
	VT_OBSTACLE_SHORT,   /* all that is reserved but unallocated and free on the device is less than the request */
};

/* The blocks whose absence would have let a request be served. Zero-initialised is empty; the holder calls _done. */
struct vt_obstacles {
	enum vt_obstacle_kind kind;
	size_t *blocks; /* indices into vt_space.blocks, largest first */
	size_t nblocks;
	uint64_t bytes;	      /* of those blocks */
	uint64_t room_bytes;  /* free room they part: in the window, or in the segments that would go back */
	uint64_t short_bytes; /* VT_OBSTACLE_SHORT: how much is missing */
};

struct vt_request {
	uint64_t block_bytes;	/* rounded */
	uint64_t segment_bytes; /* what the driver is asked for */
	uint64_t device_free_bytes;
};

/*
 * The window with the fewest live bytes is found exactly, over all segments of the pool; segments to give back (plain
 * ones, of both pools) are chosen one after the other, most bytes for each live byte first: a set that suffices, not
 * always the smallest. Of the two, the one with fewer live bytes is returned; with neither, kind is WINDOW with no block.
 */
int vt_obstacles_find(struct vt_obstacles *ret, const struct vt_space *space, const struct vt_request *request,
		      struct vt_err *err);
void vt_obstacles_done(struct vt_obstacles *obstacles);

#endif
