/* command_tree.c - vramtrace tree: who holds memory, as a tree. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/commands/command.h"
#include "analyze/commands/options.h"
#include "analyze/views/tree.h"
#include "schema/base/cleanup.h"

static const struct vt_usage usage = {
	.command = "tree",
	.operands = "FILE",
	.summary = "Shows who holds memory at a moment, or what was allocated over the run, as a tree.",
	.details =
		"--by takes one or several, with commas between; the later ones stand below the earlier ones:\n"
		"  stack     Python frames, then the op; memory of backward ops at the forward line it belongs to\n"
		"  module    the modules that were being called or moved: GPT2Model > GPT2Block[3] > GPT2MLP; numbers "
		"count\n"
		"            modules of one class in the order of first sight\n"
		"  op        the op and its callers\n"
		"  line      the innermost line of the user's own code\n"
		"  file      its file\n"
		"  category  parameter, gradient, optimizer_state, activation, ...: estimated by scope and lifetime\n"
		"  step      of the training or serving loop; the report says how steps were found\n"
		"  phase     forward, backward, optimizer, data or other, of the allocation\n"
		"  thread, rank, block\n"
		"What is below a node adds up to it. A chain of single calls is not indented.\n\n"
		"Examples:\n"
		"  vramtrace tree run.vramtrace                          by stack, at the peak\n"
		"  vramtrace tree --by category,line run.vramtrace\n"
		"  vramtrace tree --by op --inverted --at end run.vramtrace\n"
		"  vramtrace tree --by line --flat --run run.vramtrace   which lines allocate most, over the run",
};

static int run(const char *path, const struct vt_common_options *common, struct vt_tree_report *report,
	       struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	struct vt_screen screen;
	int r = vt_session_open(&session, path, common, "peak", err);

	if (!r)
		r = vt_tree_report_run(report, &session, common->quiet, err);
	if (!r && common->json)
		r = vt_tree_report_json(report, stdout, err);
	if (!r && !common->json) {
		vt_screen_init(&screen, stdout, common->color);
		r = vt_tree_report_print(report, &screen, err);
	}
	return r;
}

static int parse_share(const char *text, double *ret, struct vt_err *err)
{
	char *end;

	*ret = strtod(text, &end);
	if (end == text || (*end && (end[0] != '%' || end[1])) || !(*ret >= 0 && *ret <= 100))
		return vt_err_set(err, VT_E_USAGE, "--min-share takes a number from 0 to 100, not '%.60s'", text);
	return 0;
}

int vt_command_tree(int argc, char **argv)
{
	VT_CLEANUP(vt_tree_report_done) struct vt_tree_report report = { .session = NULL };
	struct vt_tree_options *tree = &report.options;
	struct vt_common_options common;
	const char *by = "stack", *share = NULL;
	const struct vt_option own[] = {
		{ "by", 'b', VT_OPTION_STRING, &by, "LIST", "what the tree is made of (stack)" },
		{ "run", 0, VT_OPTION_FLAG, &tree->run, NULL, "all allocations of the run, not those live at --at" },
		{ "flat", 0, VT_OPTION_FLAG, &tree->flat, NULL, "no tree: a row for each label" },
		{ "inverted", 0, VT_OPTION_FLAG, &tree->inverted, NULL, "the innermost first" },
		{ "depth", 0, VT_OPTION_COUNT, &tree->depth, "N", "show so many levels" },
		{ "min-share", 0, VT_OPTION_STRING, &share, "PERCENT", "leave out what is smaller (1; JSON: 0)" },
		{ "paths", 0, VT_OPTION_FLAG, &tree->by.whole_paths, NULL, "name files with their directories" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &common, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	report.top = common.top;
	tree->min_share = common.json ? 0 : 1;
	if (!r)
		r = vt_path_by_parse(by, &tree->by, &err);
	if (!r && share)
		r = parse_share(share, &tree->min_share, &err);
	if (!r && tree->run && common.at)
		r = vt_err_set(&err, VT_E_USAGE, "--run and --at do not go together: one is the whole, one a moment");
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r)
		r = run(argv[operand], &common, &report, &err);
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
