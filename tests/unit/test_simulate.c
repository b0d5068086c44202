/* test_simulate.c - the model of PyTorch's allocator: rules by hand, whole after random requests, the bound below all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/simulate/allocator.h"
#include "analyze/simulate/ordered.h"
#include "analyze/simulate/packing.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static struct vt_allocator *open_model(const char *conf, uint64_t total)
{
	struct vt_alloc_settings settings;
	struct vt_allocator *allocator;
	struct vt_err err;

	assert_int_equal(vt_alloc_settings_parse(&settings, conf, &err), 0);
	assert_int_equal(vt_allocator_new(&allocator, &settings, &err), 0);
	vt_allocator_set_device(allocator, total, 0);
	return allocator;
}

static int take(struct vt_allocator *allocator, uint32_t slot, uint64_t bytes, uint64_t stream)
{
	int r = vt_allocator_alloc(allocator,
				   &(struct vt_alloc_request){ .bytes = bytes, .stream = stream, .slot = slot });

	assert_null(vt_allocator_check(allocator));
	return r;
}

static void give(struct vt_allocator *allocator, uint32_t slot)
{
	assert_int_equal(vt_allocator_release(allocator, slot, false), 0);
	assert_null(vt_allocator_check(allocator));
}

static struct vt_range block(const struct vt_allocator *allocator, uint32_t slot)
{
	struct vt_range range;

	assert_true(vt_allocator_block(allocator, slot, &range));
	return range;
}

static void test_rounding(void **state)
{
	struct vt_alloc_settings settings;
	char text[VT_ALLOC_SETTINGS_MAX];
	struct vt_err err;

	(void)state;
	vt_alloc_settings_default(&settings);
	assert_int_equal(vt_alloc_round(&settings, 1), 512);
	assert_int_equal(vt_alloc_round(&settings, 513), 1024);
	assert_int_equal(vt_alloc_segment_bytes(&settings, MIB), 2 * MIB);
	assert_int_equal(vt_alloc_segment_bytes(&settings, MIB + 512), 20 * MIB);
	assert_int_equal(vt_alloc_segment_bytes(&settings, 10 * MIB), 10 * MIB);
	assert_int_equal(vt_alloc_segment_bytes(&settings, 10 * MIB + 512), 12 * MIB);
	/* PyTorch's own example: 1200 with 4 divisions lies between 1024 and 2048 in steps of 256. */
	assert_int_equal(vt_alloc_segment_bytes(&settings, 12 * MIB), 12 * MIB);
	assert_int_equal(vt_alloc_settings_parse(&settings, "roundup_power2_divisions:4", &err), 0);
	assert_int_equal(vt_alloc_round(&settings, 1200 * KIB), 1280 * KIB);
	assert_int_equal(vt_alloc_round(&settings, 1024 * KIB), 1024 * KIB);
	assert_int_equal(vt_alloc_round(&settings, 1500), 1536); /* not above 512 x divisions */
	assert_int_equal(vt_alloc_settings_parse(&settings,
						 "expandable_segments:True, roundup_power2_divisions:[256:1,512:2,>:8],"
						 "max_split_size_mb:128",
						 &err),
			 0);
	assert_int_equal(settings.roundup[0], 1);
	assert_int_equal(settings.roundup[8], 1);
	assert_int_equal(settings.roundup[10], 8);
	assert_int_equal(settings.max_split_bytes, 128 * MIB);
	assert_true(settings.expandable);
	assert_int_equal(vt_alloc_settings_parse(&settings, "max_split_size_mb:10", &err), -VT_E_USAGE);
	assert_int_equal(vt_alloc_settings_parse(&settings, "weather:fine", &err), -VT_E_USAGE);
	assert_int_equal(vt_alloc_settings_parse(&settings, "max_split_size_mb:64,expandable_segments:True", &err), 0);
	assert_string_equal(vt_alloc_settings_text(text, &settings), "expandable_segments:True,max_split_size_mb:64");
}

