/* info.c - see info.h. */
#include "analyze/info/info.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/symbols/symbols.h"
#include "schema/ring.h"

static void widen(struct vt_info *info, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns && (!info->first_ns || first_ns < info->first_ns))
		info->first_ns = first_ns;
	if (last_ns > info->last_ns)
		info->last_ns = last_ns;
}

static struct vt_info_kind *find_kind(struct vt_info *info, uint32_t id)
{
	struct vt_info_kind *kinds = (struct vt_info_kind *)(void *)info->kinds.data;
	struct vt_info_kind kind = { .id = id, .event = vt_event_find(id) };
	size_t n = info->kinds.bytes / sizeof(kind);

	for (size_t i = 0; i < n; i++)
		if (kinds[i].id == id)
			return &kinds[i];
	if (vt_buf_append(&info->kinds, &kind, sizeof(kind)) < 0)
		return NULL;
	return (struct vt_info_kind *)(void *)info->kinds.data + n;
}

static int take_chunk(void *arg, const struct vt_chunk_info *chunk)
{
	struct vt_info *info = arg;
	struct vt_info_kind *kind = find_kind(info, chunk->kind);

	if (!kind)
		return -VT_E_NOMEM;
	kind->events += chunk->events;
	kind->chunks++;
	kind->blob_bytes += chunk->blob_bytes;
	if (!kind->first_ns || chunk->first_ns < kind->first_ns)
		kind->first_ns = chunk->first_ns;
	if (chunk->last_ns > kind->last_ns)
		kind->last_ns = chunk->last_ns;
	info->events += chunk->events;
	info->chunk_events += chunk->events;
	info->chunk_bytes += chunk->blob_bytes;
	widen(info, chunk->first_ns, chunk->last_ns);
	return 0;
}

static int take_process(void *arg, const struct vt_process_row *row)
{
	struct vt_info_process process = { .row = *row };
	struct vt_info *info = arg;
	int r = vt_texts_add(&info->texts, row->executable, strlen(row->executable), &process.executable);

	if (!r)
		r = vt_texts_add(&info->texts, row->command, strlen(row->command), &process.command);
	process.row.executable = process.row.command = NULL;
	widen(info, row->start_ns, row->end_ns);
	return r < 0 ? r : vt_buf_append(&info->processes, &process, sizeof(process));
}

static int take_thread(void *arg, const struct vt_thread_row *row)
{
	struct vt_info *info = arg;
	struct vt_info_process *processes = (struct vt_info_process *)(void *)info->processes.data;

	for (size_t i = 0; i < info->processes.bytes / sizeof(*processes); i++)
		processes[i].threads += processes[i].row.id == row->process;
	return 0;
}

static int take_clock(void *arg, const struct vt_clock_row *row)
{
	struct vt_info *info = arg;

	if (!info->clock.realtime_ns)
		info->clock = *row;
	return 0;
}

static int take_unknown(void *arg, const char *name)
{
	struct vt_info *info = arg;
	uint32_t text;
	int r = vt_texts_add(&info->texts, name, strlen(name), &text);

	return r < 0 ? r : vt_buf_append(&info->unknown, &text, sizeof(text));
}

struct take_rows {
	struct vt_info *info;
	const struct vt_symbols *symbols;
	const struct vt_event *event;
};

static int take_row(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)rec;
	struct take_rows *take = arg;
	struct vt_info *info = take->info;
	struct vt_info_kind *kind = find_kind(info, take->event->id);
	struct vt_info_note row;
	const char *text;
	int r;

	if (!kind)
		return -VT_E_NOMEM;
	kind->events++;
	info->events++;
	if (take->event->cols[0].unit == VT_UNIT_NS) {
		uint64_t time;

		memcpy(&time, (const char *)rec + take->event->cols[0].offset, sizeof(time));
		if (!kind->first_ns || time < kind->first_ns)
			kind->first_ns = time;
		if (time > kind->last_ns)
			kind->last_ns = time;
		widen(info, time, time);
	}
	if (take->event->id != VT_EVENT_note)
		return 0;
	row = (struct vt_info_note){ note->time_ns, note->value, process, note->code, 0 };
	text = vt_symbols_string(take->symbols, process, note->text);
	r = vt_texts_add(&info->texts, text, strlen(text), &row.text);
	return r < 0 ? r : vt_buf_append(&info->notes, &row, sizeof(row));
}

static int compare_notes(const void *a, const void *b)
{
	const struct vt_info_note *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static int load_rows(struct vt_info *info, struct vt_err *err)
{
	struct vt_symbols *symbols;
	int r = vt_symbols_open(&symbols, info->store, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < vt_nevents && r >= 0; i++) {
		struct take_rows take = { info, symbols, &vt_events[i] };

		if (take.event->class != VT_CLASS_CHUNK)
			r = vt_store_each_record(info->store, take.event, take_row, &take, err);
	}
	vt_symbols_close(symbols);
	if (r >= 0 && info->notes.bytes)
		qsort(info->notes.data, info->notes.bytes / sizeof(struct vt_info_note), sizeof(struct vt_info_note),
		      compare_notes);
	return r;
}

int vt_info_load(struct vt_info *info, struct vt_store *store, struct vt_err *err)
{
	int r;

	*info = (struct vt_info){ .store = store };
	r = vt_store_each_process(store, take_process, info, err);
	if (!r)
		r = vt_store_each_thread(store, take_thread, info, err);
	if (!r)
		r = vt_store_each_clock(store, take_clock, info, err);
	if (!r)
		r = vt_store_each_chunk(store, take_chunk, info, err);
	if (!r)
		r = load_rows(info, err);
	if (!r)
		r = vt_store_each_unknown(store, take_unknown, info, err);
	if (r == -VT_E_NOMEM)
		return vt_err_set(err, VT_E_NOMEM, "%s: no memory for what it holds", vt_store_path(store));
	return r;
}

void vt_info_done(struct vt_info *info)
{
	vt_buf_done(&info->kinds);
	vt_buf_done(&info->processes);
	vt_buf_done(&info->notes);
	vt_buf_done(&info->unknown);
	vt_texts_done(&info->texts);
}

const char *vt_info_text(const struct vt_info *info, uint32_t text)
{
	return vt_texts_get(&info->texts, text);
}

const char *vt_info_end_words(const struct vt_process_row *row)
{
	switch (row->end_state) {
	case VT_SHM_EXITED:
		return "exited";
	case VT_SHM_OFF:
		return "agent switched itself off";
	default:
		return row->end_ns ? "killed" : "killed or running";
	}
}
