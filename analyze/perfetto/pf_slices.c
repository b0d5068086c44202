/* pf_slices.c - see pf_slices.h. */
#include "analyze/perfetto/pf_slices.h"

#include <stdlib.h>

#include "analyze/perfetto/pf_args.h"

/* Fields of TrackEvent. */
enum { FLOW_IDS = 47, TERMINATING_FLOW_IDS = 48 };
/* Depth of slices on one row: Perfetto takes 512. */
#define DEPTH_MAX 400

void vt_pf_slices_init(struct vt_pf_slices *slices, struct vt_pf_output *output, const struct vt_symbols *symbols,
		       const struct vt_pf_clocks *clocks, struct vt_pf_tracks *tracks)
{
	slices->output = output;
	slices->symbols = symbols;
	slices->clocks = clocks;
	slices->tracks = tracks;
}

void vt_pf_slices_done(struct vt_pf_slices *slices)
{
	for (size_t i = 0; i < slices->thread_room; i++) {
		struct vt_pf_thread *thread = slices->threads[i];

		if (!thread)
			continue;
		for (size_t j = 0; j < thread->count; j++)
			free(thread->lanes[j].roots);
		free(thread->lanes);
		vt_pf_sequence_done(&thread->sequence);
		free(thread);
	}
	free(slices->threads);
	vt_idmap_done(&slices->thread_ids);
	vt_buf_done(&slices->bodies);
}

/* ------------------------------------------------------------------ which row */

/* Forgets the older half; returns how many are left. */
static size_t forget_roots(struct vt_pf_lane *lane)
{
	size_t half = VT_PF_ROOTS_MAX / 2;

	if (!lane->forgotten_end_ns || lane->roots[0].start_ns < lane->forgotten_start_ns)
		lane->forgotten_start_ns = lane->roots[0].start_ns;
	lane->forgotten_end_ns = lane->roots[half - 1].end_ns;
	memmove(lane->roots, lane->roots + half, half * sizeof(*lane->roots));
	return half;
}

/* Takes the slice into the lane if it nests there. */
static bool lane_takes(const struct vt_pf_slices *slices, struct vt_pf_lane *lane, uint64_t start_ns, uint64_t end_ns)
{
	size_t n = lane->count;

	while (n && lane->roots[n - 1].start_ns >= start_ns)
		n--;
	if (n && lane->roots[n - 1].end_ns > start_ns)
		return false;
	/* Whether it begins between two of the forgotten ones or inside one is not known any more. */
	if (!n && start_ns >= lane->forgotten_start_ns && start_ns < lane->forgotten_end_ns)
		return false;
	/* What begins with it and is written already would become the outer one. */
	if (n < lane->count && lane->roots[n].start_ns == start_ns && lane->roots[n].end_ns > start_ns &&
	    lane->roots[n].arrival < slices->window_arrival)
		return false;
	if (n == VT_PF_ROOTS_MAX)
		n = forget_roots(lane);
	if (vt_array_reach((void **)&lane->roots, &lane->room, n, sizeof(*lane->roots)) < 0) {
		slices->output->failed = true;
		return false;
	}
	lane->roots[n] = (struct vt_pf_root){ start_ns, end_ns, slices->arrivals };
	lane->count = n + 1;
	return true;
}

/* VT_PF_LANES_MAX: none has room. */
static uint16_t find_lane(struct vt_pf_slices *slices, struct vt_pf_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	if (end_ns < thread->last_end_ns)
		return VT_PF_LANES_MAX;
	thread->last_end_ns = end_ns;
	for (uint16_t i = 0; i < VT_PF_LANES_MAX; i++) {
		if (i == thread->count) {
			if (vt_array_reach((void **)&thread->lanes, &thread->room, i, sizeof(*thread->lanes)) < 0) {
				slices->output->failed = true;
				break;
			}
			thread->lanes[i].track = vt_pf_tracks_lane(slices->tracks, thread->lanes[0].track, i);
			thread->count++;
		}
		if (lane_takes(slices, &thread->lanes[i], start_ns, end_ns))
			return i;
	}
	return VT_PF_LANES_MAX;
}

