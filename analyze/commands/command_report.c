/* command_report.c - vramtrace report: the overview for people. */
#include <stdio.h>

#include "analyze/commands/command.h"
#include "analyze/commands/options.h"
#include "analyze/views/report.h"
#include "schema/base/cleanup.h"

static const struct vt_usage usage = {
	.command = "report",
	.operands = "FILE",
	.summary =
		"Shows where the memory of a recorded program went: the levels from the device down to the blocks of\n"
		"PyTorch's allocator, the peak, who holds it there, and how it got there.",
	.details = "Levels: every byte between two levels has a name, and the gaps add up. Figures that the trace does "
		   "not\n"
		   "hold are shown as \"not captured\".\n"
		   "Holders: live blocks by the op that allocated them and the innermost line of the user's own code; "
		   "where\n"
		   "there is no such line (autograd's threads), by the range or autograd node around the op. Their sum "
		   "is\n"
		   "what is allocated, to the byte.\n"
		   "Times are relative to the start of the first captured process.\n\n"
		   "Examples:\n"
		   "  vramtrace report run.vramtrace\n"
		   "  vramtrace report --at end --top 30 run.vramtrace     what is left at the end\n"
		   "  vramtrace report --at 12.5s --device 0 run.vramtrace\n"
		   "  vramtrace report --json run.vramtrace",
};

static int run(const char *path, const struct vt_common_options *options, struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	VT_CLEANUP(vt_report_done) struct vt_report report = { .session = NULL };
	struct vt_screen screen;
	int r = vt_session_open(&session, path, options, "peak", err);

	if (!r)
		r = vt_report_run(&report, &session, options->quiet, err);
	if (r < 0)
		return r;
	if (options->json)
		return vt_report_json(&report, stdout, options->top, err);
	vt_screen_init(&screen, stdout, options->color);
	return vt_report_print(&report, &screen, options->top, err);
}

int vt_command_report(int argc, char **argv)
{
	struct vt_common_options options;
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, NULL, &options, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r)
		r = run(argv[operand], &options, &err);
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
