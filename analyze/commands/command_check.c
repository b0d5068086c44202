/* command_check.c - vramtrace check: is a trace whole. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/check/check.h"
#include "analyze/commands/command.h"
#include "analyze/commands/open.h"
#include "analyze/commands/options.h"
#include "analyze/render/losses.h"
#include "schema/base/cleanup.h"
#include "schema/base/format.h"

static const struct vt_usage usage = {
	.command = "check",
	.operands = "FILE",
	.whole_file = true,
	.summary = "Reads every byte of a trace and says whether it is whole.",
	.details =
		"Exit status: 0 the file is whole, 3 it is not. Events that were lost while recording are named but\n"
		"do not make a file broken: what was written is all there.",
};

static int print_json(const struct vt_check *check, struct vt_store *store, struct vt_err *err)
{
	struct vt_json json;
	int r;

	vt_json_init(&json, stdout, false);
	vt_report_json_begin(&json, "check", store);
	vt_json_put_bool(&json, "whole", !check->problems.count);
	vt_json_put_u64(&json, "problem_count", check->problems.count);
	vt_json_put_array(&json, "problems");
	for (size_t i = 0; i < vt_problems_held(&check->problems); i++) {
		const struct vt_problem *problem = &check->problems.first[i];

		vt_json_object(&json);
		vt_json_put_string(&json, "place", problem->place);
		vt_json_put_string(&json, "what", problem->what);
		vt_json_put_string(&json, "advice", problem->advice);
		vt_json_object_end(&json);
	}
	vt_json_array_end(&json);
	vt_json_put_object(&json, "checked");
	vt_json_put_u64(&json, "chunks", check->chunks);
	vt_json_put_u64(&json, "events", check->events);
	vt_json_put_u64(&json, "definitions", check->definitions);
	vt_json_put_u64(&json, "unknown_kinds", check->unknown_kinds);
	vt_json_put_u64(&json, "unknown_frees", check->unknown_frees);
	vt_json_put_u64(&json, "differences_explained_by_losses", check->explained);
	vt_json_object_end(&json);
	r = vt_losses_json(&json, store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}

static void print_problems(const struct vt_screen *screen, const struct vt_check *check)
{
	for (size_t i = 0; i < vt_problems_held(&check->problems); i++) {
		const struct vt_problem *problem = &check->problems.first[i];

		vt_screen_text(screen, 0, "%s: %s", problem->place, problem->what);
		vt_screen_text(screen, 4, "%s", problem->advice);
	}
	if (check->problems.count > VT_PROBLEMS_MAX)
		vt_screen_text(screen, 0, "... and %" PRIu64 " more", check->problems.count - VT_PROBLEMS_MAX);
}

static int print_text(const struct vt_check *check, struct vt_store *store, const char *color, struct vt_err *err)
{
	char chunks[VT_FORMAT_MAX], events[VT_FORMAT_MAX], definitions[VT_FORMAT_MAX], count[VT_FORMAT_MAX];
	struct vt_screen screen;

	vt_screen_init(&screen, stdout, color);
	print_problems(&screen, check);
	vt_screen_text(&screen, 0, "%s: %s (checked: chunks %s, events %s, definitions %s)", vt_store_path(store),
		       check->problems.count ? "NOT whole" : "whole", vt_format_count(chunks, check->chunks),
		       vt_format_count(events, check->events), vt_format_count(definitions, check->definitions));
	if (check->unknown_kinds)
		vt_screen_text(&screen, 0,
			       "%s kinds or columns are of a later version and were passed over: see 'vramtrace info'.",
			       vt_format_count(count, check->unknown_kinds));
	if (check->unknown_frees)
		vt_screen_text(&screen, 0, "%s blocks were freed whose allocation came before the capture or was lost.",
			       vt_format_count(count, check->unknown_frees));
	if (check->explained)
		vt_screen_text(&screen, 0, "%s times the allocator's total moved by events that were lost.",
			       vt_format_count(count, check->explained));
	return vt_losses_print(&screen, store, err);
}

static int check_store(struct vt_store *store, const struct vt_common_options *common)
{
	VT_CLEANUP(vt_freep) struct vt_check *check = malloc(sizeof(*check));
	struct vt_err err = { 0 };
	int r;

	if (!check) {
		(void)vt_err_set(&err, VT_E_NOMEM, "no memory to check with");
		return vt_command_fail(usage.command, &err);
	}
	r = vt_check_run(check, store, &err);
	if (!r)
		r = common->json ? print_json(check, store, &err) : print_text(check, store, common->color, &err);
	if (r < 0)
		return vt_command_fail(usage.command, &err);
	return check->problems.count ? vt_errc_exit_status(VT_E_CORRUPT) : 0;
}

int vt_command_check(int argc, char **argv)
{
	VT_CLEANUP(vt_store_closep) struct vt_store *store = NULL;
	struct vt_common_options common;
	struct vt_err err = { 0 };
	int r = vt_report_open(&usage, &common, argc, argv, &store, &err);

	if (r > 0)
		return 0;
	return r < 0 ? vt_command_fail(usage.command, &err) : check_store(store, &common);
}
