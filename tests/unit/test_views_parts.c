/* test_views_parts.c - levels, segments, advice and small parsers of the reports, each with figures made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/views/alloc_conf.h"
#include "analyze/views/idmap.h"
#include "analyze/views/levels.h"
#include "analyze/views/oom_rules.h"
#include "analyze/views/segments.h"
#include "analyze/views/time_text.h"
#include "schema/base/bits.h"
#include "tests/unit/array_cursor.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static void test_idmap(void **state)
{
	struct vt_idmap map = { .count = 0 };

	(void)state;
	assert_int_equal(vt_idmap_find(&map, (struct vt_idmap_key){ 0, 0, 0 }), VT_IDMAP_NONE);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++)
			assert_int_equal(vt_idmap_add(&map, (struct vt_idmap_key){ i % 7, i, i * 64 }), i);
	assert_int_equal(map.count, 5000);
	assert_int_equal(vt_idmap_find(&map, (struct vt_idmap_key){ 1, 8, 512 }), 8);
	assert_int_equal(vt_idmap_find(&map, (struct vt_idmap_key){ 2, 8, 512 }), VT_IDMAP_NONE);
	vt_idmap_done(&map);
}

static const struct vt_level_row *find_row(const struct vt_level_row *rows, unsigned n, const char *key)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(rows[i].key, key))
			return &rows[i];
	return NULL;
}

/* Gaps and the narrowest level add up to the widest. */
static void check_closed(const struct vt_level_row *rows, unsigned n, uint64_t whole, uint64_t narrowest)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		if (rows[i].kind == VT_LEVEL_GAP && strcmp(rows[i].key, "unattributed") != 0)
			sum += rows[i].bytes;
	assert_int_equal(sum + (int64_t)narrowest, whole);
}

static void test_levels_all_known(void **state)
{
	const struct vt_levels levels = { .total_bytes = 80 * GIB,
					  .free_bytes = 10 * GIB,
					  .process_bytes = 64 * GIB,
					  .has_driver = true,
					  .driver_bytes = 63 * GIB,
					  .has_tensors = true,
					  .reserved_bytes = 60 * GIB,
					  .allocated_bytes = 50 * GIB,
					  .known_bytes = 50 * GIB };
	struct vt_level_row rows[VT_LEVEL_ROWS_MAX];
	unsigned n = vt_levels_rows(&levels, rows);

	(void)state;
	assert_int_equal(n, 11);
	assert_int_equal(find_row(rows, n, "used")->bytes, 70 * GIB);
	assert_int_equal(find_row(rows, n, "other_processes")->bytes, 6 * GIB);
	assert_int_equal(find_row(rows, n, "context")->bytes, 1 * GIB);
	assert_int_equal(find_row(rows, n, "outside_allocator")->bytes, 3 * GIB);
	assert_int_equal(find_row(rows, n, "unallocated")->bytes, 10 * GIB);
	assert_null(find_row(rows, n, "unattributed"));
	check_closed(rows, n, 80 * GIB, 50 * GIB);
}

static void test_levels_unknown(void **state)
{
	struct vt_levels levels = { .total_bytes = 80 * GIB,
				    .free_bytes = 10 * GIB,
				    .has_tensors = true,
				    .reserved_bytes = 60 * GIB,
				    .allocated_bytes = 50 * GIB,
				    .known_bytes = 49 * GIB };
	struct vt_level_row rows[VT_LEVEL_ROWS_MAX];
	unsigned n = vt_levels_rows(&levels, rows);

	(void)state;
	assert_false(find_row(rows, n, "process")->known);
	assert_false(find_row(rows, n, "driver")->known);
	assert_int_equal(find_row(rows, n, "outside_allocator")->bytes, 10 * GIB);
	assert_int_equal(find_row(rows, n, "unattributed")->bytes, 1 * GIB);
	check_closed(rows, n, 80 * GIB, 50 * GIB);

	levels.total_bytes = levels.free_bytes = 0;
	n = vt_levels_rows(&levels, rows);
	assert_false(find_row(rows, n, "total")->known);
	assert_null(find_row(rows, n, "outside_allocator"));
	check_closed(rows, n, 60 * GIB, 50 * GIB);

	/* A device that only driver calls were seen on. */
	levels = (struct vt_levels){ .has_driver = true, .driver_bytes = 5 * GIB };
	n = vt_levels_rows(&levels, rows);
	assert_int_equal(find_row(rows, n, "driver")->bytes, 5 * GIB);
	assert_false(find_row(rows, n, "allocated")->known);

	/* Host memory has no device around it. */
	levels = (struct vt_levels){ .is_host = true, .has_tensors = true, .allocated_bytes = MIB, .known_bytes = MIB };
	n = vt_levels_rows(&levels, rows);
	assert_int_equal(n, 1);
	assert_int_equal(rows[0].bytes, MIB);
}

