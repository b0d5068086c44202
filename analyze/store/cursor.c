/* cursor.c - see cursor.h: merges chunks, and the rows of oom and note, by time. */
#include "analyze/store/cursor.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/store/prefetch.h"
#include "schema/base/bits.h"
#include "schema/base/buf.h"

/* Records of open chunks. A file whose chunks overlap more than that was not written by a collector. */
#define OPEN_BYTES_MAX (UINT64_C(2) << 30)

/* How many records further a hint points: far enough for memory to answer, near enough to stay in the cache. */
#define AHEAD 6

/* A run of records in order of time: a chunk's, or the table rows. */
struct source {
	uint64_t time_ns;   /* of the next record */
	uint64_t rank;	    /* place in the file: decides between equal times */
	const char *record; /* the next */
	uint32_t left;	    /* records from there on */
	uint32_t process;
	const struct vt_event *event;
	struct vt_slot *slot; /* NULL: table rows */
};

/* A row of oom or note. */
struct row {
	uint64_t time_ns;
	size_t index; /* keeps rows of equal time in their order */
	uint32_t process;
	const struct vt_event *event;
	union {
		struct vt_rec rec;
		struct vt_oom oom;
		struct vt_note note;
	} record;
};

struct vt_cursor {
	struct vt_store *store;
	struct vt_cursor_options options;
	struct vt_buf infos; /* struct vt_chunk_info: the chunks wanted, in order */
	struct vt_buf rows;  /* struct row, in order */
	size_t next_row;
	size_t ninfos;
	size_t next_chunk; /* chunks before this were opened */
	struct vt_prefetch prefetch;
	struct source *heap; /* the source of the least (time, rank) first */
	size_t nheap, room;
	bool advance;	     /* the first source's record was handed out by the last call */
	uint64_t horizon_ns; /* nothing that is not in heap[0] comes before this */
	uint64_t open_bytes;
	uint64_t done_events, total_events;
};

static bool wants_kind(const struct vt_cursor_options *options, uint32_t kind)
{
	if (!options->nkinds)
		return true;
	for (uint32_t i = 0; i < options->nkinds; i++)
		if (options->kinds[i] == kind)
			return true;
	return false;
}

static int collect_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct vt_cursor *cursor = arg;
	const struct vt_cursor_options *options = &cursor->options;
	const struct vt_event *event = vt_event_find(info->kind);

	if (!event || event->class != VT_CLASS_CHUNK || !wants_kind(options, info->kind))
		return 0;
	if (options->process && info->process != options->process)
		return 0;
	if (info->last_ns < options->from_ns || (options->to_ns && info->first_ns > options->to_ns))
		return 0;
	cursor->total_events += info->events;
	cursor->ninfos++;
	return vt_buf_append(&cursor->infos, info, sizeof(*info));
}

struct collect {
	struct vt_cursor *cursor;
	const struct vt_event *event;
};

static int collect_row(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct collect *collect = arg;
	struct vt_cursor *cursor = collect->cursor;
	struct row row = { .process = process, .event = collect->event };

	row.time_ns = vt_record_time(rec);
	row.index = cursor->rows.bytes / sizeof(row);
	if (cursor->options.process && process != cursor->options.process)
		return 0;
	if (row.time_ns < cursor->options.from_ns || (cursor->options.to_ns && row.time_ns > cursor->options.to_ns))
		return 0;
	__builtin_memcpy(&row.record, rec, collect->event->size);
	cursor->total_events++;
	return vt_buf_append(&cursor->rows, &row, sizeof(row));
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int collect_rows(struct vt_cursor *cursor, uint32_t kind, struct vt_err *err)
{
	struct collect collect = { cursor, vt_event_find(kind) };

	if (!wants_kind(&cursor->options, kind))
		return 0;
	return vt_store_each_record(cursor->store, collect.event, collect_row, &collect, err);
}

static bool comes_before(const struct source *a, const struct source *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->rank < b->rank;
}

static void sift_down(struct vt_cursor *cursor)
{
	struct source moved = cursor->heap[0];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < cursor->nheap) {
		if (child + 1 < cursor->nheap && comes_before(&cursor->heap[child + 1], &cursor->heap[child]))
			child++;
		if (!comes_before(&cursor->heap[child], &moved))
			break;
		cursor->heap[at] = cursor->heap[child];
		at = child;
	}
	cursor->heap[at] = moved;
}

