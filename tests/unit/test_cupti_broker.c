/* test_cupti_broker.c - one subscription, two users: the program's CUPTI client and us. One test per process. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/agent/agent.h"
#include "tests/fake/cupti_stage.h"

/* As a profiler in the program calls them: cupti_interpose.c is linked in, as it comes first in a real process. */
#define FN(name, need, parameters) int32_t name parameters;
#include "capture/agent/cupti_functions.def"

#define CALLS_MAX 64
#define CONTEXT 7
#define CONTEXT_CREATED 1 /* CUPTI_CBID_RESOURCE_CONTEXT_CREATED */
#define CU_MEM_ALLOC 243
#define CU_MEM_FREE 245
#define CU_LAUNCH_KERNEL 307

struct client {
	_Atomic unsigned calls;
	_Atomic uint32_t domain, cbid;
	const void *_Atomic data;
};

static void on_client_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	struct client *client = user;

	client->calls++;
	client->domain = domain;
	client->cbid = cbid;
	client->data = data;
}

static size_t count_calls(const struct stage *stage)
{
	struct vt_driver_memory calls[CALLS_MAX];

	return stage_records(stage, VT_EVENT_driver_memory, calls, sizeof(*calls), CALLS_MAX);
}

static void free_something(const struct stage *stage)
{
	static const struct vt_cu_free release = { 0x1000 };

	stage->call(CU_MEM_FREE, &release, CONTEXT, 0, NULL, NULL);
}

/* PyTorch's profiler: subscribes at its first use, wants one callback of the resource domain, keeps it for ever. */
static void a_profiler_that_starts_later_gets_its_callbacks(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	void *subscriber = NULL;
	int payload = 1;

	stage_map_cupti(stage);
	stage_attach();
	assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), 0);
	assert_non_null(subscriber);
	assert_int_equal(cuptiEnableCallback(1, subscriber, VT_CUPTI_DOMAIN_RESOURCE, CONTEXT_CREATED), 0);
	stage->raise(VT_CUPTI_DOMAIN_RESOURCE, CONTEXT_CREATED, &payload);
	assert_int_equal(client.calls, 1);
	assert_int_equal(client.domain, VT_CUPTI_DOMAIN_RESOURCE);
	assert_int_equal(client.cbid, CONTEXT_CREATED);
	assert_ptr_equal(client.data, &payload);
	free_something(stage);
	assert_int_equal(client.calls, 1); /* ours is not its business */
	assert_int_equal(count_calls(stage), 1);
	assert_int_equal(stage->cupti()->subscribes, 1);
	assert_int_equal(stage->cupti()->unsubscribes, 0);
}

static void a_profiler_that_was_there_first_keeps_its_callbacks(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	void *subscriber = NULL;
	struct vt_note note;

	stage_map_cupti(stage);
	assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), 0);
	assert_int_equal(cuptiEnableCallback(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_LAUNCH_KERNEL), 0);
	stage_attach();
	assert_true(stage_note(stage, VT_note_code_CUPTI_ON, &note));
	free_something(stage);
	assert_int_equal(count_calls(stage), 1);
	stage->call(CU_LAUNCH_KERNEL, &note, CONTEXT, 0, NULL, NULL);
	assert_int_equal(client.calls, 2); /* entry and exit */
	assert_int_equal(stage->cupti()->subscribes, 1);
}

static void what_both_watch_reaches_both(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	void *subscriber = NULL;
	uint32_t enabled = 9;

	stage_map_cupti(stage);
	stage_attach();
	assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), 0);
	assert_int_equal(cuptiGetCallbackState(&enabled, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_MEM_FREE), 0);
	assert_int_equal(enabled, 0); /* it has not enabled it; that we have is not its business */
	assert_int_equal(cuptiEnableCallback(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_MEM_FREE), 0);
	assert_int_equal(cuptiGetCallbackState(&enabled, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_MEM_FREE), 0);
	assert_int_equal(enabled, 1);
	free_something(stage);
	assert_int_equal(client.calls, 2);
	assert_int_equal(count_calls(stage), 1);
	assert_int_equal(cuptiEnableCallback(0, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_MEM_FREE), 0);
	free_something(stage);
	assert_int_equal(client.calls, 2);
	assert_int_equal(count_calls(stage), 2);
}

