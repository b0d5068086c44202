/* report_text.c - the report for people: see report.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/render/losses.h"
#include "analyze/views/report.h"
#include "analyze/views/timeline_print.h"

#define PICTURE_ROWS 6
#define ESSENCE_MAX (VT_PLACE_MAX + 80)

/* "; 61% held by aten::mm at model.py:88". Where no place stands out, that is said instead. */
static void describe_top(char out[ESSENCE_MAX], const struct vt_holders *holders, uint64_t whole)
{
	double share = 100.0 * (double)holders->list[0].bytes / (double)whole;
	char place[VT_PLACE_MAX];

	vt_place_sentence(place, &holders->list[0].place);
	if (share >= 9.5)
		(void)snprintf(out, ESSENCE_MAX, "; %.0f%% held by %s", share, place);
	else
		(void)snprintf(out, ESSENCE_MAX, "; held by %zu places, the largest of them, %s, has %.1f%%",
			       holders->count, place, share);
}

/* What a reader must know if he reads one line only. */
static void print_essence(const struct vt_report *report, const struct vt_screen *screen,
			  const struct vt_report_device *device)
{
	const struct vt_device *state = vt_replay_device(report->session->replay, device->index);
	char peak[VT_FORMAT_MAX], at[VT_FORMAT_MAX], reserved[VT_FORMAT_MAX] = "", label[VT_FORMAT_MAX];
	char of[VT_FORMAT_MAX + 16] = "", held[ESSENCE_MAX] = "";
	uint64_t whole = device->levels.allocated_bytes;

	if (!state->allocs && !state->frees) {
		vt_screen_text(screen, 0, "No tensor was seen on %s; driver calls held %s at most.",
			       vt_session_device_label(label, state), vt_format_bytes(peak, state->peak_driver_bytes));
		return;
	}
	if (state->peak_reserved_bytes)
		(void)snprintf(of, sizeof(of), " (of %s reserved)",
			       vt_format_bytes(reserved, device->levels.reserved_bytes));
	if (device->holders.count && whole && report->session->moment == VT_MOMENT_PEAK)
		describe_top(held, &device->holders, whole);
	if (report->session->moment == VT_MOMENT_PEAK)
		vt_screen_text(screen, 0, "Peak %s allocated on %s at %s%s%s.",
			       vt_format_bytes(peak, state->peak_allocated_bytes),
			       vt_session_device_label(label, state),
			       vt_session_time(report->session, at, state->peak_allocated_ns), of, held);
	else
		vt_screen_text(screen, 0, "%s allocated on %s %s%s.", vt_format_bytes(peak, state->reported_bytes),
			       vt_session_device_label(label, state), report->session->moment_word, of);
	if (device->sentence[0])
		vt_screen_text(screen, 0, "%s", device->sentence);
}

static void print_header(const struct vt_report *report, const struct vt_screen *screen)
{
	const struct vt_session *session = report->session;
	const struct vt_replay *replay = session->replay;
	char span[VT_FORMAT_MAX];

	for (size_t i = 0; i < session->nprocesses; i++) {
		const struct vt_process_row *row = &session->processes[i];
		const char *torch = vt_session_note(session, row->id, VT_note_code_TORCH_FOUND, UINT64_MAX);
		const char *conf = vt_session_note(session, row->id, VT_note_code_ALLOCATOR_CONF, UINT64_MAX);
		const char *off = vt_session_note(session, row->id, VT_note_code_CUPTI_OFF, UINT64_MAX);

		if (session->process && session->process != row->id)
			continue;
		vt_screen_text(screen, 0, "Process %" PRIu32 " (pid %" PRIu32 "): %s", row->id, row->pid, row->command);
		if (torch && *torch)
			vt_screen_text(screen, 2, "PyTorch: %s", torch);
		if (conf && *conf)
			vt_screen_text(screen, 2, "Allocator settings: %s", conf);
		if (off)
			vt_screen_text(screen, 2, "No driver calls were captured: CUPTI was not available%s%s.",
				       *off ? ": " : "", off);
	}
	vt_screen_text(screen, 0, "Events over %s, from %s after the start.",
		       vt_format_ns(span, vt_replay_last_ns(replay) - vt_replay_first_ns(replay)),
		       vt_session_time(session, (char[VT_FORMAT_MAX]){ 0 }, vt_replay_first_ns(replay)));
}

