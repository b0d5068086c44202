/*
 * ops.h - what each op did to memory, in the words of torch.profiler's key_averages(): a listener and its table.
 *
 * Self memory: bytes allocated minus bytes freed on the device while the op was the innermost one on its thread.
 * Total memory: the same with all ops below it; an op somewhere below an op of its own name counts for both, as in
 * key_averages(), except for pairs that are one op to it (ops_fold.h). Calls: op events, and ops that had begun and not
 * ended when the pass ended.
 * Live, lifetimes: of the blocks that were allocated while the op was the innermost one.
 */
#ifndef VT_ANALYZE_OPS_H
#define VT_ANALYZE_OPS_H

#include "analyze/views/groups.h"
#include "analyze/views/holders.h"
#include "analyze/views/ops_lines.h"

struct vt_ops;

int vt_ops_new(struct vt_ops **ret, const struct vt_symbols *symbols, struct vt_err *err);
void vt_ops_free(struct vt_ops *ops); /* NULL is fine */
struct vt_listener vt_ops_listener(struct vt_ops *ops);

struct vt_ops_row {
	struct vt_place place;	    /* by stack: with the user's line; by name: the op alone */
	uint64_t calls, open_calls; /* by stack: 0, not all op events carry one */
	int64_t self_bytes, total_bytes;
	uint64_t allocs, allocated_bytes;
	uint64_t live_bytes, live_blocks; /* at the moment asked for */
	uint64_t frees;
	unsigned __int128 lifetime_ns;
};

struct vt_ops_table {
	struct vt_ops_row *rows; /* in no order of meaning, but always the same one */
	size_t count, room;
	uint64_t live_bytes; /* sum */
};

enum vt_ops_by { VT_OPS_BY_NAME, VT_OPS_BY_STACK };

/* The rows of one device by name, after the run. The holder calls vt_ops_table_done. */
int vt_ops_build(struct vt_ops_table *ret, const struct vt_ops *ops, const struct vt_lens *lens, struct vt_err *err);
/*
 * By stack: rows are (op, line of the user), of backward memory the forward line; self_bytes is then what was allocated
 * there minus what was freed of it, total_bytes the same.
 */
int vt_ops_build_lines(struct vt_ops_table *ret, const struct vt_ops_lines *lines, const struct vt_lens *lens,
		       struct vt_err *err);
void vt_ops_table_done(struct vt_ops_table *table);

#endif