/* The fake has the fault of CUPTI 12.6 update 1: enabling one domain switches the others off. */
static void whole_domains_come_and_go_without_a_gap_for_us(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	void *subscriber = NULL;
	struct vt_note note;

	stage_map_cupti(stage);
	stage_attach();
	assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), 0);
	assert_int_equal(cuptiEnableDomain(1, subscriber, VT_CUPTI_DOMAIN_RUNTIME_API), 0);
	free_something(stage);
	assert_int_equal(count_calls(stage), 1);
	assert_int_equal(client.calls, 0);
	assert_int_equal(cuptiEnableDomain(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API), 0);
	free_something(stage);
	assert_int_equal(count_calls(stage), 2);
	assert_int_equal(client.calls, 2);
	assert_int_equal(cuptiEnableDomain(0, subscriber, VT_CUPTI_DOMAIN_DRIVER_API), 0);
	free_something(stage);
	assert_int_equal(count_calls(stage), 3);
	assert_int_equal(client.calls, 2);
	assert_false(stage->cupti()->enabled[VT_CUPTI_DOMAIN_DRIVER_API][CU_LAUNCH_KERNEL]);
	assert_int_equal(cuptiEnableAllDomains(1, subscriber), 0);
	assert_int_equal(cuptiEnableAllDomains(0, subscriber), 0);
	free_something(stage);
	assert_int_equal(count_calls(stage), 4);
	assert_false(stage_note(stage, VT_note_code_GAP_BEGIN, &note));
}

static void an_unsubscribed_client_is_forgotten_and_may_return(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	void *subscriber = NULL;
	void *again = NULL;

	stage_map_cupti(stage);
	stage_attach();
	assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), 0);
	assert_int_equal(cuptiSubscribe(&again, on_client_callback, &client), VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS);
	assert_int_equal(cuptiEnableCallback(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_MEM_FREE), 0);
	assert_int_equal(cuptiEnableCallback(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_LAUNCH_KERNEL), 0);
	assert_int_equal(cuptiUnsubscribe(subscriber), 0);
	assert_int_equal(cuptiUnsubscribe(subscriber), VT_CUPTI_ERROR_INVALID_PARAMETER);
	assert_int_equal(cuptiEnableCallback(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_MEM_FREE),
			 VT_CUPTI_ERROR_INVALID_PARAMETER);
	free_something(stage);
	assert_int_equal(client.calls, 0);
	assert_int_equal(count_calls(stage), 1);
	assert_false(stage->cupti()->enabled[VT_CUPTI_DOMAIN_DRIVER_API][CU_LAUNCH_KERNEL]);
	assert_true(stage->cupti()->enabled[VT_CUPTI_DOMAIN_DRIVER_API][CU_MEM_FREE]);
	assert_int_equal(stage->cupti()->unsubscribes, 0);
	assert_int_equal(cuptiSubscribe(&again, on_client_callback, &client), 0);
	free_something(stage);
	assert_int_equal(client.calls, 0); /* a new subscription has nothing enabled */
}

/* With TEARDOWN_CUPTI=1 PyTorch's profiler unsubscribes and finalises inside a callback. */
static void finalising_ends_the_client_and_not_the_capture(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	void *subscriber = NULL;

	stage_map_cupti(stage);
	stage_attach();
	assert_int_equal(cuptiFinalize(), 0); /* without being a client */
	assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), 0);
	assert_int_equal(cuptiEnableDomain(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API), 0);
	assert_int_equal(cuptiFinalize(), 0);
	free_something(stage);
	assert_int_equal(client.calls, 0);
	assert_int_equal(count_calls(stage), 1);
	assert_int_equal(stage->cupti()->finalizes, 0);
}

/* Parameters longer than CUDA 13.0's ask for a multi-subscriber session, which cannot be shared. */
static void a_multi_subscriber_session_gets_cupti_for_its_time(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	struct vt_cupti_subscriber_params params = { .struct_bytes = sizeof(params) + 8 };
	void *subscriber = NULL;
	struct vt_note begin, end;

	stage_map_cupti(stage);
	stage_attach();
	assert_int_equal(cuptiSubscribe_v2(&subscriber, on_client_callback, &client, &params), 0);
	assert_int_equal(stage->cupti()->params_bytes, sizeof(params) + 8);
	assert_ptr_equal(stage->cupti()->user, &client);
	free_something(stage);
	assert_int_equal(count_calls(stage), 0);
	assert_true(stage_note(stage, VT_note_code_GAP_BEGIN, &begin));
	assert_false(stage_note(stage, VT_note_code_GAP_END, &end));
	assert_int_equal(cuptiUnsubscribe(subscriber), 0);
	assert_true(stage_note(stage, VT_note_code_GAP_END, &end));
	assert_true(end.time_ns > begin.time_ns);
	free_something(stage);
	assert_int_equal(count_calls(stage), 1);
}

