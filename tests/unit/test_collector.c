/* test_collector.c - rings in, trace out: order, restarts, threads that come and go, losses, hostile memory. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/collector/collector.h"
#include "tests/fake/ring_maker.h"
#include "tests/fake/trace_facts.h"

/* A session, a trace, and a process that lives until it is killed. */
struct fixture {
	char directory[64];
	char session[96];
	char trace[96];
	pid_t pid;
	struct vt_collector *collector;
	struct ring_maker maker;
	struct trace_facts facts;
	struct vt_err err;
};

static pid_t start_victim(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	assert_true(pid > 0);
	return pid;
}

static void end_victim(struct fixture *f)
{
	if (f->pid <= 0)
		return;
	assert_int_equal(kill(f->pid, SIGKILL), 0);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	f->pid = 0;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	(void)snprintf(f->directory, sizeof(f->directory), "/dev/shm/vt-test-collector-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	(void)snprintf(f->session, sizeof(f->session), "%s/session", f->directory);
	(void)snprintf(f->trace, sizeof(f->trace), "%s/t.vramtrace", f->directory);
	assert_int_equal(mkdir(f->session, 0700), 0);
	f->pid = start_victim();
	assert_int_equal(ring_maker_open(&f->maker, f->session, f->pid, ""), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	vt_collector_free(f->collector);
	end_victim(f);
	ring_maker_close(&f->maker);
	(void)snprintf(command, sizeof(command), "rm -rf %s", f->directory);
	(void)!system(command);
	free(f);
	return 0;
}

#define assert_ok(f, r)                                                                                                \
	do {                                                                                                           \
		if ((r) < 0)                                                                                           \
			fail_msg("%s", (f)->err.msg);                                                                  \
	} while (0)

static void start(struct fixture *f, enum vt_store_mode mode)
{
	assert_ok(f, vt_collector_new(&f->collector, f->session, f->trace, mode, &f->err));
}

/* Polls until what waits now has had time to be committed. */
static void poll_for(struct fixture *f, int ms)
{
	for (int passed = 0; passed < ms; passed += 5) {
		int wait_ms;

		assert_ok(f, vt_collector_poll(f->collector, &wait_ms, &f->err));
		(void)usleep(5000);
	}
}

static const struct trace_process_facts *finish_and_read(struct fixture *f)
{
	assert_ok(f, vt_collector_finish(f->collector, &f->err));
	vt_collector_free(f->collector);
	f->collector = NULL;
	assert_ok(f, trace_facts_read(&f->facts, f->trace, &f->err));
	assert_int_equal(f->facts.unsorted, 0);
	assert_int_equal(f->facts.doubled, 0);
	return trace_facts_of_pid(&f->facts, f->maker.shm->pid);
}

/* Ends the process first. */
static const struct trace_process_facts *close_and_read(struct fixture *f)
{
	end_victim(f);
	return finish_and_read(f);
}

/* ------------------------------------------------------------------ tests */

static void test_two_threads(void **state)
{
	struct fixture *f = *state;
	const struct trace_process_facts *facts;

	ring_maker_take(&f->maker, 0, 100);
	ring_maker_take(&f->maker, 1, 101);
	start(f, VT_STORE_NEW);
	for (int round = 0; round < 30; round++) {
		for (int i = 0; i < 1000; i++)
			assert_true(ring_maker_tensor(&f->maker, (uint32_t)i & 1, i & 2 ? 512 : -512, 0));
		poll_for(f, 10);
	}
	assert_true(ring_maker_oom(&f->maker, 0, 0));
	facts = close_and_read(f);
	assert_non_null(facts);
	assert_int_equal(facts->allocs, 15000);
	assert_int_equal(facts->frees, 15000);
	assert_int_equal(facts->ooms, 1);
	assert_int_equal(facts->threads, 2);
	assert_int_equal(facts->thread_records, 30001);
	assert_int_equal(facts->end_state, -1);
	assert_true(facts->end_ns > 0);
	assert_int_equal(f->facts.chunks, 1); /* small pieces became one chunk */
	assert_true(f->facts.clocks >= 2);
	assert_int_equal(access(f->maker.path, F_OK), -1); /* what is in the trace needs no ring file */
}

/* A definition in one ring, its use in another; the user never waits for the definer's ring to be read. */
static void test_definitions_first(void **state)
{
	struct fixture *f = *state;
	const struct trace_process_facts *facts;
	uint32_t id = 0;

	for (uint32_t ring = 0; ring < 8; ring++)
		ring_maker_take(&f->maker, ring, 100 + ring);
	start(f, VT_STORE_NEW);
	for (int round = 0; round < 200; round++) {
		for (uint32_t ring = 0; ring < 8; ring++) {
			id++;
			assert_true(ring_maker_string(&f->maker, (ring + 3) % 8, id, "aten::mm"));
			assert_true(ring_maker_op_node(&f->maker, (ring + 5) % 8, id, id));
			assert_true(ring_maker_tensor(&f->maker, ring, 512, id));
		}
		poll_for(f, 5);
	}
	facts = close_and_read(f);
	assert_int_equal(facts->allocs, 1600);
	assert_int_equal(facts->definitions, 3200);
	assert_int_equal(facts->thread_records, 4800);
	assert_int_equal(f->facts.undefined, 0);
}

/* The collector dies at any moment: what follows neither loses nor doubles. */
static void test_restarts(void **state)
{
	struct fixture *f = *state;
	const struct trace_process_facts *facts;
	uint64_t tensors = 0;
	uint32_t id = 0;

	ring_maker_take(&f->maker, 0, 100);
	ring_maker_take(&f->maker, 1, 101);
	srand(7);
	start(f, VT_STORE_NEW);
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 500; i++, tensors++) {
			if (i % 50 == 0) {
				id++;
				assert_true(ring_maker_string(&f->maker, 1, id, "aten::add"));
				assert_true(ring_maker_op_node(&f->maker, 0, id, id));
			}
			assert_true(ring_maker_tensor(&f->maker, (uint32_t)i & 1, 1024, id));
		}
		poll_for(f, rand() % 30);
		if (round % 3 == 0) {
			vt_collector_free(f->collector);
			f->collector = NULL;
			start(f, VT_STORE_RESUME);
		}
	}
	facts = close_and_read(f);
	assert_int_equal(f->facts.nprocesses, 1);
	assert_int_equal(facts->allocs, tensors);
	assert_int_equal(facts->definitions, 2 * id);
	assert_int_equal(facts->thread_records, tensors + 2 * id);
	assert_int_equal(f->facts.undefined, 0);
}

