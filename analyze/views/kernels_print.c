/* kernels_print.c - the table of kernels as text and JSON: see kernels.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/commands/open.h"
#include "analyze/render/losses.h"
#include "analyze/symbols/kernel_name.h"
#include "analyze/views/kernels.h"
#include "analyze/views/report.h"

#define NAME_MAX 512

/* What the row is about. */
static const char *row_name(const struct vt_kernels_report *report, const struct vt_kernel_row *row, char out[NAME_MAX])
{
	const struct vt_symbols *symbols = report->session->symbols;
	struct vt_frame_info frame;
	struct vt_op_info op;
	const char *slash;

	(void)snprintf(out, NAME_MAX, "%s",
		       report->by == VT_KERNELS_BY_LINE && row->matched ? "(outside of Python, as backward passes are)"
									: "(not known)");
	if (report->by == VT_KERNELS_BY_KERNEL && row->id)
		return vt_kernel_short_name(vt_symbols_string(symbols, row->process, row->id), out, NAME_MAX);
	if (report->by == VT_KERNELS_BY_OP && vt_symbols_op(symbols, row->process, row->id, &op))
		(void)snprintf(out, NAME_MAX, "%s", op.name);
	if (report->by == VT_KERNELS_BY_LINE && vt_symbols_user_frame(symbols, row->process, row->id, &frame)) {
		slash = strrchr(frame.file, '/');
		(void)snprintf(out, NAME_MAX, "%.200s:%" PRIu32 " %.200s", slash && slash[1] ? slash + 1 : frame.file,
			       frame.line, frame.function);
	}
	return out;
}

static const char *launcher_name(const struct vt_kernels_report *report, const struct vt_kernel_row *row)
{
	struct vt_op_info op;

	return vt_symbols_op(report->session->symbols, row->process, row->op, &op) ? op.name : "";
}

/* What a narrow screen has no room for. */
#define WIDE 110

