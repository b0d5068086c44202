/*
 * test_store.c - the writing half of the store, read back: what is put in comes out; creating, replacing and going on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/base/bits.h"
#include "schema/chunk.h"
#include "schema_random.h"
#include "store_rig.h"

static void write_text(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static const struct vt_process_row process_row = { .pid = 4242,
						   .parent_pid = 17,
						   .rank = 3,
						   .local_rank = 1,
						   .world_size = 8,
						   .pid_start_ticks = UINT64_MAX,
						   .start_ns = 1000,
						   .end_ns = 0,
						   .end_state = -1,
						   .executable = "/usr/bin/pyth\xff"
								 "on",
						   .command = "python 'train \xc3\xa4.py'" };

/* ------------------------------------------------------------------ small tables */

static int check_process(void *arg, const struct vt_process_row *row)
{
	const struct vt_process_row *want = &process_row;

	assert_int_equal(row->id, 1);
	assert_true(row->pid == want->pid && row->parent_pid == want->parent_pid && row->rank == want->rank);
	assert_true(row->local_rank == want->local_rank && row->world_size == want->world_size);
	assert_int_equal(row->pid_start_ticks, want->pid_start_ticks);
	assert_true(row->start_ns == want->start_ns && row->end_ns == 5000 && row->end_state == 2);
	assert_string_equal(row->executable, want->executable);
	assert_string_equal(row->command, want->command);
	(*(int *)arg)++;
	return 0;
}

static int check_thread(void *arg, const struct vt_thread_row *row)
{
	assert_true(row->process == 1 && row->ring == 2 && row->generation == 3 && row->tid == 4 && row->events == 7);
	assert_string_equal(row->name, "pt_autograd_0");
	(*(int *)arg)++;
	return 0;
}

static int check_clock(void *arg, const struct vt_clock_row *row)
{
	assert_int_equal(row->realtime_ns, UINT64_C(1700000000000000000) + row->monotonic_ns);
	assert_int_equal(row->boottime_ns, row->monotonic_ns + 1);
	(*(int *)arg)++;
	return 0;
}

static int check_loss(void *arg, const struct vt_loss_row *row)
{
	assert_true(row->process == 1 && row->kind == VT_loss_RING_FULL && row->count == UINT64_MAX);
	(*(int *)arg)++;
	return 0;
}

static void put_small_rows(struct vt_store *store)
{
	struct vt_process_row ended = process_row;
	uint32_t id = 0;

	ok(vt_store_begin(store, &store_rig_err));
	ok(vt_store_put_process(store, &process_row, &id, &store_rig_err));
	assert_int_equal(id, 1);
	ended.id = id;
	ended.end_ns = 5000;
	ended.end_state = 2;
	ok(vt_store_put_process(store, &ended, &id, &store_rig_err));
	for (uint64_t events = 6; events <= 7; events++)
		ok(vt_store_put_thread(store, &(struct vt_thread_row){ 1, 2, 3, 4, "pt_autograd_0", events },
				       &store_rig_err));
	for (uint64_t t = 20; t; t -= 10)
		ok(vt_store_add_clock(store, &(struct vt_clock_row){ t, UINT64_C(1700000000000000000) + t, t + 1 },
				      &store_rig_err));
	ok(vt_store_put_loss(store, &(struct vt_loss_row){ 1, VT_loss_RING_FULL, 5 }, &store_rig_err));
	ok(vt_store_put_loss(store, &(struct vt_loss_row){ 1, VT_loss_RING_FULL, UINT64_MAX }, &store_rig_err));
	ok(vt_store_put_loss(store, &(struct vt_loss_row){ 1, VT_loss_TORN, 0 }, &store_rig_err));
	ok(vt_store_set_meta(store, "answer", "42", &store_rig_err));
	ok(vt_store_commit(store, &store_rig_err));
}

static void small_tables_come_back(void **state)
{
	int processes = 0, threads = 0, clocks = 0, losses = 0;
	struct vt_store *store = store_rig_create(VT_STORE_NEW);
	const char *text;

	(void)state;
	put_small_rows(store);
	ok(vt_store_finish(store, &store_rig_err));
	vt_store_close(store);
	store = store_rig_open();
	ok(vt_store_each_process(store, check_process, &processes, &store_rig_err));
	ok(vt_store_each_thread(store, check_thread, &threads, &store_rig_err));
	ok(vt_store_each_clock(store, check_clock, &clocks, &store_rig_err));
	ok(vt_store_each_loss(store, check_loss, &losses, &store_rig_err));
	assert_true(processes == 1 && threads == 1 && clocks == 2 && losses == 1);
	text = vt_store_meta(store, "answer");
	for (int i = 0; i < 100; i++) /* asking again costs nothing and never runs out */
		assert_ptr_equal(vt_store_meta(store, "answer"), text);
	assert_string_equal(text, "42");
	assert_null(vt_store_meta(store, "question"));
	assert_string_equal(vt_store_meta(store, "incompatible_flags"), "");
	assert_null(vt_store_warning(store));
	assert_string_equal(vt_store_path(store), store_rig_path);
	ok(vt_store_check(store, &store_rig_err));
	vt_store_close(store);
}