struct vt_pf_thread *vt_pf_slices_thread(struct vt_pf_slices *slices, uint32_t process, uint32_t tid)
{
	uint32_t place = vt_idmap_add(&slices->thread_ids, (struct vt_idmap_key){ process, tid, 0 });
	struct vt_pf_thread *thread;

	if (place < slices->thread_room && slices->threads[place])
		return slices->threads[place];
	thread = calloc(1, sizeof(*thread));
	if (!thread || place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&thread->lanes, &thread->room, 0, sizeof(*thread->lanes)) < 0 ||
	    vt_array_reach((void **)&slices->threads, &slices->thread_room, place, sizeof(struct vt_pf_thread *)) < 0) {
		slices->output->failed = true;
		if (thread)
			free(thread->lanes);
		free(thread);
		return NULL;
	}
	thread->place = place;
	thread->count = 1;
	thread->lanes[0].track = vt_pf_tracks_thread(slices->tracks, process, tid);
	vt_pf_sequence_begin(&thread->sequence, slices->output, slices->symbols, slices->clocks,
			     thread->lanes[0].track);
	slices->threads[place] = thread;
	return thread;
}

static void flush(struct vt_pf_slices *slices, bool is_final);

void vt_pf_slices_add(struct vt_pf_slices *slices, struct vt_pf_thread *thread, const struct vt_pf_slice *slice,
		      const struct vt_pf_event *body)
{
	struct vt_pf_slice *own;

	if (slices->count == VT_PF_WINDOW)
		flush(slices, false);
	own = &slices->list[slices->count];
	*own = *slice;
	if (own->start_ns > own->end_ns)
		own->start_ns = own->end_ns;
	own->lane = find_lane(slices, thread, own->start_ns, own->end_ns);
	own->thread = thread->place;
	own->arrival = slices->arrivals++;
	own->body = slices->bodies.bytes;
	own->body_bytes = body->bytes <= VT_PF_BODY_MAX ? (uint32_t)body->bytes : 0;
	if (vt_buf_append(&slices->bodies, body->data, body->bytes) < 0) {
		slices->output->failed = true;
		return;
	}
	slices->count++;
}

/* ------------------------------------------------------------------ writing */

/* By thread and row; there by begin, the outer one first: it ends later or, ending with the inner one, came later. */
static int by_nesting(const void *a, const void *b)
{
	const struct vt_pf_slice *x = a;
	const struct vt_pf_slice *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->arrival > y->arrival ? -1 : 1;
}

/*
 * A forward op's number is that of the next autograd node: ops before the one that makes it have the same. The last one
 * to begin is the maker; which that is, is not known at the window's end, so the last number there has no arrow.
 */
static void choose_begins(struct vt_pf_slices *slices, bool is_final)
{
	struct vt_pf_slice *list = slices->list;
	int64_t next = 0;
	bool has_next = false;

	for (size_t i = slices->count; i-- > 0;) {
		const struct vt_pf_thread *thread = slices->threads[list[i].thread];

		if (i + 1 < slices->count && list[i + 1].thread != list[i].thread)
			has_next = false;
		if (list[i].flow_kind != VT_PF_FLOW_OUT)
			continue;
		if (has_next ? list[i].number >= next : !is_final || list[i].number < thread->next_number)
			list[i].flow_kind = VT_PF_FLOW_DONE;
		if (list[i].number < thread->next_number)
			list[i].flow_kind = VT_PF_FLOW_DONE;
		if (!has_next || list[i].number < next)
			next = list[i].number;
		has_next = true;
	}
	for (size_t i = 0; i < slices->count; i++) {
		struct vt_pf_thread *thread = slices->threads[list[i].thread];
		bool is_numbered = list[i].flow_kind == VT_PF_FLOW_OUT || list[i].flow_kind == VT_PF_FLOW_DONE;

		if (is_numbered && list[i].number >= thread->next_number)
			thread->next_number = list[i].number + 1;
	}
}