/* The driver's figures are older than the rest: what does not fit is named and negative, and the sum is closed still.
 */
static void test_levels_contradiction(void **state)
{
	const struct vt_levels levels = { .total_bytes = 80 * GIB,
					  .free_bytes = 70 * GIB,
					  .read_ns = 5,
					  .time_ns = 9,
					  .driver_then = 8 * GIB,
					  .has_driver = true,
					  .driver_bytes = 30 * GIB,
					  .has_tensors = true,
					  .reserved_bytes = 30 * GIB,
					  .allocated_bytes = 30 * GIB,
					  .known_bytes = 30 * GIB };
	struct vt_level_row rows[VT_LEVEL_ROWS_MAX];
	unsigned n = vt_levels_rows(&levels, rows);
	int64_t sum = 0;

	(void)state;
	assert_false(vt_levels_simultaneous(&levels));
	assert_int_equal(find_row(rows, n, "unattributed")->bytes, -20 * (int64_t)GIB);
	for (unsigned i = 0; i < n; i++)
		sum += rows[i].kind == VT_LEVEL_GAP ? rows[i].bytes : 0;
	assert_int_equal(sum + 30 * (int64_t)GIB, 80 * GIB);
}

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

static void test_alloc_conf(void **state)
{
	(void)state;
	assert_false(vt_alloc_conf_expandable(NULL));
	assert_false(vt_alloc_conf_expandable(""));
	assert_true(vt_alloc_conf_expandable("expandable_segments:True"));
	assert_true(vt_alloc_conf_expandable("max_split_size_mb:128, expandable_segments: true"));
	assert_false(vt_alloc_conf_expandable("expandable_segments:False,max_split_size_mb:128"));
	assert_false(vt_alloc_conf_expandable("not_expandable_segments:True"));
	assert_int_equal(vt_alloc_conf_large_segment("a:1,large_segment_size_mb:64"), 64 * MIB);
	assert_int_equal(vt_alloc_conf_large_segment("large_segment_size_mb:99999999999"), 0);
	assert_int_equal(vt_alloc_conf_large_segment("a:1"), 0);
}

