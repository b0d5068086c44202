/* ops_print.c - see ops_print.h. */
#include "analyze/views/ops_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/commands/open.h"
#include "analyze/render/losses.h"
#include "analyze/views/report.h"
#include "schema/base/bits.h"

int vt_ops_parse_sort(const char *text, enum vt_ops_sort *ret, struct vt_err *err)
{
	static const char *const words[] = {
		[VT_OPS_SORT_LIVE] = "live",	     [VT_OPS_SORT_SELF] = "self",
		[VT_OPS_SORT_TOTAL] = "total",	     [VT_OPS_SORT_CALLS] = "calls",
		[VT_OPS_SORT_LIFETIME] = "lifetime", [VT_OPS_SORT_ALLOCATED] = "allocated",
		[VT_OPS_SORT_NAME] = "name",
	};

	for (size_t i = 0; i < VT_ARRAY_SIZE(words); i++)
		if (!strcmp(text, words[i])) {
			*ret = (enum vt_ops_sort)i;
			return 0;
		}
	return vt_err_set(err, VT_E_USAGE,
			  "--sort takes live, self, total, allocated, calls, lifetime or name, not '%.60s'", text);
}

static int add_lines(struct vt_ops_report *report, struct vt_err *err)
{
	struct vt_listener listener;
	int r = vt_attribution_new(&report->attribution, report->session->symbols, err);

	if (r < 0)
		return r;
	vt_attribution_each(report->attribution, vt_ops_lines_add, &report->lines);
	listener = vt_attribution_listener(report->attribution);
	return vt_replay_add(report->session->replay, &listener, err);
}

static int build(struct vt_ops_table *ret, const struct vt_ops_report *report, const struct vt_lens *lens,
		 struct vt_err *err)
{
	return report->by == VT_OPS_BY_STACK ? vt_ops_build_lines(ret, &report->lines, lens, err)
					     : vt_ops_build(ret, report->ops, lens, err);
}

int vt_ops_report_run(struct vt_ops_report *report, struct vt_session *session, bool quiet, struct vt_err *err)
{
	struct vt_listener listener;
	int r;

	report->session = session;
	r = vt_groups_new(&report->groups, err);
	if (!r)
		r = vt_ops_new(&report->ops, session->symbols, err);
	if (r < 0)
		return r;
	listener = vt_groups_listener(report->groups);
	r = vt_replay_add(session->replay, &listener, err);
	listener = vt_ops_listener(report->ops);
	if (!r)
		r = vt_replay_add(session->replay, &listener, err);
	if (!r && report->by == VT_OPS_BY_STACK)
		r = add_lines(report, err);
	if (!r)
		r = vt_session_run(session, quiet, err);
	for (uint32_t i = 0; report->attribution && i < vt_replay_device_count(session->replay) && !r; i++)
		r = vt_ops_lines_peak(&report->lines, vt_attribution_peak(report->attribution, i), err);
	return r;
}

void vt_ops_report_done(struct vt_ops_report *report)
{
	vt_ops_free(report->ops);
	vt_groups_free(report->groups);
	vt_attribution_free(report->attribution);
	vt_ops_lines_done(&report->lines);
	report->attribution = NULL;
	report->ops = NULL;
	report->groups = NULL;
}

static uint64_t mean_lifetime(const struct vt_ops_row *row)
{
	return row->frees ? (uint64_t)(row->lifetime_ns / row->frees) : 0;
}

struct sort_key {
	int64_t value;
	const struct vt_ops_row *row;
};

static int64_t sort_value(const struct vt_ops_row *row, enum vt_ops_sort sort)
{
	switch (sort) {
	case VT_OPS_SORT_LIVE:
		return (int64_t)row->live_bytes;
	case VT_OPS_SORT_SELF:
		return row->self_bytes;
	case VT_OPS_SORT_TOTAL:
		return row->total_bytes;
	case VT_OPS_SORT_ALLOCATED:
		return (int64_t)row->allocated_bytes;
	case VT_OPS_SORT_CALLS:
		return (int64_t)(row->calls ? row->calls : row->allocs);
	case VT_OPS_SORT_LIFETIME:
		return (int64_t)mean_lifetime(row);
	case VT_OPS_SORT_NAME:
		break;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->row->allocated_bytes != y->row->allocated_bytes)
		return x->row->allocated_bytes < y->row->allocated_bytes ? 1 : -1;
	return vt_place_compare(&x->row->place, &y->row->place);
}

static int by_name(const void *a, const void *b)
{
	return vt_place_compare(&((const struct sort_key *)a)->row->place, &((const struct sort_key *)b)->row->place);
}

/* NULL: no memory. The caller frees. */
static struct sort_key *sort_rows(const struct vt_ops_table *table, enum vt_ops_sort sort)
{
	struct sort_key *keys = calloc(table->count + 1, sizeof(*keys));

