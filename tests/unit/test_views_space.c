/* test_views_space.c - placed blocks, free ranges and what stands in the way: by hand, and against a search over all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/views/fragmentation.h"
#include "tests/unit/array_cursor.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t total;

static void add_driver(struct vt_array *array, uint64_t time_ns, uint16_t api, uint64_t address, uint64_t bytes)
{
	vt_array_add(array, 1, VT_EVENT_driver_memory,
		     &(struct vt_driver_memory){ .time_ns = time_ns,
						 .start_ns = time_ns - 1,
						 .address = address,
						 .size_bytes = bytes,
						 .handle = address,
						 .api = api });
}

static void add_block(struct vt_array *array, uint64_t time_ns, uint64_t address, uint64_t bytes)
{
	total += bytes;
	vt_array_add(array, 1, VT_EVENT_tensor,
		     &(struct vt_tensor){ .time_ns = time_ns,
					  .address = address,
					  .size_bytes = (int64_t)bytes,
					  .allocated_bytes = total,
					  .device_type = VT_device_type_CUDA });
}

static void free_block(struct vt_array *array, uint64_t time_ns, uint64_t address, uint64_t bytes)
{
	total -= bytes;
	vt_array_add(array, 1, VT_EVENT_tensor,
		     &(struct vt_tensor){ .time_ns = time_ns,
					  .address = address,
					  .size_bytes = -(int64_t)bytes,
					  .allocated_bytes = total,
					  .device_type = VT_device_type_CUDA });
}

static void take(struct vt_array *array, struct vt_space *space)
{
	struct vt_segments *segments;
	struct vt_replay *replay;
	struct vt_listener listener;
	struct vt_err err;

	assert_int_equal(vt_replay_new(&replay, &err), 0);
	assert_int_equal(vt_segments_new(&segments, &err), 0);
	listener = vt_segments_listener(segments);
	assert_int_equal(vt_replay_add(replay, &listener, &err), 0);
	vt_array_replay(array, replay);
	assert_int_equal(vt_space_take(space, segments, replay, 0, &err), 0);
	vt_segments_free(segments);
	vt_replay_free(replay);
	vt_array_done(array);
	total = 0;
}

#define A UINT64_C(0x10000000)
#define B UINT64_C(0x20000000)
#define C UINT64_C(0x30000000)
#define M UINT64_C(0x700000000)

/*
 * Segment A, 40 MiB: blocks [4, 8) and [20, 21) MiB: free 4, 12, 19. Segment B, 2 MiB: [0, 0.5): free 1.5. Segment C,
 * 20 MiB: its block is gone: all free. M: two pages of 20 MiB with [10, 12): free 10 and 28, the second page whole.
 */
static void build(struct vt_array *array)
{
	add_driver(array, 10, VT_driver_api_MEM_ALLOC, A, 40 * MIB);
	add_block(array, 11, A + 4 * MIB, 4 * MIB);
	add_block(array, 12, A + 20 * MIB, MIB);
	add_driver(array, 13, VT_driver_api_MEM_ALLOC, B, 2 * MIB);
	add_block(array, 14, B, MIB / 2);
	add_driver(array, 15, VT_driver_api_MEM_ALLOC, C, 20 * MIB);
	add_block(array, 16, C, 20 * MIB);
	free_block(array, 17, C, 20 * MIB);
	add_driver(array, 18, VT_driver_api_MEM_MAP, M, 20 * MIB);
	add_driver(array, 19, VT_driver_api_MEM_MAP, M + 20 * MIB, 20 * MIB);
	add_block(array, 20, M + 10 * MIB, 2 * MIB);
	add_block(array, 21, M + 12 * MIB, 28 * MIB);
	free_block(array, 22, M + 12 * MIB, 28 * MIB);
}

static void test_pools(void **state)
{
	struct vt_array array = { .count = 0 };
	struct vt_space space;
	const struct vt_space_pool *large, *small;

	(void)state;
	build(&array);
	take(&array, &space);
	small = &space.pools[0];
	large = &space.pools[1];
	assert_int_equal(space.nsegments, 4);
	assert_int_equal(large->segments, 3);
	assert_int_equal(large->segment_bytes, 100 * MIB);
	assert_int_equal(large->live_bytes, 7 * MIB);
	assert_int_equal(large->free_bytes, 93 * MIB);
	assert_int_equal(large->free_ranges, 6);
	assert_int_equal(large->largest_free_bytes, 28 * MIB);
	/* Of C all, of M the second page. */
	assert_int_equal(large->releasable_bytes, 40 * MIB);
	assert_int_equal(vt_space_pinned_bytes(large), 53 * MIB);
	assert_true(vt_space_fragmentation(large) > 0.698 && vt_space_fragmentation(large) < 0.699); /* 1 - 28/93 */
	/* Below 10 MiB: 4; below 20: 12, 19, 10; below 100: 20, 28. */
	assert_int_equal(large->class_bytes[2], 4 * MIB);
	assert_int_equal(large->class_ranges[3], 3);
	assert_int_equal(large->class_bytes[3], 41 * MIB);
	assert_int_equal(large->class_bytes[4], 48 * MIB);
	assert_int_equal(small->free_bytes, 3 * MIB / 2);
	assert_int_equal(small->releasable_bytes, 0);
	assert_true(vt_space_fragmentation(small) < 1e-9);
	/* Of 93 only 20 and 28 hold 20 MiB. */
	assert_true(vt_space_unusable(&space, false, 20 * MIB) > 0.483 &&
		    vt_space_unusable(&space, false, 20 * MIB) < 0.485);
	vt_space_done(&space);
}

