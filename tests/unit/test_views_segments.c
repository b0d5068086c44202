/* test_views_segments.c - free space in segments: by hand, and against a map of each MiB over random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/views/segments.h"
#include "tests/unit/array_cursor.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static uint64_t total; /* of the blocks that add_block has added */

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

static void add_block(struct vt_array *array, uint64_t time_ns, uint64_t address, int64_t bytes)
{
	total += (uint64_t)bytes;
	vt_array_add(array, 1, VT_EVENT_tensor,
		     &(struct vt_tensor){ .time_ns = time_ns,
					  .address = address,
					  .size_bytes = bytes,
					  .allocated_bytes = total,
					  .device_type = VT_device_type_CUDA });
}

static struct vt_free_space space_of(const struct vt_array *array, uint64_t request)
{
	struct vt_free_space space;
	struct vt_segments *segments;
	struct vt_replay *replay;
	struct vt_listener listener;
	struct vt_err err;

	assert_int_equal(vt_replay_new(&replay, &err), 0);
	assert_int_equal(vt_segments_new(&segments, &err), 0);
	listener = vt_segments_listener(segments);
	assert_int_equal(vt_replay_add(replay, &listener, &err), 0);
	vt_array_replay(array, replay);
	assert_int_equal(vt_segments_free_space(segments, replay, 0, request, &space, &err), 0);
	vt_segments_free(segments);
	vt_replay_free(replay);
	return space;
}

/*
 * By hand. Segment A: 20 MiB at 0x10000000 with blocks [0, 4) and [10, 12) MiB: free 6 and 8. Segment B: 2 MiB (small)
 * with one block of 512 KiB: free 1.5. Segment C: 4 MiB that no block was ever in (a library's): not counted.
 * Segment D: 20 MiB, freed again.
 */
static void test_segments_plain(void **state)
{
	const uint64_t a = 0x10000000, b = 0x20000000, c = 0x30000000, d = 0x40000000;
	struct vt_array array = { .count = 0 };
	struct vt_free_space space;

	(void)state;
	total = 0;
	add_driver(&array, 10, VT_driver_api_MEM_ALLOC, a, 20 * MIB);
	add_driver(&array, 11, VT_driver_api_MEM_ALLOC, d, 20 * MIB);
	add_block(&array, 12, a, 4 * (int64_t)MIB);
	add_block(&array, 13, a + 4 * MIB, 6 * (int64_t)MIB);
	add_block(&array, 14, a + 10 * MIB, 2 * (int64_t)MIB);
	add_block(&array, 15, d, 3 * (int64_t)MIB);
	add_driver(&array, 16, VT_driver_api_MEM_ALLOC, b, 2 * MIB);
	add_block(&array, 17, b, (int64_t)MIB / 2);
	add_driver(&array, 18, VT_driver_api_MEM_ALLOC, c, 4 * MIB);
	add_block(&array, 19, a + 4 * MIB, -6 * (int64_t)MIB);
	add_block(&array, 20, d, -3 * (int64_t)MIB);
	add_driver(&array, 21, VT_driver_api_MEM_FREE, d, 0);

	space = space_of(&array, 9 * MIB);
	assert_int_equal(space.segments, 2);
	assert_int_equal(space.segment_bytes, 22 * MIB);
	assert_int_equal(space.free_bytes, 14 * MIB);
	assert_int_equal(space.free_ranges, 2);
	assert_int_equal(space.largest_bytes, 8 * MIB);
	assert_int_equal(space.other_free_bytes, 3 * MIB / 2);
	assert_int_equal(space.stray_blocks, 0);

	space = space_of(&array, MIB);
	assert_int_equal(space.largest_bytes, 3 * MIB / 2);
	assert_int_equal(space.other_free_bytes, 14 * MIB);
	vt_array_done(&array);
}

/*
 * Expandable: three pages of 20 MiB side by side are one range; the middle one is unmapped later. Blocks [0, 15) and
 * [45, 46) MiB: free 30 before, then 5 and 5 and 14. A block elsewhere lies in nothing seen.
 */
