/* test_sql.c - the virtual tables over traces made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/sql/sql.h"
#include "schema/base/bits.h"
#include "trace_builder.h"

#ifndef VT_TEST_EXTENSION
#define VT_TEST_EXTENSION NULL
#endif

static char path[64];
static sqlite3 *db;

#define CHUNKS 5
#define CHUNK_ROWS 100

/* Five chunks of a hundred allocations, ns 1000 * chunk + 10 * i; each third block is freed at once. */
static void make_trace(void)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = vt_builder_process(builder, 4242, -1, "python train.py");
	uint32_t other = vt_builder_process(builder, 4243, -1, "python other.py");
	uint32_t op = vt_builder_op(builder, process, 0, "aten::mm", VT_op_scope_FUNCTION);
	uint32_t line = vt_builder_stack(builder, process, 0, "main", "/home/me/train.py", 12);
	uint32_t deep = vt_builder_stack(builder, process, line, "Net.forward", "/home/me/net.py", 7);

	for (uint64_t chunk = 0; chunk < CHUNKS; chunk++) {
		for (uint64_t i = 0; i < CHUNK_ROWS; i++) {
			uint64_t at = (chunk + 1) * 1000 + i * 10,
				 address = 0x10000 + (chunk * CHUNK_ROWS + i) * 0x1000;

			vt_builder_alloc(builder, process,
					 &(struct vt_tensor){ .time_ns = at,
							      .address = address,
							      .size_bytes = 512,
							      .op = op,
							      .stack = deep,
							      .device_type = VT_device_type_CUDA });
			if (i % 3 == 0)
				vt_builder_free(builder, process, at + 4, 0, address);
		}
		vt_builder_flush(builder);
	}
	vt_builder_alloc(builder, other,
			 &(struct vt_tensor){ .time_ns = 1500,
					      .address = 0x99000,
					      .size_bytes = 4096,
					      .device = 1,
					      .device_type = VT_device_type_CUDA });
	vt_builder_event(builder, process, VT_EVENT_driver_memory,
			 &(struct vt_driver_memory){ .time_ns = 990,
						     .start_ns = 900,
						     .address = 0x10000,
						     .size_bytes = 2 << 20,
						     .api = VT_driver_api_MEM_ALLOC });
	vt_builder_close(builder);
}

/* Allocations that are freed at once: i = 0, 3, ..., 99 of each chunk. */
#define FREED (CHUNKS * 34)

static void open_db(void)
{
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	if (VT_TEST_EXTENSION) {
		char *error = NULL;

		assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL), SQLITE_OK);
		if (sqlite3_load_extension(db, VT_TEST_EXTENSION, NULL, &error) != SQLITE_OK)
			fail_msg("%s", error);
	} else {
		assert_int_equal(vt_sql_register(db), SQLITE_OK);
	}
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/vt-test-sql-%d.vramtrace", getpid());
	make_trace();
	open_db();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(sqlite3_close(db), SQLITE_OK); /* nothing of ours holds it */
	db = NULL;
	return unlink(path);
}

/* The first column of the first row, as text; the error's text where there is one. */
static const char *ask(const char *sql)
{
	static char answer[512];
	sqlite3_stmt *statement;
	int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	(void)snprintf(answer, sizeof(answer), "%s", sqlite3_errmsg(db));
	if (code != SQLITE_OK)
		return answer;
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(statement, 0);

		(void)snprintf(answer, sizeof(answer), "%s", text ? text : "NULL");
	} else {
		(void)snprintf(answer, sizeof(answer), "%s", code == SQLITE_DONE ? "no row" : sqlite3_errmsg(db));
	}
	(void)sqlite3_finalize(statement);
	return answer;
}

