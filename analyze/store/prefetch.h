/*
 * prefetch.h - the chunks of a list, one after the other, decoded ahead by worker threads.
 *
 * The caller's thread alone touches the store: it reads a chunk's bytes and queues them; a worker decompresses and
 * decodes them into records while the caller replays earlier ones. Where no thread can be had, the caller decodes.
 */
#ifndef VT_ANALYZE_PREFETCH_H
#define VT_ANALYZE_PREFETCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "schema/base/buf.h"
#include "schema/chunk.h"
#include "schema/store.h"

#define VT_PREFETCH_WORKERS_MAX 3

enum vt_slot_state { VT_SLOT_QUEUED, VT_SLOT_RUNNING, VT_SLOT_DONE };

/* One chunk on its way; with its own coder, since a coder's result lasts until the coder's next use. */
struct vt_slot {
	struct vt_slot *next;
	struct vt_chunk_info info;
	struct vt_chunk_coder *coder;
	struct vt_buf blob;
	enum vt_slot_state state; /* access under vt_prefetch.lock while in the queue */
	int result;		  /* of the decoding; err if negative */
	struct vt_chunk_rows rows;
	struct vt_err err;
};

struct vt_prefetch {
	struct vt_store *store;
	const struct vt_chunk_info *infos;
	size_t ninfos;
	size_t next_info;	      /* the first that was not queued yet */
	struct vt_slot *spare;	      /* the caller's thread only */
	unsigned queued;	      /* the caller's thread only: length of the queue */
	struct vt_slot *first, *last; /* the queue, in the order of infos; under lock */
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	pthread_t workers[VT_PREFETCH_WORKERS_MAX];
	unsigned nworkers;
	bool stop; /* under lock */
};

/* infos are borrowed. */
void vt_prefetch_init(struct vt_prefetch *prefetch, struct vt_store *store, const struct vt_chunk_info *infos,
		      size_t ninfos);
/*
 * The next chunk of the list, decoded and checked: times rise and agree with the chunk's row. 1 and the slot, which is
 * the caller's until vt_prefetch_recycle; 0 at the end; negative with the chunk named: the next call goes on behind it.
 */
int vt_prefetch_take(struct vt_prefetch *prefetch, struct vt_slot **ret, struct vt_err *err);
void vt_prefetch_recycle(struct vt_prefetch *prefetch, struct vt_slot *slot);
void vt_slot_free(struct vt_slot *slot); /* NULL is fine */
/* Slots that were taken and not recycled are not freed. */
void vt_prefetch_done(struct vt_prefetch *prefetch);

/* Decodes what slot->blob holds: the work of the threads, and of `check`. Fills rows, or result and err. */
void vt_slot_decode(struct vt_slot *slot);

static inline uint64_t vt_record_time(const void *record)
{
	uint64_t time;

	/* Column 1 of every event that has a time is the first after the header. */
	__builtin_memcpy(&time, (const char *)record + sizeof(struct vt_rec), sizeof(time));
	return time;
}

#endif
