/* test_cursor.c - order, filters and bounds of the merge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/store/cursor.h"
#include "trace_builder.h"

static char path[64];

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/vt-cursor-%d.vramtrace", getpid());
	return 0;
}

static int drop_path(void **state)
{
	(void)state;
	return unlink(path);
}

static void add_op(struct vt_builder *builder, uint32_t process, uint64_t end_ns, uint32_t thread)
{
	const struct vt_op op = { .end_ns = end_ns, .start_ns = end_ns - 1, .thread = thread, .sequence = -1 };

	vt_builder_event(builder, process, VT_EVENT_op, &op);
}

static void add_tensor(struct vt_builder *builder, uint32_t process, uint64_t time_ns, uint64_t address)
{
	vt_builder_alloc(builder, process,
			 &(struct vt_tensor){ .time_ns = time_ns,
					      .address = address,
					      .size_bytes = 512,
					      .device_type = VT_device_type_CUDA });
}

struct read {
	struct vt_store *store;
	struct vt_cursor *cursor;
};

static struct read open_read(const struct vt_cursor_options *options)
{
	struct vt_err err = { 0 };
	struct read read;

	if (vt_store_open(&read.store, path, &err) < 0 || vt_cursor_open(&read.cursor, read.store, options, &err) < 0)
		fail_msg("%s", err.msg);
	return read;
}

static void close_read(struct read *read)
{
	vt_cursor_close(read->cursor);
	vt_store_close(read->store);
}

/* "t100 o150 x200": the first letter of the kind (x: oom, n: note) and the time of all events in the order given. */
static void expect(const struct vt_cursor_options *options, const char *wanted)
{
	struct read read = open_read(options);
	struct vt_err err = { 0 };
	struct vt_item item;
	char got[4096] = "";
	size_t at = 0;
	int r;

	while ((r = vt_cursor_next(read.cursor, &item, &err)) > 0) {
		char kind = item.event->id == VT_EVENT_oom ? 'x' : item.event->name[0];

		at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%c%llu", at ? " " : "", kind,
				       (unsigned long long)item.time_ns);
	}
	if (r < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(vt_cursor_next(read.cursor, &item, &err), 0);
	assert_string_equal(got, wanted);
	close_read(&read);
}

static void build_mixed(void)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t a = vt_builder_process(builder, 10, -1, "a"), b = vt_builder_process(builder, 11, -1, "b");
	const struct vt_oom oom = { .time_ns = 250, .device_type = 1 };

	add_tensor(builder, a, 100, 0x1000);
	add_tensor(builder, a, 300, 0x2000);
	add_op(builder, a, 150, 1);
	vt_builder_flush(builder);
	/* A thread drained later: its chunk begins in the middle of the one before. */
	add_tensor(builder, a, 200, 0x3000);
	add_tensor(builder, a, 400, 0x4000);
	add_op(builder, b, 250, 2);
	vt_builder_flush(builder);
	add_tensor(builder, b, 500, 0x1000);
	vt_builder_event(builder, a, VT_EVENT_oom, &oom);
	vt_builder_note(builder, b, 50, VT_note_code_TORCH_FOUND, 0, "torch");
	vt_builder_note(builder, a, 450, VT_note_code_GAP_BEGIN, 0, "");
	vt_builder_close(builder);
}

static void events_come_in_order_of_time(void **state)
{
	(void)state;
	build_mixed();
	expect(NULL, "n50 t100 o150 t200 o250 x250 t300 t400 n450 t500");
}

static void filters_leave_out_the_rest(void **state)
{
	static const uint32_t ops[] = { VT_EVENT_op }, two[] = { VT_EVENT_oom, VT_EVENT_tensor };

	(void)state;
	build_mixed();
	expect(&(struct vt_cursor_options){ .kinds = ops, .nkinds = 1 }, "o150 o250");
	expect(&(struct vt_cursor_options){ .kinds = two, .nkinds = 2, .process = 1 }, "t100 t200 x250 t300 t400");
	expect(&(struct vt_cursor_options){ .process = 2 }, "n50 o250 t500");
	expect(&(struct vt_cursor_options){ .from_ns = 200, .to_ns = 400 }, "t200 o250 x250 t300 t400");
	expect(&(struct vt_cursor_options){ .from_ns = 501 }, "");
	expect(&(struct vt_cursor_options){ .to_ns = 99 }, "n50");
}

static void empty_trace_has_no_events(void **state)
{
	(void)state;
	vt_builder_close(vt_builder_new(path));
	expect(NULL, "");
}

/* Events of equal time keep the order of the file; those of a thread never change places. */
static void equal_times_keep_their_order(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = vt_builder_process(builder, 10, -1, "a");
	struct vt_err err = { 0 };
	struct vt_item item;
	struct read read;
	uint32_t last = 0;

	(void)state;
	for (uint32_t i = 1; i <= 60; i++) {
		add_op(builder, process, 100 + (i > 40), i);
		if (i % 7 == 0)
			vt_builder_flush(builder);
	}
	vt_builder_close(builder);
	read = open_read(NULL);
	while (vt_cursor_next(read.cursor, &item, &err) > 0) {
		const struct vt_op *op = (const struct vt_op *)(const void *)item.rec;

		assert_int_equal(op->thread, last + 1);
		last = op->thread;
	}
	assert_int_equal(last, 60);
	close_read(&read);
}

/* Many chunks that overlap: all events, rising times, with progress told. */
static void count_progress(void *arg, uint64_t done, uint64_t total)
{
	uint64_t *last = arg;

	assert_true(done > *last && done <= total);
	*last = done;
}

static void many_overlapping_chunks_merge(void **state)
{
	enum { CHUNKS = 200, EACH = 50 };
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = vt_builder_process(builder, 10, -1, "a");
	uint64_t progress = 0, last = 0;
	const struct vt_cursor_options options = { .progress = count_progress, .progress_arg = &progress };
	struct vt_err err = { 0 };
	struct vt_item item;
	struct read read;
	unsigned events = 0;

	(void)state;
	for (uint64_t chunk = 0; chunk < CHUNKS; chunk++) {
		for (uint64_t i = 0; i < EACH; i++)
			add_op(builder, process, 1000 + chunk * 300 + i * (37 + chunk % 11), (uint32_t)chunk);
		vt_builder_flush(builder);
	}
	vt_builder_close(builder);
	read = open_read(&options);
	for (; vt_cursor_next(read.cursor, &item, &err) > 0; events++) {
		assert_true(item.time_ns >= last);
		last = item.time_ns;
	}
	assert_int_equal(events, CHUNKS * EACH);
	assert_int_equal(progress, CHUNKS * EACH);
	close_read(&read);
}

static void closing_early_frees_what_is_ahead(void **state)
{
	struct vt_err err = { 0 };
	struct vt_item item;
	struct read read;

	(void)state;
	build_mixed();
	read = open_read(NULL);
	assert_int_equal(vt_cursor_next(read.cursor, &item, &err), 1);
	close_read(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_in_order_of_time),	 cmocka_unit_test(filters_leave_out_the_rest),
		cmocka_unit_test(empty_trace_has_no_events),	 cmocka_unit_test(equal_times_keep_their_order),
		cmocka_unit_test(many_overlapping_chunks_merge), cmocka_unit_test(closing_early_frees_what_is_ahead),
	};

	return cmocka_run_group_tests(tests, make_path, drop_path);
}
