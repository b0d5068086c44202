/* test_cupti.c - driver calls to records, samples of devices, and what happens without CUPTI. One test per process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "capture/agent/agent.h"
#include "tests/fake/cupti_stage.h"
#include "tests/fake/fake_user.h"

#define CALLS_MAX 64
#define OUT_OF_MEMORY 2
#define CONTEXT 7

static struct stage *ready(void **state)
{
	struct stage *stage = *state;

	stage_map_cupti(stage);
	stage_attach();
	return stage;
}

static size_t calls_of(const struct stage *stage, struct vt_driver_memory *ret)
{
	return stage_records(stage, VT_EVENT_driver_memory, ret, sizeof(*ret), CALLS_MAX);
}

static void pause_ms(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	(void)nanosleep(&time, NULL);
}

static void pause_body(void *ms)
{
	pause_ms(*(long *)ms);
}

static void a_call_becomes_a_record(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	uint64_t address = 0xd00000;
	struct vt_cu_alloc alloc = { &address, 4096 };
	struct vt_cu_free release = { 0xd00000 };
	long ms = 5;

	stage->cuda->current_device = 2;
	stage->call(243, &alloc, CONTEXT, 0, pause_body, &ms);
	stage->call(245, &release, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 2);
	assert_int_equal(calls[0].api, VT_driver_api_MEM_ALLOC);
	assert_int_equal(calls[0].address, 0xd00000);
	assert_int_equal(calls[0].size_bytes, 4096);
	assert_int_equal(calls[0].result, 0);
	assert_int_equal(calls[0].device, 2);
	assert_true(calls[0].thread != 0);
	assert_in_range(calls[0].time_ns - calls[0].start_ns, 5000000, 5000000000);
	assert_int_equal(calls[1].api, VT_driver_api_MEM_FREE);
	assert_int_equal(calls[1].address, 0xd00000);
	assert_int_equal(calls[1].size_bytes, 0);
	assert_true(calls[1].start_ns > calls[0].time_ns);
	assert_int_equal(stage_lost(stage, VT_loss_REENTRANT), 0);
}

static void a_failed_call_is_a_record_and_freeing_nothing_is_none(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	struct vt_cu_alloc alloc = { (uint64_t *)8, UINT64_C(1) << 50 };
	struct vt_cu_free nothing = { 0 };

	stage->call(243, &alloc, CONTEXT, OUT_OF_MEMORY, NULL, NULL);
	stage->call(245, &nothing, CONTEXT, 0, NULL, NULL);
	stage->call(38, &nothing, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 1);
	assert_int_equal(calls[0].result, OUT_OF_MEMORY);
	assert_int_equal(calls[0].size_bytes, UINT64_C(1) << 50);
	assert_int_equal(calls[0].address, 0);
}

static void a_thread_without_a_context_has_no_device(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	struct vt_device_sample samples[4];
	struct vt_cu_handle handle = { 99 };

	stage->cuda->current_device = -1;
	stage->call(550, &handle, 0, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 1);
	assert_int_equal(calls[0].device, -1);
	assert_int_equal(calls[0].handle, 99);
	assert_int_equal(stage_records(stage, VT_EVENT_device_sample, samples, sizeof(*samples), 4), 0);
}

/* What the driver answers for one context is kept: the thread's context may be another one by the next call. */
static void a_contexts_device_is_asked_once(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	struct vt_cu_free release = { 0x1000 };

	stage->cuda->current_device = 1;
	stage->call(245, &release, 7, 0, NULL, NULL);
	stage->cuda->current_device = 3;
	stage->call(245, &release, 7, 0, NULL, NULL);
	stage->call(245, &release, 8, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 3);
	assert_int_equal(calls[0].device, 1);
	assert_int_equal(calls[1].device, 1);
	assert_int_equal(calls[2].device, 3);
}