static void test_parse_time(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "1.5s", 1500000000 },	  { "3", 3000000000 }, { "200ms", 200000000 }, { "7 us", 7000 }, { "12ns", 12 },
		{ "2min", 120000000000 }, { "0", 0 }
	};
	static const char *const bad[] = { "", "x", "-1s", "1h2", "1e30s", "nan", "5 parsecs" };
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(good); i++) {
		assert_int_equal(vt_parse_time(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < VT_ARRAY_SIZE(bad); i++)
		assert_true(vt_parse_time(bad[i], &ns) < 0);
}

static bool advised(const struct vt_oom_facts *facts, const char *key)
{
	char text[VT_OOM_TEXT_MAX];

	for (unsigned i = 0; i < vt_oom_nrules; i++) {
		if (strcmp(vt_oom_rules[i].key, key) != 0)
			continue;
		if (!vt_oom_rules[i].applies(facts))
			return false;
		vt_oom_rules[i].say(text, facts);
		/* Nothing was cut off. */
		assert_true(strlen(text) > 20 && strlen(text) < VT_OOM_TEXT_MAX - 1);
		assert_int_equal(text[strlen(text) - 1], '.');
		return true;
	}
	fail_msg("no rule %s", key);
	return false;
}

/* An 80 GiB device that is full, all of it by this process, nothing fragmented. */
static struct vt_oom_facts full_device(void)
{
	return (struct vt_oom_facts){ .requested_bytes = 2 * GIB,
				      .tried_bytes = 2 * GIB,
				      .total_bytes = 80 * GIB,
				      .free_bytes = 1 * GIB,
				      .process_bytes = 79 * GIB,
				      .has_driver = true,
				      .driver_bytes = 78 * GIB,
				      .reserved_bytes = 78 * GIB,
				      .allocated_bytes = 77 * GIB,
				      .attempt = { .failures = 2, .size_bytes = 2 * GIB },
				      .top_bytes = 10 * GIB,
				      .top_place = "aten::mm at model.py:88" };
}

static void test_rules_full_device(void **state)
{
	struct vt_oom_facts facts = full_device();
	unsigned n = 0;

	(void)state;
	assert_true(advised(&facts, "shortfall"));
	for (unsigned i = 0; i < vt_oom_nrules; i++)
		n += vt_oom_rules[i].applies(&facts);
	assert_int_equal(n, 1);
}

static void test_rules_too_large(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.tried_bytes = 80 * GIB;
	assert_false(advised(&facts, "request_exceeds_device"));
	facts.tried_bytes = 80 * GIB + 2 * MIB;
	assert_true(advised(&facts, "request_exceeds_device"));
	assert_false(advised(&facts, "shortfall"));
	facts.total_bytes = 0;
	assert_false(advised(&facts, "request_exceeds_device"));
}

static void test_rules_own_limit(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.free_bytes = 40 * GIB;
	facts.process_bytes = 40 * GIB;
	assert_false(advised(&facts, "own_limit"));
	facts.attempt.failures = 0;
	assert_true(advised(&facts, "own_limit"));
	assert_false(advised(&facts, "other_processes"));
	facts.free_bytes = 2 * GIB - 1;
	assert_false(advised(&facts, "own_limit"));
	facts.free_bytes = 40 * GIB;
	facts.has_driver = false;
	assert_false(advised(&facts, "own_limit"));
}

static void test_rules_others(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	/* 79 used, 78 by us: 1 + 1 GiB would do, just. */
	facts.process_bytes = 78 * GIB;
	assert_true(advised(&facts, "other_processes"));
	facts.tried_bytes += 1;
	assert_false(advised(&facts, "other_processes"));
	/* The driver did not say what is ours: a context's worth is left out of account. */
	facts = full_device();
	facts.process_bytes = 0;
	assert_false(advised(&facts, "outside_process"));
	facts.driver_bytes = facts.reserved_bytes = 76 * GIB;
	facts.allocated_bytes = 76 * GIB;
	assert_true(advised(&facts, "outside_process"));
	facts.tried_bytes = 3 * GIB + 1;
	assert_false(advised(&facts, "outside_process"));
}

static void test_rules_fragmentation(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.allocated_bytes = 76 * GIB; /* 2 GiB unallocated: as much as asked for */
	assert_true(advised(&facts, "fragmentation"));
	facts.has_segments = true;
	facts.space = (struct vt_free_space){ .free_ranges = 9, .largest_bytes = 2 * GIB - 512 };
	assert_true(advised(&facts, "fragmentation"));
	assert_false(advised(&facts, "free_range_out_of_reach"));
	facts.space.largest_bytes = 2 * GIB;
	assert_false(advised(&facts, "fragmentation"));
	assert_true(advised(&facts, "free_range_out_of_reach"));
	facts.space.largest_bytes = GIB;
	facts.expandable = true;
	assert_false(advised(&facts, "fragmentation"));
	assert_true(advised(&facts, "fragmentation_expandable"));
	facts.allocated_bytes += 1;
	assert_false(advised(&facts, "fragmentation_expandable"));
}

static void test_rules_steps(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.growth = (struct vt_growth){ .steps = 9, .last_ns = 5, .rising = 4, .rise_bytes = 4 * GIB };
	facts.survived_bytes = 70 * GIB;
	assert_true(advised(&facts, "growth"));
	assert_false(advised(&facts, "model_state"));
	facts.growth.rising = 3;
	assert_false(advised(&facts, "growth"));
	assert_true(advised(&facts, "model_state"));
	assert_false(advised(&facts, "step_memory"));
	facts.survived_bytes = 20 * GIB;
	assert_true(advised(&facts, "step_memory"));
	assert_false(advised(&facts, "model_state"));
	/* Rising by less than a twentieth is breathing. */
	facts.growth.rising = 100;
	facts.growth.rise_bytes = 77 * GIB / 20 - 1;
	assert_false(advised(&facts, "growth"));
	facts.growth.steps = 0;
	assert_false(advised(&facts, "step_memory"));
}

static void test_rules_one_holder(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.top_bytes = 77 * GIB / 2;
	assert_true(advised(&facts, "one_holder"));
	facts.top_bytes -= 1;
	assert_false(advised(&facts, "one_holder"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idmap),		cmocka_unit_test(test_levels_all_known),
		cmocka_unit_test(test_levels_unknown),	cmocka_unit_test(test_levels_contradiction),
		cmocka_unit_test(test_segments_plain),	cmocka_unit_test(test_segments_mapped),
		cmocka_unit_test(test_torch_segment),	cmocka_unit_test(test_alloc_conf),
		cmocka_unit_test(test_parse_time),	cmocka_unit_test(test_rules_full_device),
		cmocka_unit_test(test_rules_too_large), cmocka_unit_test(test_rules_own_limit),
		cmocka_unit_test(test_rules_others),	cmocka_unit_test(test_rules_fragmentation),
		cmocka_unit_test(test_rules_steps),	cmocka_unit_test(test_rules_one_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
