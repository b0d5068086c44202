/* batch.c - see batch.h. */
#include "capture/collector/batch.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256u

static int grow(struct vt_batch *batch, struct vt_err *err)
{
	uint32_t room = batch->room ? batch->room * 2 : FIRST_ROOM;
	uint8_t *records = realloc(batch->records, (size_t)room * batch->event->size);

	if (!records)
		return vt_err_set(err, VT_E_NOMEM, "no memory for %u %s records", room, batch->event->name);
	batch->records = records;
	batch->room = room;
	return 0;
}

int vt_batch_append(struct vt_batch *batch, const void *record, struct vt_err *err)
{
	if (batch->count == batch->room && grow(batch, err) < 0)
		return -VT_E_NOMEM;
	memcpy(batch->records + (size_t)batch->count * batch->event->size, record, batch->event->size);
	batch->count++;
	return 0;
}

/* Writes the records of pieces [first, npieces) and all behind them as one chunk, in place of those pieces. */
static int write_piece(struct vt_batch *batch, uint32_t first, uint32_t level, const struct vt_batch_sink *sink,
		       struct vt_err *err)
{
	uint32_t start = first < batch->npieces ? batch->pieces[first].start : batch->flushed;
	uint8_t *records = batch->records + (size_t)start * batch->event->size;
	struct vt_chunk_rows rows = { .event = batch->event, .records = records, .nrecords = batch->count - start };
	int64_t ids[VT_BATCH_PIECES_MAX], chunk;
	const struct vt_chunk_ids replaces = { ids, batch->npieces - first };
	int r;

	for (uint32_t i = 0; i < replaces.count; i++)
		ids[i] = batch->pieces[first + i].chunk;
	if (vt_sort_records(sink->sort, records, rows.nrecords, batch->event->size) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory to sort %s records", batch->event->name);
	r = vt_store_add_chunk(sink->store, sink->process, &rows, &replaces, &chunk, err);
	if (r < 0)
		return r;
	batch->pieces[first] = (struct vt_batch_piece){ .chunk = chunk, .start = start, .level = level };
	batch->npieces = first + 1;
	batch->flushed = batch->count;
	return 0;
}

/* All of the batch becomes one final chunk. */
static int write_whole(struct vt_batch *batch, const struct vt_batch_sink *sink, struct vt_err *err)
{
	int r = write_piece(batch, 0, 0, sink, err);

	if (r < 0)
		return r;
	batch->count = 0;
	batch->flushed = 0;
	batch->npieces = 0;
	return 0;
}

int vt_batch_flush(struct vt_batch *batch, const struct vt_batch_sink *sink, struct vt_err *err)
{
	uint32_t first = batch->npieces, level = 0;

	if (vt_batch_is_full(batch))
		return write_whole(batch, sink, err);
	if (batch->count == batch->flushed)
		return 0;
	while (first >= VT_BATCH_FANOUT - 1 && batch->pieces[first - (VT_BATCH_FANOUT - 1)].level == level) {
		first -= VT_BATCH_FANOUT - 1;
		level++;
	}
	return write_piece(batch, first, level, sink, err);
}

int vt_batch_finish(struct vt_batch *batch, const struct vt_batch_sink *sink, struct vt_err *err)
{
	if (batch->count == 0 || (batch->npieces == 1 && batch->flushed == batch->count))
		return 0;
	return write_whole(batch, sink, err);
}

void vt_batch_done(struct vt_batch *batch)
{
	free(batch->records);
	batch->records = NULL;
}