static void a_pools_state_is_read_after_each_call(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	uint64_t address = 0xe00000;
	struct vt_cu_alloc_async alloc = { &address, 512, 0x77 };
	struct vt_cu_free_async release = { 0xe00000, 0x77 };

	stage->cuda->current_device = 0;
	stage->cuda->pools[1] = (struct fake_pool){ 32u << 20, 512 };
	stage->call(598, &alloc, CONTEXT, 0, NULL, NULL);
	stage->cuda->pools[1].used_bytes = 0;
	stage->call(600, &release, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 2);
	assert_int_equal(calls[0].handle, 0);
	assert_int_equal(calls[0].stream, 0x77);
	assert_int_equal(calls[0].pool_reserved_bytes, 32u << 20);
	assert_int_equal(calls[0].pool_used_bytes, 512);
	assert_int_equal(calls[1].pool_reserved_bytes, 32u << 20);
	assert_int_equal(calls[1].pool_used_bytes, 0);
	assert_int_equal(stage->cuda->pointer_queries, 0);
	assert_int_equal(stage->cuda->strict_queries, 0); /* a thread that captures a graph may make these calls */
}

static void own_pools_are_told_apart(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	uint64_t address = 0xe00000, pool = 5;
	struct vt_cu_pool_props props = { .location = { VT_CU_LOCATION_DEVICE, 0 } };
	struct vt_cu_pool_create create = { &pool, &props };
	struct vt_cu_alloc_pool alloc = { &address, 100, 5, 0 };
	struct vt_cu_alloc_pool from_default = { &address, 100, 1, 0 };
	struct vt_cu_free_async release = { 0xe00000, 0 };
	struct vt_cu_pool_trim trim = { 5, 0 };

	stage->cuda->pools[5] = (struct fake_pool){ 2048, 100 };
	stage->call(607, &create, CONTEXT, 0, NULL, NULL);
	stage->call(611, &alloc, CONTEXT, 0, NULL, NULL);
	stage->call(611, &from_default, CONTEXT, 0, NULL, NULL);
	stage->cuda->pool_of_address = 5;
	stage->call(600, &release, CONTEXT, 0, NULL, NULL);
	stage->cuda->pools[5] = (struct fake_pool){ 0, 0 };
	stage->call(602, &trim, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 5);
	assert_int_equal(calls[0].api, VT_driver_api_POOL_CREATE);
	assert_int_equal(calls[0].handle, 5);
	assert_int_equal(calls[1].handle, 5);
	assert_int_equal(calls[1].pool_reserved_bytes, 2048);
	assert_int_equal(calls[2].handle, 0); /* the default pool, named outright */
	assert_int_equal(calls[3].handle, 5);
	assert_int_equal(calls[3].pool_used_bytes, 100);
	assert_int_equal(calls[4].api, VT_driver_api_POOL_TRIM);
	assert_int_equal(calls[4].pool_reserved_bytes, 0);
	assert_int_equal(stage->cuda->pointer_queries, 1);
}

/* cuDeviceSetMemPool is no event, but afterwards plain stream-ordered allocations come from that pool. */
static void a_device_may_allocate_from_another_pool(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	uint64_t address = 0xe00000;
	struct vt_cu_alloc_async alloc = { &address, 512, 0 };
	struct vt_cu_handle set = { 0 };

	stage->cuda->pools[6] = (struct fake_pool){ 4096, 512 };
	stage->call(598, &alloc, CONTEXT, 0, NULL, NULL);
	stage->cuda->allocating_pool = 6;
	stage->call(609, &set, CONTEXT, 0, NULL, NULL);
	stage->call(598, &alloc, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 2);
	assert_int_equal(calls[0].handle, 0);
	assert_int_equal(calls[1].handle, 6);
	assert_int_equal(calls[1].pool_reserved_bytes, 4096);
}

