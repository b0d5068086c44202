/* info_print.c - see info_print.h: text for people. */
#include "analyze/info/info_print.h"

#include <inttypes.h>
#include <time.h>

#include "analyze/render/losses.h"
#include "schema/base/format.h"

const char *const vt_info_meta_keys[] = { "command", "exit_status", "recorder", "writer", NULL };

static uint64_t since_start(const struct vt_info *info, uint64_t time_ns)
{
	return time_ns > info->first_ns ? time_ns - info->first_ns : 0;
}

/* When the first event was, by the wall clock of that machine, in UTC; "" where no clock pair was written. */
static const char *start_date(const struct vt_info *info, char out[VT_FORMAT_MAX])
{
	uint64_t ns = info->clock.realtime_ns + info->first_ns - info->clock.monotonic_ns;
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm utc;

	out[0] = 0;
	if (info->clock.realtime_ns && info->first_ns && gmtime_r(&seconds, &utc))
		(void)strftime(out, VT_FORMAT_MAX, "%Y-%m-%d %H:%M:%S UTC", &utc);
	return out;
}

static void print_file(const struct vt_info *info, const struct vt_screen *screen)
{
	char bytes[VT_FORMAT_MAX], span[VT_FORMAT_MAX], date[VT_FORMAT_MAX], events[VT_FORMAT_MAX];

	vt_screen_heading(screen, vt_store_path(info->store));
	vt_screen_text(screen, 2, "%s, %s events over %s", vt_format_bytes(bytes, vt_store_file_bytes(info->store)),
		       vt_format_count(events, info->events), vt_format_ns(span, since_start(info, info->last_ns)));
	if (start_date(info, date)[0])
		vt_screen_text(screen, 2, "began %s", date);
	if (info->chunk_events)
		vt_screen_text(screen, 2, "%.2f bytes an event in chunks",
			       (double)info->chunk_bytes / (double)info->chunk_events);
	for (const char *const *key = vt_info_meta_keys; *key; key++) {
		const char *value = vt_store_meta(info->store, *key);
		struct vt_texts clean = { 0 };
		uint32_t text;

		if (value && vt_texts_add(&clean, value, __builtin_strlen(value), &text) == 0)
			vt_screen_text(screen, 2, "%s: %s", *key, vt_texts_get(&clean, text));
		vt_texts_done(&clean);
	}
}

static int print_processes(const struct vt_info *info, const struct vt_screen *screen)
{
	struct vt_table *table = vt_table_new();
	char from[VT_FORMAT_MAX], to[VT_FORMAT_MAX];

	vt_screen_heading(screen, "\nProcesses");
	vt_table_column(table, "process", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "pid", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "rank", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "threads", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "from", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "to", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "end", VT_ALIGN_LEFT, false);
	vt_table_column(table, "command", VT_ALIGN_LEFT, true);
	vt_info_each(struct vt_info_process, process, info->processes)
	{
		const struct vt_process_row *row = &process->row;

		vt_table_cell(table, "%" PRIu32, row->id);
		vt_table_cell(table, "%" PRIu32, row->pid);
		if (row->rank >= 0)
			vt_table_cell(table, "%" PRId32 "/%" PRId32, row->rank, row->world_size);
		else
			vt_table_cell(table, "-");
		vt_table_cell(table, "%" PRIu32, process->threads);
		vt_table_cell(table, "%s", vt_format_ns(from, since_start(info, row->start_ns)));
		vt_table_cell(table, "%s", row->end_ns ? vt_format_ns(to, since_start(info, row->end_ns)) : "-");
		vt_table_cell(table, "%s", vt_info_end_words(row));
		vt_table_cell(table, "%s", vt_info_text(info, process->command));
	}
	return vt_table_print(table, screen);
}

static int print_kinds(const struct vt_info *info, const struct vt_screen *screen)
{
	struct vt_table *table = vt_table_new();
	char text[VT_FORMAT_MAX];

	vt_screen_heading(screen, "\nWhat is in it");
	vt_table_column(table, "kind", VT_ALIGN_LEFT, false);
	vt_table_column(table, "events", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "chunks", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "stored", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "bytes an event", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "from", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "to", VT_ALIGN_RIGHT, false);
	vt_info_each(struct vt_info_kind, kind, info->kinds)
	{
		if (kind->event)
			vt_table_cell(table, "%s", kind->event->name);
		else
			vt_table_cell(table, "kind %" PRIu32, kind->id);
		vt_table_cell(table, "%s", vt_format_count(text, kind->events));
		if (kind->chunks) {
			vt_table_cell(table, "%s", vt_format_count(text, kind->chunks));
			vt_table_cell(table, "%s", vt_format_bytes(text, kind->blob_bytes));
			vt_table_cell(table, "%.2f",
				      (double)kind->blob_bytes / (double)(kind->events ? kind->events : 1));
		} else {
			vt_table_cell(table, "-");
			vt_table_cell(table, "-");
			vt_table_cell(table, "-");
		}
		vt_table_cell(table, "%s",
			      kind->first_ns ? vt_format_ns(text, since_start(info, kind->first_ns)) : "-");
		vt_table_cell(table, "%s", kind->last_ns ? vt_format_ns(text, since_start(info, kind->last_ns)) : "-");
	}
	return vt_table_print(table, screen);
}

static int print_notes(const struct vt_info *info, const struct vt_screen *screen)
{
	struct vt_table *table = vt_table_new();
	char time[VT_FORMAT_MAX];

	vt_screen_heading(screen, "\nNotes of the capture");
	vt_table_column(table, "time", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "process", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "note", VT_ALIGN_LEFT, false);
	vt_table_column(table, "value", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "text", VT_ALIGN_LEFT, true);
	vt_info_each(struct vt_info_note, note, info->notes)
	{
		const char *words = vt_enum_text("note_code", note->code);

		vt_table_cell(table, "%s", vt_format_ns(time, since_start(info, note->time_ns)));
		vt_table_cell(table, "%" PRIu32, note->process);
		vt_table_cell(table, "%s", words ? words : "?");
		vt_table_cell(table, "%" PRIu64, note->value);
		vt_table_cell(table, "%s", vt_info_text(info, note->text));
	}
	return vt_table_print(table, screen);
}

int vt_info_print(const struct vt_info *info, const struct vt_screen *screen, struct vt_err *err)
{
	int r;

	print_file(info, screen);
	r = print_processes(info, screen);
	if (!r)
		r = print_kinds(info, screen);
	if (!r && info->notes.bytes)
		r = print_notes(info, screen);
	if (r < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	(void)fputc('\n', screen->out);
	vt_info_each(uint32_t, text, info->unknown) vt_screen_text(
		screen, 0, "%s is of a later version of the format and was passed over.", vt_info_text(info, *text));
	return vt_losses_print(screen, info->store, err);
}