	for (size_t i = 0; keys && i < table->count; i++)
		keys[i] = (struct sort_key){ sort_value(&table->rows[i], sort), &table->rows[i] };
	if (keys)
		qsort(keys, table->count, sizeof(*keys), sort == VT_OPS_SORT_NAME ? by_name : by_value);
	return keys;
}

/* Below this width two columns are left out: names matter more. */
#define WIDE 110

/* Columns carry key_averages' own names where they count the same. */
static struct vt_table *begin_table(const struct vt_ops_report *report, const struct vt_device *device, bool wide)
{
	struct vt_table *table = vt_table_new();
	bool host = device->device_type == VT_device_type_HOST, by_name = report->by == VT_OPS_BY_NAME;
	const char *peak = report->session->moment == VT_MOMENT_PEAK ? "Live at peak" : "Live";

	vt_table_column(table, by_name ? "Name" : "Op", VT_ALIGN_LEFT, by_name);
	if (!by_name)
		vt_table_column(table, "Where", VT_ALIGN_LEFT, true);
	if (by_name) {
		vt_table_column(table, "Calls", VT_ALIGN_RIGHT, false);
		vt_table_column(table, host ? "Self CPU Mem" : "Self CUDA Mem", VT_ALIGN_RIGHT, false);
		vt_table_column(table, host ? "CPU Mem" : "CUDA Mem", VT_ALIGN_RIGHT, false);
	} else {
		vt_table_column(table, "Allocs", VT_ALIGN_RIGHT, false);
	}
	if (wide)
		vt_table_column(table, "Allocated", VT_ALIGN_RIGHT, false);
	vt_table_column(table, peak, VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Share", VT_ALIGN_RIGHT, false);
	if (wide)
		vt_table_column(table, "Mean lifetime", VT_ALIGN_RIGHT, false);
	return table;
}

static void put_row(const struct vt_ops_report *report, struct vt_table *table, const struct vt_screen *screen,
		    const struct vt_ops_row *row, uint64_t whole)
{
	char text[VT_FORMAT_MAX], place[VT_PLACE_MAX];
	bool wide = screen->width >= WIDE;

	if (report->by == VT_OPS_BY_NAME) {
		vt_table_cell(table, "%s", vt_place_op(&row->place));
		vt_table_cell(table, "%s%s", vt_format_count(text, row->calls), row->open_calls ? "*" : "");
		vt_table_cell(table, "%s", vt_format_signed_bytes(text, row->self_bytes));
		vt_table_cell(table, "%s", vt_format_signed_bytes(text, row->total_bytes));
	} else {
		vt_table_cell(table, "%s", vt_place_clip(place, vt_place_op(&row->place), wide ? 40 : 24));
		vt_table_cell(table, "%s", vt_place_where(place, &row->place, wide ? 60 : 25));
		vt_table_cell(table, "%s", vt_format_count(text, row->allocs));
	}
	if (wide)
		vt_table_cell(table, "%s", row->allocated_bytes ? vt_format_bytes(text, row->allocated_bytes) : "");
	vt_table_cell(table, "%s", row->live_bytes ? vt_format_bytes(text, row->live_bytes) : "");
	vt_table_cell(table, "%s", row->live_bytes ? vt_report_share(text, row->live_bytes, whole) : "");
	if (wide)
		vt_table_cell(table, "%s", row->frees ? vt_format_ns(text, mean_lifetime(row)) : "");
}

static int print_device(const struct vt_ops_report *report, const struct vt_screen *screen, uint32_t device,
			struct vt_err *err)
{
	const struct vt_session *session = report->session;
	const struct vt_lens lens = { session->replay, session->symbols, report->groups, device, session->moment };
	const struct vt_device *state = vt_replay_device(session->replay, device);
	struct vt_ops_table rows;
	struct vt_table *table;
	struct sort_key *keys;
	size_t n;
	bool open = false;
	int r = build(&rows, report, &lens, err);