/* Of a backward, the engine's range around the node has the node's number too; the outer one counts. */
static void choose_ends(struct vt_pf_slices *slices)
{
	struct vt_pf_slice *list = slices->list;
	const struct vt_pf_slice *last = NULL;

	for (size_t i = 0; i < slices->count; i++) {
		if (list[i].flow_kind != VT_PF_FLOW_IN)
			continue;
		if (last && last->thread == list[i].thread && last->flow == list[i].flow)
			list[i].flow_kind = VT_PF_FLOW_NONE;
		last = &list[i];
	}
}

/* lane 0: the thread's own row, which its sequence takes where an event names none. */
static void begin_event(struct vt_pf_event *event, const struct vt_pf_thread *thread, uint16_t lane,
			Pf__TrackEvent__Type type)
{
	vt_pf_event_begin(event, type, lane ? thread->lanes[lane].track : 0);
}

static void write_begin(struct vt_pf_slices *slices, const struct vt_pf_slice *slice)
{
	struct vt_pf_thread *thread = slices->threads[slice->thread];
	struct vt_pf_event event;

	begin_event(&event, thread, slice->lane, PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN);
	memcpy(event.data + event.bytes, slices->bodies.data + slice->body, slice->body_bytes);
	event.bytes += slice->body_bytes;
	if (slice->flow_kind == VT_PF_FLOW_OUT)
		vt_pf_put_fixed64(&event, FLOW_IDS, slice->flow);
	else if (slice->flow_kind == VT_PF_FLOW_IN)
		vt_pf_put_fixed64(&event, TERMINATING_FLOW_IDS, slice->flow);
	vt_pf_write_event(&thread->sequence, VT_PF_TRACK_EVENT, &event, slice->start_ns);
}

static void write_end(struct vt_pf_thread *thread, uint16_t lane, uint64_t end_ns)
{
	struct vt_pf_event event;

	begin_event(&event, thread, lane, PF__TRACK_EVENT__TYPE__TYPE_SLICE_END);
	vt_pf_write_event(&thread->sequence, VT_PF_TRACK_EVENT, &event, end_ns);
}

/* Where no row has room: nothing is said but when it began and how long it took. */
static void write_instant(struct vt_pf_slices *slices, const struct vt_pf_slice *slice)
{
	struct vt_pf_thread *thread = slices->threads[slice->thread];
	struct vt_pf_event event;

	begin_event(&event, thread, 0, PF__TRACK_EVENT__TYPE__TYPE_INSTANT);
	vt_pf_arg_number(&thread->sequence, &event, "duration_ns", slice->end_ns - slice->start_ns);
	memcpy(event.data + event.bytes, slices->bodies.data + slice->body, slice->body_bytes);
	event.bytes += slice->body_bytes;
	vt_pf_write_event(&thread->sequence, VT_PF_TRACK_EVENT, &event, slice->start_ns);
}

/* The slices of one row. */
static void write_lane(struct vt_pf_slices *slices, const struct vt_pf_slice *list, size_t count)
{
	struct vt_pf_thread *thread = slices->threads[list[0].thread];
	uint16_t lane = list[0].lane;
	uint64_t open[DEPTH_MAX];
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		while (depth && open[depth - 1] <= list[i].start_ns)
			write_end(thread, lane, open[--depth]);
		if (depth == DEPTH_MAX || lane == VT_PF_LANES_MAX) {
			write_instant(slices, &list[i]);
			continue;
		}
		write_begin(slices, &list[i]);
		open[depth++] = list[i].end_ns;
	}
	while (depth)
		write_end(thread, lane, open[--depth]);
}

static void flush(struct vt_pf_slices *slices, bool is_final)
{
	size_t next;

	qsort(slices->list, slices->count, sizeof(*slices->list), by_nesting);
	choose_begins(slices, is_final);
	choose_ends(slices);
	for (size_t i = 0; i < slices->count; i = next) {
		const struct vt_pf_slice *first = &slices->list[i];

		for (next = i + 1; next < slices->count; next++)
			if (slices->list[next].thread != first->thread || slices->list[next].lane != first->lane)
				break;
		write_lane(slices, first, next - i);
	}
	slices->count = 0;
	slices->window_arrival = slices->arrivals;
	vt_buf_clear(&slices->bodies);
}

void vt_pf_slices_finish(struct vt_pf_slices *slices)
{
	flush(slices, true);
}
