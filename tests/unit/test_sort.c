/* test_sort.c - vt_sort_records against a plain insertion sort, and its stability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/collector/sort.h"
#include "schema/event.h"

static struct vt_device_sample sample(uint64_t time_ns, uint32_t mark)
{
	return (struct vt_device_sample){ .time_ns = time_ns, .thread = mark };
}

/* The obvious stable sort. */
static void sort_plainly(struct vt_device_sample *records, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct vt_device_sample one = records[i];
		uint32_t at = i;

		for (; at > 0 && records[at - 1].time_ns > one.time_ns; at--)
			records[at] = records[at - 1];
		records[at] = one;
	}
}

static void check(const struct vt_device_sample *input, uint32_t n)
{
	struct vt_device_sample *got = malloc(n * sizeof(*got) + 1), *want = malloc(n * sizeof(*want) + 1);
	struct vt_sort sort = { 0 };

	assert_non_null(got);
	assert_non_null(want);
	if (n) {
		memcpy(got, input, n * sizeof(*got));
		memcpy(want, input, n * sizeof(*want));
	}
	sort_plainly(want, n);
	assert_int_equal(vt_sort_records(&sort, got, n, sizeof(*got)), 0);
	assert_memory_equal(got, want, n * sizeof(*got));
	vt_sort_done(&sort);
	free(got);
	free(want);
}

static void test_small(void **state)
{
	struct vt_device_sample records[3] = { sample(5, 0), sample(5, 1), sample(5, 2) };

	(void)state;
	check(records, 0);
	check(records, 1);
	check(records, 3); /* equal times keep their order */
	records[2] = sample(4, 2);
	check(records, 3);
	records[0] = sample(UINT64_MAX, 0);
	check(records, 3);
}

/* Runs of every number and length, with equal times across them. */
static void test_runs(void **state)
{
	static struct vt_device_sample records[3000];

	(void)state;
	srand(1);
	for (uint32_t runs = 1; runs <= 40; runs++) {
		uint32_t n = 0;

		for (uint32_t run = 0; run < runs; run++) {
			uint64_t time = (uint64_t)(rand() % 50);
			uint32_t length = (uint32_t)(rand() % 70);

			for (uint32_t i = 0; i < length; i++, n++) {
				time += (uint64_t)(rand() % 3);
				records[n] = sample(time, n);
			}
		}
		check(records, n);
	}
}

static void test_falling(void **state)
{
	static struct vt_device_sample records[1000];

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		records[i] = sample(1000 - i, i);
	check(records, 1000);
	check(records, 999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_falling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
