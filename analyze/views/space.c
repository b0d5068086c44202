/* space.c - see space.h. */
#include "analyze/views/space.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/views/idmap.h"
#include "schema/base/bits.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

const uint64_t vt_space_class_below[VT_SPACE_CLASSES] = { 512 * KIB, MIB,	 10 * MIB,  20 * MIB,
							  100 * MIB, 1024 * MIB, UINT64_MAX };

struct taking {
	struct vt_space *space;
	bool no_memory;
};

static void take_segment(void *arg, const struct vt_segment *segment)
{
	struct taking *taking = arg;
	struct vt_space *space = taking->space;
	struct vt_space_segment *last = space->nsegments ? &space->segments[space->nsegments - 1] : NULL;
	uint64_t page = segment->mapped ? segment->bytes : 0;

	if (!segment->framework || taking->no_memory)
		return;
	/*
	 * One reservation is 9/8 of the device and filled from below: pages of two reservations do not touch. What cuts
	 * left of a page is shorter than its neighbours, and belongs to them.
	 */
	if (last && last->page_bytes && page && last->start + last->bytes == segment->start) {
		last->bytes += segment->bytes;
		last->page_bytes = last->page_bytes > page ? last->page_bytes : page;
		return;
	}
	if (vt_array_reach((void **)&space->segments, &space->segments_room, space->nsegments,
			   sizeof(*space->segments)) < 0) {
		taking->no_memory = true;
		return;
	}
	space->segments[space->nsegments++] =
		(struct vt_space_segment){ .start = segment->start, .bytes = segment->bytes, .page_bytes = page };
}

static int take_block(void *arg, const struct vt_block *block)
{
	struct vt_space *space = arg;

	if (vt_array_reach((void **)&space->blocks, &space->blocks_room, space->nblocks, sizeof(*space->blocks)) < 0)
		return -VT_E_NOMEM;
	space->blocks[space->nblocks++] = (struct vt_space_block){
		block->address, block->size_bytes, block->alloc_ns, block->op, block->stack,
	};
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct vt_space_block *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Gives each segment its blocks; blocks outside all segments are counted. */
static void place(struct vt_space *space)
{
	size_t next = 0;

	for (size_t i = 0; i < space->nsegments; i++) {
		struct vt_space_segment *segment = &space->segments[i];

		for (; next < space->nblocks && space->blocks[next].start < segment->start; next++) {
			space->stray_blocks++;
			space->stray_bytes += space->blocks[next].bytes;
		}
		segment->first_block = next;
		for (; next < space->nblocks && space->blocks[next].start - segment->start < segment->bytes; next++)
			segment->live_bytes += space->blocks[next].bytes;
		segment->nblocks = next - segment->first_block;
		segment->small = (segment->page_bytes ? segment->page_bytes : segment->bytes) == VT_TORCH_SMALL_SEGMENT;
	}
	for (; next < space->nblocks; next++) {
		space->stray_blocks++;
		space->stray_bytes += space->blocks[next].bytes;
	}
}

void vt_space_each_free(const struct vt_space *space, const struct vt_space_segment *segment,
			void (*fn)(void *arg, uint64_t start, uint64_t bytes), void *arg)
{
	uint64_t at = segment->start, end = segment->start + segment->bytes;

	for (size_t i = 0; i < segment->nblocks; i++) {
		const struct vt_space_block *block = &space->blocks[segment->first_block + i];

		if (block->start > at)
			fn(arg, at, block->start - at);
		if (block->start + block->bytes > at)
			at = block->start + block->bytes;
	}
	if (end > at)
		fn(arg, at, end - at);
}

struct counting {
	struct vt_space_pool *pool;
	struct vt_space_segment *segment;
};

static void count_free(void *arg, uint64_t start, uint64_t bytes)
{
	struct counting *counting = arg;
	struct vt_space_pool *pool = counting->pool;
	struct vt_space_segment *segment = counting->segment;
	uint64_t page = segment->page_bytes ? segment->page_bytes : segment->bytes;
	uint64_t first = (start - segment->start + page - 1) / page, last = (start + bytes - segment->start) / page;
	unsigned class = 0;

	while (bytes >= vt_space_class_below[class] && class < VT_SPACE_CLASSES - 1)
		class ++;
	pool->class_bytes[class] += bytes;
	pool->class_ranges[class]++;
	pool->free_bytes += bytes;
	pool->free_ranges++;
	pool->releasable_bytes += last > first ? (last - first) * page : 0;
	if (bytes > segment->largest_free_bytes)
		segment->largest_free_bytes = bytes;
	if (bytes > pool->largest_free_bytes)
		pool->largest_free_bytes = bytes;
}

static void count(struct vt_space *space)
{
	for (size_t i = 0; i < space->nsegments; i++) {
		struct vt_space_segment *segment = &space->segments[i];
		struct counting counting = { &space->pools[!segment->small], segment };

		counting.pool->segments++;
		counting.pool->segment_bytes += segment->bytes;
		counting.pool->live_blocks += segment->nblocks;
		counting.pool->live_bytes += segment->live_bytes;
		vt_space_each_free(space, segment, count_free, &counting);
	}
}

int vt_space_take(struct vt_space *ret, const struct vt_segments *segments, const struct vt_replay *replay,
		  uint32_t device, struct vt_err *err)
{
	struct taking taking = { .space = ret };

	*ret = (struct vt_space){ .nsegments = 0 };
	vt_segments_each(segments, device, take_segment, &taking);
	if (taking.no_memory || vt_replay_each_live(replay, device, take_block, ret) < 0) {
		vt_space_done(ret);
		return vt_err_set(err, VT_E_NOMEM, "no memory to place the live blocks");
	}
	if (ret->nblocks)
		qsort(ret->blocks, ret->nblocks, sizeof(*ret->blocks), by_start);
	place(ret);
	count(ret);
	return 0;
}

void vt_space_done(struct vt_space *space)
{
	free(space->segments);
	free(space->blocks);
	*space = (struct vt_space){ .nsegments = 0 };
}

double vt_space_fragmentation(const struct vt_space_pool *pool)
{
	return pool->free_bytes ? 1 - (double)pool->largest_free_bytes / (double)pool->free_bytes : 0;
}

uint64_t vt_space_pinned_bytes(const struct vt_space_pool *pool)
{
	return pool->free_bytes - pool->releasable_bytes;
}

struct fitting {
	uint64_t request, fits;
};

static void add_fitting(void *arg, uint64_t start, uint64_t bytes)
{
	struct fitting *fitting = arg;

	(void)start;
	if (bytes >= fitting->request)
		fitting->fits += bytes;
}

double vt_space_unusable(const struct vt_space *space, bool small, uint64_t request_bytes)
{
	struct fitting fitting = { .request = request_bytes };
	uint64_t total = space->pools[!small].free_bytes;

	for (size_t i = 0; i < space->nsegments; i++)
		if (space->segments[i].small == small)
			vt_space_each_free(space, &space->segments[i], add_fitting, &fitting);
	return total ? 1 - (double)fitting.fits / (double)total : 0;
}
