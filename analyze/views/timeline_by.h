/* timeline_by.h - what memory was over time, by category, op, module or line: a row of block characters each. */
#ifndef VT_ANALYZE_TIMELINE_BY_H
#define VT_ANALYZE_TIMELINE_BY_H

#include "analyze/page/page.h"
#include "analyze/render/table.h"
#include "analyze/views/timeline.h"

/* "category", "op", "module", "line": 0 or -VT_E_USAGE. */
int vt_timeline_by_parse(const char *text, enum vt_page_by *ret, struct vt_err *err);
struct vt_timeline_by {
	const struct vt_page *page; /* gathered */
	enum vt_page_by by;
	uint64_t top; /* rows at most, the greatest first */
};

/* The rows, and an empty line; times are those of the timeline. */
int vt_timeline_by_print(const struct vt_timeline_by *rows, const struct vt_timeline *timeline,
			 const struct vt_screen *screen, uint32_t device, struct vt_err *err);

#endif