/* A ring goes from thread to thread; each stay is a thread of the trace with its own count, restarts in between. */
static void test_take_over(void **state)
{
	struct fixture *f = *state;
	const struct trace_process_facts *facts;

	start(f, VT_STORE_NEW);
	for (uint32_t stay = 0; stay < 6; stay++) {
		ring_maker_take(&f->maker, 0, 100 + stay);
		for (uint32_t i = 0; i < 10 + stay; i++)
			assert_true(ring_maker_tensor(&f->maker, 0, 512, 0));
		ring_maker_leave(&f->maker, 0);
		poll_for(f, 250);
		assert_int_equal(atomic_load(&ring_maker_ring(&f->maker, 0)->state), VT_RING_FREE);
		if (stay % 2) {
			vt_collector_free(f->collector);
			f->collector = NULL;
			start(f, VT_STORE_RESUME);
		}
	}
	facts = close_and_read(f);
	assert_int_equal(facts->threads, 6);
	assert_int_equal(facts->allocs, 75);
	assert_int_equal(facts->thread_records, 75);
}

static void test_losses(void **state)
{
	struct fixture *f = *state;
	const struct trace_process_facts *facts;
	uint64_t written = 0, dropped = 0;

	ring_maker_take(&f->maker, 0, 100);
	for (int i = 0; i < 100000; i++) {
		bool fits = ring_maker_tensor(&f->maker, 0, 512, 0);

		written += fits;
		dropped += !fits;
	}
	assert_true(dropped > 0);
	atomic_store(&f->maker.shm->lost[VT_loss_NO_RING], 7);
	start(f, VT_STORE_NEW);
	poll_for(f, 50);
	vt_collector_free(f->collector);
	f->collector = NULL;
	start(f, VT_STORE_RESUME);
	facts = close_and_read(f);
	assert_int_equal(facts->allocs, written);
	assert_int_equal(facts->lost[VT_loss_RING_FULL], dropped);
	assert_int_equal(facts->lost[VT_loss_NO_RING], 7);
	assert_int_equal(f->facts.chunks, (written + 65535) / 65536);
}

static void put_raw(struct ring_maker *maker, uint16_t type, uint32_t bytes, const void *content)
{
	uint8_t *to = vt_ring_reserve(&maker->writers[0], type, bytes);

	assert_non_null(to);
	memcpy(to + 8, content, bytes - 8);
	vt_ring_commit(&maker->writers[0], bytes);
}

