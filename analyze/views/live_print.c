/* live_print.c - see live.h: the picture of the moment. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/commands/open.h"
#include "analyze/views/live.h"

#define GROWTH_NS UINT64_C(10000000000)
#define BAR_WIDTH 24
#define BAR_EIGHTHS UINT64_C(192)
#define HOLDERS_LEAST 3
#define LINES_OF_DEVICE 9 /* beside its holders */
#define JSON_HOLDERS 10

static void print_head(const struct vt_live *live, const struct vt_screen *screen)
{
	const char *file = strrchr(live->path, '/');
	char events[VT_FORMAT_MAX], lost[VT_FORMAT_MAX], since[VT_FORMAT_MAX], rate[VT_FORMAT_MAX + 32] = "";
	double per_second = vt_live_rate(live);
	uint64_t silent_ns = live->look_ns > live->last_ns ? live->look_ns - live->last_ns : 0;

	if (per_second >= 0)
		(void)snprintf(rate, sizeof(rate), ", %s a second", vt_format_count(events, (uint64_t)per_second));
	if (live->ended)
		vt_screen_text(screen, 0, "%s: the recording is over", file ? file + 1 : live->path);
	else
		vt_screen_text(screen, 0, "%s: recording%s%s", file ? file + 1 : live->path,
			       silent_ns > 5000000000 ? ", no event for " : "",
			       silent_ns > 5000000000 ? vt_format_ns(since, silent_ns) : "");
	vt_screen_text(screen, 0, "%s events%s; %s lost; %" PRIu64 " out of memory; at %s",
		       vt_format_count(events, live->events), live->ended ? "" : rate,
		       live->lost ? vt_format_count(lost, live->lost) : "none", live->ooms,
		       vt_session_time(&live->session, since, live->taken_ns));
	if (*live->warning)
		vt_screen_text(screen, 0, "%s", live->warning);
}

static void print_bar(const struct vt_screen *screen, const char *name, uint64_t bytes, uint64_t whole,
		      const char *remark)
{
	static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	uint64_t eighths = whole ? (uint64_t)((double)bytes / (double)whole * (double)BAR_EIGHTHS) : 0;
	char text[VT_FORMAT_MAX];
	int drawn = 0;

	eighths = eighths > BAR_EIGHTHS ? BAR_EIGHTHS : eighths;
	(void)fprintf(screen->out, "  %-10s %11s ", name, vt_format_bytes(text, bytes));
	for (; eighths >= 8; eighths -= 8, drawn++)
		(void)fputs(screen->unicode ? "█" : "#", screen->out);
	if (eighths && screen->unicode) {
		(void)fputs(parts[eighths], screen->out);
		drawn++;
	}
	(void)fprintf(screen->out, "%*s %.*s\n", BAR_WIDTH - drawn, "",
		      screen->width > BAR_WIDTH + 27 ? screen->width - BAR_WIDTH - 27 : 0, remark);
}

static void print_levels(const struct vt_live *live, const struct vt_screen *screen, uint32_t device)
{
	const struct vt_device *state = vt_replay_device(live->replay, device);
	uint64_t whole = state->total_bytes, span_ns, used = state->total_bytes - state->free_bytes;
	int64_t growth = vt_live_growth(live, device, GROWTH_NS, &span_ns);
	char remark[160], text[VT_FORMAT_MAX], other[VT_FORMAT_MAX];

	if (!whole)
		whole = state->peak_reserved_bytes > state->peak_driver_bytes ? state->peak_reserved_bytes
									      : state->peak_driver_bytes;
	if (!whole)
		whole = state->peak_allocated_bytes;
	if (state->total_bytes) {
		(void)snprintf(remark, sizeof(remark), "of %s, all processes",
			       vt_format_bytes(text, state->total_bytes));
		print_bar(screen, "device", used <= whole ? used : whole, whole, remark);
	}
	if (state->peak_driver_bytes)
		print_bar(screen, "driver", state->driver_bytes, whole, "");
	if (state->peak_reserved_bytes)
		print_bar(screen, "reserved", state->reserved_bytes, whole, "");
	(void)snprintf(remark, sizeof(remark), "peak %s", vt_format_bytes(text, state->peak_allocated_bytes));
	if (span_ns)
		(void)snprintf(remark + strlen(remark), sizeof(remark) - strlen(remark), ", %s%s in %s",
			       growth >= 0 ? "+" : "", vt_format_signed_bytes(text, growth),
			       vt_format_ns(other, span_ns));
	print_bar(screen, "allocated", state->reported_bytes, whole, remark);
}

static void print_history(const struct vt_live *live, const struct vt_screen *screen, uint32_t device)
{
	const struct vt_live_device *own = device < live->room ? live->devices[device] : NULL;
	uint64_t values[VT_LIVE_HISTORY];
	size_t kept, room = screen->width > 16 ? (size_t)screen->width - 14 : 2;

	if (!own || own->count < 2)
		return;
	kept = own->count < VT_LIVE_HISTORY ? own->count : VT_LIVE_HISTORY;
	kept = kept < room ? kept : room;
	for (size_t i = 0; i < kept; i++)
		values[i] = own->looks[(own->count - kept + i) % VT_LIVE_HISTORY].allocated_bytes;
	(void)fprintf(screen->out, "  %-10s ", "looks");
	vt_screen_spark(screen, values, (uint32_t)kept, 0);
}