/* Best fit, splitting below 1 MiB of rest or not, merging; streams apart. */
static void test_native(void **state)
{
	struct vt_allocator *a = open_model("", GIB);
	const struct vt_alloc_stats *stats = vt_allocator_stats(a);

	(void)state;
	assert_int_equal(take(a, 1, 5 * MIB, 0), 0);		  /* of 20 MiB */
	assert_int_equal(take(a, 2, 14 * MIB + 512 * KIB, 0), 0); /* leaves 512 KiB, not split off */
	assert_int_equal(stats->reserved_bytes, 20 * MIB);
	assert_int_equal(block(a, 2).bytes, 15 * MIB);
	assert_int_equal(block(a, 2).start, block(a, 1).start + 5 * MIB);
	assert_int_equal(take(a, 3, 300, 0), 0);
	assert_int_equal(take(a, 4, 300, 7), 0); /* another stream: a segment of its own */
	assert_int_equal(stats->reserved_bytes, 24 * MIB);
	assert_int_equal(stats->inactive_split_bytes, 4 * MIB - 1024);
	give(a, 1);
	give(a, 2);
	assert_int_equal(take(a, 5, 20 * MIB, 0), 0); /* the two are one again */
	assert_int_equal(stats->segments, 3);
	give(a, 5);
	assert_int_equal(vt_allocator_empty_cache(a), 0);
	assert_int_equal(stats->reserved_bytes, 4 * MIB); /* live blocks pin the small ones */
	assert_int_equal(stats->device_frees, 1);
	vt_allocator_free(a);
}

/* A full device: the cache is given back, and only then it is an error. */
static void test_retry_and_oom(void **state)
{
	struct vt_allocator *a = open_model("", 100 * MIB);
	const struct vt_alloc_stats *stats = vt_allocator_stats(a);

	(void)state;
	assert_int_equal(take(a, 1, 60 * MIB, 0), 0);
	give(a, 1);
	assert_int_equal(take(a, 2, 80 * MIB, 0), 0);
	assert_int_equal(stats->retries, 1);
	assert_int_equal(stats->reserved_bytes, 80 * MIB);
	assert_int_equal(take(a, 3, 30 * MIB, 0), 1);
	assert_int_equal(stats->retries, 2);
	assert_int_equal(stats->ooms, 1);
	vt_allocator_free(a);
	/* PyTorch's own limit. */
	a = open_model("per_process_memory_fraction:0.5", 100 * MIB);
	assert_int_equal(take(a, 1, 50 * MIB, 0), 0);
	assert_int_equal(take(a, 2, 12 * MIB, 0), 1);
	vt_allocator_free(a);
}

/* Oversize blocks are not split, and serve only what is at most 20 MiB smaller. */
static void test_max_split(void **state)
{
	struct vt_allocator *a = open_model("max_split_size_mb:64", GIB);
	const struct vt_alloc_stats *stats = vt_allocator_stats(a);

	(void)state;
	assert_int_equal(take(a, 1, 100 * MIB, 0), 0);
	give(a, 1);
	assert_int_equal(take(a, 2, 30 * MIB, 0), 0); /* not out of the oversize block */
	assert_int_equal(stats->reserved_bytes, 130 * MIB);
	assert_int_equal(take(a, 3, 70 * MIB, 0), 0); /* 100 >= 70 + 20: too large */
	assert_int_equal(stats->reserved_bytes, 200 * MIB);
	assert_int_equal(take(a, 4, 90 * MIB, 0), 0);
	assert_int_equal(block(a, 4).bytes, 100 * MIB);
	vt_allocator_free(a);
}