static int print_calls(const struct vt_report *report, const struct vt_screen *screen, uint32_t device)
{
	struct vt_table *table = NULL;
	char text[VT_FORMAT_MAX];

	for (uint32_t api = 0; api < VT_CALLS_APIS; api++) {
		struct vt_call_count count = vt_calls_count(report->calls, device, api);
		const char *name = vt_enum_text("driver_api", api);

		if (!count.calls)
			continue;
		if (!table) {
			table = vt_table_new();
			vt_table_column(table, "Driver call", VT_ALIGN_LEFT, true);
			vt_table_column(table, "Calls", VT_ALIGN_RIGHT, false);
			vt_table_column(table, "Out of memory", VT_ALIGN_RIGHT, false);
			vt_table_column(table, "Other errors", VT_ALIGN_RIGHT, false);
			vt_table_column(table, "Bytes", VT_ALIGN_RIGHT, false);
			vt_table_column(table, "Time in calls", VT_ALIGN_RIGHT, false);
		}
		vt_table_cell(table, "%s", name ? name : "?");
		vt_table_cell(table, "%s", vt_format_count(text, count.calls));
		vt_table_cell(table, "%s", vt_format_count(text, count.out_of_memory));
		vt_table_cell(table, "%s", vt_format_count(text, count.failed));
		vt_table_cell(table, "%s", count.bytes ? vt_format_bytes(text, count.bytes) : "");
		vt_table_cell(table, "%s", vt_format_ns(text, count.time_ns));
	}
	if (!table)
		return 0;
	if (vt_table_print(table, screen) < 0)
		return -VT_E_NOMEM;
	(void)putc('\n', screen->out);
	return 0;
}

static void print_counts(const struct vt_report *report, const struct vt_screen *screen,
			 const struct vt_report_device *device)
{
	const struct vt_device *state = vt_replay_device(report->session->replay, device->index);
	char allocs[VT_FORMAT_MAX], bytes[VT_FORMAT_MAX], frees[VT_FORMAT_MAX], live[VT_FORMAT_MAX],
		mean[VT_FORMAT_MAX];
	char now[VT_FORMAT_MAX];

	vt_screen_text(screen, 0, "%s allocations (%s in all) and %s frees; %s blocks (%s) are live at the end.",
		       vt_format_count(allocs, state->allocs), vt_format_bytes(bytes, state->allocated_total_bytes),
		       vt_format_count(frees, state->frees), vt_format_count(live, state->live_blocks),
		       vt_format_bytes(now, state->allocated_bytes));
	if (device->frees)
		vt_screen_text(screen, 0, "A freed block lived %s on average.",
			       vt_format_ns(mean, device->mean_lifetime_ns));
	if (state->unknown_frees)
		vt_screen_text(screen, 0, "%s frees are of blocks whose allocation is not in the trace.",
			       vt_format_count(frees, state->unknown_frees));
	if (state->mismatches)
		vt_screen_text(screen, 0,
			       "At %s events the allocator's own total moved by another amount than the block's size: "
			       "something is missing from the trace there.",
			       vt_format_count(frees, state->mismatches));
	(void)putc('\n', screen->out);
}

static int print_device(const struct vt_report *report, const struct vt_screen *screen,
			const struct vt_report_device *device, uint64_t top, struct vt_err *err)
{
	const struct vt_session *session = report->session;
	const struct vt_device *state = vt_replay_device(session->replay, device->index);
	char text[160], at[VT_FORMAT_MAX];
	int r;

	(void)putc('\n', screen->out);
	vt_session_print_device(session, screen, device->index);
	if (report->ndevices > 1)
		print_essence(report, screen, device);
	(void)putc('\n', screen->out);
	(void)snprintf(text, sizeof(text), "Levels of memory %s (%s)", session->moment_word,
		       vt_session_time(session, at, device->time_ns));
	vt_screen_heading(screen, text);
	if (vt_report_print_levels(session, screen, &device->levels) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	(void)putc('\n', screen->out);
	if (state->allocs) {
		(void)snprintf(text, sizeof(text), "Who holds it %s", session->moment_word);
		vt_screen_heading(screen, text);
		if (vt_report_print_holders(screen, &device->holders, device->levels.allocated_bytes, top) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
		(void)putc('\n', screen->out);
		(void)snprintf(text, sizeof(text), "What it is for %s (estimated by scope and lifetime)",
			       session->moment_word);
		vt_screen_heading(screen, text);
		if (vt_uses_print(screen, &device->uses) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
		(void)putc('\n', screen->out);
		r = vt_timeline_print(report->timeline, session, screen, device->index, PICTURE_ROWS, err);
		if (r < 0)
			return r;
		print_counts(report, screen, device);
	}
	if (print_calls(report, screen, device->index) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	return vt_report_print_libraries(report, screen, device->index, err);
}

int vt_report_print(const struct vt_report *report, const struct vt_screen *screen, uint64_t top, struct vt_err *err)
{
	char count[VT_FORMAT_MAX];
	int r = 0;

	if (report->ndevices)
		print_essence(report, screen, &report->devices[0]);
	else
		vt_screen_text(
			screen, 0, "No allocation is in this trace%s. `vramtrace info %s` shows what was captured.",
			report->session->device >= 0 ? " for that device" : "", vt_store_path(report->session->store));
	if (report->session->ooms)
		vt_screen_text(screen, 0, "%s out-of-memory %s raised: `vramtrace oom %s` tells why.",
			       vt_format_count(count, report->session->ooms),
			       report->session->ooms == 1 ? "error was" : "errors were",
			       vt_store_path(report->session->store));
	(void)putc('\n', screen->out);
	print_header(report, screen);
	for (size_t i = 0; i < report->ndevices && !r; i++)
		r = print_device(report, screen, &report->devices[i], top, err);
	return r ? r : vt_losses_print(screen, report->session->store, err);
}
