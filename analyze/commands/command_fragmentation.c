/* command_fragmentation.c - vramtrace fragmentation: free ranges in the segments, and what pins them. */
#include <stdio.h>

#include "analyze/commands/command.h"
#include "analyze/commands/options.h"
#include "analyze/views/fragmentation.h"
#include "schema/base/cleanup.h"

static const struct vt_usage usage = {
	.command = "fragmentation",
	.operands = "FILE",
	.summary = "Shows what is reserved but unallocated: free ranges in the segments, and the live blocks that pin "
		   "them.",
	.details = "The live blocks are placed into the segments that the driver calls made. Without --at: the peak of "
		   "what is\n"
		   "allocated, and each out-of-memory error, with the blocks that stood in its way.\n\n"
		   "  Pinned   free bytes in segments with live blocks: memory_summary's \"Non-releasable memory\"\n"
		   "  Fragm.   1 - largest free range / free bytes: 0 where all that is free is one range\n\n"
		   "Examples:\n"
		   "  vramtrace fragmentation run.vramtrace\n"
		   "  vramtrace fragmentation --at 12.5s run.vramtrace\n"
		   "  vramtrace fragmentation --json run.vramtrace | jq '.moments[].sentence'",
};

static int run(const char *path, const struct vt_common_options *common, struct vt_fragmentation *report,
	       struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	struct vt_screen screen;
	int r = vt_session_open(&session, path, common, "peak", err);

	if (!r)
		r = vt_fragmentation_run(report, &session, common->at, common->quiet, err);
	if (!r && common->json)
		r = vt_fragmentation_json(report, stdout, common->top, err);
	if (!r && !common->json) {
		vt_screen_init(&screen, stdout, common->color);
		r = vt_fragmentation_print(report, &screen, common->top, err);
	}
	return r;
}

int vt_command_fragmentation(int argc, char **argv)
{
	VT_CLEANUP(vt_fragmentation_done) struct vt_fragmentation report = { .session = NULL };
	struct vt_common_options common;
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, NULL, &common, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r)
		r = run(argv[operand], &common, &report, &err);
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