/* Pages of 20 MiB are mapped as needed, and unmapped where nothing lives. */
static void test_expandable(void **state)
{
	struct vt_allocator *a = open_model("expandable_segments:True", GIB);
	const struct vt_alloc_stats *stats = vt_allocator_stats(a);

	(void)state;
	assert_int_equal(take(a, 1, 30 * MIB, 0), 0);
	assert_int_equal(stats->reserved_bytes, 40 * MIB);
	assert_int_equal(take(a, 2, 35 * MIB, 0), 0); /* 10 left, 25 more: two pages */
	assert_int_equal(stats->reserved_bytes, 80 * MIB);
	assert_int_equal(block(a, 2).start, block(a, 1).start + 30 * MIB);
	give(a, 1);
	assert_int_equal(vt_allocator_empty_cache(a), 0);
	assert_int_equal(stats->reserved_bytes, 60 * MIB); /* the page at 20 MiB is shared */
	assert_int_equal(take(a, 3, 30 * MIB, 0), 0);	   /* fits below again */
	assert_int_equal(block(a, 3).start, block(a, 2).start - 30 * MIB);
	assert_int_equal(stats->segments, 0);
	vt_allocator_free(a);
}

/*
 * 58 MiB are reserved where 50 are allowed before a new segment. Ages in calls of the large pool: the 40 MiB 1, the 16 MiB
 * 2; those at least as old as the mean go: 16. Then 42 + 50 are within the limit of 100.
 */
static void test_garbage_collection(void **state)
{
	struct vt_allocator *a =
		open_model("garbage_collection_threshold:0.5,per_process_memory_fraction:0.5", 200 * MIB);
	const struct vt_alloc_stats *stats = vt_allocator_stats(a);

	(void)state;
	assert_int_equal(take(a, 3, 512, 0), 0);
	assert_int_equal(take(a, 1, 40 * MIB, 0), 0);
	assert_int_equal(take(a, 2, 16 * MIB, 0), 0);
	give(a, 1);
	give(a, 2);
	assert_int_equal(take(a, 4, 30 * MIB, 0), 0); /* out of the 40: no new segment, so no collection */
	give(a, 4);
	assert_int_equal(stats->device_frees, 0);
	assert_int_equal(take(a, 5, 50 * MIB, 0), 0);
	assert_int_equal(stats->device_frees, 1);
	assert_int_equal(stats->retries, 0);
	assert_int_equal(stats->reserved_bytes, 92 * MIB);
	vt_allocator_free(a);
}

