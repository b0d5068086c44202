/* prefetch.c - see prefetch.h. */
#include "analyze/store/prefetch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* Chunks queued beyond the one that is wanted now: enough for each worker to have a next one. */
#define AHEAD 2

/* What every reader relies on: rows in order of time, and the chunk's row telling the truth about them. */
static int check_times(const struct vt_slot *slot, struct vt_err *err)
{
	const struct vt_chunk_rows *rows = &slot->rows;
	const char *record = rows->records;
	uint64_t last = slot->info.first_ns;

	if (rows->nrecords != slot->info.events)
		return vt_err_set(err, VT_E_CORRUPT, "holds %" PRIu32 " events where its row says %" PRIu32,
				  rows->nrecords, slot->info.events);
	for (uint32_t i = 0; i < rows->nrecords; i++, record += rows->event->size) {
		uint64_t time = vt_record_time(record);

		if (time < last)
			return vt_err_set(err, VT_E_CORRUPT,
					  "time falls from %" PRIu64 " to %" PRIu64 " at event %" PRIu32, last, time,
					  i);
		last = time;
	}
	if (rows->nrecords && (vt_record_time(rows->records) != slot->info.first_ns || last != slot->info.last_ns))
		return vt_err_set(err, VT_E_CORRUPT, "its times are not those its row gives");
	return 0;
}

void vt_slot_decode(struct vt_slot *slot)
{
	slot->result = vt_chunk_decode(slot->coder, slot->blob.data, slot->blob.bytes, slot->info.kind, &slot->rows,
				       &slot->err);
	if (slot->result >= 0)
		slot->result = check_times(slot, &slot->err);
}

static struct vt_slot *next_queued(struct vt_prefetch *prefetch)
{
	for (struct vt_slot *slot = prefetch->first; slot; slot = slot->next)
		if (slot->state == VT_SLOT_QUEUED)
			return slot;
	return NULL;
}

static void *work(void *arg)
{
	struct vt_prefetch *prefetch = arg;
	struct vt_slot *slot;

	pthread_mutex_lock(&prefetch->lock);
	for (;;) {
		while (!(slot = next_queued(prefetch)) && !prefetch->stop)
			pthread_cond_wait(&prefetch->work, &prefetch->lock);
		if (prefetch->stop)
			break;
		slot->state = VT_SLOT_RUNNING;
		pthread_mutex_unlock(&prefetch->lock);
		vt_slot_decode(slot);
		pthread_mutex_lock(&prefetch->lock);
		slot->state = VT_SLOT_DONE;
		pthread_cond_signal(&prefetch->done);
	}
	pthread_mutex_unlock(&prefetch->lock);
	return NULL;
}

void vt_prefetch_init(struct vt_prefetch *prefetch, struct vt_store *store, const struct vt_chunk_info *infos,
		      size_t ninfos)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned wanted = cpus > VT_PREFETCH_WORKERS_MAX ? VT_PREFETCH_WORKERS_MAX : cpus > 2 ? (unsigned)cpus - 1 : 1;

	*prefetch = (struct vt_prefetch){ .store = store, .infos = infos, .ninfos = ninfos };
	pthread_mutex_init(&prefetch->lock, NULL);
	pthread_cond_init(&prefetch->work, NULL);
	pthread_cond_init(&prefetch->done, NULL);
	if (wanted > ninfos)
		wanted = (unsigned)ninfos;
	while (prefetch->nworkers < wanted &&
	       !pthread_create(&prefetch->workers[prefetch->nworkers], NULL, work, prefetch))
		prefetch->nworkers++;
}

void vt_slot_free(struct vt_slot *slot)
{
	if (!slot)
		return;
	vt_chunk_coder_free(slot->coder);
	vt_buf_done(&slot->blob);
	free(slot);
}

static struct vt_slot *get_slot(struct vt_prefetch *prefetch)
{
	struct vt_slot *slot = prefetch->spare;

	if (slot) {
		prefetch->spare = slot->next;
		return slot;
	}
	slot = calloc(1, sizeof(*slot));
	if (!slot)
		return NULL;
	slot->coder = vt_chunk_coder_new();
	if (!slot->coder) {
		free(slot);
		return NULL;
	}
	return slot;
}