static void test_pins(void **state)
{
	struct vt_array array = { .count = 0 };
	struct vt_space space;
	struct vt_pin *pins;
	size_t count;
	struct vt_err err;

	(void)state;
	build(&array);
	take(&array, &space);
	assert_int_equal(vt_pins_list(&space, &pins, &count, &err), 0);
	assert_int_equal(count, 3);
	assert_int_equal(space.segments[pins[0].segment].start, M); /* 38 MiB free */
	assert_int_equal(space.segments[pins[1].segment].start, A); /* 35 */
	assert_int_equal(space.segments[pins[2].segment].start, B);
	free(pins);
	vt_space_done(&space);
}

static struct vt_obstacles obstacles_of(const struct vt_space *space, uint64_t block, uint64_t segment,
					uint64_t free_bytes)
{
	struct vt_obstacles found;
	struct vt_err err;
	const struct vt_request request = { block, segment, free_bytes };

	assert_int_equal(vt_obstacles_find(&found, space, &request, &err), 0);
	return found;
}

/*
 * 30 MiB: in A the block of 1 MiB parts 12 and 19, in M the one of 2 MiB parts 10 and 28: the first is less. Segments
 * would be C (no live byte, 20) and then A. 28 MiB fits. 39 MiB: M with its 2 MiB; in A both blocks (5). 200 MiB: too
 * little.
 */
static void test_obstacles(void **state)
{
	struct vt_array array = { .count = 0 };
	struct vt_obstacles found;
	struct vt_space space;

	(void)state;
	build(&array);
	take(&array, &space);
	found = obstacles_of(&space, 30 * MIB, 30 * MIB, 0);
	assert_int_equal(found.kind, VT_OBSTACLE_WINDOW);
	assert_int_equal(found.nblocks, 1);
	assert_int_equal(found.bytes, MIB);
	assert_int_equal(found.room_bytes, 31 * MIB);
	assert_int_equal(space.blocks[found.blocks[0]].start, A + 20 * MIB);
	vt_obstacles_done(&found);
	found = obstacles_of(&space, 39 * MIB, 40 * MIB, 0);
	assert_int_equal(found.kind, VT_OBSTACLE_WINDOW);
	assert_int_equal(found.bytes, 2 * MIB);
	vt_obstacles_done(&found);
	found = obstacles_of(&space, 28 * MIB, 28 * MIB, 0);
	assert_int_equal(found.kind, VT_OBSTACLE_NONE);
	found = obstacles_of(&space, 50 * MIB, 50 * MIB, 50 * MIB);
	assert_int_equal(found.kind, VT_OBSTACLE_NONE);
	found = obstacles_of(&space, 200 * MIB, 200 * MIB, 10 * MIB);
	assert_int_equal(found.kind, VT_OBSTACLE_SHORT);
	assert_int_equal(found.short_bytes, 200 * MIB - 10 * MIB - 93 * MIB - 3 * MIB / 2);
	/* 50 MiB of which 30 are free: C suffices, which holds nothing live. */
	found = obstacles_of(&space, 50 * MIB, 50 * MIB, 30 * MIB);
	assert_int_equal(found.kind, VT_OBSTACLE_RELEASE);
	assert_int_equal(found.nblocks, 0);
	vt_obstacles_done(&found);
	/* 65 with 10 free: C (20, nothing live), A (40 for 5): B would give 2 for 0.5. */
	found = obstacles_of(&space, 65 * MIB, 66 * MIB, 10 * MIB);
	assert_int_equal(found.kind, VT_OBSTACLE_RELEASE);
	assert_int_equal(found.nblocks, 2);
	assert_int_equal(found.bytes, 5 * MIB);
	assert_int_equal(found.room_bytes, 55 * MIB);
	assert_true(space.blocks[found.blocks[0]].bytes >= space.blocks[found.blocks[1]].bytes);
	vt_obstacles_done(&found);
	vt_space_done(&space);
}

