/*
 * batch.h - the records of one (process, kind) on their way into chunks.
 *
 * What is new must reach the file within 100 ms, but a chunk is worth its overhead only when it is large. So each flush
 * writes what is new as a small chunk, a piece, and pieces are merged like a log-structured tree: where
 * VT_BATCH_FANOUT pieces of one level lie side by side they become one of the next level. At VT_BATCH_RECORDS records
 * the whole batch becomes one final chunk, in place of all its pieces. However slowly records come, each is encoded at
 * most once per level (log8(65536) + 1 = 7 times), and a batch has at most VT_BATCH_PIECES_MAX pieces in the file.
 *
 * Memory: the records since the last final chunk, at most VT_BATCH_RECORDS of them (4.5 MiB of tensor events).
 */
#ifndef VT_COLLECTOR_BATCH_H
#define VT_COLLECTOR_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/collector/sort.h"
#include "schema/store.h"

#define VT_BATCH_RECORDS 65536u
#define VT_BATCH_FANOUT 8u
#define VT_BATCH_LEVELS 8u
#define VT_BATCH_PIECES_MAX (VT_BATCH_LEVELS * VT_BATCH_FANOUT)

/* A chunk in the file that holds records [start, next piece's start or the flushed ones) of the batch. */
struct vt_batch_piece {
	int64_t chunk;
	uint32_t start;
	uint32_t level;
};

struct vt_batch {
	const struct vt_event *event;
	uint8_t *records; /* room of event->size bytes each; owned */
	uint32_t count;
	uint32_t room;
	uint32_t flushed; /* records below this are in the file, or in the open transaction */
	uint32_t npieces;
	struct vt_batch_piece pieces[VT_BATCH_PIECES_MAX];
};

/* Where a flush writes to. */
struct vt_batch_sink {
	struct vt_store *store; /* within a transaction */
	struct vt_sort *sort;
	uint32_t process;
};

/* Takes a copy of one record of event->size bytes. Never call it on a full batch. 0, or -VT_E_NOMEM. */
int vt_batch_append(struct vt_batch *batch, const void *record, struct vt_err *err);

static inline bool vt_batch_is_full(const struct vt_batch *batch)
{
	return batch->count == VT_BATCH_RECORDS;
}

/* Writes what is new. A full batch is empty afterwards. After an error the batch is fit for vt_batch_done only. */
int vt_batch_flush(struct vt_batch *batch, const struct vt_batch_sink *sink, struct vt_err *err);
/* Writes everything as one chunk: no more records will come. */
int vt_batch_finish(struct vt_batch *batch, const struct vt_batch_sink *sink, struct vt_err *err);
void vt_batch_done(struct vt_batch *batch);

#endif
