/* command_info.c - vramtrace info: what is in a trace, and what was lost. */
#include <stdio.h>

#include "analyze/commands/command.h"
#include "analyze/commands/open.h"
#include "analyze/info/info_print.h"
#include "schema/base/cleanup.h"

static const struct vt_usage usage = {
	.command = "info",
	.operands = "FILE",
	.summary = "Says what a trace holds: processes, kinds of events, their times and sizes, notes, losses.",
	.details = "It reads no events, so that it is quick on any file; 'vramtrace check' reads all of them.",
	.whole_file = true,
};

static int print(const struct vt_info *info, const struct vt_common_options *common, struct vt_err *err)
{
	struct vt_screen screen;
	struct vt_json json;

	if (!common->json) {
		vt_screen_init(&screen, stdout, common->color);
		return vt_info_print(info, &screen, err);
	}
	vt_json_init(&json, stdout, false);
	vt_report_json_begin(&json, "info", info->store);
	int r = vt_info_json(info, &json, err);

	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}

int vt_command_info(int argc, char **argv)
{
	VT_CLEANUP(vt_store_closep) struct vt_store *store = NULL;
	VT_CLEANUP(vt_info_done) struct vt_info info = { 0 };
	struct vt_common_options common;
	struct vt_err err = { 0 };
	int r = vt_report_open(&usage, &common, argc, argv, &store, &err);

	if (r > 0)
		return 0;
	if (r == 0)
		r = vt_info_load(&info, store, &err);
	if (r == 0)
		r = print(&info, &common, &err);
	return r < 0 ? vt_command_fail("info", &err) : 0;
}
