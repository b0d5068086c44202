/*
 * kernels.h - what ran on the GPUs, and how long: by kernel, by the op that launched it, or by the line of the user's
 * code. A listener; memory grows with the number of different rows, and by a table of launches that have not run yet.
 */
#ifndef VT_ANALYZE_KERNELS_H
#define VT_ANALYZE_KERNELS_H

#include "analyze/views/session.h"

enum vt_kernels_by { VT_KERNELS_BY_KERNEL, VT_KERNELS_BY_OP, VT_KERNELS_BY_LINE };

struct vt_kernel_row {
	uint32_t process;
	uint32_t id; /* by kernel: string of the mangled name; by op: op_node; by line: stack; 0: launch not seen */
	uint64_t launches; /* executions on a device */
	uint64_t busy_ns;  /* sum of their times; kernels that overlap count each */
	uint64_t least_ns, most_ns;
	uint64_t wait_ns; /* from the begin of the launching call to the start on the device, summed over `matched` */
	uint64_t matched; /* executions whose launch is in the trace */
	struct vt_kernel_config config; /* how its longest execution was launched */
	uint32_t op;			/* op_node that launched the longest; 0: not known */
};

struct vt_kernels_report {
	struct vt_session *session; /* borrowed */
	enum vt_kernels_by by;
	uint64_t top;
	struct vt_kernel_row *rows; /* the busiest first */
	size_t nrows;
	uint64_t launches, busy_ns; /* of all rows */
	struct vt_kernels *state;
};

/* "kernel", "op" or "line": 0 or -VT_E_USAGE. */
int vt_kernels_parse_by(const char *text, enum vt_kernels_by *ret, struct vt_err *err);
/* Runs the session's pass. The holder calls _done in any case. */
int vt_kernels_report_run(struct vt_kernels_report *report, struct vt_session *session, bool quiet, struct vt_err *err);
void vt_kernels_report_done(struct vt_kernels_report *report);

int vt_kernels_report_print(const struct vt_kernels_report *report, const struct vt_screen *screen, struct vt_err *err);
int vt_kernels_report_json(const struct vt_kernels_report *report, FILE *out, struct vt_err *err);

#endif