/* The fewest live bytes over any run of neighbouring blocks of a segment whose absence leaves room for the request. */
static uint64_t search_all(const struct vt_space *space, uint64_t wanted)
{
	uint64_t best = UINT64_MAX;

	for (size_t s = 0; s < space->nsegments; s++) {
		const struct vt_space_segment *segment = &space->segments[s];
		size_t n = segment->nblocks;
		const struct vt_space_block *blocks = &space->blocks[segment->first_block];

		for (size_t i = 0; i < n; i++) {
			uint64_t bytes = 0, start = i ? blocks[i - 1].start + blocks[i - 1].bytes : segment->start;

			for (size_t j = i; j < n; j++) {
				uint64_t end = j + 1 < n ? blocks[j + 1].start : segment->start + segment->bytes;

				bytes += blocks[j].bytes;
				if (end - start >= wanted && bytes < best)
					best = bytes;
			}
		}
	}
	return best;
}

/* Random blocks, no driver memory left: the window found is the best there is, or whole segments are better still. */
static void test_obstacles_random(void **state)
{
	unsigned checked = 0;

	(void)state;
	srandom(7);
	for (int round = 0; round < 200; round++) {
		struct vt_array array = { .count = 0 };
		uint64_t wanted = (uint64_t)(10 + random() % 30) * MIB, time = 10, live = 0, bytes = 0, free_bytes = 0;
		struct vt_obstacles found;
		struct vt_space space;

		for (uint64_t s = 0; s < 3; s++) {
			uint64_t at = A * (s + 1);

			add_driver(&array, time++, VT_driver_api_MEM_ALLOC, at, 40 * MIB);
			for (uint64_t end = at + 40 * MIB; at < end; at += (uint64_t)(random() % 6) * MIB) {
				uint64_t size = (uint64_t)(1 + random() % 4) * MIB;

				size = size < end - at ? size : end - at;
				add_block(&array, time++, at, size);
				at += size;
				live += size;
			}
		}
		take(&array, &space);
		for (unsigned i = 0; i < 2; i++) {
			bytes += space.pools[i].live_bytes;
			free_bytes += space.pools[i].free_bytes;
		}
		/* Every byte of the segments is live or free, and nothing was counted twice. */
		assert_int_equal(bytes, live);
		assert_int_equal(live + free_bytes, 120 * MIB);
		if (free_bytes >= wanted && space.pools[1].largest_free_bytes < wanted) {
			found = obstacles_of(&space, wanted, wanted, 0);
			checked++;
			assert_true(found.bytes <= search_all(&space, wanted));
			if (found.kind == VT_OBSTACLE_WINDOW)
				assert_int_equal(found.bytes, search_all(&space, wanted));
			vt_obstacles_done(&found);
		}
		vt_space_done(&space);
	}
	assert_true(checked > 100);
}

/* The sentence that the report exists for. */
static void test_sentence(void **state)
{
	struct vt_array array = { .count = 0 };
	char sentence[VT_FRAGMENTATION_SENTENCE_MAX];
	struct vt_fragmentation_moment moment = {
		.when = VT_FRAGMENTATION_OOM,
		.reserved_bytes = 102 * MIB,
		.allocated_bytes = 15 * MIB / 2,
		.request = { 65 * MIB, 66 * MIB, 10 * MIB },
	};

	(void)state;
	build(&array);
	take(&array, &moment.space);
	moment.obstacles = obstacles_of(&moment.space, 65 * MIB, 66 * MIB, 10 * MIB);
	assert_string_equal(
		vt_fragmentation_sentence(sentence, &moment),
		"94.50 MiB reserved but unallocated, and 65.00 MiB could not be served: because of 2 blocks "
		"(5.00 MiB) that pin 55.00 MiB of free room in segments that could otherwise be given back.");
	vt_obstacles_done(&moment.obstacles);
	moment.request = (struct vt_request){ 30 * MIB, 30 * MIB, 0 };
	moment.obstacles = obstacles_of(&moment.space, 30 * MIB, 30 * MIB, 0);
	assert_string_equal(
		vt_fragmentation_sentence(sentence, &moment),
		"94.50 MiB reserved but unallocated, and 30.00 MiB could not be served: because of one block "
		"(1024.00 KiB) that parts 31.00 MiB of free room side by side.");
	vt_obstacles_done(&moment.obstacles);
	vt_space_done(&moment.space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pools),	  cmocka_unit_test(test_pins),
		cmocka_unit_test(test_obstacles), cmocka_unit_test(test_obstacles_random),
		cmocka_unit_test(test_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