	keys = r < 0 ? NULL : sort_rows(&rows, report->sort);
	if (!keys) {
		vt_ops_table_done(&rows);
		return r < 0 ? r : vt_err_set(err, VT_E_NOMEM, "no memory for the table of ops");
	}
	n = report->top < rows.count ? (size_t)report->top : rows.count;
	vt_session_print_device(session, screen, device);
	table = begin_table(report, state, screen->width >= WIDE);
	for (size_t i = 0; i < n; i++) {
		put_row(report, table, screen, keys[i].row, rows.live_bytes);
		open |= keys[i].row->open_calls != 0;
	}
	r = vt_table_print(table, screen);
	if (n < rows.count)
		vt_screen_text(screen, 0, "%zu more; --top %zu shows all.", rows.count - n, rows.count);
	if (screen->width < WIDE)
		vt_screen_text(screen, 0, "A wider terminal (%d columns) shows Allocated and Mean lifetime too.", WIDE);
	if (open)
		vt_screen_text(screen, 0, "* some of these calls had not ended.");
	(void)putc('\n', screen->out);
	free(keys);
	vt_ops_table_done(&rows);
	return r < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory for a table") : 0;
}

int vt_ops_report_print(const struct vt_ops_report *report, const struct vt_screen *screen, struct vt_err *err)
{
	const struct vt_replay *replay = report->session->replay;
	uint32_t shown = 0;
	int r = 0;

	for (uint32_t i = 0; i < vt_replay_device_count(replay) && !r; i++) {
		const struct vt_device *state = vt_replay_device(replay, i);

		if (!vt_session_wants(report->session, i) || !(state->allocs || state->frees))
			continue;
		r = print_device(report, screen, i, err);
		shown++;
	}
	if (!r && !shown)
		vt_screen_text(screen, 0,
			       "No tensor allocation is in this trace. `vramtrace info %s` shows what was captured.",
			       vt_store_path(report->session->store));
	return r ? r : vt_losses_print(screen, report->session->store, err);
}

static void json_row(const struct vt_ops_report *report, struct vt_json *json, const struct vt_ops_row *row)
{
	vt_json_object(json);
	vt_json_put_string(json, "op", row->place.op);
	if (report->by == VT_OPS_BY_STACK) {
		vt_json_put_string(json, "within", row->place.within);
		vt_json_put_string(json, "function", row->place.has_frame ? row->place.frame.function : "");
		vt_json_put_string(json, "file", row->place.has_frame ? row->place.frame.file : "");
		vt_json_put_u64(json, "line", row->place.has_frame ? row->place.frame.line : 0);
		vt_json_put_bool(json, "backward", row->place.backward);
	} else {
		vt_json_put_u64(json, "calls", row->calls);
		vt_json_put_u64(json, "open_calls", row->open_calls);
		vt_json_put_i64(json, "self_memory_bytes", row->self_bytes);
		vt_json_put_i64(json, "total_memory_bytes", row->total_bytes);
	}
	vt_json_put_u64(json, "allocations", row->allocs);
	vt_json_put_u64(json, "allocations_bytes", row->allocated_bytes);
	vt_json_put_u64(json, "live_bytes", row->live_bytes);
	vt_json_put_u64(json, "count", row->live_blocks);
	vt_json_name(json, "mean_lifetime_ns");
	if (row->frees)
		vt_json_u64(json, mean_lifetime(row));
	else
		vt_json_null(json);
	vt_json_object_end(json);
}

static int json_device(const struct vt_ops_report *report, struct vt_json *json, uint32_t device, struct vt_err *err)
{
	const struct vt_session *session = report->session;
	const struct vt_lens lens = { session->replay, session->symbols, report->groups, device, session->moment };
	const struct vt_device *state = vt_replay_device(session->replay, device);
	struct vt_ops_table rows;
	struct sort_key *keys;
	int r = build(&rows, report, &lens, err);

	keys = r < 0 ? NULL : sort_rows(&rows, report->sort);
	if (keys) {
		vt_json_object(json);
		vt_session_json_device(session, json, state);
		vt_json_put_u64(json, "peak_allocated_bytes", state->peak_allocated_bytes);
		vt_json_put_u64(json, "live_bytes", rows.live_bytes);
		vt_json_put_u64(json, "rows", rows.count);
		vt_json_put_array(json, "ops");
		for (size_t i = 0; i < rows.count && i < report->top; i++)
			json_row(report, json, keys[i].row);
		vt_json_array_end(json);
		vt_json_object_end(json);
	} else if (!r) {
		r = vt_err_set(err, VT_E_NOMEM, "no memory for the table of ops");
	}
	free(keys);
	vt_ops_table_done(&rows);
	return r;
}

int vt_ops_report_json(const struct vt_ops_report *report, FILE *out, struct vt_err *err)
{
	const struct vt_replay *replay = report->session->replay;
	struct vt_json json;
	int r = 0;

	vt_json_init(&json, out, false);
	vt_session_json_begin(report->session, &json, "ops");
	vt_json_put_string(&json, "by", report->by == VT_OPS_BY_NAME ? "name" : "stack");
	vt_json_put_string(&json, "moment", report->session->moment_word);
	vt_json_put_array(&json, "devices");
	for (uint32_t i = 0; i < vt_replay_device_count(replay) && !r; i++) {
		const struct vt_device *state = vt_replay_device(replay, i);

		if (vt_session_wants(report->session, i) && (state->allocs || state->frees))
			r = json_device(report, &json, i, err);
	}
	vt_json_array_end(&json);
	if (!r)
		r = vt_losses_json(&json, report->session->store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}