static void processes_and_positions_are_found(void **state)
{
	struct vt_store *store = store_rig_create(VT_STORE_NEW);
	uint64_t position = 0;
	uint32_t id = 0;

	(void)state;
	ok(vt_store_begin(store, &store_rig_err));
	ok(vt_store_put_process(store, &process_row, NULL, &store_rig_err));
	ok(vt_store_put_ring_position(store, 1, 2, 1, 640, &store_rig_err));
	ok(vt_store_put_ring_position(store, 1, 2, 2, UINT64_MAX - 7, &store_rig_err));
	ok(vt_store_commit(store, &store_rig_err));
	assert_int_equal(vt_store_find_process(store, 4242, UINT64_MAX, &id, &store_rig_err), 1);
	assert_int_equal(id, 1);
	assert_int_equal(vt_store_find_process(store, 4242, 5, &id, &store_rig_err), 0);
	assert_int_equal(vt_store_find_ring_position(store, 1, 2, 2, &position, &store_rig_err), 1);
	assert_int_equal(position, UINT64_MAX - 7);
	/* The ring was taken over: what the former thread left in it counts no more. */
	assert_int_equal(vt_store_find_ring_position(store, 1, 2, 1, &position, &store_rig_err), 0);
	assert_int_equal(vt_store_find_ring_position(store, 1, 3, 2, &position, &store_rig_err), 0);
	vt_store_close(store);
}

/* ------------------------------------------------------------------ records */

struct found {
	int count;
	uint8_t bytes[1 << 19];
};

static int keep_record(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_event *event = vt_event_find(rec->type);
	struct found *found = arg;

	assert_int_equal(process, 1);
	if (event->class == VT_CLASS_BLOB)
		assert_true(rec->len8 * 8u <= sizeof(found->bytes));
	memcpy(found->bytes, rec, event->class == VT_CLASS_BLOB ? rec->len8 * 8u : event->size);
	found->count++;
	return 0;
}

/* Every table event with random columns; all of them but the header come back. */
static void records_come_back(void **state)
{
	struct vt_store *store = store_rig_create(VT_STORE_NEW);
	static struct found found;
	uint8_t *records[64] = { 0 };
	struct schema_random random = { 31 };

	(void)state;
	ok(vt_store_begin(store, &store_rig_err));
	for (size_t i = 0; i < vt_nevents; i++) {
		struct vt_rec *rec;

		if (vt_events[i].class != VT_CLASS_TABLE)
			continue;
		records[i] = schema_random_records(&random, &vt_events[i], 1);
		rec = (struct vt_rec *)(void *)records[i];
		rec->type = vt_events[i].id;
		rec->len8 = (uint16_t)(vt_events[i].size / 8);
		ok(vt_store_add_record(store, 1, rec, &store_rig_err));
		/* A definition that is there stays as it is. */
		if (vt_event_col_name(&vt_events[i], "id"))
			ok(vt_store_add_record(store, 1, rec, &store_rig_err));
	}
	ok(vt_store_commit(store, &store_rig_err));
	vt_store_close(store);
	store = store_rig_open();
	for (size_t i = 0; i < vt_nevents; i++) {
		if (!records[i])
			continue;
		found.count = 0;
		ok(vt_store_each_record(store, &vt_events[i], keep_record, &found, &store_rig_err));
		assert_int_equal(found.count, 1);
		for (uint32_t c = 0; c < vt_events[i].ncols; c++)
			if (!vt_col_is_pad(&vt_events[i].cols[c]))
				assert_int_equal(schema_record_value(found.bytes, &vt_events[i].cols[c]),
						 schema_record_value(records[i], &vt_events[i].cols[c]));
		free(records[i]);
	}
	assert_int_equal(
		vt_store_each_record(store, vt_event_find(VT_EVENT_tensor), keep_record, &found, &store_rig_err),
		-VT_E_USAGE);
	vt_store_close(store);
}

