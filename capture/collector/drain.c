/* drain.c - see process.h: from the rings of a process into its batches and the store's tables. */
#include <string.h>

#include "capture/collector/process.h"

/* A record out of a ring: the bytes may change under us as long as they lie there, the length here does not. */
struct found {
	const struct vt_event *event;
	const uint8_t *data;
	uint32_t bytes;
};

/* Where a ring's head is, if that can be: else `from`, and the stay is bad. */
static uint64_t read_head(struct vt_process *process, uint32_t index, uint64_t from)
{
	struct vt_stay *stay = &process->stays[index];
	const struct vt_ring *ring = vt_ring_file_ring(&process->file, index);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire); /* A1 */

	if (stay->bad)
		return from;
	if (head < from || (head & 7) || head - stay->position > vt_ring_bytes(index)) {
		stay->bad = true;
		process->own_loss[VT_loss_TORN]++;
		return from;
	}
	return head;
}

/* ------------------------------------------------------------------ look */

static void begin_stay(struct vt_stay *stay, const struct vt_ring *ring)
{
	stay->generation = ring->generation;
	stay->closed = false;
	stay->position = ring->start_position & ~UINT64_C(7);
	stay->definitions = stay->position;
	stay->head = stay->position;
	stay->events = stay->events_base;
}

void vt_process_look(struct vt_process *process)
{
	uint32_t nrings = vt_ring_file_count(&process->file);

	for (uint32_t i = 0; i < nrings; i++) {
		const struct vt_ring *ring = vt_ring_file_ring(&process->file, i);
		struct vt_stay *stay = &process->stays[i];
		uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire); /* A3, and R4 */

		if (state == VT_RING_FREE)
			continue;
		if (stay->generation == 0)
			begin_stay(stay, ring);
		stay->closed = state == VT_RING_CLOSED;
		stay->head = read_head(process, i, stay->position);
	}
}

uint32_t vt_process_fill(const struct vt_process *process)
{
	uint32_t nrings = vt_ring_file_count(&process->file), most = 0;

	for (uint32_t i = 0; i < nrings; i++) {
		const struct vt_ring *ring = vt_ring_file_ring(&process->file, i);
		const struct vt_stay *stay = &process->stays[i];
		uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
		uint64_t from = stay->generation ? stay->position : stay->head, parts;
		uint32_t state = atomic_load_explicit(&ring->state, memory_order_relaxed);

		if (stay->bad || state == VT_RING_FREE || (state == VT_RING_LIVE && head == from))
			continue;
		parts = 1 + ((head - from) >> 3) * 256 / (vt_ring_bytes(i) >> 3);
		if (parts > most)
			most = parts < 256 ? (uint32_t)parts : 256;
	}
	return most;
}

/* ------------------------------------------------------------------ drain */

/* Definitions name themselves by a column `id`. */
static bool is_definition(const struct vt_event *event)
{
	return event->class != VT_CLASS_CHUNK && vt_event_col_name(event, "id") != NULL;
}

static bool blob_fits(const uint8_t *record, const struct vt_event *event, uint32_t bytes)
{
	const struct vt_col *size = vt_event_col_name(event, "size_bytes");
	uint32_t room = bytes - event->size, size_bytes;

	memcpy(&size_bytes, record + size->offset, sizeof(size_bytes));
	return size_bytes <= room && room - size_bytes < 8;
}

/* A row of a table, or a loss where it is none. */
static int take_row(struct vt_process *process, const struct found *found, const struct vt_batch_sink *sink,
		    struct vt_err *err)
{
	const struct vt_event *event = found->event;
	_Alignas(8) uint8_t copy[VT_REC_BYTES_MAX];
	struct vt_rec rec = { .type = event->id, .len8 = (uint16_t)(found->bytes / 8) };
	bool fits = found->bytes == event->size;
	int r = -VT_E_CORRUPT;

	if (event->class == VT_CLASS_BLOB)
		fits = found->bytes >= event->size && found->bytes <= sizeof(copy);
	if (fits) {
		memcpy(copy, found->data, found->bytes);
		memcpy(copy, &rec, sizeof(rec));
		if (event->class != VT_CLASS_BLOB || blob_fits(copy, event, found->bytes))
			r = vt_store_add_record(sink->store, process->id, (const struct vt_rec *)(const void *)copy,
						err);
	}
	if (r != -VT_E_CORRUPT)
		return r;
	process->own_loss[VT_loss_DEFINITION]++;
	return 0;
}

static int take(struct vt_process *process, const struct found *found, const struct vt_batch_sink *sink,
		struct vt_err *err)
{
	struct vt_batch *batch;
	int r;