/* Records that contradict the schema are counted, and those around them are kept. */
static void test_bad_records(void **state)
{
	struct fixture *f = *state;
	static const uint8_t zeros[4096];
	uint32_t too_long[4] = { 1, 4000, 0, 0 };
	const struct trace_process_facts *facts;

	ring_maker_take(&f->maker, 0, 100);
	assert_true(ring_maker_tensor(&f->maker, 0, 512, 0));
	put_raw(&f->maker, 12345, 64, zeros);		   /* no such event */
	put_raw(&f->maker, VT_EVENT_tensor, 16, zeros);	   /* shorter than a tensor event */
	put_raw(&f->maker, VT_EVENT_string, 24, too_long); /* says more bytes than it has */
	put_raw(&f->maker, VT_EVENT_op_node, 4096, zeros);
	assert_true(ring_maker_tensor(&f->maker, 0, 512, 0));
	start(f, VT_STORE_NEW);
	poll_for(f, 150);
	vt_collector_free(f->collector);
	f->collector = NULL;
	start(f, VT_STORE_RESUME); /* counts of the collector itself outlive it */
	assert_true(ring_maker_tensor(&f->maker, 0, 512, 0));
	facts = close_and_read(f);
	assert_int_equal(facts->allocs, 3);
	assert_int_equal(facts->lost[VT_loss_UNKNOWN_RECORD], 2);
	assert_int_equal(facts->lost[VT_loss_DEFINITION], 2);
}

/* A head that no producer can have is a torn ring: counted, not followed. */
static void test_bad_head(void **state)
{
	struct fixture *f = *state;
	const struct trace_process_facts *facts;

	ring_maker_take(&f->maker, 0, 100);
	ring_maker_take(&f->maker, 1, 101);
	assert_true(ring_maker_tensor(&f->maker, 0, 512, 0));
	assert_true(ring_maker_tensor(&f->maker, 1, 512, 0));
	atomic_store(&ring_maker_ring(&f->maker, 1)->head, UINT64_C(1) << 40);
	start(f, VT_STORE_NEW);
	poll_for(f, 250);
	facts = close_and_read(f);
	assert_int_equal(facts->allocs, 1);
	assert_int_equal(facts->lost[VT_loss_TORN], 1);
}

/* Any bytes at all: the collector ends its work, and the trace passes every check. */
static void test_noise(void **state)
{
	struct fixture *f = *state;

	srand(3);
	for (uint32_t ring = 0; ring < 4; ring++)
		ring_maker_take(&f->maker, ring, 100 + ring);
	start(f, VT_STORE_NEW);
	for (int round = 0; round < 24; round++) {
		for (uint32_t i = 0; i < 400; i++)
			(void)ring_maker_tensor(&f->maker, i & 3, 512, 0);
		for (int i = 0; i < 200; i++) {
			size_t at = (size_t)rand() % 4000;

			((uint8_t *)f->maker.shm)[vt_ring_data_offset((uint32_t)rand() & 3) + at] = (uint8_t)rand();
		}
		if (round % 4 == 3) {
			struct vt_ring *ring = ring_maker_ring(&f->maker, (uint32_t)rand() & 3);

			((uint8_t *)ring)[(size_t)rand() % sizeof(*ring)] ^= (uint8_t)rand();
		}
		if (round == 14)
			atomic_store(&f->maker.shm->nrings, 0xffffffff);
		poll_for(f, 110);
	}
	end_victim(f);
	assert_ok(f, vt_collector_finish(f->collector, &f->err));
	vt_collector_free(f->collector);
	f->collector = NULL;
	assert_ok(f, trace_facts_read(&f->facts, f->trace, &f->err));
	assert_int_equal(f->facts.unsorted, 0);
}

/* The ring file is cut short under the collector's feet. */
static void test_truncated(void **state)
{
	struct fixture *f = *state;
	const struct trace_process_facts *facts;

	ring_maker_take(&f->maker, 0, 100);
	assert_true(ring_maker_tensor(&f->maker, 0, 512, 0));
	start(f, VT_STORE_NEW);
	poll_for(f, 150);
	assert_true(ring_maker_tensor(&f->maker, 0, 512, 0));
	assert_int_equal(truncate(f->maker.path, (off_t)vt_ring_data_offset(0)), 0);
	poll_for(f, 150);
	facts = close_and_read(f);
	assert_int_equal(facts->allocs, 1);
	assert_true(facts->lost[VT_loss_TORN] > 0);
}

