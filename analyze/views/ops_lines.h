/*
 * ops_lines.h - what each op allocated at each line; backward memory at the forward line that it belongs to. Fed by the
 * attribution, as blocks end. Part of ops.
 */
#ifndef VT_ANALYZE_OPS_LINES_H
#define VT_ANALYZE_OPS_LINES_H

#include "analyze/attribute/attribute.h"

struct vt_ops_line {
	uint32_t device, op, stack, forward_stack; /* forward_stack 0: not known, or no backward memory */
	uint64_t allocs, allocated_bytes;
	uint64_t now_bytes, now_blocks;	  /* of these, live when the pass ended */
	uint64_t peak_bytes, peak_blocks; /* live at the device's last peak */
	uint64_t frees;
	unsigned __int128 lifetime_ns; /* sum over those frees */
};

/* Zero-initialised is empty; the holder calls vt_ops_lines_done. */
struct vt_ops_lines {
	struct vt_idmap where; /* device, op, stack */
	struct vt_idmap lines; /* where, forward stack */
	struct vt_ops_line *list;
	size_t room;
};

/* For vt_attribution_each; self is the lines. */
int vt_ops_lines_add(void *self, const struct vt_attributed *block, struct vt_err *err);
/* After the pass: what was live at the peak of a device. */
int vt_ops_lines_peak(struct vt_ops_lines *lines, struct vt_attributed_list blocks, struct vt_err *err);
void vt_ops_lines_done(struct vt_ops_lines *lines);

#endif