static void events_have_their_columns_and_texts(void **state)
{
	(void)state;
	assert_string_equal(ask("SELECT count(*) FROM tensor"), "671"); /* 500 + 170 frees + 1 */
	assert_string_equal(ask("SELECT sum(size_bytes) FROM tensor WHERE process = 1"), "168960"); /* 330 live */
	assert_string_equal(ask("SELECT op_name || ' ' || stack_line || ' ' || device_type_text FROM tensor"),
			    "aten::mm net.py:7 Net.forward cuda");
	assert_string_equal(ask("SELECT op_name FROM tensor WHERE process = 2"), "NULL");
	assert_string_equal(ask("SELECT api_text || ' ' || (time_ns - start_ns) FROM driver_memory"), "cuMemAlloc 90");
	assert_string_equal(ask("SELECT count(*) FROM kernel"), "0");
	assert_string_equal(ask("SELECT count(DISTINCT rowid) FROM tensor"), "671");
}

/* With a bound pushed down or not (+time_ns is no column to SQLite), the rows are the same. */
static void windows_are_exact(void **state)
{
	static const char *const operators[] = { "=", "<", "<=", ">", ">=" };
	char fast[200], slow[200], expected[512];

	(void)state;
	for (int at = 995; at < 6010; at += 37)
		for (size_t i = 0; i < VT_ARRAY_SIZE(operators); i++) {
			(void)snprintf(fast, sizeof(fast),
				       "SELECT count(*) || ' ' || total(address) FROM tensor WHERE time_ns %s %d",
				       operators[i], at);
			(void)snprintf(slow, sizeof(slow),
				       "SELECT count(*) || ' ' || total(address) FROM tensor WHERE +time_ns %s %d",
				       operators[i], at);
			(void)snprintf(expected, sizeof(expected), "%s", ask(slow));
			assert_string_equal(ask(fast), expected);
		}
	assert_string_equal(ask("SELECT count(*) FROM tensor WHERE time_ns BETWEEN 2000 AND 2020"), "4");
	assert_string_equal(ask("SELECT count(*) FROM tensor WHERE time_ns > 2000.5 AND time_ns < '2020'"), "2");
	assert_string_equal(ask("SELECT count(*) FROM tensor WHERE time_ns > NULL"), "0");
	assert_string_equal(ask("SELECT count(*) FROM tensor WHERE time_ns > -5"), "671");
	assert_string_equal(ask("SELECT count(*) FROM tensor WHERE process = 'x'"), "0");
	/* The inner table is scanned anew for each row of the outer. */
	assert_string_equal(ask("SELECT sum((SELECT count(*) FROM tensor t WHERE t.time_ns <= d.time_ns + 110)) FROM "
				"driver_memory d"),
			    "15");
}

/* Chunks outside of the window are not even read: they may be broken. */
static void a_window_reads_its_chunks_only(void **state)
{
	(void)state;
	assert_string_equal(ask("UPDATE chunk SET data = x'00' WHERE first_ns >= 4000 AND first_ns < 5000"), "no row");
	assert_string_equal(ask("SELECT count(*) FROM tensor WHERE time_ns < 3000 AND process = 1"), "268");
	assert_string_equal(ask("SELECT count(*) FROM tensor WHERE time_ns >= 5000"), "134");
	assert_non_null(strstr(ask("SELECT count(*) FROM tensor"), "chunk"));
	assert_non_null(strstr(ask("SELECT count(*) FROM allocation"), "chunk"));
}

static void blocks_have_lives(void **state)
{
	(void)state;
	assert_string_equal(ask("SELECT count(*) || ' ' || count(free_ns) || ' ' || max(lifetime_ns) FROM allocation"),
			    "501 170 4");
	assert_int_equal(FREED, 170);
	assert_string_equal(ask("SELECT count(*) FROM allocation WHERE process = 2 AND device = 1 AND op IS NULL"),
			    "1");
	assert_string_equal(ask("SELECT stack_line FROM allocation WHERE process = 1"), "net.py:7 Net.forward");
	/* Not all rows are taken: the pass behind it ends. */
	assert_string_equal(ask("SELECT size_bytes FROM allocation LIMIT 1"), "512");
}

