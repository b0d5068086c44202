/* test_launch.c - device pages, parameter layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/agent/device_pages.h"
#include "capture/agent/param_layout.h"

#define MIB (UINT64_C(1) << 20)

static void pages_cover_what_was_set(void **state)
{
	struct vt_device_pages pages = { 0 };
	uint64_t base = UINT64_C(0x7f2a40000000);

	(void)state;
	assert_true(vt_device_pages_init(&pages));
	assert_false(vt_device_pages_has(&pages, base));
	vt_device_pages_set(&pages, base + 1, 512); /* a part of one page */
	assert_true(vt_device_pages_has(&pages, base));
	assert_false(vt_device_pages_has(&pages, base + 2 * MIB));
	assert_false(vt_device_pages_has(&pages, base - 1));
	/* 300 MiB: over several words of the map, ends inside words */
	vt_device_pages_set(&pages, base + 64 * MIB, 300 * MIB);
	for (uint64_t mib = 0; mib < 400; mib += 2)
		assert_int_equal(vt_device_pages_has(&pages, base + mib * MIB), mib == 0 || (mib >= 64 && mib < 364));
	vt_device_pages_done(&pages);
}

static void a_cleared_range_leaves_shared_end_pages(void **state)
{
	struct vt_device_pages pages = { 0 };
	uint64_t base = UINT64_C(0x200000000);

	(void)state;
	assert_true(vt_device_pages_init(&pages));
	vt_device_pages_set(&pages, base, 10 * MIB);
	vt_device_pages_clear(&pages, base + MIB, 6 * MIB); /* covers the pages at 2 and 4 MiB whole, others in part */
	assert_true(vt_device_pages_has(&pages, base));
	assert_false(vt_device_pages_has(&pages, base + 2 * MIB));
	assert_false(vt_device_pages_has(&pages, base + 4 * MIB));
	assert_true(vt_device_pages_has(&pages, base + 6 * MIB));
	vt_device_pages_clear(&pages, base + 512, 100); /* inside one page: nothing to clear */
	assert_true(vt_device_pages_has(&pages, base));
	vt_device_pages_done(&pages);
}

static void impossible_ranges_are_ignored(void **state)
{
	struct vt_device_pages pages = { 0 };

	(void)state;
	assert_true(vt_device_pages_init(&pages));
	vt_device_pages_set(&pages, UINT64_MAX - 10, 100);
	vt_device_pages_set(&pages, UINT64_C(1) << 48, 100);
	vt_device_pages_set(&pages, 4096, 0);
	vt_device_pages_clear(&pages, UINT64_MAX - 10, 100);
	assert_false(vt_device_pages_has(&pages, UINT64_MAX));
	assert_false(vt_device_pages_has(&pages, UINT64_C(1) << 48));
	assert_false(vt_device_pages_has(&pages, 4096));
	vt_device_pages_set(&pages, (UINT64_C(1) << 48) - 4096, 4096);
	assert_true(vt_device_pages_has(&pages, (UINT64_C(1) << 48) - 1));
	vt_device_pages_done(&pages);
}

/* A driver that knows kernels with even handles by one call and functions with odd ones by the other. */
static int driver_calls;

static int of_kernel(void *handle, size_t index, size_t *ret_offset, size_t *ret_size)
{
	driver_calls++;
	if ((uintptr_t)handle & 1 || index >= 3)
		return 1;
	*ret_offset = index * 8;
	*ret_size = index == 2 ? 400 : 8;
	return 0;
}

static int of_function(void *handle, size_t index, size_t *ret_offset, size_t *ret_size)
{
	driver_calls++;
	if (!((uintptr_t)handle & 1) || index >= 1)
		return 1;
	*ret_offset = 0;
	*ret_size = 16;
	return 0;
}

static void a_layout_is_asked_once(void **state)
{
	static struct vt_param_layouts layouts;
	struct vt_param_layout layout;

	(void)state;
	assert_true(vt_param_layouts_init(&layouts, of_kernel, of_function));
	driver_calls = 0;
	assert_true(vt_param_layout_find(&layouts, (void *)0x1000, &layout));
	assert_int_equal(layout.count, 3);
	assert_int_equal(layout.sizes[0], 8);
	assert_int_equal(layout.sizes[2], 400);
	assert_int_equal(driver_calls, 4);
	assert_true(vt_param_layout_find(&layouts, (void *)0x1000, &layout));
	assert_int_equal(driver_calls, 4);
	assert_true(vt_param_layout_find(&layouts, (void *)0x1001, &layout));
	assert_int_equal(layout.count, 1);
	assert_int_equal(layout.sizes[0], 16);
	vt_param_layouts_forget(&layouts);
	driver_calls = 0;
	assert_true(vt_param_layout_find(&layouts, (void *)0x1000, &layout));
	assert_int_equal(driver_calls, 4);
}

static void a_function_without_parameters_is_known_as_such(void **state)
{
	static struct vt_param_layouts layouts;
	struct vt_param_layout layout;

	(void)state;
	assert_true(vt_param_layouts_init(&layouts, NULL, of_function));
	driver_calls = 0;
	assert_true(vt_param_layout_find(&layouts, (void *)0x2000, &layout));
	assert_int_equal(layout.count, 0);
	assert_int_equal(driver_calls, 1);
	assert_true(vt_param_layout_find(&layouts, (void *)0x2000, &layout));
	assert_int_equal(driver_calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_cover_what_was_set),
		cmocka_unit_test(a_cleared_range_leaves_shared_end_pages),
		cmocka_unit_test(impossible_ranges_are_ignored),
		cmocka_unit_test(a_layout_is_asked_once),
		cmocka_unit_test(a_function_without_parameters_is_known_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
