/*
 * bench_replay.c - how fast the analyzer reads a trace: events a second of decoding alone, of the cursor, and of cursor
 * and replay together, on a file of tensor events as a training step makes them.
 *
 *   bench_replay [EVENTS]       5,000,000 by default
 *
 * For each: events a second by the wall clock (which needs two idle cores to mean anything), and CPU time an event of
 * the calling thread and of the whole process (which does not). Medians of three runs. The goal is 100 M events in 6 s
 * on two cores: 60 ns an event for the calling thread, and 120 ns for the process.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/replay/replay.h"
#include "schema/base/bits.h"
#include "schema/chunk.h"
#include "trace_builder.h"

#define LIVE_MOST 6000 /* blocks that live at the top of a step: a model of some hundred layers */
#define RUNS 3

struct maker {
	struct vt_builder *builder;
	uint32_t process;
	uint64_t random, time_ns, total;
	uint64_t address[LIVE_MOST], bytes[LIVE_MOST];
	uint32_t nlive;
};

static uint64_t next_random(struct maker *maker, uint64_t below)
{
	maker->random = maker->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (maker->random >> 33) % below;
}

static void write_event(struct maker *maker, uint64_t address, int64_t bytes)
{
	maker->time_ns += 800 + next_random(maker, 4000);
	maker->total += (uint64_t)bytes;
	const struct vt_tensor event = {
		.time_ns = maker->time_ns,
		.address = address,
		.size_bytes = bytes,
		.allocated_bytes = maker->total,
		.reserved_bytes = (maker->total / (20 << 20) + 1) * (20 << 20),
		.thread = bytes > 0 ? 100 : 101,
		.op = bytes > 0 ? 1 + (uint32_t)next_random(maker, 300) : 0,
		.stack = bytes > 0 ? 1 + (uint32_t)next_random(maker, 200) : 0,
		.device_type = VT_device_type_CUDA,
	};

	vt_builder_event(maker->builder, maker->process, VT_EVENT_tensor, &event);
}

/* Forward grows the live set, with short-lived blocks between; backward shrinks it. */
static void write_trace(const char *path, uint64_t events)
{
	static struct maker maker = { .random = 42, .time_ns = 1000000 };
	bool grows = true;

	maker.builder = vt_builder_new(path);
	maker.process = vt_builder_process(maker.builder, 4242, -1, "bench");
	for (uint64_t i = 0; i < events; i++) {
		bool allocates =
			maker.nlive == 0 || (maker.nlive < LIVE_MOST && next_random(&maker, 10) < (grows ? 6u : 4u));

		if (allocates) {
			uint64_t at = maker.nlive++;

			maker.address[at] = 0x7f0000000000 + next_random(&maker, 400000) * 0x20000 + at * 512;
			maker.bytes[at] = 512 * (1 + next_random(&maker, 40));
			write_event(&maker, maker.address[at], (int64_t)maker.bytes[at]);
		} else {
			uint64_t at = maker.nlive - 1 - next_random(&maker, maker.nlive < 32 ? maker.nlive : 32);

			write_event(&maker, maker.address[at], -(int64_t)maker.bytes[at]);
			maker.nlive--;
			maker.address[at] = maker.address[maker.nlive];
			maker.bytes[at] = maker.bytes[maker.nlive];
		}
		if (maker.nlive == LIVE_MOST)
			grows = false;
		if (maker.nlive == 0)
			grows = true;
	}
	vt_builder_close(maker.builder);
}

static void give_up(const struct vt_err *err)
{
	fprintf(stderr, "bench_replay: %s\n", err->msg);
	exit(1);
}

static double seconds_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct decode {
	struct vt_store *store;
	struct vt_chunk_coder *coder;
	struct vt_err *err;
};

static int decode_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct decode *decode = arg;
	struct vt_chunk_rows rows;
	const void *blob;
	size_t bytes;
	int r = vt_store_read_chunk(decode->store, info->id, &blob, &bytes, decode->err);

	return r < 0 ? r : vt_chunk_decode(decode->coder, blob, bytes, info->kind, &rows, decode->err);
}

enum what { DECODE, CURSOR, REPLAY };

static void run_once(enum what what, struct vt_store *store, struct vt_err *err)
{
	struct vt_replay *replay = NULL;
	struct vt_cursor *cursor = NULL;
	struct vt_item item;
	int r = 0;

	if (what == DECODE) {
		struct decode decode = { store, vt_chunk_coder_new(), err };

		r = vt_store_each_chunk(store, decode_chunk, &decode, err);
		vt_chunk_coder_free(decode.coder);
	} else {
		r = vt_cursor_open(&cursor, store, NULL, err);
		if (r >= 0 && what == REPLAY) {
			r = vt_replay_new(&replay, err);
			r = r < 0 ? r : vt_replay_run(replay, cursor, err);
		} else if (r >= 0) {
			while ((r = vt_cursor_next(cursor, &item, err)) > 0)
				;
		}
	}
	if (r < 0)
		give_up(err);
	vt_replay_free(replay);
	vt_cursor_close(cursor);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *values)
{
	qsort(values, RUNS, sizeof(*values), compare);
	return values[RUNS / 2];
}

static void measure(const char *name, enum what what, const char *path, uint64_t events)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID };
	double seconds[VT_ARRAY_SIZE(clocks)][RUNS];
	struct vt_err err = { 0 };
	struct vt_store *store;

	if (vt_store_open(&store, path, &err) < 0)
		give_up(&err);
	for (int i = 0; i < RUNS; i++) {
		for (size_t c = 0; c < VT_ARRAY_SIZE(clocks); c++)
			seconds[c][i] = -seconds_of(clocks[c]);
		run_once(what, store, &err);
		for (size_t c = 0; c < VT_ARRAY_SIZE(clocks); c++)
			seconds[c][i] += seconds_of(clocks[c]);
	}
	vt_store_close(store);
	printf("%-18s %6.1f M events/s, CPU an event: %5.1f ns of the calling thread, %5.1f ns of the process\n", name,
	       (double)events / median(seconds[0]) / 1e6, median(seconds[1]) / (double)events * 1e9,
	       median(seconds[2]) / (double)events * 1e9);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000000;
	struct vt_err err = { 0 };
	struct vt_store *store;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/vt-bench-replay-%d.vramtrace", getpid());
	write_trace(path, events);
	if (vt_store_open(&store, path, &err) < 0)
		give_up(&err);
	printf("%llu tensor events, %.2f bytes each in the file\n", (unsigned long long)events,
	       (double)vt_store_file_bytes(store) / (double)events);
	vt_store_close(store);
	measure("decode", DECODE, path, events);
	measure("cursor", CURSOR, path, events);
	measure("cursor and replay", REPLAY, path, events);
	return unlink(path);
}