static void test_segments_mapped(void **state)
{
	const uint64_t base = 0x700000000;
	struct vt_array array = { .count = 0 };
	struct vt_free_space space;

	(void)state;
	total = 0;
	for (uint64_t i = 0; i < 3; i++)
		add_driver(&array, 10 + i, VT_driver_api_MEM_MAP, base + i * 20 * MIB, 20 * MIB);
	add_block(&array, 20, base, 15 * (int64_t)MIB);
	add_block(&array, 21, base + 15 * MIB, 30 * (int64_t)MIB);
	add_block(&array, 22, base + 45 * MIB, (int64_t)MIB);
	add_block(&array, 23, base + 15 * MIB, -30 * (int64_t)MIB);
	add_block(&array, 24, 0x1000, 512);
	space = space_of(&array, 2 * MIB);
	assert_int_equal(space.segment_bytes, 60 * MIB);
	assert_int_equal(space.largest_bytes, 30 * MIB);
	assert_int_equal(space.free_bytes, 44 * MIB);
	assert_int_equal(space.stray_blocks, 1);
	assert_int_equal(space.stray_bytes, 512);

	add_driver(&array, 30, VT_driver_api_MEM_UNMAP, base + 20 * MIB, 20 * MIB);
	space = space_of(&array, 2 * MIB);
	assert_int_equal(space.segment_bytes, 40 * MIB);
	assert_int_equal(space.free_ranges, 3);
	assert_int_equal(space.largest_bytes, 14 * MIB);
	assert_int_equal(space.free_bytes, 24 * MIB);
	vt_array_done(&array);
}

#define UNITS 256 /* of 1 MiB: the space in which random segments and blocks lie */

static uint32_t rng(uint64_t *seed, uint32_t below)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % below;
}

/*
 * Random segments of 4 to 32 MiB, mapped ones and plain ones side by side, full of random blocks of whole MiB, some of
 * them freed; against a map of each MiB. Segments that no block was ever in do not count.
 */
static void check_random_space(uint64_t seed)
{
	enum { NONE, FREE, USED } units[UNITS] = { NONE };
	int range_of[UNITS] = { 0 }; /* free units with equal numbers may join */
	struct vt_array array = { .count = 0 };
	struct vt_free_space space;
	uint64_t time_ns = 10, free_bytes = 0, largest = 0, segment_bytes = 0, run = 0;
	uint32_t at = 0;
	int range = 0;
	bool last_mapped = false;

	total = 0;
	while (at + 32 < UNITS) {
		uint32_t size = 4 + rng(&seed, 29), used = 0;
		bool mapped = rng(&seed, 2), hole = rng(&seed, 3) == 0;

		at += hole;
		add_driver(&array, time_ns++, mapped ? VT_driver_api_MEM_MAP : VT_driver_api_MEM_ALLOC, at * MIB + GIB,
			   size * MIB);
		range += !(mapped && last_mapped && !hole);
		last_mapped = mapped;
		segment_bytes += size * MIB;
		for (uint32_t i = 0; i < size; i++) {
			units[at + i] = FREE;
			range_of[at + i] = range;
		}
		while (used < size) {
			uint32_t block = 1 + rng(&seed, size - used), keep = rng(&seed, 2);

			add_block(&array, time_ns++, (at + used) * MIB + GIB, (int64_t)(block * MIB));
			if (!keep)
				add_block(&array, time_ns++, (at + used) * MIB + GIB, -(int64_t)(block * MIB));
			for (uint32_t i = 0; keep && i < block; i++)
				units[at + used + i] = USED;
			used += block;
		}
		at += size;
	}
	for (uint32_t i = 0; i < UNITS; i++) {
		run = units[i] != FREE						    ? 0
		      : i && units[i - 1] == FREE && range_of[i - 1] == range_of[i] ? run + MIB
										    : MIB;
		free_bytes += units[i] == FREE ? MIB : 0;
		largest = run > largest ? run : largest;
	}
	space = space_of(&array, 100 * MIB);
	assert_int_equal(space.segment_bytes, segment_bytes);
	assert_int_equal(space.free_bytes, free_bytes);
	assert_int_equal(space.largest_bytes, largest);
	assert_int_equal(space.stray_blocks, 0);
	assert_int_equal(segment_bytes - free_bytes, total);
	vt_array_done(&array);
}

static void test_segments_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++)
		check_random_space(seed);
}

static void test_torch_segment(void **state)
{
	(void)state;
	assert_int_equal(vt_torch_segment_bytes(512, 0), 2 * MIB);
	assert_int_equal(vt_torch_segment_bytes(MIB, 0), 2 * MIB);
	assert_int_equal(vt_torch_segment_bytes(MIB + 512, 0), 20 * MIB);
	assert_int_equal(vt_torch_segment_bytes(10 * MIB - 512, 0), 20 * MIB);
	assert_int_equal(vt_torch_segment_bytes(10 * MIB - 512, 64 * MIB), 64 * MIB);
	assert_int_equal(vt_torch_segment_bytes(10 * MIB, 0), 10 * MIB);
	assert_int_equal(vt_torch_segment_bytes(10 * MIB + 512, 0), 12 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments_plain),
		cmocka_unit_test(test_segments_mapped),
		cmocka_unit_test(test_segments_random),
		cmocka_unit_test(test_torch_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
