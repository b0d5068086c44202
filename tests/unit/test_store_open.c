/*
 * test_store_open.c - the reading half of the store against what strangers hand it: files that are no trace, traces of
 * other versions, tables that are views, numbers that are words. Every answer is a code and a text that names the file.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "schema/base/bits.h"
#include "schema/store.h"

static char path[64];
static struct vt_err err;

#define ok(call)                                                                                                       \
	do {                                                                                                           \
		if ((call) < 0)                                                                                        \
			fail_msg("%s", err.msg);                                                                       \
	} while (0)

static int setup(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof(path), "/dev/shm/vt-test-open-%d.vramtrace", (int)getpid());
	(void)unlink(path);
	return 0;
}

static int teardown(void **state)
{
	char name[80];

	(void)state;
	(void)snprintf(name, sizeof(name), "%s-wal", path);
	(void)unlink(name);
	(void)snprintf(name, sizeof(name), "%s-shm", path);
	(void)unlink(name);
	return unlink(path);
}

/* A small whole trace. */
static void make_trace(void)
{
	struct vt_store *store = NULL;
	struct vt_tensor tensors[2] = { { .time_ns = 10, .size_bytes = 512 }, { .time_ns = 20, .size_bytes = -512 } };
	struct {
		struct vt_string string;
		char bytes[8];
	} string = { .string = { .rec = { VT_EVENT_string, 3, 0 }, .id = 1, .size_bytes = 8 }, .bytes = "aten::mm" };
	struct vt_op_node node = { .rec = { VT_EVENT_op_node, sizeof(node) / 8, 0 }, .id = 1, .name = 1 };
	struct vt_process_row process = {
		.pid = 1, .rank = -1, .local_rank = -1, .world_size = -1, .executable = "", .command = ""
	};

	ok(vt_store_create(&store, path, VT_STORE_REPLACE, &err));
	ok(vt_store_begin(store, &err));
	ok(vt_store_put_process(store, &process, NULL, &err));
	ok(vt_store_put_thread(store, &(struct vt_thread_row){ 1, 0, 1, 1, "main", 2 }, &err));
	ok(vt_store_put_loss(store, &(struct vt_loss_row){ 1, 1, 1 }, &err));
	ok(vt_store_add_clock(store, &(struct vt_clock_row){ 1, 2, 3 }, &err));
	ok(vt_store_add_record(store, 1, &string.string.rec, &err));
	ok(vt_store_add_record(store, 1, &node.rec, &err));
	ok(vt_store_add_chunk(store, 1, &(struct vt_chunk_rows){ vt_event_find(VT_EVENT_tensor), tensors, 2, 0 }, NULL,
			      NULL, &err));
	ok(vt_store_commit(store, &err));
	ok(vt_store_finish(store, &err));
	vt_store_close(store);
}

/* Does SQL to the trace that no writer of ours would. */
static void spoil(const char *sql)
{
	char *message = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ------------------------------------------------------------------ everything there is to read */

static int see_process(void *arg, const struct vt_process_row *row)
{
	*(size_t *)arg += strlen(row->executable) + strlen(row->command) + 1;
	return 0;
}

static int see_thread(void *arg, const struct vt_thread_row *row)
{
	*(size_t *)arg += strlen(row->name) + 1;
	return 0;
}

static int see_clock(void *arg, const struct vt_clock_row *row)
{
	*(size_t *)arg += row->monotonic_ns != 0;
	return 0;
}

static int see_loss(void *arg, const struct vt_loss_row *row)
{
	*(size_t *)arg += row->count != 0;
	return 0;
}

static int see_record(void *arg, uint32_t process, const struct vt_rec *rec)
{
	*(size_t *)arg += process + rec->type;
	return 0;
}

static int see_unknown(void *arg, const char *name)
{
	*(size_t *)arg += strlen(name) + 1;
	return 0;
}

struct ids {
	int64_t ids[16];
	size_t n;
};

static int see_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct ids *ids = arg;

	if (ids->n < VT_ARRAY_SIZE(ids->ids))
		ids->ids[ids->n++] = info->id;
	return 0;
}

static int read_tables(struct vt_store *store, size_t *seen)
{
	int r = vt_store_each_process(store, see_process, seen, &err);

	if (r == 0)
		r = vt_store_each_thread(store, see_thread, seen, &err);
	if (r == 0)
		r = vt_store_each_clock(store, see_clock, seen, &err);
	if (r == 0)
		r = vt_store_each_loss(store, see_loss, seen, &err);
	if (r == 0)
		r = vt_store_each_unknown(store, see_unknown, seen, &err);
	for (size_t i = 0; i < vt_nevents && r == 0; i++)
		if (vt_events[i].class != VT_CLASS_CHUNK)
			r = vt_store_each_record(store, &vt_events[i], see_record, seen, &err);
	return r;
}

