/* test_batch.c - records into chunks: slow streams stay small in number of chunks, fast ones are full chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/collector/batch.h"
#include "tests/fake/trace_facts.h"

struct fixture {
	char trace[64];
	struct vt_store *store;
	struct vt_sort sort;
	struct vt_batch batch;
	struct vt_batch_sink sink;
	struct vt_err err;
	uint64_t time_ns;
};

#define assert_ok(f, r)                                                                                                \
	do {                                                                                                           \
		if ((r) < 0)                                                                                           \
			fail_msg("%s", (f)->err.msg);                                                                  \
	} while (0)

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct vt_process_row row = { .pid = 1,
				      .rank = -1,
				      .local_rank = -1,
				      .world_size = -1,
				      .end_state = -1,
				      .executable = "x",
				      .command = "x" };

	assert_non_null(f);
	(void)snprintf(f->trace, sizeof(f->trace), "/dev/shm/vt-test-batch-%d.vramtrace", (int)getpid());
	(void)unlink(f->trace);
	assert_ok(f, vt_store_create(&f->store, f->trace, VT_STORE_NEW, &f->err));
	f->batch.event = vt_event_find(VT_EVENT_tensor);
	f->sink = (struct vt_batch_sink){ .store = f->store, .sort = &f->sort };
	assert_ok(f, vt_store_begin(f->store, &f->err));
	assert_ok(f, vt_store_put_process(f->store, &row, &f->sink.process, &f->err));
	assert_ok(f, vt_store_commit(f->store, &f->err));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vt_store_close(f->store);
	vt_batch_done(&f->batch);
	vt_sort_done(&f->sort);
	(void)unlink(f->trace);
	free(f);
	return 0;
}

static void append(struct fixture *f, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		/* Of two threads, whose records come in two runs. */
		struct vt_tensor tensor = { .time_ns = f->time_ns + 2 * i, .thread = 1, .size_bytes = 512 };

		if (i >= n / 2) {
			tensor.time_ns = f->time_ns + 2 * (i - n / 2) + 1;
			tensor.thread = 2;
		}
		assert_ok(f, vt_batch_append(&f->batch, &tensor, &f->err));
		if (vt_batch_is_full(&f->batch))
			assert_ok(f, vt_batch_flush(&f->batch, &f->sink, &f->err));
	}
	f->time_ns += 2 * n;
}

static int count_chunk(void *arg, const struct vt_chunk_info *info)
{
	(void)info;
	++*(uint64_t *)arg;
	return 0;
}

static uint64_t count_chunks(struct fixture *f)
{
	uint64_t chunks = 0;

	assert_ok(f, vt_store_each_chunk(f->store, count_chunk, &chunks, &f->err));
	return chunks;
}

static void check_all(struct fixture *f, uint64_t records, uint64_t chunks)
{
	static struct trace_facts facts;

	assert_ok(f, vt_store_begin(f->store, &f->err));
	assert_ok(f, vt_batch_finish(&f->batch, &f->sink, &f->err));
	assert_ok(f, vt_store_commit(f->store, &f->err));
	assert_ok(f, vt_store_finish(f->store, &f->err));
	vt_store_close(f->store);
	f->store = NULL;
	assert_ok(f, trace_facts_read(&facts, f->trace, &f->err));
	assert_int_equal(facts.processes[0].allocs, records);
	assert_int_equal(facts.unsorted, 0);
	assert_int_equal(facts.doubled, 0);
	assert_int_equal(facts.chunks, chunks);
}

/* After each of 2000 small commits there are few chunks, and all records are in them. */
static void test_slow(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2000; i++) {
		append(f, 3);
		assert_ok(f, vt_store_begin(f->store, &f->err));
		assert_ok(f, vt_batch_flush(&f->batch, &f->sink, &f->err));
		assert_ok(f, vt_batch_flush(&f->batch, &f->sink, &f->err)); /* nothing new: nothing happens */
		assert_ok(f, vt_store_commit(f->store, &f->err));
		assert_true(f->batch.npieces <= 7 * 4);
		if (i % 100 == 0)
			assert_int_equal(count_chunks(f), f->batch.npieces);
	}
	check_all(f, 6000, 1);
}

static void test_fast(void **state)
{
	struct fixture *f = *state;

	assert_ok(f, vt_store_begin(f->store, &f->err));
	append(f, 3 * VT_BATCH_RECORDS + 10);
	assert_ok(f, vt_store_commit(f->store, &f->err));
	check_all(f, 3 * VT_BATCH_RECORDS + 10, 4);
}

/* Pieces of a slow start end up in the full chunk of a fast end. */
static void test_mixed(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 50; i++) {
		assert_ok(f, vt_store_begin(f->store, &f->err));
		append(f, (uint32_t)(i * i));
		assert_ok(f, vt_batch_flush(&f->batch, &f->sink, &f->err));
		assert_ok(f, vt_store_commit(f->store, &f->err));
	}
	assert_ok(f, vt_store_begin(f->store, &f->err));
	append(f, 100000);
	assert_ok(f, vt_store_commit(f->store, &f->err));
	check_all(f, 40425 + 100000, 3);
}

static void test_nothing(void **state)
{
	check_all(*state, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_slow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fast, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mixed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
