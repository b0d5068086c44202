/*
 * pf_calls.h - what ran: ops, driver calls, launches and waits as slices of their threads; kernels and copies as render
 * stages of their streams, each with an arrow from the call that launched it.
 *
 * A pass of its own over the trace: none of this changes what the replay keeps.
 */
#ifndef VT_ANALYZE_PF_CALLS_H
#define VT_ANALYZE_PF_CALLS_H

#include "analyze/perfetto/perfetto.h"
#include "analyze/perfetto/pf_gpus.h"
#include "analyze/perfetto/pf_slices.h"

/* Graph launches whose kernels are under way at once, per export; of more, later kernels may have no arrow. */
#define VT_PF_GRAPHS_MAX 1024

struct vt_pf_calls {
	enum vt_pf_detail detail;
	uint64_t from_ns, to_ns; /* slices are cut to this; to_ns 0: no limit */
	const struct vt_symbols *symbols;
	struct vt_pf_slices *slices;
	struct vt_pf_gpus *gpus;
	struct vt_pf_sequence *work;	   /* the render stages' sequence */
	uint64_t graphs[VT_PF_GRAPHS_MAX]; /* (process, correlation) of launches that have their arrow; by hash */
	uint64_t unlaunched;		   /* ids given to work without an arrow */
};

/* Runs over the store. cursor: which process; times are from_ns and to_ns above. */
int vt_pf_calls_write(struct vt_pf_calls *calls, struct vt_store *store, const struct vt_cursor_options *cursor,
		      struct vt_err *err);

#endif