static void put_headings(const struct vt_kernels_report *report, struct vt_table *table, bool wide)
{
	vt_table_column(table, "Time", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Share", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Runs", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Mean", VT_ALIGN_RIGHT, false);
	if (report->by == VT_KERNELS_BY_KERNEL) {
		if (wide)
			vt_table_column(table, "Blocks x threads", VT_ALIGN_RIGHT, false);
		vt_table_column(table, "Regs", VT_ALIGN_RIGHT, false);
		if (wide)
			vt_table_column(table, "Shared", VT_ALIGN_RIGHT, false);
		if (wide)
			vt_table_column(table, "Op", VT_ALIGN_LEFT, false);
	}
	vt_table_column(table,
			report->by == VT_KERNELS_BY_KERNEL ? "Kernel"
			: report->by == VT_KERNELS_BY_OP   ? "Op"
							   : "Line",
			VT_ALIGN_LEFT, true);
}

static void put_config(const struct vt_kernels_report *report, struct vt_table *table, const struct vt_kernel_row *row,
		       bool wide)
{
	const struct vt_kernel_config *config = &row->config;
	uint64_t shared = (uint64_t)config->static_shared_bytes + config->dynamic_shared_bytes;
	char text[VT_FORMAT_MAX];

	if (wide)
		vt_table_cell(table, "%" PRIu64 " x %" PRIu64,
			      (uint64_t)config->grid_x * config->grid_y * config->grid_z,
			      (uint64_t)config->block_x * config->block_y * config->block_z);
	/* Local memory is where a thread's registers spill to, and its arrays lie. */
	vt_table_cell(table, config->local_bytes ? "%" PRIu32 "*" : "%" PRIu32, config->registers);
	if (!wide)
		return;
	vt_table_cell(table, "%s", shared ? vt_format_bytes(text, shared) : "");
	vt_table_cell(table, "%.30s", launcher_name(report, row));
}

static int print_table(const struct vt_kernels_report *report, const struct vt_screen *screen, struct vt_err *err)
{
	size_t shown = report->nrows < report->top ? report->nrows : (size_t)report->top;
	struct vt_table *table = vt_table_new();
	char text[VT_FORMAT_MAX], name[NAME_MAX];
	bool spills = false, wide = screen->width >= WIDE;

	put_headings(report, table, wide);
	for (size_t i = 0; i < shown; i++) {
		const struct vt_kernel_row *row = &report->rows[i];

		spills = spills || row->config.local_bytes;
		vt_table_cell(table, "%s", vt_format_ns(text, row->busy_ns));
		vt_table_cell(table, "%s", vt_report_share(text, row->busy_ns, report->busy_ns));
		vt_table_cell(table, "%s", vt_format_count(text, row->launches));
		vt_table_cell(table, "%s", vt_format_ns(text, row->busy_ns / row->launches));
		if (report->by == VT_KERNELS_BY_KERNEL)
			put_config(report, table, row, wide);
		vt_table_cell(table, "%s", row_name(report, row, name));
	}
	if (vt_table_print(table, screen) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	if (shown < report->nrows)
		vt_screen_text(screen, 0, "... and %s more (--top).", vt_format_count(text, report->nrows - shown));
	if (report->by == VT_KERNELS_BY_KERNEL)
		vt_screen_text(screen, 0, "%s are those of the kernel's longest run.%s",
			       wide ? "Blocks, threads, registers, shared memory and op" : "Registers",
			       spills ? " *: each thread uses local memory, in the device's DRAM, too." : "");
	return 0;
}

int vt_kernels_report_print(const struct vt_kernels_report *report, const struct vt_screen *screen, struct vt_err *err)
{
	char runs[VT_FORMAT_MAX], time[VT_FORMAT_MAX];
	int r = 0;

	if (report->nrows) {
		vt_screen_text(screen, 0, "%s kernels ran for %s in all; kernels that ran side by side count each.",
			       vt_format_count(runs, report->launches), vt_format_ns(time, report->busy_ns));
		(void)putc('\n', screen->out);
		r = print_table(report, screen, err);
	} else {
		vt_screen_text(screen, 0,
			       "No kernel was captured: record with --kernels on, and see 'vramtrace info' for what "
			       "the capture says of itself.");
	}
	(void)putc('\n', screen->out);
	return r < 0 ? r : vt_losses_print(screen, report->session->store, err);
}

static void put_json_row(const struct vt_kernels_report *report, struct vt_json *json, const struct vt_kernel_row *row)
{
	const struct vt_kernel_config *config = &row->config;
	char name[NAME_MAX];

	vt_json_object(json);
	vt_json_put_string(json, "name", row_name(report, row, name));
	vt_json_put_u64(json, "process", row->process);
	vt_json_put_u64(json, "runs", row->launches);
	vt_json_put_u64(json, "busy_ns", row->busy_ns);
	vt_json_put_u64(json, "min_ns", row->least_ns);
	vt_json_put_u64(json, "max_ns", row->most_ns);
	vt_json_put_u64(json, "launches_seen", row->matched);
	vt_json_put_u64(json, "launch_to_start_ns", row->wait_ns);
	if (report->by == VT_KERNELS_BY_KERNEL) {
		vt_json_put_string(json, "mangled_name",
				   vt_symbols_string(report->session->symbols, row->process, row->id));
		vt_json_put_string(json, "op", launcher_name(report, row));
		vt_json_put_array(json, "grid");
		vt_json_u64(json, config->grid_x);
		vt_json_u64(json, config->grid_y);
		vt_json_u64(json, config->grid_z);
		vt_json_array_end(json);
		vt_json_put_array(json, "block");
		vt_json_u64(json, config->block_x);
		vt_json_u64(json, config->block_y);
		vt_json_u64(json, config->block_z);
		vt_json_array_end(json);
		vt_json_put_u64(json, "registers", config->registers);
		vt_json_put_u64(json, "static_shared_bytes", config->static_shared_bytes);
		vt_json_put_u64(json, "dynamic_shared_bytes", config->dynamic_shared_bytes);
		vt_json_put_u64(json, "local_bytes", config->local_bytes);
	}
	vt_json_object_end(json);
}

int vt_kernels_report_json(const struct vt_kernels_report *report, FILE *out, struct vt_err *err)
{
	size_t shown = report->nrows < report->top ? report->nrows : (size_t)report->top;
	struct vt_json json;
	int r;

	vt_json_init(&json, out, false);
	vt_session_json_begin(report->session, &json, "kernels");
	vt_json_put_u64(&json, "runs", report->launches);
	vt_json_put_u64(&json, "busy_ns", report->busy_ns);
	vt_json_put_array(&json, "rows");
	for (size_t i = 0; i < shown; i++)
		put_json_row(report, &json, &report->rows[i]);
	vt_json_array_end(&json);
	r = vt_losses_json(&json, report->session->store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}
