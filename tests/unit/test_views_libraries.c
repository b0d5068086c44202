/* test_views_libraries.c - driver memory by the library that asked for it, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/views/libraries.h"
#include "tests/unit/array_cursor.h"

#define MIB (INT64_C(1) << 20)
enum { TORCH = 5, CUBLAS = 6 };

static void add_driver(struct vt_array *array, uint64_t time_ns, uint16_t api, uint64_t address, int64_t bytes,
		       uint32_t caller)
{
	vt_array_add(array, 1, VT_EVENT_driver_memory,
		     &(struct vt_driver_memory){ .time_ns = time_ns,
						 .start_ns = time_ns - 1,
						 .address = address,
						 .size_bytes = (uint64_t)bytes,
						 .handle = address,
						 .caller = caller,
						 .api = api });
}

static void add_block(struct vt_array *array, uint64_t time_ns, uint64_t address, int64_t bytes, uint64_t total)
{
	vt_array_add(array, 1, VT_EVENT_tensor,
		     &(struct vt_tensor){ .time_ns = time_ns,
					  .address = address,
					  .size_bytes = bytes,
					  .allocated_bytes = total,
					  .device_type = VT_device_type_CUDA });
}

static size_t uses_of(const struct vt_array *array, bool at_peak, struct vt_library_use **ret)
{
	struct vt_libraries *libraries;
	struct vt_listener listener;
	struct vt_replay *replay;
	struct vt_err err;
	size_t count;

	assert_int_equal(vt_replay_new(&replay, &err), 0);
	assert_int_equal(vt_libraries_new(&libraries, &err), 0);
	listener = vt_libraries_listener(libraries);
	assert_int_equal(vt_replay_add(replay, &listener, &err), 0);
	vt_array_replay(array, replay);
	assert_int_equal(vt_libraries_list(libraries, 0, at_peak, ret, &count, &err), 0);
	vt_libraries_free(libraries);
	vt_replay_free(replay);
	return count;
}

/*
 * torch takes 20 and 2 MiB, cuBLAS 32; the peak is while all of it is held. Then cuBLAS's is freed, by a call that comes
 * from torch: it is cuBLAS's memory all the same. Physical memory counts when it is created and when it is gone for good.
 */
static void bytes_belong_to_who_asked(void **state)
{
	struct vt_array array = { .count = 0 };
	struct vt_library_use *uses;

	(void)state;
	add_driver(&array, 10, VT_driver_api_MEM_ALLOC, 0x10000000, 20 * MIB, TORCH);
	add_driver(&array, 20, VT_driver_api_MEM_CREATE, 0x77, 2 * MIB, TORCH);
	add_driver(&array, 30, VT_driver_api_MEM_ALLOC, 0x30000000, 32 * MIB, CUBLAS);
	add_block(&array, 40, 0x10000000, 4 * MIB, (uint64_t)(4 * MIB));
	add_driver(&array, 50, VT_driver_api_MEM_FREE, 0x30000000, 0, TORCH);
	add_driver(&array, 60, VT_driver_api_MEM_ALLOC, 0x40000000, 7 * MIB, 0);

	assert_int_equal(uses_of(&array, true, &uses), 3);
	assert_int_equal(uses[0].caller, CUBLAS);
	assert_int_equal(uses[0].peak_bytes, 32 * MIB);
	assert_int_equal(uses[0].held_bytes, 0);
	assert_int_equal(uses[0].calls, 2);
	assert_int_equal(uses[1].caller, TORCH);
	assert_int_equal(uses[1].peak_bytes, 22 * MIB);
	assert_int_equal(uses[2].caller, 0);
	assert_int_equal(uses[2].peak_bytes, 0);
	free(uses);

	assert_int_equal(uses_of(&array, false, &uses), 3);
	assert_int_equal(uses[0].held_bytes, 22 * MIB);
	assert_int_equal(uses[1].held_bytes, 7 * MIB);
	assert_int_equal(uses[2].held_bytes, 0);
	free(uses);
	vt_array_done(&array);
}

static void a_trace_without_callers_says_nothing(void **state)
{
	struct vt_array array = { .count = 0 };
	struct vt_library_use *uses;

	(void)state;
	add_driver(&array, 10, VT_driver_api_MEM_ALLOC, 0x10000000, 20 * MIB, 0);
	assert_int_equal(uses_of(&array, false, &uses), 0);
	free(uses);
	vt_array_done(&array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_belong_to_who_asked),
		cmocka_unit_test(a_trace_without_callers_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