/* A block that another stream still uses is not handed out; a graph's pool keeps its segments until the graph is gone. */
static void test_waiting_and_private(void **state)
{
	const struct vt_alloc_request captured = { .bytes = 30 * MIB, .pool = 1, .slot = 3 };
	struct vt_allocator *a = open_model("", GIB);
	const struct vt_alloc_stats *stats = vt_allocator_stats(a);
	uint64_t first;

	(void)state;
	assert_int_equal(take(a, 1, 30 * MIB, 0), 0);
	first = block(a, 1).start;
	assert_int_equal(vt_allocator_release(a, 1, true), 0);
	assert_null(vt_allocator_check(a));
	assert_int_equal(take(a, 2, 30 * MIB, 0), 0);
	assert_int_not_equal(block(a, 2).start, first);
	assert_int_equal(stats->allocated_bytes, 30 * MIB);
	assert_int_equal(stats->active_bytes, 60 * MIB);
	assert_int_equal(vt_allocator_completed(a, 1), 0);
	assert_int_equal(take(a, 1, 30 * MIB, 0), 0);
	assert_int_equal(block(a, 1).start, first);
	assert_int_equal(vt_allocator_alloc(a, &captured), 0);
	give(a, 3);
	assert_int_equal(vt_allocator_empty_cache(a), 0);
	assert_int_equal(stats->reserved_bytes, 90 * MIB);
	vt_allocator_pool_unused(a, 1);
	assert_int_equal(vt_allocator_empty_cache(a), 0);
	assert_int_equal(stats->reserved_bytes, 60 * MIB);
	vt_allocator_free(a);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* 20,000 random requests under each policy: the model stays whole, and no policy reserves less than what is live. */
static void test_random(void **state)
{
	static const char *const confs[] = {
		"",
		"expandable_segments:True",
		"max_split_size_mb:32",
		"roundup_power2_divisions:8",
		"garbage_collection_threshold:0.6,per_process_memory_fraction:0.9",
		"backend:cudaMallocAsync",
	};

	(void)state;
	for (size_t c = 0; c < sizeof(confs) / sizeof(confs[0]); c++) {
		struct vt_allocator *a = open_model(confs[c], 4 * GIB);
		struct vt_packing packing = { .now = 0 };
		uint64_t seed = 88172645463325252u, held[256] = { 0 }, sum = 0;

		for (int i = 0; i < 20000; i++) {
			uint32_t slot = (uint32_t)(1 + next_random(&seed) % 255);
			uint64_t bytes =
				1 + (next_random(&seed) & (((uint64_t)1 << (9 + next_random(&seed) % 17)) - 1));

			if (held[slot]) {
				assert_int_equal(vt_allocator_release(a, slot, false), 0);
				vt_packing_end(&packing, slot);
				sum -= held[slot];
				held[slot] = 0;
			} else if (vt_allocator_alloc(a, &(struct vt_alloc_request){ .bytes = bytes,
										     .stream = slot & 1,
										     .slot = slot }) == 0) {
				assert_int_equal(vt_packing_begin(&packing, slot, bytes), 0);
				sum += held[slot] = bytes;
			}
			if (i % 997 == 0)
				assert_int_equal(vt_allocator_empty_cache(a), 0);
			if (i % 16 == 0)
				assert_null(vt_allocator_check(a));
			assert_int_equal(vt_allocator_stats(a)->requested_bytes, sum);
			assert_int_equal(packing.live_bytes, sum);
		}
		assert_true(packing.peak_live_bytes <= vt_allocator_stats(a)->peak_reserved_bytes);
		vt_packing_done(&packing);
		vt_allocator_free(a);
	}
}

/* By hand: 4 and 6 live together, then 10 alone: 10. With 4 held over the 10: 14. */
static void test_packing(void **state)
{
	struct vt_packing packing = { .now = 0 };
	uint64_t bytes;

	(void)state;
	assert_int_equal(vt_packing_begin(&packing, 1, 4), 0);
	assert_int_equal(vt_packing_begin(&packing, 2, 6), 0);
	vt_packing_end(&packing, 2);
	assert_int_equal(vt_packing_begin(&packing, 3, 10), 0);
	vt_packing_end(&packing, 1);
	vt_packing_end(&packing, 3);
	assert_int_equal(packing.peak_live_bytes, 14);
	assert_int_equal(vt_packing_pack(&packing, &bytes), 0);
	assert_int_equal(bytes, 14);
	vt_packing_done(&packing);
}

static void test_ordered(void **state)
{
	struct vt_ordered set = { .count = 0 };
	struct vt_ordered_at at;
	const struct vt_ordered_entry *entry;
	uint64_t seed = 1, count = 0, last = 0;
	static uint8_t there[4096];

	(void)state;
	for (int i = 0; i < 40000; i++) {
		uint64_t key = next_random(&seed) % 4096;

		if (there[key])
			assert_true(vt_ordered_erase(&set, key / 8, key % 8));
		else
			assert_int_equal(vt_ordered_insert(&set, key / 8, key % 8, (uint32_t)key), 0);
		there[key] ^= 1;
		key = next_random(&seed) % 4096;
		entry = vt_ordered_lower(&set, key / 8, key % 8, &at);
		while (key < 4096 && !there[key])
			key++;
		if (key == 4096)
			assert_null(entry);
		else
			assert_int_equal(entry->value, key);
	}
	for (entry = vt_ordered_first(&set, &at); entry; entry = vt_ordered_next(&set, &at), count++) {
		assert_true(!count || entry->value > last);
		last = entry->value;
	}
	assert_int_equal(count, set.count);
	vt_ordered_done(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_retry_and_oom),
		cmocka_unit_test(test_max_split),
		cmocka_unit_test(test_expandable),
		cmocka_unit_test(test_garbage_collection),
		cmocka_unit_test(test_waiting_and_private),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_packing),
		cmocka_unit_test(test_ordered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
