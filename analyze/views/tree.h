/* tree.h - who holds memory at a moment, or what a run allocated, as a tree of stacks, modules, ops, categories, ... */
#ifndef VT_ANALYZE_MEMORY_TREE_H
#define VT_ANALYZE_MEMORY_TREE_H

#include "analyze/views/paths.h"

struct vt_memory_node {
	uint32_t label;			  /* text */
	uint32_t parent;		  /* node; the root is node 0 and its own parent */
	uint64_t bytes, blocks;		  /* of this node and all below */
	uint64_t self_bytes, self_blocks; /* that end here */
};

/* The children of each node, largest first: list[first[n] .. first[n + 1]). */
struct vt_memory_children {
	uint32_t *first;
	uint32_t *list;
};

/* One device of one process. Zero-initialised is empty; the holder calls vt_memory_tree_done. */
struct vt_memory_tree {
	struct vt_buf nodes; /* struct vt_memory_node */
	struct vt_map child_of;
};

struct vt_tree_options {
	struct vt_path_by by;
	bool run;	  /* all allocations of the run, not those live at the session's moment */
	bool flat;	  /* one row a label, wherever it stands in the tree */
	bool inverted;	  /* the innermost label first */
	uint64_t depth;	  /* labels below the root that are shown; 0: all */
	double min_share; /* of the root's bytes, in percent */
};

struct vt_tree_report {
	struct vt_session *session;
	struct vt_attribution *attribution;
	struct vt_tree_options options;
	struct vt_texts labels;
	struct vt_idmap known[4];     /* steps of the way from a block's fields to its leaf */
	struct vt_buf leaves;	      /* uint32_t: leaf + 1 by the last of known, or 0 */
	struct vt_memory_tree *trees; /* by device of the replay */
	size_t trees_room;
	uint64_t top;	    /* rows where flat */
	uint64_t moment_ns; /* where the session ends its pass: the tree's goes on to tell lives */
};

/* Runs the session's pass to its end. The holder calls _done in any case; session is borrowed. */
int vt_tree_report_run(struct vt_tree_report *report, struct vt_session *session, bool quiet, struct vt_err *err);
void vt_tree_report_done(struct vt_tree_report *report);
int vt_tree_report_print(const struct vt_tree_report *report, const struct vt_screen *screen, struct vt_err *err);
int vt_tree_report_json(const struct vt_tree_report *report, FILE *out, struct vt_err *err);

/* -------- shared by text and JSON */

uint32_t vt_memory_tree_count(const struct vt_memory_tree *tree);
const struct vt_memory_node *vt_memory_tree_node(const struct vt_memory_tree *tree, uint32_t node);
/* Free with _done. */
int vt_memory_children_find(struct vt_memory_children *ret, const struct vt_memory_tree *tree,
			    const struct vt_texts *labels, struct vt_err *err);
void vt_memory_children_done(struct vt_memory_children *children);
/* A tree of depth one: each label with its own bytes as self, and those of its topmost occurrences as bytes. */
int vt_memory_tree_flatten(struct vt_memory_tree *ret, const struct vt_memory_tree *tree, struct vt_err *err);
void vt_memory_tree_done(struct vt_memory_tree *tree);

#endif
