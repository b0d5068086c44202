/* test_replay_driver.c - the physical bytes behind sequences of driver calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/replay/driver.h"

#define MIB (UINT64_C(1) << 20)

/* One process with one device, and what it holds. */
static struct {
	struct vt_driver driver;
	uint64_t bytes;
	struct vt_driver_effect last;
} world;

static int begin(void **state)
{
	(void)state;
	world.bytes = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	vt_driver_done(&world.driver);
	return 0;
}

static void apply(const struct vt_driver_memory call)
{
	assert_int_equal(vt_driver_apply(&world.driver, 1, 0, &call, &world.last), 0);
	world.bytes += world.last.bytes;
}

static void call(enum vt_driver_api api, uint64_t address, uint64_t handle, uint64_t bytes)
{
	apply((struct vt_driver_memory){
		.api = (uint16_t)api, .address = address, .handle = handle, .size_bytes = bytes });
}

static void pool_call(enum vt_driver_api api, uint64_t address, uint64_t reserved, uint64_t used)
{
	apply((struct vt_driver_memory){ .api = (uint16_t)api,
					 .address = address,
					 .size_bytes = 100,
					 .pool_reserved_bytes = reserved,
					 .pool_used_bytes = used });
}

static void arrays_are_told_apart_by_their_handles(void **state)
{
	(void)state;
	call(VT_driver_api_ARRAY_CREATE, 0, 71, 4 * MIB);
	call(VT_driver_api_ARRAY_CREATE, 0, 72, MIB);
	assert_int_equal(world.bytes, 5 * MIB);
	call(VT_driver_api_ARRAY_DESTROY, 0, 71, 0);
	assert_int_equal(world.bytes, MIB);
	call(VT_driver_api_ARRAY_DESTROY, 0, 71, 0);
	assert_int_equal(world.bytes, MIB);
	call(VT_driver_api_ARRAY_DESTROY, 0, 72, 0);
	assert_int_equal(world.bytes, 0);
}

static void memory_mapped_twice_counts_once(void **state)
{
	(void)state;
	call(VT_driver_api_MEM_CREATE, 0, 9, 8 * MIB);
	call(VT_driver_api_MEM_MAP, 0x100000, 9, 8 * MIB);
	call(VT_driver_api_MEM_MAP, 0x900000, 9, 8 * MIB);
	assert_int_equal(world.bytes, 8 * MIB);
	call(VT_driver_api_MEM_RELEASE, 0, 9, 0);
	call(VT_driver_api_MEM_UNMAP, 0x100000, 0, 8 * MIB);
	assert_int_equal(world.bytes, 8 * MIB);
	call(VT_driver_api_MEM_UNMAP, 0x900000, 0, 8 * MIB);
	assert_int_equal(world.bytes, 0);
}

static void a_retained_handle_outlives_a_release(void **state)
{
	(void)state;
	call(VT_driver_api_MEM_CREATE, 0, 9, 2 * MIB);
	call(VT_driver_api_MEM_RETAIN, 0x100000, 9, 0);
	call(VT_driver_api_MEM_RELEASE, 0, 9, 0);
	assert_int_equal(world.bytes, 2 * MIB);
	call(VT_driver_api_MEM_RELEASE, 0, 9, 0);
	assert_int_equal(world.bytes, 0);
	call(VT_driver_api_MEM_RETAIN, 0x100000, 8, 0); /* of memory from before the capture */
	call(VT_driver_api_MEM_RELEASE, 0, 8, 0);
	assert_int_equal(world.bytes, 0);
}

static void a_pool_trimmed_to_nothing_holds_nothing(void **state)
{
	(void)state;
	pool_call(VT_driver_api_MEM_ALLOC_ASYNC, 0x1000, 32 * MIB, 512);
	assert_int_equal(world.bytes, 32 * MIB);
	pool_call(VT_driver_api_MEM_FREE_ASYNC, 0x1000, 32 * MIB, 0);
	assert_int_equal(world.bytes, 32 * MIB);
	assert_int_equal(world.last.pool_used_bytes, 0);
	pool_call(VT_driver_api_POOL_TRIM, 0, 0, 0);
	assert_int_equal(world.bytes, 0);
	assert_int_equal(world.last.pool_reserved_bytes, 0);
}

static void a_pool_that_was_never_read_counts_its_blocks(void **state)
{
	(void)state;
	pool_call(VT_driver_api_MEM_ALLOC_ASYNC, 0x1000, 0, 0);
	pool_call(VT_driver_api_MEM_ALLOC_ASYNC, 0x2000, 0, 0);
	assert_int_equal(world.bytes, 200);
	pool_call(VT_driver_api_MEM_FREE_ASYNC, 0x1000, 0, 0);
	assert_int_equal(world.bytes, 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(arrays_are_told_apart_by_their_handles),	    TEST(memory_mapped_twice_counts_once),
		TEST(a_retained_handle_outlives_a_release),	    TEST(a_pool_trimmed_to_nothing_holds_nothing),
		TEST(a_pool_that_was_never_read_counts_its_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
