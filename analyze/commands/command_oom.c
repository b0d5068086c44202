/* command_oom.c - vramtrace oom: the post-mortem of each out-of-memory error. */
#include <stdio.h>
#include <string.h>

#include "analyze/commands/command.h"
#include "analyze/commands/options.h"
#include "analyze/views/oom.h"
#include "schema/base/cleanup.h"

static const struct vt_usage usage = {
	.command = "oom",
	.operands = "FILE",
	.summary =
		"Explains each out-of-memory error: what was asked, what was free, who held the rest, what to do next.",
	.details = "The figures are those of PyTorch's exception, rounded the same way. The free ranges come from "
		   "placing the\n"
		   "live blocks into the segments that the driver calls made. Each advice follows from a condition on "
		   "these\n"
		   "figures; docs/oom.md lists the conditions.\n"
		   "Without an error in the file it says so and exits with 0.\n\n"
		   "Examples:\n"
		   "  vramtrace oom run.vramtrace\n"
		   "  vramtrace oom --json run.vramtrace\n"
		   "  vramtrace oom --fail-on oom run.vramtrace       for CI: exit status 1 if there was one\n"
		   "  vramtrace oom --fail-on growth run.vramtrace    ... if memory kept rising from step to step",
};

static int run(const char *path, const struct vt_common_options *options, struct vt_oom_report *report,
	       struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	struct vt_screen screen;
	int r = vt_session_open(&session, path, options, "end", err);

	if (!r)
		r = vt_oom_report_run(report, &session, options->quiet, err);
	if (!r && options->json)
		r = vt_oom_report_json(report, stdout, options->top, err);
	if (!r && !options->json) {
		vt_screen_init(&screen, stdout, options->color);
		r = vt_oom_report_print(report, &screen, options->top, err);
	}
	return r;
}

static int check(const char *fail_on, const struct vt_common_options *options, struct vt_err *err)
{
	if (options->at)
		return vt_err_set(err, VT_E_USAGE,
				  "--at does not go with oom: each error is looked at in its own moment");
	if (fail_on && strcmp(fail_on, "oom") != 0 && strcmp(fail_on, "growth") != 0)
		return vt_err_set(err, VT_E_USAGE, "--fail-on takes oom or growth, not '%.60s'", fail_on);
	return 0;
}

int vt_command_oom(int argc, char **argv)
{
	VT_CLEANUP(vt_oom_report_done) struct vt_oom_report report = { .session = NULL };
	struct vt_common_options options;
	const char *fail_on = NULL;
	const struct vt_option own[] = {
		{ "fail-on", 0, VT_OPTION_STRING, &fail_on, "WHAT",
		  "exit with 1 if there was an error (oom) or growth like a leak (growth)" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &options, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	if (!r)
		r = check(fail_on, &options, &err);
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r)
		r = run(argv[operand], &options, &report, &err);
	if (r < 0)
		return vt_command_fail(usage.command, &err);
	if (fail_on && (!strcmp(fail_on, "oom") ? report.ooms != 0 : report.growing))
		return vt_errc_exit_status(VT_E_FINDING);
	return 0;
}
