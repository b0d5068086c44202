/* command_simulate.c - vramtrace simulate: the recorded requests under other settings and on other devices. */
#include <stdio.h>
#include <string.h>

#include "analyze/commands/command.h"
#include "analyze/commands/options.h"
#include "analyze/simulate/simulate.h"
#include "schema/base/cleanup.h"

static const struct vt_usage usage = {
	.command = "simulate",
	.operands = "FILE",
	.summary =
		"Replays what a run asked of PyTorch's allocator under other settings, or on a device of another size.",
	.details = "The model follows PyTorch 2.11's caching allocator: rounding, pools, best fit, splitting, garbage "
		   "collection,\n"
		   "retries, expandable segments. The recorded settings are replayed too, and compared with the "
		   "recording.\n"
		   "backend:cudaMallocAsync is an estimate: how the driver places blocks is not published.\n\n"
		   "Examples:\n"
		   "  vramtrace simulate run.vramtrace\n"
		   "  vramtrace simulate --sweep --capacity 40GiB run.vramtrace\n"
		   "  vramtrace simulate --conf 'max_split_size_mb:256;expandable_segments:True' run.vramtrace",
};

static int run(const char *path, const struct vt_common_options *common, const struct vt_simulate_options *options,
	       struct vt_simulate *report, struct vt_err *err)
{
	struct vt_screen screen;
	int r = vt_session_open(report->session, path, common, "end", err);

	if (!r)
		r = vt_simulate_run(report, report->session, options, common->quiet, err);
	if (!r && common->json)
		r = vt_simulate_json(report, stdout, err);
	if (!r && !common->json) {
		vt_screen_init(&screen, stdout, common->color);
		r = vt_simulate_print(report, &screen, common->top, err);
	}
	return r;
}

int vt_command_simulate(int argc, char **argv)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	VT_CLEANUP(vt_simulate_done) struct vt_simulate report = { .session = &session };
	struct vt_simulate_options options = { .conf = NULL };
	struct vt_common_options common;
	const char *fail_on = NULL;
	const struct vt_option own[] = {
		{ "conf", 'c', VT_OPTION_STRING, &options.conf, "LIST", "settings to try, with ';' between" },
		{ "sweep", 0, VT_OPTION_FLAG, &options.sweep, NULL, "rank many settings, print the best as a line" },
		{ "capacity", 0, VT_OPTION_BYTES, &options.capacity_bytes, "BYTES", "on a device of this size" },
		{ "recorded", 0, VT_OPTION_STRING, &options.recorded, "CONF", "settings that the recorded run had" },
		{ "fail-on", 0, VT_OPTION_STRING, &fail_on, "WHAT",
		  "exit with 1 if a policy runs out of memory (oom) or the model differs from the recording "
		  "(differs)" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &common, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	if (!r && fail_on && strcmp(fail_on, "oom") != 0 && strcmp(fail_on, "differs") != 0)
		r = vt_err_set(&err, VT_E_USAGE, "--fail-on takes oom or differs, not '%.60s'", fail_on);
	if (!r && options.capacity_bytes > VT_ADDRESSES_MAX)
		r = vt_err_set(&err, VT_E_USAGE, "--capacity: no device has more than 32 TiB");
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r)
		r = run(argv[operand], &common, &options, &report, &err);
	if (r < 0)
		return vt_command_fail(usage.command, &err);
	if (fail_on && (!strcmp(fail_on, "oom") ? vt_simulate_fails(&report) : vt_simulate_differs(&report)))
		return vt_errc_exit_status(VT_E_FINDING);
	return 0;
}