static void byte_strings_come_back(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t size;
	} cases[] = { { "", 0 }, { "aten::mm", 8 }, { "a\0b", 3 }, { "\xff\xfe\xc3", 3 }, { "gr\xc3\xbc\xc3\x9f", 6 } };
	static struct found found;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_store *store = store_rig_create(i ? VT_STORE_REPLACE : VT_STORE_NEW);
		struct {
			struct vt_string string;
			char bytes[16];
		} record = { .string = { .rec = { VT_EVENT_string, 4, 0 }, .id = 9, .size_bytes = cases[i].size } };

		memcpy(record.bytes, cases[i].bytes, cases[i].size);
		ok(vt_store_begin(store, &store_rig_err));
		ok(vt_store_add_record(store, 1, &record.string.rec, &store_rig_err));
		ok(vt_store_commit(store, &store_rig_err));
		vt_store_close(store);
		store = store_rig_open();
		found.count = 0;
		ok(vt_store_each_record(store, vt_event_find(VT_EVENT_string), keep_record, &found, &store_rig_err));
		assert_int_equal(found.count, 1);
		assert_int_equal(((struct vt_string *)(void *)found.bytes)->id, 9);
		assert_int_equal(((struct vt_string *)(void *)found.bytes)->size_bytes, cases[i].size);
		assert_memory_equal(found.bytes + sizeof(struct vt_string), cases[i].bytes, cases[i].size);
		vt_store_close(store);
	}
}

static void records_that_are_none_are_refused(void **state)
{
	struct vt_store *store = store_rig_create(VT_STORE_NEW);
	struct vt_string string = { .rec = { VT_EVENT_string, 2, 0 }, .id = 1, .size_bytes = 1 };
	struct vt_rec recs[] = { { VT_EVENT_tensor, 8, 0 }, { 999, 8, 0 }, { VT_EVENT_oom, 2, 0 } };

	(void)state;
	ok(vt_store_begin(store, &store_rig_err));
	for (size_t i = 0; i < VT_ARRAY_SIZE(recs); i++)
		assert_int_equal(vt_store_add_record(store, 1, &recs[i], &store_rig_err), -VT_E_CORRUPT);
	assert_int_equal(vt_store_add_record(store, 1, &string.rec, &store_rig_err), -VT_E_CORRUPT);
	ok(vt_store_commit(store, &store_rig_err));
	vt_store_close(store);
}

/* ------------------------------------------------------------------ chunks */

static void chunks_come_back_in_order(void **state)
{
	struct vt_store *store = store_rig_create(VT_STORE_NEW);
	struct vt_chunk_coder *coder = vt_chunk_coder_new();
	struct vt_chunk_rows rows;
	struct store_rig_chunks chunks;
	const void *blob;
	size_t bytes;
	int64_t ids[3];

	(void)state;
	ok(vt_store_begin(store, &store_rig_err));
	ids[0] = store_rig_add(store, 5000, STORE_RIG_ROWS, NULL, 0);
	ids[1] = store_rig_add(store, UINT64_C(1) << 63, 1, NULL, 0); /* SQLite takes that for negative */
	ids[2] = store_rig_add(store, 1000, STORE_RIG_ROWS, NULL, 0);
	ok(vt_store_commit(store, &store_rig_err));
	vt_store_close(store);
	store = store_rig_open();
	chunks = store_rig_chunks(store);
	assert_int_equal(chunks.count, 3);
	assert_true(chunks.infos[0].id == ids[2] && chunks.infos[1].id == ids[0] && chunks.infos[2].id == ids[1]);
	assert_true(chunks.infos[1].first_ns == 5000 && chunks.infos[1].last_ns == 5000 + STORE_RIG_ROWS - 1);
	assert_true(chunks.infos[1].events == STORE_RIG_ROWS && chunks.infos[1].kind == VT_EVENT_tensor &&
		    chunks.infos[1].process == 1);
	ok(vt_store_read_chunk(store, ids[0], &blob, &bytes, &store_rig_err));
	assert_int_equal(bytes, chunks.infos[1].blob_bytes);
	ok(vt_chunk_decode(coder, blob, bytes, VT_EVENT_tensor, &rows, &store_rig_err));
	assert_int_equal(((const struct vt_tensor *)rows.records)[STORE_RIG_ROWS - 1].time_ns,
			 5000 + STORE_RIG_ROWS - 1);
	assert_int_equal(vt_store_read_chunk(store, 99, &blob, &bytes, &store_rig_err), -VT_E_CORRUPT);
	assert_non_null(strstr(store_rig_err.msg, "chunk 99 is gone"));
	vt_store_close(store);
	vt_chunk_coder_free(coder);
}

