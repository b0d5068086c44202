/* test_views_parts.c - levels and small parsers of the reports, with figures made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/views/alloc_conf.h"
#include "analyze/views/idmap.h"
#include "analyze/views/levels.h"
#include "analyze/views/time_text.h"
#include "schema/base/bits.h"

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
	/* Pinned bytes are no level around the tensors: no gap between the two. */
	levels.has_driver = true;
	levels.driver_bytes = 7 * MIB;
	n = vt_levels_rows(&levels, rows);
	assert_int_equal(n, 2);
	assert_int_equal(find_row(rows, n, "pinned")->bytes, 7 * MIB);
	assert_int_equal(find_row(rows, n, "allocated")->bytes, MIB);
	levels.has_tensors = false;
	n = vt_levels_rows(&levels, rows);
	assert_false(find_row(rows, n, "allocated")->known);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idmap),	       cmocka_unit_test(test_levels_all_known),
		cmocka_unit_test(test_levels_unknown), cmocka_unit_test(test_levels_contradiction),
		cmocka_unit_test(test_alloc_conf),     cmocka_unit_test(test_parse_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
