/*
 * page.h - one HTML file that shows a trace to anyone with a browser: docs/html.md says what is on it.
 *
 * The file is the program of the page (app/, third_party/uplot) and the data in one script element: four JSON texts with
 * U+001E between them (the page's own, `report --json`, `oom --json`, `fragmentation --json`), in gzip, in base64. So nothing of the trace is
 * markup. Level of detail: as many bins, blocks and moments as fit into max_bytes; what was left out, the page says.
 */
#ifndef VT_ANALYZE_PAGE_H
#define VT_ANALYZE_PAGE_H

#include <stdio.h>

#include "analyze/flame/flame.h"
#include "analyze/page/page_blocks.h"
#include "analyze/page/page_series.h"
#include "analyze/page/page_space.h"
#include "analyze/page/page_steps.h"
#include "analyze/page/page_touches.h"

struct vt_page_options {
	const char *path;
	const struct vt_common_options *common;
	uint64_t max_bytes; /* of the file */
};

/* What was gathered. */
struct vt_page {
	struct vt_session *session;
	struct vt_page_bins bins;
	struct vt_page_series series;
	struct vt_page_blocks blocks;
	struct vt_page_touches touches;
	struct vt_page_steps steps;
	struct vt_page_space space;
	struct vt_flame flame;
	struct vt_attribution *attribution;
	struct vt_segments *segments;
	uint64_t last_ns;
	uint32_t mark;
};

/* Gathers, with at most about so many bins a file; page->session set, zero else. The caller calls vt_page_done in any case. */
int vt_page_gather(struct vt_page *page, uint64_t bins, struct vt_err *err);
void vt_page_done(struct vt_page *page);

/* Runs passes of its own over the file. -VT_E_USAGE where it does not fit into max_bytes. */
int vt_page_write(FILE *out, const struct vt_page_options *options, struct vt_err *err);

/* The page's own JSON. */
int vt_page_json(const struct vt_page *page, FILE *out, struct vt_err *err);

#endif
