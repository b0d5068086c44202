/*
 * ring_write.h - the producer's side of a ring: inline, wait-free, no system call. See ring.h for the order pairs.
 *
 * One writer per thread; no function here may be called by two threads for the same writer, nor re-entered from a
 * signal handler between reserve and commit (the agent's per-thread guard sees to that).
 */
#ifndef VT_SCHEMA_RING_WRITE_H
#define VT_SCHEMA_RING_WRITE_H

#include <string.h>

#include "schema/ring.h"

struct vt_ring_writer {
	struct vt_ring *ring;
	uint8_t *data;
	uint64_t mask;
	uint64_t head; /* what the ring's head is, or becomes at commit */
	uint64_t tail; /* last tail seen: a lower bound of the true one */
	uint32_t seq;
};

static inline void vt_ring_writer_init(struct vt_ring_writer *w, struct vt_ring *ring, uint8_t *data)
{
	w->ring = ring;
	w->data = data;
	w->mask = ring->data_bytes - 1;
	w->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	w->tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	w->seq = 0;
}

static inline void vt_ring_lose(struct vt_ring *ring, enum vt_loss why)
{
	uint64_t n = atomic_load_explicit(&ring->lost[why], memory_order_relaxed);

	atomic_store_explicit(&ring->lost[why], n + 1, memory_order_relaxed);
}

/* How far ahead of the head memory is asked for: several records, a microsecond or more of work. */
#define VT_RING_AHEAD_BYTES 768

/*
 * The ring's lines were last read by the collector on another core and have to come from there: asked for early, that
 * costs nothing. A record moves the head by at most two lines in the common case.
 */
static inline void vt_ring_prefetch(const struct vt_ring_writer *w)
{
	__builtin_prefetch(w->data + ((w->head + VT_RING_AHEAD_BYTES) & w->mask), 1, 3);
	__builtin_prefetch(w->data + ((w->head + VT_RING_AHEAD_BYTES + VT_CACHE_LINE) & w->mask), 1, 3);
}

/*
 * Room for a record of `bytes` (a multiple of 8, at most VT_REC_BYTES_MAX), its header filled in; NULL when the ring
 * has none: then a RING_FULL loss is counted and the caller forgets the event. Never waits.
 */
static inline void *vt_ring_reserve(struct vt_ring_writer *w, uint16_t type, uint32_t bytes)
{
	uint64_t size = w->mask + 1;
	uint64_t to_end = size - (w->head & w->mask);
	uint64_t need = bytes <= to_end ? bytes : to_end + bytes;
	struct vt_rec *rec;

	vt_ring_prefetch(w);
	if (VT_UNLIKELY(w->head + need - w->tail > size)) {
		w->tail = atomic_load_explicit(&w->ring->tail, memory_order_acquire); /* A2 */
		if (w->head + need - w->tail > size) {
			vt_ring_lose(w->ring, VT_loss_RING_FULL);
			return NULL;
		}
	}
	if (VT_UNLIKELY(bytes > to_end)) {
		rec = (struct vt_rec *)(void *)(w->data + (w->head & w->mask));
		rec->type = VT_EVENT_FILLER;
		/* A filler longer than len8 can say has len8 = 0: "to the end of the ring". */
		rec->len8 = to_end / 8 <= UINT16_MAX ? (uint16_t)(to_end / 8) : 0;
		rec->seq = w->seq;
		w->head += to_end;
	}
	rec = (struct vt_rec *)(void *)(w->data + (w->head & w->mask));
	rec->type = type;
	rec->len8 = (uint16_t)(bytes / 8);
	rec->seq = w->seq;
	return rec;
}

/* Makes the record that vt_ring_reserve gave visible. */
static inline void vt_ring_commit(struct vt_ring_writer *w, uint32_t bytes)
{
	uint64_t n = atomic_load_explicit(&w->ring->events, memory_order_relaxed);

	w->head += bytes;
	w->seq++;
	atomic_store_explicit(&w->ring->events, n + 1, memory_order_relaxed);
	atomic_store_explicit(&w->ring->head, w->head, memory_order_release); /* R1 */
}

#endif
