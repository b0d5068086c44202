/* test_replay_requested.c - bytes asked for, of the live blocks, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/views/levels.h"
#include "tests/unit/array_cursor.h"

static void add(struct vt_array *array, uint64_t time_ns, uint64_t address, int64_t bytes, uint64_t total,
		uint64_t slack)
{
	vt_array_add(array, 1, VT_EVENT_tensor,
		     &(struct vt_tensor){ .time_ns = time_ns,
					  .address = address,
					  .size_bytes = bytes,
					  .allocated_bytes = total,
					  .reserved_bytes = 4096,
					  .slack_bytes = slack,
					  .stream = 1,
					  .device_type = VT_device_type_CUDA });
}

static const struct vt_level_row *row_of(const struct vt_level_row *rows, unsigned count, const char *key)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(rows[i].key, key))
			return &rows[i];
	return NULL;
}

static struct vt_device run(const struct vt_array *array, struct vt_level_row rows[VT_LEVEL_ROWS_MAX],
			    unsigned *ret_count)
{
	struct vt_levels_view *view;
	struct vt_listener listener;
	struct vt_replay *replay;
	struct vt_device device;
	struct vt_levels levels;
	struct vt_err err;

	assert_int_equal(vt_replay_new(&replay, &err), 0);
	assert_int_equal(vt_levels_view_new(&view, &err), 0);
	listener = vt_levels_listener(view);
	assert_int_equal(vt_replay_add(replay, &listener, &err), 0);
	vt_array_replay(array, replay);
	device = *vt_replay_device(replay, 0);
	levels = vt_levels_now(view, replay, 0);
	*ret_count = vt_levels_rows(&levels, rows);
	vt_levels_view_free(view);
	vt_replay_free(replay);
	return device;
}

/* Asked: 500 of 512 and 1000 of 1024, and later 1 of 512; the first two live together: the peak is 1500. */
static void what_was_asked_for_is_summed(void **state)
{
	struct vt_level_row rows[VT_LEVEL_ROWS_MAX];
	struct vt_array array = { .count = 0 };
	struct vt_device device;
	unsigned count;

	(void)state;
	add(&array, 10, 0x1000, 512, 512, 13);
	add(&array, 20, 0x2000, 1024, 1536, 25);
	add(&array, 30, 0x1000, -512, 1024, 0);
	add(&array, 40, 0x1000, 512, 1536, 512);
	device = run(&array, rows, &count);
	assert_int_equal(device.requested_bytes, 1001);
	assert_int_equal(device.peak_requested_bytes, 1500);
	assert_int_equal(device.unrequested_bytes, 0);
	assert_int_equal(row_of(rows, count, "requested")->bytes, 1001);
	assert_int_equal(row_of(rows, count, "rounding")->bytes, 1536 - 1001);
	vt_array_done(&array);
}

/* A block of which nothing is known, and one whose slack is a lie (more than its size). */
static void what_is_not_known_is_not_summed(void **state)
{
	struct vt_level_row rows[VT_LEVEL_ROWS_MAX];
	struct vt_array array = { .count = 0 };
	struct vt_device device;
	unsigned count;

	(void)state;
	add(&array, 10, 0x1000, 512, 512, 0);
	add(&array, 20, 0x2000, 1024, 1536, 1026);
	device = run(&array, rows, &count);
	assert_int_equal(device.requested_bytes, 0);
	assert_int_equal(device.unrequested_bytes, 1536);
	assert_null(row_of(rows, count, "requested"));
	add(&array, 30, 0x3000, 512, 2048, 1);
	device = run(&array, rows, &count);
	assert_int_equal(row_of(rows, count, "requested")->bytes, 512);
	assert_int_equal(row_of(rows, count, "rounding_or_not_known")->bytes, 1536);
	vt_array_done(&array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_asked_for_is_summed),
		cmocka_unit_test(what_is_not_known_is_not_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