static void a_device_is_described_once_and_sampled_at_most_every_10_ms(void **state)
{
	struct stage *stage = ready(state);
	struct vt_device_sample samples[CALLS_MAX];
	struct vt_cu_free release = { 0x1000 };
	struct vt_note note;
	size_t early;

	for (int i = 0; i < 50; i++)
		stage->call(245, &release, CONTEXT, 0, NULL, NULL);
	early = stage_records(stage, VT_EVENT_device_sample, samples, sizeof(*samples), CALLS_MAX);
	assert_in_range(early, 1, 25);
	assert_int_equal(samples[0].free_bytes, 1000);
	assert_int_equal(samples[0].total_bytes, 4000);
	assert_int_equal(samples[0].process_bytes, 3000);
	assert_int_equal(samples[0].device, 0);
	assert_true(stage_note(stage, VT_note_code_DEVICE_NAME, &note));
	assert_int_equal(note.value, 0);
	assert_string_equal(stage_string(stage, note.text), "Fake GPU 0");
	assert_true(stage_note(stage, VT_note_code_DEVICE_UUID, &note));
	assert_string_equal(stage_string(stage, note.text), "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0");
	assert_true(stage_note(stage, VT_note_code_DRIVER_VERSION, &note));
	assert_int_equal(note.value, 13000);
	assert_string_equal(stage_string(stage, note.text), "580.fake");
	stage->cuda->free_bytes = 900;
	pause_ms(12);
	stage->call(245, &release, CONTEXT, 0, NULL, NULL);
	assert_int_equal(stage_records(stage, VT_EVENT_device_sample, samples, sizeof(*samples), CALLS_MAX), early + 1);
	assert_int_equal(samples[early].free_bytes, 900);
	assert_int_equal(samples[early].process_bytes, 0); /* not asked again */
	assert_int_equal(stage->nvml->inits, 1);
	for (size_t i = 1; i < early; i++)
		assert_true(samples[i].time_ns - samples[i - 1].time_ns >= 9000000);
}

/* However short the time since the last sample: this is the moment that people ask about. */
static void a_refusal_is_sampled_at_once(void **state)
{
	struct stage *stage = ready(state);
	struct vt_device_sample samples[CALLS_MAX];
	struct vt_cu_alloc alloc = { (uint64_t *)8, UINT64_C(1) << 50 };
	struct vt_cu_free release = { 0x1000 };
	size_t early;

	stage->call(245, &release, CONTEXT, 0, NULL, NULL);
	early = stage_records(stage, VT_EVENT_device_sample, samples, sizeof(*samples), CALLS_MAX);
	assert_int_equal(early, 1);
	for (uint64_t i = 0; i < 3; i++) {
		stage->cuda->free_bytes = 7 + i;
		stage->call(243, &alloc, CONTEXT, OUT_OF_MEMORY, NULL, NULL);
	}
	assert_in_range(stage_records(stage, VT_EVENT_device_sample, samples, sizeof(*samples), CALLS_MAX), early + 3,
			early + 6);
	assert_int_equal(samples[early].free_bytes, 7);
	assert_int_equal(samples[early].process_bytes, 3000);
}

/* A lost device answers every query with an error: its calls are still recorded, nothing is made up. */
static void a_lost_device_gives_records_without_samples(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	struct vt_device_sample samples[4];
	struct vt_cu_free_async release = { 0x1000, 0 };
	uint64_t bytes[2] = { 1, 2 };

	stage->cuda->result = 719; /* CUDA_ERROR_LAUNCH_FAILED */
	stage->call(600, &release, CONTEXT, 719, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 1);
	assert_int_equal(calls[0].result, 719);
	assert_int_equal(calls[0].device, -1);
	assert_int_equal(calls[0].pool_reserved_bytes, 0);
	assert_int_equal(stage_records(stage, VT_EVENT_device_sample, samples, sizeof(*samples), 4), 0);
	assert_false(vt_device_memory(0, &bytes[0], &bytes[1]));
	assert_false(vt_device_process_bytes(0, &bytes[0]));
	assert_int_equal(bytes[0], 1);
}

