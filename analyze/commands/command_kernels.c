/* command_kernels.c - vramtrace kernels: what ran on the GPU. */
#include <stdio.h>

#include "analyze/commands/command.h"
#include "analyze/commands/options.h"
#include "analyze/views/kernels.h"
#include "schema/base/cleanup.h"

static const struct vt_usage usage = {
	.command = "kernels",
	.operands = "FILE",
	.summary = "Shows what ran on the GPU and how long, by kernel, op or line.",
	.details = "For traces recorded with --kernels on. Times are those of the device; runs are executions, those "
		   "of a\n"
		   "replayed CUDA graph each counted. With --json: the least and the longest run, the whole name, and "
		   "the\n"
		   "time from the launching call to the start on the device (launch_to_start_ns, a sum).\n\n"
		   "Examples:\n"
		   "  vramtrace kernels run.vramtrace\n"
		   "  vramtrace kernels --by op --top 30 run.vramtrace\n"
		   "  vramtrace query run.vramtrace \"SELECT * FROM kernel_time\"",
};

static int run(const char *path, const struct vt_common_options *options, struct vt_kernels_report *report,
	       struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	struct vt_screen screen;
	int r = vt_session_open(&session, path, options, "end", err);

	if (!r)
		r = vt_kernels_report_run(report, &session, options->quiet, err);
	if (!r && options->json)
		r = vt_kernels_report_json(report, stdout, err);
	if (!r && !options->json) {
		vt_screen_init(&screen, stdout, options->color);
		r = vt_kernels_report_print(report, &screen, err);
	}
	return r;
}

int vt_command_kernels(int argc, char **argv)
{
	VT_CLEANUP(vt_kernels_report_done) struct vt_kernels_report report = { .session = NULL };
	struct vt_common_options options;
	const char *by = "kernel";
	const struct vt_option own[] = {
		{ "by", 'b', VT_OPTION_STRING, &by, "WHAT", "a row for each kernel (the default), op or line" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &options, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	report.top = options.top;
	if (!r)
		r = vt_kernels_parse_by(by, &report.by, &err);
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r)
		r = run(argv[operand], &options, &report, &err);
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