/* Reading failed or not, the chunk takes its place in the queue: the error is told when its turn comes. */
static int queue_next(struct vt_prefetch *prefetch, struct vt_err *err)
{
	struct vt_slot *slot = get_slot(prefetch);
	const void *blob;
	size_t bytes;

	if (!slot)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a chunk");
	slot->info = prefetch->infos[prefetch->next_info++];
	slot->next = NULL;
	slot->state = VT_SLOT_QUEUED;
	vt_buf_clear(&slot->blob);
	slot->result = vt_store_read_chunk(prefetch->store, slot->info.id, &blob, &bytes, &slot->err);
	if (slot->result >= 0) {
		slot->result = vt_buf_append(&slot->blob, blob, bytes);
		if (slot->result < 0)
			(void)vt_err_set(&slot->err, VT_E_NOMEM, "no memory for its %zu bytes", bytes);
	}
	if (slot->result < 0)
		slot->state = VT_SLOT_DONE;
	pthread_mutex_lock(&prefetch->lock);
	if (prefetch->last)
		prefetch->last->next = slot;
	else
		prefetch->first = slot;
	prefetch->last = slot;
	pthread_cond_signal(&prefetch->work);
	pthread_mutex_unlock(&prefetch->lock);
	prefetch->queued++;
	return 0;
}

static struct vt_slot *wait_for_first(struct vt_prefetch *prefetch)
{
	struct vt_slot *slot;

	pthread_mutex_lock(&prefetch->lock);
	slot = prefetch->first;
	if (!prefetch->nworkers && slot->state == VT_SLOT_QUEUED) {
		vt_slot_decode(slot);
		slot->state = VT_SLOT_DONE;
	}
	while (slot->state != VT_SLOT_DONE)
		pthread_cond_wait(&prefetch->done, &prefetch->lock);
	prefetch->first = slot->next;
	if (!prefetch->first)
		prefetch->last = NULL;
	pthread_mutex_unlock(&prefetch->lock);
	prefetch->queued--;
	return slot;
}

int vt_prefetch_take(struct vt_prefetch *prefetch, struct vt_slot **ret, struct vt_err *err)
{
	unsigned wanted = 1 + (prefetch->nworkers ? prefetch->nworkers + AHEAD - 1 : 0);
	struct vt_slot *slot;
	int r;

	while (prefetch->queued < wanted && prefetch->next_info < prefetch->ninfos) {
		r = queue_next(prefetch, err);
		if (r < 0)
			return r;
	}
	if (!prefetch->queued)
		return 0;
	slot = wait_for_first(prefetch);
	if (slot->result < 0) {
		const struct vt_event *event = vt_event_find(slot->info.kind);

		r = vt_err_set(err, slot->err.code, "chunk %" PRId64 " (%s): %s", slot->info.id,
			       event ? event->name : "?", slot->err.msg);
		vt_slot_free(slot);
		return r;
	}
	*ret = slot;
	return 1;
}

void vt_prefetch_recycle(struct vt_prefetch *prefetch, struct vt_slot *slot)
{
	slot->next = prefetch->spare;
	prefetch->spare = slot;
}

static void free_list(struct vt_slot *slot)
{
	while (slot) {
		struct vt_slot *next = slot->next;

		vt_slot_free(slot);
		slot = next;
	}
}

void vt_prefetch_done(struct vt_prefetch *prefetch)
{
	pthread_mutex_lock(&prefetch->lock);
	prefetch->stop = true;
	pthread_cond_broadcast(&prefetch->work);
	pthread_mutex_unlock(&prefetch->lock);
	for (unsigned i = 0; i < prefetch->nworkers; i++)
		pthread_join(prefetch->workers[i], NULL);
	free_list(prefetch->first);
	free_list(prefetch->spare);
	pthread_cond_destroy(&prefetch->work);
	pthread_cond_destroy(&prefetch->done);
	pthread_mutex_destroy(&prefetch->lock);
}