static void memory_is_told_for_the_current_device_alone(void **state)
{
	const struct stage *stage = ready(state);
	uint64_t free_bytes = 0, total_bytes = 0, process_bytes = 0;

	stage->cuda->current_device = 0;
	assert_true(vt_device_memory(0, &free_bytes, &total_bytes));
	assert_int_equal(free_bytes, 1000);
	assert_int_equal(total_bytes, 4000);
	assert_false(vt_device_memory(1, &free_bytes, &total_bytes));
	assert_true(vt_device_process_bytes(0, &process_bytes));
	assert_int_equal(process_bytes, 3000);
	assert_false(vt_device_process_bytes(1, &process_bytes)); /* NVML knows no such device */
	assert_false(vt_device_process_bytes(-1, &process_bytes));
	stage->nvml->pid++; /* a container that shows us another process id */
	stage->nvml->used_bytes = UINT64_MAX;
	assert_false(vt_device_process_bytes(0, &process_bytes));
	stage->nvml->pid--;
	assert_false(vt_device_process_bytes(0, &process_bytes)); /* NVML_VALUE_NOT_AVAILABLE */
	assert_int_equal(process_bytes, 3000);
}

static void the_setting_0_keeps_cupti_untouched(void **state)
{
	struct stage *stage = *state;
	struct vt_note note;

	assert_int_equal(setenv(VT_ENV_CUPTI, "0", 1), 0);
	stage_map_cupti(stage);
	stage_attach();
	assert_int_equal(stage->cupti()->subscribes, 0);
	assert_true(stage_note(stage, VT_note_code_CUPTI_OFF, &note));
}

static void a_preferred_path_is_loaded_and_named(void **state)
{
	const struct stage *stage = *state;
	struct vt_note note;

	assert_int_equal(setenv(VT_ENV_CUPTI, VT_FAKE_DIR "/libcupti.so.13", 1), 0);
	stage_attach();
	assert_true(stage_note(stage, VT_note_code_CUPTI_ON, &note));
	assert_int_equal(note.value, 130001);
	assert_string_equal(stage_string(stage, note.text), VT_FAKE_DIR "/libcupti.so.13");
}

/* The preferred file is no libcupti, and the loader's own search comes after it: whatever that finds, the bad file is
 * not used. */
static void a_library_without_cuptis_functions_is_refused(void **state)
{
	const struct stage *stage = *state;
	struct vt_note note;

	assert_int_equal(setenv(VT_ENV_CUPTI, VT_FAKE_DIR "/libcuda.so.1", 1), 0);
	stage_attach();
	if (stage_note(stage, VT_note_code_CUPTI_ON, &note))
		assert_null(strstr(stage_string(stage, note.text), "libcuda.so"));
	else
		assert_true(stage_note(stage, VT_note_code_CUPTI_OFF, &note));
}

static void a_refused_subscription_names_the_holder(void **state)
{
	struct stage *stage = *state;
	struct vt_note note;

	stage_map_cupti(stage);
	stage->cupti()->subscribe_result = VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS;
	stage->cupti()->holder = "Nsight Systems";
	stage_attach();
	assert_true(stage_note(stage, VT_note_code_CUPTI_OFF, &note));
	assert_int_equal(note.value, VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS);
	assert_non_null(strstr(stage_string(stage, note.text), "FAKE_MULTIPLE_SUBSCRIBERS, held by Nsight Systems"));
}

static void an_older_cupti_is_used_as_far_as_it_goes(void **state)
{
	struct stage *stage = *state;
	struct vt_driver_memory calls[CALLS_MAX];
	struct vt_cu_free release = { 0x1000 };
	struct vt_note note;

	stage_map_cupti(stage);
	stage->cupti()->unknown_from = 803;
	stage_attach();
	assert_true(stage_note(stage, VT_note_code_CUPTI_ON, &note));
	assert_non_null(strstr(stage_string(stage, note.text), "(1 of the watched calls"));
	stage->call(245, &release, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 1);
}