/* A reader that comes between sees the events once: in the old chunks or in the new one. */
static void a_chunk_replaces_others_at_once(void **state)
{
	struct vt_store *store = store_rig_create(VT_STORE_NEW), *reader;
	int64_t ids[2];

	(void)state;
	ok(vt_store_begin(store, &store_rig_err));
	ids[0] = store_rig_add(store, 1000, STORE_RIG_ROWS, NULL, 0);
	ids[1] = store_rig_add(store, 1000 + STORE_RIG_ROWS, STORE_RIG_ROWS, NULL, 0);
	ok(vt_store_commit(store, &store_rig_err));
	reader = store_rig_open();
	ok(vt_store_begin(store, &store_rig_err));
	(void)store_rig_add(store, 1000, 2 * STORE_RIG_ROWS, ids, 2);
	assert_int_equal(store_rig_chunks(reader).events, 2 * STORE_RIG_ROWS);
	assert_int_equal(store_rig_chunks(reader).count, 2);
	ok(vt_store_commit(store, &store_rig_err));
	assert_int_equal(store_rig_chunks(reader).events, 2 * STORE_RIG_ROWS);
	assert_int_equal(store_rig_chunks(reader).count, 1);
	vt_store_close(reader);
	vt_store_close(store);
}

/* ------------------------------------------------------------------ making, replacing, going on */

static void new_replace_resume(void **state)
{
	struct vt_store *store = store_rig_create(VT_STORE_NEW), *other = NULL;
	char name[160];

	(void)state;
	ok(vt_store_begin(store, &store_rig_err));
	(void)store_rig_add(store, 1000, STORE_RIG_ROWS, NULL, 0);
	ok(vt_store_commit(store, &store_rig_err));
	ok(vt_store_finish(store, &store_rig_err));
	vt_store_close(store);
	(void)snprintf(name, sizeof(name), "%s-wal", store_rig_path);
	assert_int_not_equal(access(name, F_OK), 0);

	assert_int_equal(vt_store_create(&other, store_rig_path, VT_STORE_NEW, &store_rig_err), -VT_E_INPUT);
	assert_non_null(strstr(store_rig_err.msg, "exists"));
	store = store_rig_create(VT_STORE_RESUME);
	ok(vt_store_begin(store, &store_rig_err));
	(void)store_rig_add(store, 9000, STORE_RIG_ROWS, NULL, 0);
	ok(vt_store_commit(store, &store_rig_err));
	vt_store_close(store);
	store = store_rig_open();
	assert_int_equal(store_rig_chunks(store).events, 2 * STORE_RIG_ROWS);
	vt_store_close(store);
	store = store_rig_create(VT_STORE_REPLACE);
	vt_store_close(store);
	store = store_rig_open();
	assert_int_equal(store_rig_chunks(store).events, 0);
	vt_store_close(store);
	assert_int_equal(unlink(store_rig_path), 0);
	assert_int_equal(vt_store_create(&other, store_rig_path, VT_STORE_RESUME, &store_rig_err), -VT_E_INPUT);
	assert_non_null(strstr(store_rig_err.msg, "nothing to go on with"));
	assert_int_not_equal(access(store_rig_path, F_OK), 0);
}

static void files_of_others_are_not_overwritten(void **state)
{
	struct vt_store *store = NULL;
	char command[300], target[160];
	struct stat st;

	(void)state;
	write_text(store_rig_path, "a thesis");
	assert_int_equal(vt_store_create(&store, store_rig_path, VT_STORE_REPLACE, &store_rig_err), -VT_E_INPUT);
	assert_non_null(strstr(store_rig_err.msg, "not overwritten"));
	assert_int_equal(stat(store_rig_path, &st), 0);
	assert_int_equal(st.st_size, 8);
	(void)snprintf(command, sizeof(command), "rm %s; sqlite3 %s 'CREATE TABLE t(x)'", store_rig_path,
		       store_rig_path);
	if (system(command) == 0)
		assert_int_equal(vt_store_create(&store, store_rig_path, VT_STORE_REPLACE, &store_rig_err),
				 -VT_E_INPUT);
	(void)unlink(store_rig_path);
	write_text(store_rig_path, "");
	store = store_rig_create(VT_STORE_REPLACE); /* an empty file: what a shell's > leaves */
	vt_store_close(store);
	assert_int_equal(vt_store_create(&store, store_rig_directory, VT_STORE_REPLACE, &store_rig_err), -VT_E_INPUT);
	assert_non_null(strstr(store_rig_err.msg, "not a regular file"));
	(void)snprintf(target, sizeof(target), "%s/no/such/place", store_rig_directory);
	assert_true(vt_store_create(&store, target, VT_STORE_NEW, &store_rig_err) < 0);
	assert_non_null(strstr(store_rig_err.msg, target));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_rig_test(small_tables_come_back),
		store_rig_test(processes_and_positions_are_found),
		store_rig_test(records_come_back),
		store_rig_test(byte_strings_come_back),
		store_rig_test(records_that_are_none_are_refused),
		store_rig_test(chunks_come_back_in_order),
		store_rig_test(a_chunk_replaces_others_at_once),
		store_rig_test(new_replace_resume),
		store_rig_test(files_of_others_are_not_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
