/* command_ops.c - vramtrace ops: what each op did to memory. */
#include <stdio.h>
#include <string.h>

#include "analyze/commands/command.h"
#include "analyze/commands/options.h"
#include "analyze/views/ops_print.h"
#include "schema/base/cleanup.h"

static const struct vt_usage usage = {
	.command = "ops",
	.operands = "FILE",
	.summary = "Shows what each op did to memory, in the words of torch.profiler's key_averages().",
	.details =
		"Columns:\n"
		"  Calls           times the op ran; * where some had begun and not ended when the trace ends\n"
		"  Self CUDA Mem   bytes allocated minus bytes freed while the op was the innermost on its thread\n"
		"  CUDA Mem        the same with the ops it called; an op below an op of its own name counts for both, "
		"as in\n"
		"                  key_averages(), unless that one called nothing else: then they are one call\n"
		"  Allocated       bytes of all blocks that the op itself allocated, freed ones included\n"
		"  Live at peak    of those, live when the device's allocated bytes were at their maximum (--at: "
		"another moment)\n"
		"  Share           of all bytes live then\n"
		"  Mean lifetime   of the op's blocks that were freed\n"
		"For tensors in host memory the columns are called Self CPU Mem and CPU Mem.\n"
		"Of all threads only the op's own counts; key_averages() takes what any thread does in the op's time.\n"
		"--by stack gives one row for each op and line of the user's code, and for memory of backward ops the "
		"line\n"
		"of the forward op; not all op events carry a line, so there are allocations in place of calls.\n\n"
		"Examples:\n"
		"  vramtrace ops run.vramtrace\n"
		"  vramtrace ops --sort self --top 50 run.vramtrace\n"
		"  vramtrace ops --by stack --json run.vramtrace",
};

static int run(const char *path, const struct vt_common_options *options, struct vt_ops_report *report,
	       struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	struct vt_screen screen;
	int r = vt_session_open(&session, path, options, "peak", err);

	if (!r)
		r = vt_ops_report_run(report, &session, options->quiet, err);
	if (!r && options->json)
		r = vt_ops_report_json(report, stdout, err);
	if (!r && !options->json) {
		vt_screen_init(&screen, stdout, options->color);
		r = vt_ops_report_print(report, &screen, err);
	}
	return r;
}

int vt_command_ops(int argc, char **argv)
{
	VT_CLEANUP(vt_ops_report_done) struct vt_ops_report report = { .session = NULL };
	struct vt_common_options options;
	const char *by = "name", *sort = "live";
	const struct vt_option own[] = {
		{ "by", 'b', VT_OPTION_STRING, &by, "WHAT", "a row for each name (the default) or stack" },
		{ "sort", 's', VT_OPTION_STRING, &sort, "COLUMN",
		  "live (the default), self, total, allocated, calls, lifetime or name" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &options, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	report.top = options.top;
	report.by = !strcmp(by, "stack") ? VT_OPS_BY_STACK : VT_OPS_BY_NAME;
	if (!r && strcmp(by, "stack") != 0 && strcmp(by, "name") != 0)
		r = vt_err_set(&err, VT_E_USAGE, "--by takes name or stack, not '%.60s'", by);
	if (!r)
		r = vt_ops_parse_sort(sort, &report.sort, &err);
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r)
		r = run(argv[operand], &options, &report, &err);
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