static void a_cupti_that_enables_nothing_is_let_go(void **state)
{
	struct stage *stage = *state;
	struct vt_note note;

	stage_map_cupti(stage);
	stage->cupti()->refuse_all = true;
	stage_attach();
	assert_true(stage_note(stage, VT_note_code_CUPTI_OFF, &note));
	assert_int_equal(stage->cupti()->unsubscribes, 1);
	assert_null(stage->cupti()->callback);
}

static void a_fatal_error_of_cupti_is_noted_and_ends_the_capture(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	struct vt_cu_free release = { 0x1000 };
	struct vt_cupti_state_data data = { 999, "the device went away" };
	struct vt_note note;

	stage->raise(VT_CUPTI_DOMAIN_STATE, VT_CUPTI_STATE_FATAL_ERROR, &data);
	stage->call(245, &release, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 0);
	assert_true(stage_note(stage, VT_note_code_CUPTI_OFF, &note));
	assert_int_equal(note.value, 999);
	assert_string_equal(stage_string(stage, note.text), "the device went away");
}

static void the_library_that_called_is_named(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	uint64_t address = 0xd00000;
	struct vt_cu_alloc alloc = { &address, 4096 };
	struct vt_cu_free release = { 0xd00000 };
	struct vt_note note;
	const char *path;

	if (stage_note(stage, VT_note_code_NATIVE_CALLERS_OFF, &note))
		skip(); /* an old glibc: the note says so */
	fake_user_call(stage->call, 243, &alloc, CONTEXT);
	fake_user_call(stage->call, 245, &release, CONTEXT);
	/* From the program that holds the agent's code too: it is nobody else's. */
	stage->call(243, &alloc, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 3);
	path = strrchr(stage_string(stage, calls[0].caller), '/');
	assert_non_null(path);
	assert_string_equal(path, "/libfake_user.so");
	assert_int_equal(calls[1].caller, calls[0].caller);
	assert_int_not_equal(calls[2].caller, calls[0].caller);
}

static void after_the_end_nothing_is_recorded(void **state)
{
	struct stage *stage = ready(state);
	struct vt_driver_memory calls[CALLS_MAX];
	struct vt_cu_free release = { 0x1000 };

	vt_cupti_detach();
	stage->call(245, &release, CONTEXT, 0, NULL, NULL);
	assert_int_equal(calls_of(stage, calls), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_becomes_a_record),
		TEST(a_failed_call_is_a_record_and_freeing_nothing_is_none),
		TEST(a_thread_without_a_context_has_no_device),
		TEST(a_contexts_device_is_asked_once),
		TEST(a_pools_state_is_read_after_each_call),
		TEST(own_pools_are_told_apart),
		TEST(a_device_may_allocate_from_another_pool),
		TEST(a_device_is_described_once_and_sampled_at_most_every_10_ms),
		TEST(a_refusal_is_sampled_at_once),
		TEST(a_lost_device_gives_records_without_samples),
		TEST(memory_is_told_for_the_current_device_alone),
		TEST(the_setting_0_keeps_cupti_untouched),
		TEST(a_preferred_path_is_loaded_and_named),
		TEST(a_library_without_cuptis_functions_is_refused),
		TEST(a_refused_subscription_names_the_holder),
		TEST(an_older_cupti_is_used_as_far_as_it_goes),
		TEST(a_cupti_that_enables_nothing_is_let_go),
		TEST(a_fatal_error_of_cupti_is_noted_and_ends_the_capture),
		TEST(the_library_that_called_is_named),
		TEST(after_the_end_nothing_is_recorded),
	};

	if (argc < 2)
		return 2; /* which test: one process holds one */
	cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