/* The first refusal, of opening or of reading everything; 0 where all is well. */
static int read_everything(void)
{
	struct ids ids = { .n = 0 };
	struct vt_store *store = NULL;
	const void *blob;
	size_t seen = 0, bytes;
	int r;

	err = (struct vt_err){ 0 };
	r = vt_store_open(&store, path, &err);
	if (r < 0)
		return r;
	r = read_tables(store, &seen);
	if (r == 0)
		r = vt_store_each_chunk(store, see_chunk, &ids, &err);
	for (size_t i = 0; i < ids.n && r == 0; i++)
		r = vt_store_read_chunk(store, ids.ids[i], &blob, &bytes, &err);
	vt_store_close(store);
	return r;
}

static void assert_refused(int code, const char *words)
{
	int r = read_everything();

	if (r != -code || !strstr(err.msg, words))
		fail_msg("%d, \"%s\"; wanted %d, \"%s\"", r, err.msg, -code, words);
	assert_non_null(strstr(err.msg, path));
}

/* ------------------------------------------------------------------ what is no trace */

static void write_bytes(const void *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void files_that_are_no_trace(void **state)
{
	char log[80];

	(void)state;
	assert_refused(VT_E_INPUT, "no such file");
	write_bytes("", 0);
	assert_refused(VT_E_INPUT, "it is empty");
	write_bytes("PK\003\004 a pickle of a snapshot", 28);
	assert_refused(VT_E_INPUT, "not a vramtrace file");
	write_bytes("SQLite format 3", 16); /* the magic and no more */
	assert_refused(VT_E_INPUT, "not a vramtrace file");
	(void)unlink(path);
	spoil("CREATE TABLE chunk(id)");
	assert_refused(VT_E_INPUT, "SQLite database of another program");
	/* The same with a log under way: then the database itself is asked. */
	(void)snprintf(log, sizeof(log), "%s-wal", path);
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode=WAL; INSERT INTO chunk VALUES(1)", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(access(log, F_OK), 0);
	assert_refused(VT_E_INPUT, "SQLite database of another program");
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void traces_without_tables(void **state)
{
	(void)state;
	spoil("PRAGMA application_id=0x56545243; PRAGMA user_version=1; CREATE TABLE x(y); DROP TABLE x");
	assert_refused(VT_E_CORRUPT, "holds no tables");
	spoil("CREATE TABLE meta(key, value)"); /* the least there can be: nothing recorded */
	ok(read_everything());
}

static void paths_are_not_uris(void **state)
{
	char odd[96];
	struct vt_store *store = NULL;
	size_t seen = 0;

	(void)state;
	make_trace();
	(void)snprintf(odd, sizeof(odd), "/dev/shm/vt %%41?mode=rw#x-%d.vramtrace", (int)getpid());
	assert_int_equal(rename(path, odd), 0);
	ok(vt_store_open(&store, odd, &err));
	ok(read_tables(store, &seen));
	vt_store_close(store);
	assert_int_equal(rename(odd, path), 0);
	(void)snprintf(odd, sizeof(odd), "/%s", path); /* two slashes begin no host's name */
	ok(vt_store_open(&store, odd, &err));
	vt_store_close(store);
}

/* ------------------------------------------------------------------ other versions */

static void later_versions(void **state)
{
	struct vt_store *store = NULL;

	(void)state;
	make_trace();
	ok(read_everything());
	spoil("PRAGMA user_version=7;"
	      "ALTER TABLE process ADD COLUMN mood INTEGER NOT NULL DEFAULT 3;"
	      "ALTER TABLE op_node ADD COLUMN colour INTEGER NOT NULL DEFAULT 3;"
	      "CREATE TABLE later(x); CREATE INDEX handy ON chunk(kind); CREATE VIEW mine AS SELECT 1;"
	      "INSERT INTO schema_event VALUES(900, 'later', 'CHUNK', 7, '');"
	      "INSERT INTO schema_column VALUES(1, 90, 'colour', 'U64', 'RAW', 'NONE', 7, '')");
	ok(read_everything());
	/* A writer must not go on in what it does not know; a reader may read it. */
	assert_int_equal(vt_store_create(&store, path, VT_STORE_RESUME, &err), -VT_E_VERSION);
	assert_non_null(strstr(err.msg, "of format 7"));
	spoil("UPDATE meta SET value = 'compressed-names' WHERE key = 'incompatible_flags'");
	assert_refused(VT_E_VERSION, "needs a reader that knows \"compressed-names\"; update vramtrace");
	spoil("PRAGMA user_version=1");
	assert_refused(VT_E_VERSION, "compressed-names");
	assert_int_equal(vt_store_create(&store, path, VT_STORE_RESUME, &err), -VT_E_VERSION);
}

static int count_names(void *arg, const char *name)
{
	*(int *)arg += !strcmp(name, "later") || !strcmp(name, "tensor.colour");
	return 0;
}

static void unknown_kinds_and_columns_are_named(void **state)
{
	struct vt_store *store = NULL;
	int names = 0;

	(void)state;
	make_trace();
	spoil("INSERT INTO schema_event VALUES(900, 'later', 'CHUNK', 7, '');"
	      "INSERT INTO schema_column VALUES(900, 1, 'x', 'U64', 'RAW', 'NONE', 7, '');"
	      "INSERT INTO schema_column VALUES(1, 90, 'colour', 'U64', 'RAW', 'NONE', 7, '')");
	ok(vt_store_open(&store, path, &err));
	ok(vt_store_each_unknown(store, count_names, &names, &err));
	assert_int_equal(names, 2);
	vt_store_close(store);
}

/* Columns that an older file lacks are 0. */
static void earlier_versions(void **state)
{
	(void)state;
	make_trace();
	spoil("ALTER TABLE op_node DROP COLUMN scope; DROP TABLE kernel_config; DROP TABLE touch; DROP TABLE "
	      "schema_enum");
	ok(read_everything());
}

/* ------------------------------------------------------------------ hostile ones */

static void hostile_tables(void **state)
{
	static const struct {
		const char *sql;
		const char *words;
	} cases[] = {
		{ "DROP TABLE chunk; CREATE VIEW chunk AS SELECT 1", "chunk is a view" },
		{ "DROP TABLE process; CREATE VIEW process AS WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
		  "FROM t)"
		  " SELECT n AS id FROM t",
		  "process is a view" },
		{ "DROP TABLE meta; CREATE VIEW META AS SELECT 1", "meta is a view" },
		{ "DROP TABLE string; CREATE VIEW string AS SELECT randomblob(1000000000) AS bytes",
		  "string is a view" },
		{ "DROP TABLE thread; CREATE TABLE thread(process)", "no such column" },
		{ "DROP TABLE chunk; CREATE TABLE chunk(id, process)", "no such column" },
		{ "DROP TABLE oom; CREATE TABLE oom(time_ns); INSERT INTO oom VALUES(1)", "no such column" },
		{ "UPDATE process SET pid = 4294967296", "pid is of the wrong type or out of its range" },
		{ "UPDATE process SET pid = -1", "pid is of" },
		{ "UPDATE process SET id = 4294967297", "id is of" },
		{ "UPDATE process SET rank = 'first'", "rank is of" },
		{ "UPDATE process SET start_ns = 1.5", "start_ns is of" },
		{ "UPDATE process SET end_state = 2147483648", "end_state is of" },
		{ "UPDATE process SET executable = zeroblob(1048577)", "executable is of" },
		{ "UPDATE thread SET tid = x'00'", "tid is of" },
		{ "UPDATE clock SET realtime_ns = 'noon'", "realtime_ns is of" },
		{ "UPDATE loss SET kind = -5", "kind is of" },
		{ "UPDATE op_node SET scope = 1 << 32", "scope is of" },
		{ "UPDATE op_node SET parent = -1", "parent is of" },
		{ "UPDATE op_node SET name = 'mm'", "name is of" },
		{ "UPDATE op_node SET process = 1 << 40", "process is of" },
		{ "UPDATE string SET bytes = 5", "bytes is of" },
		{ "UPDATE string SET bytes = zeroblob(16777217)", "bytes is of" },
		{ "UPDATE chunk SET events = 0", "events is of" },
		{ "UPDATE chunk SET events = 1048577", "events is of" },
		{ "UPDATE chunk SET kind = -1", "kind is of" },
		{ "UPDATE chunk SET first_ns = 'x'", "first_ns is of" },
		{ "UPDATE chunk SET last_ns = 9", "before it begins" },
		{ "UPDATE chunk SET raw_bytes = -1", "raw_bytes is of" },
		{ "UPDATE chunk SET checksum = checksum + 4294967296", "do not match its checksum" },
		{ "UPDATE chunk SET checksum = checksum + 1", "do not match its checksum" },
		{ "UPDATE chunk SET data = zeroblob(100)", "do not match its checksum" },
		{ "UPDATE chunk SET data = 'text', checksum = 0", "its data is no blob" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		int r;

		make_trace();
		spoil(cases[i].sql);
		r = read_everything();
		if (r != -VT_E_CORRUPT || !strstr(err.msg, cases[i].words) || !strstr(err.msg, path))
			fail_msg("%s: %d, \"%s\", wanted \"%s\"", cases[i].sql, r, err.msg, cases[i].words);
	}
}

/* A table whose rows a program of the file's maker would compute. */
static void virtual_tables_are_refused(void **state)
{
	sqlite3 *db;
	int r;

	(void)state;
	make_trace();
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	r = sqlite3_exec(db, "DROP TABLE chunk; CREATE VIRTUAL TABLE chunk USING fts5(id, data)", NULL, NULL, NULL);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	if (r != SQLITE_OK)
		skip(); /* this SQLite has no fts5 */
	assert_refused(VT_E_CORRUPT, "chunk is a view or a virtual table");
}

/* Triggers of a file that is gone on with run nothing. */
static void triggers_do_not_fire(void **state)
{
	struct vt_store *store = NULL;

	(void)state;
	make_trace();
	spoil("CREATE TRIGGER t AFTER INSERT ON clock BEGIN DELETE FROM chunk; END");
	ok(vt_store_create(&store, path, VT_STORE_RESUME, &err));
	ok(vt_store_begin(store, &err));
	ok(vt_store_add_clock(store, &(struct vt_clock_row){ 5, 6, 7 }, &err));
	ok(vt_store_commit(store, &err));
	struct ids ids = { .n = 0 };

	ok(vt_store_each_chunk(store, see_chunk, &ids, &err));
	assert_int_equal(ids.n, 1);
	vt_store_close(store);
}

static void readers_write_nothing(void **state)
{
	struct vt_store *store = NULL;

	(void)state;
	make_trace();
	ok(vt_store_open(&store, path, &err));
	assert_true(vt_store_set_meta(store, "x", "y", &err) < 0);
	assert_non_null(strstr(err.msg, "readonly"));
	vt_store_close(store);
}

/* A callback's code ends the walk and comes out. */
static int stop(void *arg, const struct vt_chunk_info *info)
{
	(void)arg;
	(void)info;
	return -VT_E_IO;
}

static void callbacks_stop_the_walk(void **state)
{
	struct vt_store *store = NULL;

	(void)state;
	make_trace();
	ok(vt_store_open(&store, path, &err));
	assert_int_equal(vt_store_each_chunk(store, stop, NULL, &err), -VT_E_IO);
	vt_store_close(store);
}

/* Bytes of the file overwritten here and there: whatever comes of it, no crash, and a text with every refusal. */
static void damage_is_survived(void **state)
{
	uint8_t *whole, *damaged;
	uint64_t random = 1;
	struct stat st;
	int refused = 0;
	FILE *f;

	(void)state;
	make_trace();
	assert_int_equal(stat(path, &st), 0);
	whole = malloc((size_t)st.st_size);
	damaged = malloc((size_t)st.st_size);
	f = fopen(path, "r");
	assert_true(whole && damaged && f);
	assert_int_equal(fread(whole, 1, (size_t)st.st_size, f), st.st_size);
	(void)fclose(f);
	for (int round = 0; round < 400; round++) {
		memcpy(damaged, whole, (size_t)st.st_size);
		for (int i = 0; i < 1 + round % 30; i++) {
			random = vt_mix64(random + 1);
			damaged[random % (uint64_t)st.st_size] = (uint8_t)(random >> 56);
		}
		write_bytes(damaged, round % 5 ? (size_t)st.st_size : (size_t)(random % (uint64_t)st.st_size));
		if (read_everything() < 0) {
			assert_true(err.msg[0]);
			refused++;
		}
	}
	assert_true(refused > 0);
	free(whole);
	free(damaged);
}

#define store_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(files_that_are_no_trace),
		store_test(traces_without_tables),
		store_test(paths_are_not_uris),
		store_test(later_versions),
		store_test(unknown_kinds_and_columns_are_named),
		store_test(earlier_versions),
		store_test(hostile_tables),
		store_test(virtual_tables_are_refused),
		store_test(triggers_do_not_fire),
		store_test(readers_write_nothing),
		store_test(callbacks_stop_the_walk),
		store_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