/* One that is still being made is waited for; one of another build is told once; one left half made is told once. */
static void test_strange_files(void **state)
{
	struct fixture *f = *state;
	struct ring_maker other;
	pid_t second = start_victim();
	char path[160];
	FILE *file;
	int told = 0;

	assert_int_equal(ring_maker_open(&other, f->session, second, ""), 0);
	other.shm->abi++;
	f->maker.shm->magic = 0;
	(void)snprintf(path, sizeof(path), "%s/2147483647-1.ring", f->session);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fclose(file);
	start(f, VT_STORE_NEW);
	for (int i = 0; i < 20; i++) {
		int wait_ms;

		assert_ok(f, vt_collector_poll(f->collector, &wait_ms, &f->err));
		told += vt_collector_take_warning(f->collector) != NULL;
		assert_true(wait_ms < 10); /* a file in the making is looked for again soon */
	}
	assert_int_equal(told, 2);
	assert_int_equal(vt_collector_running(f->collector), 0);
	f->maker.shm->magic = VT_SHM_MAGIC;
	poll_for(f, 100);
	assert_int_equal(vt_collector_running(f->collector), 1);
	ring_maker_close(&other);
	assert_int_equal(kill(second, SIGKILL), 0);
	assert_int_equal(waitpid(second, NULL, 0), second);
	assert_non_null(close_and_read(f));
	assert_int_equal(f->facts.nprocesses, 1);
}

/* exec: pid and start time stay, the agent starts anew. */
static void test_exec(void **state)
{
	struct fixture *f = *state;
	struct ring_maker second;

	ring_maker_take(&f->maker, 0, 100);
	assert_true(ring_maker_tensor(&f->maker, 0, 512, 0));
	start(f, VT_STORE_NEW);
	poll_for(f, 50);
	assert_int_equal(ring_maker_open(&second, f->session, f->pid, ".1"), 0);
	ring_maker_take(&second, 0, 100);
	assert_true(ring_maker_tensor(&second, 0, 512, 0));
	poll_for(f, 150);
	assert_int_equal(vt_collector_running(f->collector), 1);
	assert_int_equal(access(f->maker.path, F_OK), -1);
	vt_collector_free(f->collector);
	f->collector = NULL;
	start(f, VT_STORE_RESUME);
	assert_true(ring_maker_tensor(&second, 0, 512, 0));
	(void)close_and_read(f);
	ring_maker_close(&second);
	assert_int_equal(f->facts.nprocesses, 2);
	assert_int_equal(f->facts.processes[0].allocs, 1);
	assert_int_equal(f->facts.processes[1].allocs, 2);
}

/* A process that runs on at the end: its row has no end. One that said goodbye: its own words. */
static void test_end_states(void **state)
{
	struct fixture *f = *state;
	const struct trace_process_facts *facts;

	start(f, VT_STORE_NEW);
	facts = finish_and_read(f);
	assert_int_equal(facts->end_ns, 0);
	assert_int_equal(facts->end_state, -1);
	start(f, VT_STORE_RESUME);
	atomic_store(&f->maker.shm->end_ns, f->maker.shm->start_ns + 5);
	atomic_store(&f->maker.shm->state, VT_SHM_EXITED);
	facts = close_and_read(f);
	assert_int_equal(f->facts.nprocesses, 1);
	assert_int_equal(facts->end_ns, f->maker.shm->start_ns + 5);
	assert_int_equal(facts->end_state, VT_SHM_EXITED);
}

/* Rings lie behind one another, without a gap. */
static void test_offsets(void **state)
{
	uint64_t offset = vt_ring_data_offset(0);

	(void)state;
	assert_true(offset >= VT_SHM_HEADER_BYTES + VT_SHM_RINGS_MAX * sizeof(struct vt_ring));
	for (uint32_t i = 0; i < VT_SHM_RINGS_MAX; i++) {
		assert_int_equal(vt_ring_data_offset(i), offset);
		offset += vt_ring_bytes(i);
	}
	assert_int_equal(vt_shm_file_bytes(), offset);
}

static void test_one_collector(void **state)
{
	struct fixture *f = *state;
	struct vt_collector *second;
	char path[128];

	start(f, VT_STORE_NEW);
	(void)snprintf(path, sizeof(path), "%s/other.vramtrace", f->directory);
	assert_int_equal(vt_collector_new(&second, f->session, path, VT_STORE_NEW, &f->err), -VT_E_INPUT);
	assert_non_null(strstr(f->err.msg, "another collector"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_definitions_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restarts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_take_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_head, setup, teardown),
		cmocka_unit_test_setup_teardown(test_noise, setup, teardown),
		cmocka_unit_test_setup_teardown(test_truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strange_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_states, setup, teardown),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test_setup_teardown(test_one_collector, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
