/*
 * paths.h - the ways to sort blocks into a tree: what a block's path of labels is, by stack, by op, by category, ...
 *
 * A path has the labels of each dimension asked for, one after the other: "category,line" puts lines below categories.
 */
#ifndef VT_ANALYZE_PATHS_H
#define VT_ANALYZE_PATHS_H

#include "analyze/attribute/attribute.h"
#include "analyze/symbols/text.h"
#include "analyze/views/session.h"

enum vt_dimension {
	VT_BY_STACK,
	VT_BY_MODULE,
	VT_BY_OP,
	VT_BY_LINE,
	VT_BY_FILE,
	VT_BY_CATEGORY,
	VT_BY_STEP,
	VT_BY_PHASE,
	VT_BY_THREAD,
	VT_BY_RANK,
	VT_BY_BLOCK,
	VT_DIMENSIONS
};

#define VT_PATH_DIMENSIONS_MAX 6
/* Labels in a path; deeper ones are left out, from the inside. */
#define VT_PATH_MAX 1024

struct vt_path_by {
	enum vt_dimension list[VT_PATH_DIMENSIONS_MAX];
	unsigned count;
	bool whole_paths; /* files are named with their directories */
};

/* "category,line": 0 or -VT_E_USAGE. */
int vt_path_by_parse(const char *text, struct vt_path_by *ret, struct vt_err *err);

struct vt_path {
	uint32_t labels[VT_PATH_MAX]; /* texts, outermost first */
	unsigned count;
};

/* labels gets the texts. 0 or -VT_E_NOMEM. */
int vt_path_find(struct vt_path *ret, struct vt_texts *labels, const struct vt_session *session,
		 const struct vt_path_by *by, const struct vt_attributed *block);

#endif
