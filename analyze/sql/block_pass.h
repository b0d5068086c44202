/*
 * block_pass.h - one replay with attribution, in a thread of its own, whose blocks are taken one by one: what a virtual
 * table needs, since SQLite asks for the next row where a replay would call back. Memory: the live set and two batches.
 */
#ifndef VT_ANALYZE_BLOCK_PASS_H
#define VT_ANALYZE_BLOCK_PASS_H

#include "analyze/attribute/attribute.h"

struct vt_block_row {
	struct vt_attributed block;
	uint16_t device_type;
	int16_t device;
};

enum vt_block_moment {
	VT_BLOCKS_ALL,	/* every block, as it ends */
	VT_BLOCKS_PEAK, /* live when its device's allocated bytes were at their maximum */
	VT_BLOCKS_AT,	/* live after the last event up to at_ns; UINT64_MAX: at the end */
};

struct vt_block_request {
	uint32_t process; /* 0: all */
	enum vt_block_moment moment;
	uint64_t at_ns;
};

struct vt_block_pass;

/* Opens the file anew and starts; the holder calls _stop. */
int vt_block_pass_start(struct vt_block_pass **ret, const char *path, const struct vt_block_request *request,
			struct vt_err *err);
/* 1: *ret is the next block, valid until the next call; 0: no more; negative: error. */
int vt_block_pass_next(struct vt_block_pass *pass, const struct vt_block_row **ret, struct vt_err *err);
void vt_block_pass_stop(struct vt_block_pass *pass); /* NULL is fine; need not be at its end */

#endif
