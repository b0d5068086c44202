/* command_timeline.c - vramtrace timeline: memory over time, drawn in the terminal. */
#include <stdio.h>

#include "analyze/commands/command.h"
#include "analyze/commands/open.h"
#include "analyze/commands/options.h"
#include "analyze/render/losses.h"
#include "analyze/views/time_text.h"
#include "analyze/views/timeline_by.h"
#include "analyze/views/timeline_print.h"
#include "schema/base/cleanup.h"

#define ROWS_DEFAULT 12
#define ROWS_MOST 100
#define JSON_COLUMNS 1000
#define BINS 8192

static const struct vt_usage usage = {
	.command = "timeline",
	.operands = "FILE",
	.summary = "Draws memory over time in the terminal, as wide as it is.",
	.details = "Each column is the maximum of its time: no peak is missed. --from and --to count from the start of "
		   "the\n"
		   "first process: 1.5s, 200ms, 2min.\n\n"
		   "Examples:\n"
		   "  vramtrace timeline run.vramtrace\n"
		   "  vramtrace timeline --from 12s --to 12.5s --rows 30 run.vramtrace\n"
		   "  vramtrace timeline --by category run.vramtrace\n"
		   "  vramtrace timeline --json run.vramtrace | jq '.devices[0].columns'",
};

struct request {
	const char *from, *to, *by;
	enum vt_page_by dimension; /* of by */
	uint64_t top;
	uint64_t rows;
};

static void free_timeline(struct vt_timeline **timeline)
{
	vt_timeline_free(*timeline);
}

static int parse_window(const struct request *request, const struct vt_session *session, struct vt_timeline *timeline,
			struct vt_err *err)
{
	uint64_t from_ns = 0, to_ns = 0;

	if (request->from && vt_parse_time(request->from, &from_ns) < 0)
		return vt_err_set(err, VT_E_USAGE, "--from: '%.40s' is no time; try 1.5s or 200ms", request->from);
	if (request->to && vt_parse_time(request->to, &to_ns) < 0)
		return vt_err_set(err, VT_E_USAGE, "--to: '%.40s' is no time; try 1.5s or 200ms", request->to);
	if (request->to && to_ns <= from_ns)
		return vt_err_set(err, VT_E_USAGE, "--to is not after --from");
	vt_timeline_window(timeline, request->from ? session->origin_ns + from_ns : 0,
			   request->to ? session->origin_ns + to_ns : 0);
	return 0;
}

static int print(const struct vt_session *session, const struct vt_timeline *timeline, const struct vt_page *page,
		 const struct request *request, const struct vt_screen *screen, struct vt_err *err)
{
	const struct vt_timeline_by rows = { page, request->dimension, request->top };
	struct vt_timeline_picture picture;
	bool any = false;
	int r = 0;

	for (uint32_t i = 0; i < vt_replay_device_count(session->replay) && !r; i++) {
		if (!vt_session_wants(session, i))
			continue;
		r = vt_timeline_draw(timeline, i, 1, &picture, err);
		if (r < 0 || !picture.columns)
			continue;
		vt_timeline_picture_done(&picture);
		any = true;
		vt_session_print_device(session, screen, i);
		r = vt_timeline_print(timeline, session, screen, i, (unsigned)request->rows, err);
		if (!r && request->by)
			r = vt_timeline_by_print(&rows, timeline, screen, i, err);
	}
	if (!any && !r)
		vt_screen_text(screen, 0, "No allocation is in this trace, or none in that time.");
	return r ? r : vt_losses_print(screen, session->store, err);
}

static int put_device(const struct vt_session *session, const struct vt_timeline *timeline, struct vt_json *json,
		      uint32_t device, struct vt_err *err)
{
	struct vt_timeline_picture picture;
	int r = vt_timeline_draw(timeline, device, JSON_COLUMNS, &picture, err);

	if (r < 0)
		return r;
	vt_json_object(json);
	vt_session_json_device(session, json, vt_replay_device(session->replay, device));
	vt_json_put_u64(json, "column_ns", picture.column_ns);
	vt_json_put_array(json, "columns");
	for (uint32_t i = 0; i < picture.columns; i++) {
		vt_json_object(json);
		vt_json_put_u64(json, "begin_ns",
				vt_session_relative_ns(session, picture.start_ns + i * picture.column_ns));
		vt_json_put_u64(json, "allocated_bytes", picture.allocated[i]);
		vt_json_put_u64(json, "reserved_bytes", picture.reserved[i]);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
	vt_json_object_end(json);
	vt_timeline_picture_done(&picture);
	return 0;
}

static int put_json(const struct vt_session *session, const struct vt_timeline *timeline, struct vt_err *err)
{
	struct vt_json json;
	int r = 0;

	vt_json_init(&json, stdout, false);
	vt_session_json_begin(session, &json, "timeline");
	vt_json_put_array(&json, "devices");
	for (uint32_t i = 0; i < vt_replay_device_count(session->replay) && !r; i++)
		if (vt_session_wants(session, i))
			r = put_device(session, timeline, &json, i, err);
	vt_json_array_end(&json);
	if (!r)
		r = vt_losses_json(&json, session->store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}

static int run(const char *path, const struct vt_common_options *common, const struct request *request,
	       struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	VT_CLEANUP(free_timeline) struct vt_timeline *timeline = NULL;
	VT_CLEANUP(vt_page_done) struct vt_page page = { .session = &session };
	struct vt_listener listener;
	struct vt_screen screen;
	int r = vt_session_open(&session, path, common, "end", err);

	if (!r)
		r = vt_timeline_new(&timeline, err);
	if (!r)
		r = parse_window(request, &session, timeline, err);
	if (r < 0)
		return r;
	listener = vt_timeline_listener(timeline);
	r = vt_replay_add(session.replay, &listener, err);
	if (!r)
		r = vt_session_run(&session, common->quiet, err);
	if (!r && common->json)
		return put_json(&session, timeline, err);
	vt_screen_init(&screen, stdout, common->color);
	/* Its passes leave the session with a replay of their own; the devices are the same. */
	if (!r && request->by)
		r = vt_page_gather(&page, BINS, err);
	return r ? r : print(&session, timeline, &page, request, &screen, err);
}

int vt_command_timeline(int argc, char **argv)
{
	struct request request = { .rows = ROWS_DEFAULT };
	struct vt_common_options common;
	const struct vt_option own[] = {
		{ "from", 0, VT_OPTION_STRING, &request.from, "TIME", "begin there" },
		{ "to", 0, VT_OPTION_STRING, &request.to, "TIME", "end there" },
		{ "by", 'b', VT_OPTION_STRING, &request.by, "WHAT", "and a row for each category, op, module or line" },
		{ "rows", 0, VT_OPTION_COUNT, &request.rows, "N", "height of the picture (12)" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &common, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	request.top = common.top;
	if (!r && request.by)
		r = vt_timeline_by_parse(request.by, &request.dimension, &err);
	if (!r && request.by && common.json)
		r = vt_err_set(&err, VT_E_USAGE, "--by draws rows of text; --json has the totals");
	if (!r && (request.rows < 1 || request.rows > ROWS_MOST))
		r = vt_err_set(&err, VT_E_USAGE, "--rows takes 1 to %d", ROWS_MOST);
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r)
		r = run(argv[operand], &common, &request, &err);
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
