/* ops_print.h - the table of ops as text and JSON. */
#ifndef VT_ANALYZE_OPS_PRINT_H
#define VT_ANALYZE_OPS_PRINT_H

#include "analyze/views/ops.h"
#include "analyze/views/session.h"

enum vt_ops_sort {
	VT_OPS_SORT_LIVE,
	VT_OPS_SORT_SELF,
	VT_OPS_SORT_TOTAL,
	VT_OPS_SORT_ALLOCATED,
	VT_OPS_SORT_CALLS,
	VT_OPS_SORT_LIFETIME,
	VT_OPS_SORT_NAME,
};

struct vt_ops_report {
	struct vt_session *session;
	struct vt_groups *groups;
	struct vt_ops *ops;
	struct vt_attribution *attribution; /* by stack */
	struct vt_ops_lines lines;
	enum vt_ops_by by;
	enum vt_ops_sort sort;
	uint64_t top;
};

/* "live" ... as --sort takes it: 0 or -VT_E_USAGE. */
int vt_ops_parse_sort(const char *text, enum vt_ops_sort *ret, struct vt_err *err);

/* Runs the session's pass. The holder calls _done in any case; session is borrowed. */
int vt_ops_report_run(struct vt_ops_report *report, struct vt_session *session, bool quiet, struct vt_err *err);
void vt_ops_report_done(struct vt_ops_report *report);
int vt_ops_report_print(const struct vt_ops_report *report, const struct vt_screen *screen, struct vt_err *err);
int vt_ops_report_json(const struct vt_ops_report *report, FILE *out, struct vt_err *err);

#endif