static int push(struct vt_cursor *cursor, const struct source *source, struct vt_err *err)
{
	size_t at, parent;

	if (cursor->nheap == cursor->room) {
		size_t room = cursor->room ? 2 * cursor->room : 16;
		struct source *heap = realloc(cursor->heap, room * sizeof(*heap));

		if (!heap)
			return vt_err_set(err, VT_E_NOMEM, "no memory for %zu open chunks", room);
		cursor->heap = heap;
		cursor->room = room;
	}
	at = cursor->nheap++;
	while (at && comes_before(source, &cursor->heap[parent = (at - 1) / 2])) {
		cursor->heap[at] = cursor->heap[parent];
		at = parent;
	}
	cursor->heap[at] = *source;
	return 0;
}

static const struct row *row_at(const struct vt_cursor *cursor, size_t index)
{
	return (const struct row *)(const void *)cursor->rows.data + index;
}

static size_t row_count(const struct vt_cursor *cursor)
{
	return cursor->rows.bytes / sizeof(struct row);
}

/* Table rows are one source that shows one row at a time: the rows differ in kind. They come after chunks of equal
 * time. */
static int push_row(struct vt_cursor *cursor, struct vt_err *err)
{
	const struct row *row;
	struct source source;

	if (cursor->next_row == row_count(cursor))
		return 0;
	row = row_at(cursor, cursor->next_row++);
	source = (struct source){
		.time_ns = row->time_ns,
		.rank = UINT64_MAX,
		.record = (const char *)&row->record,
		.left = 1,
		.process = row->process,
		.event = row->event,
	};
	return push(cursor, &source, err);
}

/* Opens the next chunk and stands on its first record that is wanted. */
static int open_chunk(struct vt_cursor *cursor, struct vt_err *err)
{
	struct source source = { .rank = cursor->next_chunk };
	struct vt_slot *slot;
	uint64_t bytes;
	struct vt_err why = { 0 };
	int r = vt_prefetch_take(&cursor->prefetch, &slot, &why);

	if (r < 0)
		return vt_err_set(err, why.code, "%s: %s; 'vramtrace check' tells more", vt_store_path(cursor->store),
				  why.msg);
	if (!r)
		return 0;
	cursor->next_chunk++;
	source.slot = slot;
	source.event = slot->rows.event;
	source.process = slot->info.process;
	source.record = slot->rows.records;
	source.left = slot->rows.nrecords;
	while (source.left && vt_record_time(source.record) < cursor->options.from_ns) {
		source.record += source.event->size;
		source.left--;
	}
	bytes = (uint64_t)slot->rows.nrecords * source.event->size;
	if (!source.left || cursor->open_bytes + bytes > OPEN_BYTES_MAX) {
		vt_prefetch_recycle(&cursor->prefetch, slot);
		return source.left ? vt_err_set(err, VT_E_CORRUPT,
						"%s: chunk %" PRId64 ": %zu chunks overlap here, more than a trace has",
						vt_store_path(cursor->store), slot->info.id, cursor->nheap)
				   : 0;
	}
	source.time_ns = vt_record_time(source.record);
	cursor->open_bytes += bytes;
	r = push(cursor, &source, err);
	if (r < 0)
		vt_slot_free(slot);
	return r;
}

static uint64_t next_chunk_ns(const struct vt_cursor *cursor)
{
	const struct vt_chunk_info *infos = (const struct vt_chunk_info *)(const void *)cursor->infos.data;

	return cursor->next_chunk < cursor->ninfos ? infos[cursor->next_chunk].first_ns : UINT64_MAX;
}

/* Opens every chunk that may hold the next event, and finds how far heap[0] can be followed without looking again. */
static int open_due(struct vt_cursor *cursor, struct vt_err *err)
{
	int r;

	while (cursor->next_chunk < cursor->ninfos &&
	       (!cursor->nheap || next_chunk_ns(cursor) <= cursor->heap[0].time_ns)) {
		r = open_chunk(cursor, err);
		if (r < 0)
			return r;
	}
	cursor->horizon_ns = next_chunk_ns(cursor);
	for (size_t i = 1; i < 3 && i < cursor->nheap; i++)
		if (cursor->heap[i].time_ns < cursor->horizon_ns)
			cursor->horizon_ns = cursor->heap[i].time_ns;
	return 0;
}

