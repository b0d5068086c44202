/* perfetto.h - a trace as a Perfetto file for ui.perfetto.dev: docs/perfetto.md says what is in it. */
#ifndef VT_ANALYZE_PERFETTO_H
#define VT_ANALYZE_PERFETTO_H

#include <stdio.h>

#include "analyze/replay/replay.h"
#include "analyze/symbols/symbols.h"

enum vt_pf_detail {
	VT_PF_LOW,    /* counters, OOMs, heap profiles */
	VT_PF_NORMAL, /* and allocations, frees, ops, driver calls, kernels, copies */
	VT_PF_FULL,   /* and the arguments of each: addresses, sizes, sequence numbers */
};

/* "low", "normal", "full": 0 or -VT_E_USAGE. */
int vt_pf_detail_parse(const char *text, enum vt_pf_detail *ret, struct vt_err *err);

struct vt_page;

struct vt_pf_options {
	/* What the whole of the trace tells (page.h), gathered before: steps, categories, largest blocks. NULL: left out. */
	const struct vt_page *page;
	struct vt_cursor_options cursor;
	enum vt_pf_detail detail;
	bool coarse;	    /* with page: counters of its bins alone, not of each event */
	uint64_t max_bytes; /* stop when it becomes larger; 0: never */
};

struct vt_pf_summary {
	uint64_t packets;
	uint64_t bytes;
	bool exceeded; /* max_bytes was reached: the file is no whole one */
};

/* Runs a replay of its own over the store. */
int vt_perfetto_export(FILE *out, struct vt_store *store, const struct vt_symbols *symbols,
		       const struct vt_pf_options *options, struct vt_pf_summary *ret, struct vt_err *err);

#endif
