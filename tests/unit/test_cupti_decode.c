/* test_cupti_decode.c - parameter blocks of driver calls to the facts of an event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "capture/agent/cupti_abi.h"
#include "capture/agent/cupti_decode.h"
#include "schema/event.h"

static struct vt_call_facts decode(uint32_t cbid, const void *params, bool ok)
{
	const struct vt_call *call = vt_call_find(cbid);

	assert_non_null(call);
	return vt_call_decode(call, params, ok);
}

static void numbers_outside_the_table_are_not_calls(void **state)
{
	(void)state;
	assert_null(vt_call_find(0));
	assert_null(vt_call_find(242)); /* cuMemGetInfo_v2: we make it ourselves */
	assert_null(vt_call_find(UINT32_MAX));
	assert_null(vt_call_find(804));
	assert_int_equal(vt_call_cbid(UINT32_MAX), 0);
	assert_int_equal(vt_call_cbid(0), 243);
	for (uint32_t i = 0; vt_call_cbid(i); i++)
		assert_non_null(vt_call_find(vt_call_cbid(i)));
}

static void a_failed_call_says_what_was_asked_and_reads_no_result(void **state)
{
	const uint64_t *invalid = (const uint64_t *)8; /* would crash if read */
	struct vt_cu_alloc alloc = { (uint64_t *)(uintptr_t)invalid, 1000 };
	struct vt_cu_create create = { (uint64_t *)(uintptr_t)invalid, 2000, NULL, 0 };
	struct vt_cu_alloc_pitch pitch = { (uint64_t *)(uintptr_t)invalid, (size_t *)(uintptr_t)invalid, 100, 7, 4 };
	struct vt_call_facts facts;

	(void)state;
	facts = decode(243, &alloc, false);
	assert_int_equal(facts.address, 0);
	assert_int_equal(facts.size_bytes, 1000);
	assert_int_equal(facts.device, VT_CALL_DEVICE_OF_CONTEXT);
	facts = decode(549, &create, false);
	assert_int_equal(facts.handle, 0);
	assert_int_equal(facts.size_bytes, 2000);
	facts = decode(244, &pitch, false);
	assert_int_equal(facts.size_bytes, 700);
}

static void a_pitched_allocation_has_pitch_times_height_bytes(void **state)
{
	uint64_t address = 0xabc000;
	size_t row = 512;
	struct vt_cu_alloc_pitch pitch = { &address, &row, 100, 7, 4 };
	struct vt_call_facts facts = decode(244, &pitch, true);

	(void)state;
	assert_int_equal(facts.address, 0xabc000);
	assert_int_equal(facts.size_bytes, 3584);
}

static void host_memory_is_on_no_device(void **state)
{
	uint64_t address = 0x7000;
	struct vt_cu_alloc_flags alloc = { &address, 64, 3 };
	struct vt_cu_register host_register = { 0x9000, 128, 1 };
	struct vt_call_facts facts = decode(39, &alloc, true);

	(void)state;
	assert_int_equal(facts.device, -1);
	assert_int_equal(facts.flags, 3);
	assert_int_equal(facts.address, 0x7000);
	facts = decode(379, &host_register, true);
	assert_int_equal(facts.device, -1);
	assert_int_equal(facts.size_bytes, 128);
	assert_int_equal(vt_call_api(vt_call_find(379)), VT_driver_api_MEM_HOST_REGISTER);
}

static void physical_memory_is_where_its_properties_say(void **state)
{
	uint64_t handle = 55;
	struct vt_cu_alloc_prop prop = { .location = { VT_CU_LOCATION_DEVICE, 3 } };
	struct vt_cu_create create = { &handle, 2u << 20, &prop, 0 };
	struct vt_call_facts facts = decode(549, &create, true);

	(void)state;
	assert_int_equal(facts.handle, 55);
	assert_int_equal(facts.device, 3);
	prop.location.type = 2; /* CU_MEM_LOCATION_TYPE_HOST */
	assert_int_equal(decode(549, &create, true).device, -1);
	prop.location = (struct vt_cu_location){ VT_CU_LOCATION_DEVICE, 70000 };
	assert_int_equal(decode(549, &create, true).device, -1);
}

static void virtual_memory_calls_carry_range_and_handle(void **state)
{
	struct vt_cu_map map = { 0x100000, 4096, 64, 55, 0 };
	struct vt_cu_range unmap = { 0x100000, 4096 };
	struct vt_call_facts facts = decode(551, &map, true);

	(void)state;
	assert_int_equal(facts.address, 0x100000);
	assert_int_equal(facts.size_bytes, 4096);
	assert_int_equal(facts.handle, 55);
	facts = decode(552, &unmap, true);
	assert_int_equal(facts.address, 0x100000);
	assert_int_equal(facts.size_bytes, 4096);
	assert_int_equal(vt_call_api(vt_call_find(552)), VT_driver_api_MEM_UNMAP);
}

static void stream_zero_of_a_ptsz_call_is_the_threads_own(void **state)
{
	uint64_t address = 0x4000;
	struct vt_cu_alloc_async alloc = { &address, 10, 0 };

	(void)state;
	assert_int_equal(decode(598, &alloc, true).stream, 0);
	assert_int_equal(decode(599, &alloc, true).stream, VT_CU_STREAM_PER_THREAD);
	alloc.stream = 0x5555;
	assert_int_equal(decode(599, &alloc, true).stream, 0x5555);
}

static void arrays_count_their_elements(void **state)
{
	uint64_t array = 77;
	struct vt_cu_array_desc desc = { 64, 32, 0x20, 4 };	   /* float4 */
	struct vt_cu_array3d_desc desc3 = { 8, 8, 8, 0x10, 1, 0 }; /* half */
	struct vt_cu_array flat = { &array, &desc };
	struct vt_cu_array3d deep = { &array, &desc3 };
	struct vt_cu_mipmap mipmap = { &array, &desc3, 4 };
	struct vt_call_facts facts = decode(272, &flat, true);

	(void)state;
	assert_int_equal(facts.handle, 77);
	assert_int_equal(facts.size_bytes, 64 * 32 * 16);
	assert_int_equal(decode(274, &deep, true).size_bytes, 1024);
	assert_int_equal(decode(347, &mipmap, true).size_bytes, 1024 + 128 + 16 + 2);
	desc3.flags = 1; /* layers are not halved: 8, 4, 2, 1 squared, times 8 layers */
	assert_int_equal(decode(347, &mipmap, true).size_bytes, 2 * 8 * (64 + 16 + 4 + 1));
	desc.height = 0;
	assert_int_equal(decode(272, &flat, true).size_bytes, 64 * 16);
	desc.format = 0x91; /* block-compressed: not known, so not guessed */
	assert_int_equal(decode(272, &flat, true).size_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_outside_the_table_are_not_calls),
		cmocka_unit_test(a_failed_call_says_what_was_asked_and_reads_no_result),
		cmocka_unit_test(a_pitched_allocation_has_pitch_times_height_bytes),
		cmocka_unit_test(host_memory_is_on_no_device),
		cmocka_unit_test(physical_memory_is_where_its_properties_say),
		cmocka_unit_test(virtual_memory_calls_carry_range_and_handle),
		cmocka_unit_test(stream_zero_of_a_ptsz_call_is_the_threads_own),
		cmocka_unit_test(arrays_count_their_elements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