static int drop_first(struct vt_cursor *cursor, struct vt_err *err)
{
	struct source first = cursor->heap[0];

	cursor->heap[0] = cursor->heap[--cursor->nheap];
	if (cursor->nheap)
		sift_down(cursor);
	if (!first.slot) {
		cursor->done_events++;
		return push_row(cursor, err);
	}
	cursor->open_bytes -= (uint64_t)first.slot->rows.nrecords * first.event->size;
	cursor->done_events += first.slot->rows.nrecords;
	vt_prefetch_recycle(&cursor->prefetch, first.slot);
	if (cursor->options.progress)
		cursor->options.progress(cursor->options.progress_arg, cursor->done_events, cursor->total_events);
	return 0;
}

/* Leaves the record that was handed out; heap[0] is then the next one. */
static int step(struct vt_cursor *cursor, struct vt_err *err)
{
	struct source *first = &cursor->heap[0];
	int r;

	if (first->left > 1) {
		first->left--;
		first->record += first->event->size;
		first->time_ns = vt_record_time(first->record);
		if (VT_LIKELY(first->time_ns < cursor->horizon_ns))
			return 0;
		sift_down(cursor);
	} else {
		r = drop_first(cursor, err);
		if (r < 0)
			return r;
	}
	return open_due(cursor, err);
}

int vt_cursor_next(struct vt_cursor *cursor, struct vt_item *ret, struct vt_err *err)
{
	const struct source *first;
	int r;

	if (VT_LIKELY(cursor->advance)) {
		r = step(cursor, err);
		if (VT_UNLIKELY(r < 0)) {
			cursor->advance = false;
			return r;
		}
	}
	first = cursor->heap;
	cursor->advance = cursor->nheap > 0;
	if (VT_UNLIKELY(!cursor->nheap || (cursor->options.to_ns && first->time_ns > cursor->options.to_ns))) {
		cursor->advance = false;
		return 0;
	}
	ret->time_ns = first->time_ns;
	ret->process = first->process;
	ret->event = first->event;
	ret->rec = (const struct vt_rec *)(const void *)first->record;
	ret->ahead = first->left > AHEAD
			     ? (const struct vt_rec *)(const void *)(first->record + (size_t)AHEAD * first->event->size)
			     : NULL;
	return 1;
}

static int load(struct vt_cursor *cursor, struct vt_err *err)
{
	int r = vt_store_each_chunk(cursor->store, collect_chunk, cursor, err);

	if (!r)
		r = collect_rows(cursor, VT_EVENT_oom, err);
	if (!r)
		r = collect_rows(cursor, VT_EVENT_note, err);
	if (r < 0)
		return r;
	if (cursor->rows.bytes)
		qsort(cursor->rows.data, row_count(cursor), sizeof(struct row), compare_rows);
	vt_prefetch_init(&cursor->prefetch, cursor->store, (const void *)cursor->infos.data, cursor->ninfos);
	r = push_row(cursor, err);
	return r < 0 ? r : open_due(cursor, err);
}

int vt_cursor_open(struct vt_cursor **ret, struct vt_store *store, const struct vt_cursor_options *options,
		   struct vt_err *err)
{
	struct vt_cursor *cursor = calloc(1, sizeof(*cursor));
	int r;

	if (!cursor)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a cursor");
	cursor->store = store;
	if (options)
		cursor->options = *options;
	r = load(cursor, err);
	if (r < 0) {
		if (r == -VT_E_NOMEM)
			(void)vt_err_set(err, VT_E_NOMEM, "%s: no memory for its list of chunks", vt_store_path(store));
		vt_cursor_close(cursor);
		return r;
	}
	*ret = cursor;
	return 0;
}

void vt_cursor_close(struct vt_cursor *cursor)
{
	if (!cursor)
		return;
	for (size_t i = 0; i < cursor->nheap; i++)
		vt_slot_free(cursor->heap[i].slot);
	if (cursor->prefetch.store)
		vt_prefetch_done(&cursor->prefetch);
	free(cursor->heap);
	vt_buf_done(&cursor->infos);
	vt_buf_done(&cursor->rows);
	free(cursor);
}