static void a_refused_multi_subscriber_session_leaves_no_gap(void **state)
{
	struct stage *stage = *state;
	struct vt_cupti_subscriber_params params = { .struct_bytes = sizeof(params) + 8 };
	void *subscriber = NULL;
	struct vt_note note;

	stage_map_cupti(stage);
	stage_attach();
	stage->cupti()->refuse_v2 = true;
	assert_int_equal(cuptiSubscribe_v2(&subscriber, on_client_callback, NULL, &params),
			 VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS);
	free_something(stage);
	assert_int_equal(count_calls(stage), 1);
	assert_false(stage_note(stage, VT_note_code_GAP_BEGIN, &note));
	params.struct_bytes = sizeof(params); /* the plain kind is shared */
	assert_int_equal(cuptiSubscribe_v2(&subscriber, on_client_callback, NULL, &params), 0);
}

static void without_a_session_everything_goes_straight_through(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	void *subscriber = NULL;

	assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), VT_CUPTI_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuptiFinalize(), VT_CUPTI_ERROR_NOT_INITIALIZED);
	assert_int_equal(unsetenv(VT_ENV_SESSION), 0);
	stage_map_cupti(stage);
	assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), 0);
	assert_true(stage->cupti()->callback == on_client_callback);
	assert_ptr_equal(stage->cupti()->user, &client);
	assert_int_equal(cuptiEnableCallback(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API, CU_MEM_FREE), 0);
	free_something(stage);
	assert_int_equal(client.calls, 2);
	assert_int_equal(cuptiUnsubscribe(subscriber), 0);
	assert_int_equal(cuptiFinalize(), 0);
	assert_int_equal(stage->cupti()->finalizes, 1);
}

#define STORM_THREADS 4
#define STORM_CALLS 5000

static void *storm(void *arg)
{
	const struct stage *stage = arg;
	uint64_t address = 0x1000;
	struct vt_cu_alloc_async alloc = { &address, 64, 0 };

	for (int i = 0; i < STORM_CALLS; i++) {
		stage->call(598, &alloc, CONTEXT, 0, NULL, NULL);
		free_something(stage);
	}
	return NULL;
}

/* Many threads in the driver while a client comes and goes: no call is lost but by a full ring, which is counted. */
static void a_storm_of_calls_is_counted_to_the_last(void **state)
{
	struct stage *stage = *state;
	struct client client = { 0 };
	pthread_t threads[STORM_THREADS];
	void *subscriber = NULL;

	stage_map_cupti(stage);
	stage_attach();
	for (int i = 0; i < STORM_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, storm, stage), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(cuptiSubscribe(&subscriber, on_client_callback, &client), 0);
		assert_int_equal(cuptiEnableDomain(1, subscriber, VT_CUPTI_DOMAIN_DRIVER_API), 0);
		assert_int_equal(cuptiEnableDomain(0, subscriber, VT_CUPTI_DOMAIN_DRIVER_API), 0);
		assert_int_equal(cuptiUnsubscribe(subscriber), 0);
	}
	for (int i = 0; i < STORM_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(count_calls(stage) + stage_lost(stage, VT_loss_RING_FULL), 2 * STORM_THREADS * STORM_CALLS);
	assert_int_equal(stage_lost(stage, VT_loss_REENTRANT), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_profiler_that_starts_later_gets_its_callbacks),
		TEST(a_profiler_that_was_there_first_keeps_its_callbacks),
		TEST(what_both_watch_reaches_both),
		TEST(whole_domains_come_and_go_without_a_gap_for_us),
		TEST(an_unsubscribed_client_is_forgotten_and_may_return),
		TEST(finalising_ends_the_client_and_not_the_capture),
		TEST(a_multi_subscriber_session_gets_cupti_for_its_time),
		TEST(a_refused_multi_subscriber_session_leaves_no_gap),
		TEST(without_a_session_everything_goes_straight_through),
		TEST(a_storm_of_calls_is_counted_to_the_last),
	};

	if (argc < 2)
		return 2; /* which test: one process holds one */
	cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
