/*
 * bench_sql.c - rows a second of a query over the virtual table of tensor events, beside the same query over a plain
 * SQLite table that holds the same rows, by turns in one run.
 *
 *   bench_sql [EVENTS]       2,000,000 by default
 *
 * The goal is a full scan of 10 M rows a second. The limit is SQLite's own: it calls the table three times a row
 * (next, end?, column), and its plain tables decode a varint row for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "analyze/sql/sql.h"
#include "schema/base/bits.h"
#include "trace_builder.h"

#define RUNS 5

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void give_up(sqlite3 *db)
{
	fprintf(stderr, "bench_sql: %s\n", sqlite3_errmsg(db));
	exit(1);
}

static void write_trace(const char *path, uint64_t events)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = vt_builder_process(builder, 4242, -1, "bench");
	uint64_t random = 42;

	for (uint64_t i = 0; i < events; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		const struct vt_tensor event = { .time_ns = 1000 + i * 700,
						 .address = 0x7f0000000000 + (random >> 40) * 512,
						 .size_bytes = (int64_t)(512 * (1 + (random >> 33) % 40)),
						 .thread = 100,
						 .device_type = VT_device_type_CUDA };

		vt_builder_event(builder, process, VT_EVENT_tensor, &event);
	}
	vt_builder_close(builder);
}

static double run(sqlite3 *db, const char *sql)
{
	double begin = now();

	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		give_up(db);
	return now() - begin;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure(sqlite3 *db, const char *what, const char *select, const char *where, uint64_t events)
{
	double ours[RUNS], plain[RUNS];
	char query[256];

	for (int i = 0; i < RUNS; i++) {
		(void)snprintf(query, sizeof(query), "SELECT %s FROM tensor %s", select, where);
		ours[i] = run(db, query);
		(void)snprintf(query, sizeof(query), "SELECT %s FROM plain %s", select, where);
		plain[i] = run(db, query);
	}
	qsort(ours, RUNS, sizeof(*ours), compare);
	qsort(plain, RUNS, sizeof(*plain), compare);
	printf("%-34s %7.2f ms, %6.1f M rows/s; plain table %7.2f ms; ratio %.2f\n", what, ours[RUNS / 2] * 1e3,
	       (double)events / ours[RUNS / 2] / 1e6, plain[RUNS / 2] * 1e3, ours[RUNS / 2] / plain[RUNS / 2]);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000;
	char path[64], window[96];
	sqlite3 *db;

	(void)snprintf(path, sizeof(path), "/tmp/vt-bench-sql-%d.vramtrace", getpid());
	write_trace(path, events);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK || vt_sql_register(db) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA temp_store = memory; CREATE TEMP TABLE plain AS SELECT * FROM tensor", NULL, NULL,
			 NULL) != SQLITE_OK)
		give_up(db);
	(void)snprintf(window, sizeof(window), "WHERE time_ns BETWEEN %llu AND %llu",
		       (unsigned long long)(events * 350), (unsigned long long)(events * 350 + 700000));
	printf("%llu tensor events; medians of %d runs by turns\n", (unsigned long long)events, RUNS);
	measure(db, "count(*)", "count(*)", "", events);
	measure(db, "sum(size_bytes)", "sum(size_bytes)", "", events);
	measure(db, "sum(size_bytes) by thread", "thread, sum(size_bytes)", "GROUP BY thread", events);
	measure(db, "a thousand rows by time", "sum(size_bytes)", window, 1000);
	(void)sqlite3_close(db);
	return unlink(path);
}
