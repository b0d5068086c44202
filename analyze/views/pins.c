/* pins.c - see pins.h. */
#include "analyze/views/pins.h"

#include <stdlib.h>

/* Most free bytes first; ties by address, so that the order is always the same. */
static int by_free_bytes(const void *a, const void *b)
{
	const struct vt_pin *x = a, *y = b;

	return x->free_bytes != y->free_bytes ? (x->free_bytes < y->free_bytes) - (x->free_bytes > y->free_bytes)
					      : (x->segment > y->segment) - (x->segment < y->segment);
}

int vt_pins_list(const struct vt_space *space, struct vt_pin **ret, size_t *ret_count, struct vt_err *err)
{
	struct vt_pin *list = calloc(space->nsegments ? space->nsegments : 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the list of pinned segments");
	for (size_t i = 0; i < space->nsegments; i++) {
		const struct vt_space_segment *segment = &space->segments[i];

		if (segment->nblocks && segment->live_bytes < segment->bytes)
			list[count++] = (struct vt_pin){ i, segment->bytes - segment->live_bytes };
	}
	qsort(list, count, sizeof(*list), by_free_bytes);
	*ret = list;
	*ret_count = count;
	return 0;
}

struct window {
	size_t first, count; /* blocks */
	uint64_t bytes;	     /* of them */
	uint64_t span;	     /* from the end of the block before to the start of the block behind */
	bool found;
};

static uint64_t end_of(const struct vt_space_block *block)
{
	return block->start + block->bytes;
}

/* The fewest live bytes over which a stretch of `wanted` bytes of the segment lies: two fingers over its blocks. */
static void look_for_window(const struct vt_space *space, const struct vt_space_segment *segment, uint64_t wanted,
			    struct window *best)
{
	const struct vt_space_block *blocks = &space->blocks[segment->first_block];
	size_t first = 0;
	uint64_t bytes = 0;

	for (size_t last = 0; last < segment->nblocks; last++) {
		uint64_t end = last + 1 < segment->nblocks ? blocks[last + 1].start : segment->start + segment->bytes;

		bytes += blocks[last].bytes;
		/* Without its first block, would the rest still part enough? */
		while (first < last && end - end_of(&blocks[first]) >= wanted)
			bytes -= blocks[first++].bytes;
		uint64_t start = first ? end_of(&blocks[first - 1]) : segment->start;

		if (end - start >= wanted && (!best->found || bytes < best->bytes))
			*best = (struct window){ segment->first_block + first, last + 1 - first, bytes, end - start,
						 true };
	}
}

/* Segments to give back. */
struct release {
	size_t *segments;
	size_t count;
	uint64_t live_bytes, segment_bytes;
	size_t blocks;
};

struct candidate {
	size_t segment;
	double worth;
};

static int by_candidate(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->worth != y->worth ? (x->worth < y->worth) - (x->worth > y->worth)
				    : (x->segment > y->segment) - (x->segment < y->segment);
}

/* Chooses them one by one. 1: they suffice; 0: they do not; -VT_E_NOMEM. */
static int choose_release(const struct vt_space *space, uint64_t wanted, struct release *ret)
{
	struct candidate *list = calloc(space->nsegments ? space->nsegments : 1, sizeof(*list));
	size_t count = 0;

	ret->segments = calloc(space->nsegments ? space->nsegments : 1, sizeof(*ret->segments));
	if (!list || !ret->segments) {
		free(list); /* the caller frees ret->segments */
		return -VT_E_NOMEM;
	}
	for (size_t i = 0; i < space->nsegments; i++) {
		const struct vt_space_segment *segment = &space->segments[i];

		/* Of mapped memory the allocator has given back every free page already. */
		if (segment->page_bytes)
			continue;
		list[count++] =
			(struct candidate){ i, (double)segment->bytes /
						       (double)(segment->live_bytes ? segment->live_bytes : 1) };
	}
	qsort(list, count, sizeof(*list), by_candidate);
	for (size_t i = 0; i < count && ret->segment_bytes < wanted; i++) {
		const struct vt_space_segment *segment = &space->segments[list[i].segment];

		ret->segments[ret->count++] = list[i].segment;
		ret->segment_bytes += segment->bytes;
		ret->live_bytes += segment->live_bytes;
		ret->blocks += segment->nblocks;
	}
	free(list);
	return ret->segment_bytes >= wanted;
}

static void take_blocks(struct vt_obstacles *ret, const struct vt_space *space, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		ret->blocks[ret->nblocks++] = i;
		ret->bytes += space->blocks[i].bytes;
	}
}

static int by_bytes(const void *a, const void *b, void *arg)
{
	const struct vt_space *space = *(const struct vt_space **)arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	uint64_t p = space->blocks[x].bytes, q = space->blocks[y].bytes;

	return p != q ? (p < q) - (p > q) : (x > y) - (x < y);
}

/* Takes the better of the two ways down, or neither where the room is not there at all. */
static int take_way(struct vt_obstacles *ret, const struct vt_space *space, const struct window *window,
		    const struct release *release)
{
	bool whole_segments = release->count && (!window->found || release->live_bytes < window->bytes);
	size_t count = whole_segments ? release->blocks : window->count;

	ret->blocks = calloc(count ? count : 1, sizeof(*ret->blocks));
	if (!ret->blocks)
		return -VT_E_NOMEM;
	if (whole_segments) {
		ret->kind = VT_OBSTACLE_RELEASE;
		ret->room_bytes = release->segment_bytes - release->live_bytes;
		for (size_t i = 0; i < release->count; i++) {
			const struct vt_space_segment *segment = &space->segments[release->segments[i]];

			take_blocks(ret, space, segment->first_block, segment->nblocks);
		}
	} else {
		ret->kind = VT_OBSTACLE_WINDOW;
		ret->room_bytes = window->span - window->bytes;
		take_blocks(ret, space, window->first, window->count);
	}
	qsort_r(ret->blocks, ret->nblocks, sizeof(*ret->blocks), by_bytes, &space);
	return 0;
}

int vt_obstacles_find(struct vt_obstacles *ret, const struct vt_space *space, const struct vt_request *request,
		      struct vt_err *err)
{
	bool small = request->block_bytes <= VT_TORCH_SMALL_REQUEST;
	uint64_t room = space->pools[0].free_bytes + space->pools[1].free_bytes + request->device_free_bytes;
	struct release release = { .count = 0 };
	struct window window = { .found = false };
	int r;

	*ret = (struct vt_obstacles){ .kind = VT_OBSTACLE_NONE };
	if (space->pools[!small].largest_free_bytes >= request->block_bytes ||
	    request->device_free_bytes >= request->segment_bytes)
		return 0;
	if (room < request->block_bytes) {
		ret->kind = VT_OBSTACLE_SHORT;
		ret->short_bytes = request->block_bytes - room;
		return 0;
	}
	for (size_t i = 0; i < space->nsegments; i++)
		if (space->segments[i].small == small)
			look_for_window(space, &space->segments[i], request->block_bytes, &window);
	r = choose_release(space, request->segment_bytes - request->device_free_bytes, &release);
	if (!r)
		release.count = 0;
	if (r >= 0)
		r = take_way(ret, space, &window, &release);
	free(release.segments);
	return r < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory for the blocks in the way") : 0;
}

void vt_obstacles_done(struct vt_obstacles *obstacles)
{
	free(obstacles->blocks);
	*obstacles = (struct vt_obstacles){ .kind = VT_OBSTACLE_NONE };
}