static void live_sets_are_those_of_the_moment(void **state)
{
	(void)state;
	/* Of the first chunk, at 1500: i = 0 .. 50, of which 0, 3, ..., 48 are freed and 50 lives; process 2 has its own. */
	assert_string_equal(ask("SELECT count(*) FROM live_at(1500) WHERE process = 1"), "34");
	assert_string_equal(ask("SELECT count(*) FROM live_at(1500)"), "35");
	assert_string_equal(ask("SELECT count(*) || ' ' || sum(size_bytes) FROM live_at('end')"), "331 173056");
	/* The peak of process 1 is its last allocation, i = 99 of the last chunk, before it is freed: 330 + 1. */
	assert_string_equal(ask("SELECT count(*) FROM live_at('peak') WHERE process = 1"), "331");
	assert_string_equal(ask("SELECT sum(live_bytes) FROM holders_at_end"), "173056");
	assert_non_null(strstr(ask("SELECT * FROM live_at('oom')"), "no out-of-memory error"));
	assert_non_null(strstr(ask("SELECT * FROM live_at('yesterday')"), "yesterday"));
	assert_non_null(strstr(ask("SELECT * FROM live_at"), "of which moment"));
}

static void stacks_have_frames(void **state)
{
	(void)state;
	assert_string_equal(
		ask("SELECT group_concat(depth || ' ' || function || ' ' || file || ' ' || line, '; ') FROM "
		    "(SELECT DISTINCT process, stack FROM tensor WHERE stack <> 0) t, "
		    "stack_frame(t.process, t.stack)"),
		"0 Net.forward /home/me/net.py 7; 1 main /home/me/train.py 12");
	assert_string_equal(ask("SELECT count(*) FROM stack_frame(1, 12345)"), "0");
	assert_string_equal(ask("SELECT count(*) FROM stack_frame(-1, 99999999999)"), "0");
	assert_non_null(strstr(ask("SELECT * FROM stack_frame"), "of which stack"));
	assert_non_null(strstr(ask("SELECT * FROM stack_frame WHERE stack = 1"), "of which stack"));
	assert_string_equal(ask("SELECT stack_text(process, stack) FROM tensor WHERE stack <> 0"),
			    "/home/me/net.py:7 Net.forward\n/home/me/train.py:12 main");
}

static void functions_say_what_ids_are(void **state)
{
	(void)state;
	assert_string_equal(ask("SELECT op_name(process, op) FROM tensor WHERE op <> 0"), "aten::mm");
	assert_string_equal(ask("SELECT op_path(process, op) FROM tensor WHERE op <> 0"), "aten::mm");
	assert_string_equal(ask("SELECT op_name(1, 7777)"), "NULL");
	assert_string_equal(ask("SELECT op_path(7, 0)"), "NULL");
	assert_string_equal(ask("SELECT enum_text('driver_api', 1)"), "cuMemAlloc");
	assert_string_equal(ask("SELECT enum_text('nothing', 1)"), "NULL");
	assert_string_equal(ask("SELECT format_bytes(1536)"), "1.50 KiB");
	assert_string_equal(ask("SELECT format_bytes(NULL)"), "NULL");
	assert_string_equal(ask("SELECT format_ns(-5)"), "0 ns");
}

static void nothing_can_be_written_to(void **state)
{
	(void)state;
	assert_non_null(strstr(ask("DELETE FROM tensor"), "may not be modified"));
	assert_non_null(strstr(ask("INSERT INTO allocation(size_bytes) VALUES (1)"), "may not be modified"));
}

/* The module in a database that is no trace: words, no harm. */
static void other_databases_are_refused(void **state)
{
	sqlite3 *trace = db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	if (!VT_TEST_EXTENSION) {
		assert_int_equal(vt_sql_register(db), SQLITE_OK);
		assert_non_null(strstr(ask("SELECT * FROM tensor"), "in memory"));
		assert_non_null(strstr(ask("SELECT op_name(1, 1)"), "in memory"));
	}
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	db = trace;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events_have_their_columns_and_texts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(windows_are_exact, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_window_reads_its_chunks_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(blocks_have_lives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(live_sets_are_those_of_the_moment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_have_frames, set_up, tear_down),
		cmocka_unit_test_setup_teardown(functions_say_what_ids_are, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_can_be_written_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_databases_are_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