	if (!found->event) {
		process->own_loss[VT_loss_UNKNOWN_RECORD]++;
		return 0;
	}
	if (found->event->class != VT_CLASS_CHUNK)
		return take_row(process, found, sink, err);
	if (found->bytes != found->event->size) {
		process->own_loss[VT_loss_UNKNOWN_RECORD]++;
		return 0;
	}
	batch = &process->batches[found->event - vt_events];
	r = vt_batch_append(batch, found->data, err);
	return r == 0 && vt_batch_is_full(batch) ? vt_batch_flush(batch, sink, err) : r;
}

/* The next record below head: its length comes from where the walk went, not from a second look at the record. */
static bool next_record(const struct vt_process *process, uint32_t index, uint64_t *position, uint64_t head,
			uint64_t *ret_torn, struct found *ret)
{
	const uint8_t *data = (const uint8_t *)process->file.shm + vt_ring_data_offset(index);
	const struct vt_rec *rec = vt_ring_next(&process->file, index, position, head, ret_torn);
	uint64_t mask = vt_ring_bytes(index) - 1;

	if (!rec)
		return false;
	ret->data = (const uint8_t *)rec;
	ret->bytes = (uint32_t)((*position - (uint64_t)(ret->data - data) - 1) & mask) + 1;
	ret->event = vt_event_find(*(const volatile uint16_t *)&rec->type);
	return true;
}

static int drain_ring(struct vt_process *process, uint32_t index, const struct vt_batch_sink *sink,
		      uint64_t *ret_records, struct vt_err *err)
{
	struct vt_stay *stay = &process->stays[index];
	uint64_t fresh = stay->closed ? stay->head : read_head(process, index, stay->head);
	uint64_t position = stay->position, ignored = 0;
	struct found found;
	int r = 0;

	while (r == 0 && next_record(process, index, &position, stay->head, &process->own_loss[VT_loss_TORN], &found)) {
		(*ret_records)++;
		if (position > stay->definitions || !found.event || !is_definition(found.event))
			r = take(process, &found, sink, err);
	}
	stay->position = stay->head;
	position = stay->definitions > stay->head ? stay->definitions : stay->head;
	while (r == 0 && next_record(process, index, &position, fresh, &ignored, &found))
		if (found.event && is_definition(found.event))
			r = take(process, &found, sink, err);
	if (fresh > stay->definitions)
		stay->definitions = fresh;
	return r;
}

static int write_stay(struct vt_process *process, uint32_t index, struct vt_store *store, struct vt_err *err)
{
	const struct vt_ring *ring = vt_ring_file_ring(&process->file, index);
	struct vt_stay *stay = &process->stays[index];
	char name[sizeof(ring->name) + 1] = { 0 };
	struct vt_thread_row row = {
		.process = process->id,
		.ring = index,
		.generation = stay->generation,
		.tid = ring->tid,
		.name = name,
	};
	int r;

	memcpy(name, ring->name, sizeof(ring->name));
	stay->events = atomic_load_explicit(&ring->events, memory_order_relaxed);
	row.events = stay->events - stay->events_base;
	r = vt_store_put_thread(store, &row, err);
	if (r == 0)
		r = vt_store_put_ring_position(store, process->id, index, stay->generation, stay->position, err);
	return r;
}

int vt_process_drain(struct vt_process *process, const struct vt_batch_sink *sink, uint64_t *ret_records,
		     struct vt_err *err)
{
	uint32_t nrings = vt_ring_file_count(&process->file); /* again: a new thread's definitions count as well */
	int r = 0;

	for (uint32_t i = 0; i < nrings && r == 0; i++) {
		const struct vt_ring *ring = vt_ring_file_ring(&process->file, i);
		struct vt_stay *stay = &process->stays[i];
		bool has_more = stay->head != stay->position || (stay->closed && !stay->bad);

		if (stay->generation == 0) {
			if (atomic_load_explicit(&ring->state, memory_order_acquire) == VT_RING_FREE) /* A3 */
				continue;
			begin_stay(stay, ring);
			has_more = true;
		}
		r = drain_ring(process, i, sink, ret_records, err);
		if (r == 0 && has_more)
			r = write_stay(process, i, sink->store, err);
	}
	for (size_t i = 0; i < vt_nevents && r == 0; i++)
		r = process->last_round ? vt_batch_finish(&process->batches[i], sink, err)
					: vt_batch_flush(&process->batches[i], sink, err);
	return r;
}

/* ------------------------------------------------------------------ release */

void vt_process_release(struct vt_process *process)
{
	for (uint32_t i = 0; i < VT_SHM_RINGS_MAX; i++) {
		struct vt_ring *ring = vt_ring_file_ring(&process->file, i);
		struct vt_stay *stay = &process->stays[i];

		if (stay->generation == 0 || stay->bad)
			continue;
		vt_ring_release(ring, stay->position); /* R2 */
		if (!stay->closed)
			continue;
		stay->events_base = stay->events;
		stay->generation = 0;
		atomic_store_explicit(&ring->state, VT_RING_FREE, memory_order_release); /* R5 */
	}
}
