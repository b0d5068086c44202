/*
 * check.h - is a trace whole: does SQLite read it, does every chunk decode and tell the truth about itself, is every
 * definition there that something refers to, and do our sums agree with the allocator's.
 */
#ifndef VT_ANALYZE_CHECK_H
#define VT_ANALYZE_CHECK_H

#include "analyze/check/problems.h"
#include "schema/store.h"

struct vt_check {
	struct vt_problems problems;
	uint64_t chunks, events; /* checked */
	uint64_t broken_chunks;	 /* of those */
	uint64_t definitions;
	uint64_t unknown_kinds; /* kinds and columns this version does not know: passed over, not a problem */
	uint64_t unknown_frees; /* of blocks whose allocation came before the capture or was lost */
	uint64_t explained;	/* differing totals in processes that lost events */
};

/* Negative only where checking itself could not go on; what is wrong with the file is in problems. */
int vt_check_run(struct vt_check *check, struct vt_store *store, struct vt_err *err);

#endif