static int print_holders(const struct vt_live *live, const struct vt_screen *screen, uint32_t device, size_t most,
			 struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(live->replay, device);
	struct vt_live_holders holders;
	struct vt_table *table;
	char text[VT_PLACE_MAX], number[VT_FORMAT_MAX];
	/* Beside the other columns, ops of a usual length among them: directories go first. */
	size_t room = screen->width > 80 ? (size_t)screen->width - 54 : 26;
	int r = vt_live_holders(live, device, most, &holders, err);

	if (r < 0 || !holders.count) {
		free(holders.list);
		return r;
	}
	table = vt_table_new();
	vt_table_column(table, "Bytes", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Share", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Blocks", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Op", VT_ALIGN_LEFT, false);
	vt_table_column(table, "Where", VT_ALIGN_LEFT, true);
	for (size_t i = 0; i < holders.count; i++) {
		vt_table_cell(table, "%s", vt_format_bytes(number, holders.list[i].bytes));
		vt_table_cell(table, "%.1f%%",
			      state->reported_bytes
				      ? 100.0 * (double)holders.list[i].bytes / (double)state->reported_bytes
				      : 0);
		vt_table_cell(table, "%s", vt_format_count(number, holders.list[i].blocks));
		vt_table_cell(table, "%s", vt_place_clip(text, vt_place_op(&holders.list[i].place), 28));
		vt_table_cell(table, "%s", vt_place_where(text, &holders.list[i].place, room));
	}
	free(holders.list);
	if (vt_table_print(table, screen) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	if (holders.all > holders.count)
		vt_screen_text(screen, 0, "and %zu more places", holders.all - holders.count);
	return 0;
}

int vt_live_print(const struct vt_live *live, const struct vt_screen *screen, int lines, struct vt_err *err)
{
	uint32_t n = vt_replay_device_count(live->replay), shown = 0;
	int room, r = 0;

	print_head(live, screen);
	for (uint32_t i = 0; i < n; i++)
		shown += vt_session_wants(&live->session, i);
	room = shown ? (lines - 4) / (int)shown - LINES_OF_DEVICE : 0;
	for (uint32_t i = 0; i < n && !r; i++) {
		if (!vt_session_wants(&live->session, i))
			continue;
		(void)putc('\n', screen->out);
		vt_session_print_device(&live->session, screen, i);
		print_levels(live, screen, i);
		print_history(live, screen, i);
		r = print_holders(live, screen, i, room > HOLDERS_LEAST ? (size_t)room : HOLDERS_LEAST, err);
	}
	if (!shown)
		vt_screen_text(screen, 0, "No memory event yet.");
	return r;
}

/* null: not captured */
static void put_known(struct vt_json *json, const char *name, bool known, uint64_t value)
{
	vt_json_name(json, name);
	if (known)
		vt_json_u64(json, value);
	else
		vt_json_null(json);
}

static int put_device(const struct vt_live *live, struct vt_json *json, uint32_t device, struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(live->replay, device);
	struct vt_live_holders holders;
	uint64_t span_ns;
	int64_t growth = vt_live_growth(live, device, GROWTH_NS, &span_ns);
	int r = vt_live_holders(live, device, JSON_HOLDERS, &holders, err);
	char text[VT_PLACE_MAX];

	vt_json_object(json);
	vt_session_json_device(&live->session, json, state);
	vt_json_put_u64(json, "allocated_bytes", state->reported_bytes);
	put_known(json, "reserved_bytes", state->device_type != VT_device_type_HOST, state->reserved_bytes);
	put_known(json, "driver_bytes", state->peak_driver_bytes || state->driver_failures, state->driver_bytes);
	put_known(json, "total_bytes", state->total_bytes, state->total_bytes);
	put_known(json, "free_bytes", state->total_bytes, state->free_bytes);
	vt_json_put_u64(json, "peak_allocated_bytes", state->peak_allocated_bytes);
	vt_json_put_u64(json, "live_blocks", state->live_blocks);
	vt_json_put_i64(json, "growth_bytes", growth);
	vt_json_put_u64(json, "growth_ns", span_ns);
	vt_json_put_array(json, "holders");
	for (size_t i = 0; i < holders.count && !r; i++) {
		vt_json_object(json);
		vt_json_put_string(json, "op", holders.list[i].place.op);
		vt_json_put_string(json, "where", vt_place_where(text, &holders.list[i].place, VT_PLACE_MAX - 1));
		vt_json_put_u64(json, "live_bytes", holders.list[i].bytes);
		vt_json_put_u64(json, "count", holders.list[i].blocks);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
	vt_json_object_end(json);
	free(holders.list);
	return r;
}

int vt_live_json(const struct vt_live *live, FILE *out, struct vt_err *err)
{
	double rate = vt_live_rate(live);
	struct vt_json json;
	int r = 0;

	vt_json_init(&json, out, true);
	vt_report_json_begin_file(&json, "live", live->path);
	vt_json_put_bool(&json, "ended", live->ended);
	vt_json_put_u64(&json, "time_ns", vt_session_relative_ns(&live->session, live->taken_ns));
	vt_json_put_u64(&json, "events", live->events);
	vt_json_name(&json, "events_per_second");
	if (rate < 0)
		vt_json_null(&json);
	else
		vt_json_double(&json, rate);
	vt_json_put_u64(&json, "lost", live->lost);
	vt_json_put_u64(&json, "out_of_memory_errors", live->ooms);
	vt_json_put_array(&json, "devices");
	for (uint32_t i = 0; i < vt_replay_device_count(live->replay) && !r; i++)
		if (vt_session_wants(&live->session, i))
			r = put_device(live, &json, i, err);
	vt_json_array_end(&json);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}
