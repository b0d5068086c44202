/*
 * bench_codec.c - what an event costs in a chunk: bytes before and after zstd, time to encode and to decode, by kind and
 * compression level.
 *
 *   bench_codec [TRACE]   the chunks of a recorded trace; without one, a made stream of tensor events
 *
 * The made stream repeats the allocations of a training step, as a caching allocator serves them: the same sizes at the
 * same addresses, step after step, with times that jitter and some steps that differ. docs/benchmarks.md has figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schema/base/bits.h"
#include "schema/base/buf.h"
#include "schema/chunk.h"
#include "schema/store.h"

#define CHUNK_ROWS 65536u
#define STEP_BLOCKS 1200u /* allocations of a step */
#define MADE_CHUNKS 8u
#define REPEATS 7

/* Chunks of one kind, as records. */
struct stream {
	const struct vt_event *event;
	struct vt_buf records; /* all chunks, back to back */
	uint32_t rows[4096];
	uint32_t nchunks;
	uint64_t nrows;
};

struct cost {
	uint64_t raw_bytes, blob_bytes;
	double encode_ns, decode_ns;
};

static double cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "bench_codec: %s\n", what);
	exit(1);
}

static void *add_chunk(struct stream *stream, uint32_t rows)
{
	size_t bytes = (size_t)rows * stream->event->size;

	if (stream->nchunks == VT_ARRAY_SIZE(stream->rows))
		return NULL;
	if (vt_buf_reserve(&stream->records, bytes) < 0)
		fail("out of memory");
	stream->rows[stream->nchunks++] = rows;
	stream->nrows += rows;
	stream->records.bytes += bytes;
	return stream->records.data + stream->records.bytes - bytes;
}

/* ------------------------------------------------------------------ a made stream */

struct maker {
	uint64_t random, time_ns, allocated_bytes;
	uint32_t at; /* event of the step */
};

static uint64_t next_random(struct maker *maker)
{
	maker->random += UINT64_C(0x9e3779b97f4a7c15);
	return vt_mix64(maker->random);
}

/*
 * The step's blocks are allocated in order, forward; every other one (temporaries) is freed two events later, the rest in
 * reverse order, backward. One step in eight takes other addresses.
 */
static void make_event(struct maker *maker, struct vt_tensor *out)
{
	uint32_t step = maker->at / (2 * STEP_BLOCKS), at = maker->at % (2 * STEP_BLOCKS);
	bool forward = at < STEP_BLOCKS * 3 / 2;
	bool is_free = forward ? at % 3 == 2 : true;
	uint32_t block = forward ? at / 3 * 2 + (is_free ? 1 : at % 3) : (2 * STEP_BLOCKS - 1 - at) * 2;
	uint64_t kind = vt_mix64(block % 97), shift = step % 8 == 7 ? vt_mix64(step) % 16 : 0;
	int64_t bytes = (int64_t)(512 + (kind % 40) * (kind >> 32 & 0xfff) * 512);

	*out = (struct vt_tensor){ .rec = { VT_EVENT_tensor, sizeof(*out) / 8, 0 } };
	maker->time_ns += 800 + next_random(maker) % 3000 + (next_random(maker) % 50 == 0 ? 200000 : 0);
	maker->allocated_bytes += (uint64_t)(is_free ? -bytes : bytes);
	out->time_ns = maker->time_ns;
	out->address = UINT64_C(0x7f0000000000) + (vt_mix64(block + shift) % 100000) * 512;
	out->size_bytes = is_free ? -bytes : bytes;
	out->allocated_bytes = maker->allocated_bytes;
	out->reserved_bytes = UINT64_C(4) << 30;
	out->thread = forward ? 4242 : 4250;
	out->op = 1 + block % 61;
	out->stack = is_free ? 0 : 1 + block % 211;
	out->device_type = VT_device_type_CUDA;
	maker->at++;
}

static void make_stream(struct stream *stream)
{
	struct maker maker = { .time_ns = UINT64_C(1000000000000), .allocated_bytes = UINT64_C(1) << 30 };

	stream->event = vt_event_find(VT_EVENT_tensor);
	for (uint32_t chunk = 0; chunk < MADE_CHUNKS; chunk++) {
		struct vt_tensor *records = add_chunk(stream, CHUNK_ROWS);

		for (uint32_t i = 0; i < CHUNK_ROWS; i++)
			make_event(&maker, &records[i]);
	}
}

/* ------------------------------------------------------------------ a recorded one */

struct loader {
	struct vt_store *store;
	struct vt_chunk_coder *coder;
	struct stream *streams; /* by place in vt_events */
};

static int load_chunk(void *arg, const struct vt_chunk_info *info)
{
	const struct vt_event *event = vt_event_find(info->kind);
	struct loader *loader = arg;
	struct vt_chunk_rows rows;
	struct stream *stream;
	struct vt_err err = { 0 };
	const void *blob;
	size_t bytes;
	void *to;

	if (!event)
		return 0;
	if (vt_store_read_chunk(loader->store, info->id, &blob, &bytes, &err) < 0 ||
	    vt_chunk_decode(loader->coder, blob, bytes, info->kind, &rows, &err) < 0)
		fail(err.msg);
	stream = &loader->streams[event - vt_events];
	stream->event = event;
	to = add_chunk(stream, rows.nrecords);
	if (to)
		memcpy(to, rows.records, (size_t)rows.nrecords * event->size);
	return 0;
}

static void load_trace(const char *path, struct stream *streams)
{
	struct loader loader = { .coder = vt_chunk_coder_new(), .streams = streams };
	struct vt_err err = { 0 };

	if (!loader.coder)
		fail("out of memory");
	if (vt_store_open(&loader.store, path, &err) < 0 ||
	    vt_store_each_chunk(loader.store, load_chunk, &loader, &err) < 0)
		fail(err.msg);
	vt_store_close(loader.store);
	vt_chunk_coder_free(loader.coder);
}

/* ------------------------------------------------------------------ measuring */

/* One chunk, encoded and decoded; the coder's buffers are warm after the first. */
static void measure_chunk(struct vt_chunk_coder *coder, const struct stream *stream, const uint8_t *records,
			  uint32_t rows, int level, struct cost *cost)
{
	struct vt_err err = { 0 };
	struct vt_chunk_rows got;
	const struct vt_chunk_rows in = { stream->event, records, rows, 0 };
	struct vt_chunk_blob blob;
	double begin = cpu_ns(), middle;
	void *copy;

	if (vt_chunk_encode(coder, &in, level, &blob, &err) < 0)
		fail(err.msg);
	cost->encode_ns = cpu_ns() - begin;
	copy = malloc(blob.bytes);
	if (!copy)
		fail("out of memory");
	memcpy(copy, blob.data, blob.bytes);
	middle = cpu_ns();
	if (vt_chunk_decode(coder, copy, blob.bytes, stream->event->id, &got, &err) < 0)
		fail(err.msg);
	cost->decode_ns = cpu_ns() - middle;
	cost->raw_bytes = blob.raw_bytes;
	cost->blob_bytes = blob.bytes;
	free(copy);
}

static struct cost measure(struct vt_chunk_coder *coder, const struct stream *stream, int level)
{
	const uint8_t *records = stream->records.data;
	struct cost sum = { 0 };

	for (uint32_t i = 0; i < stream->nchunks; i++) {
		struct cost best = { 0 }, cost;

		for (int repeat = 0; repeat < REPEATS; repeat++) {
			measure_chunk(coder, stream, records, stream->rows[i], level, &cost);
			if (repeat == 0)
				best = cost;
			best.encode_ns = cost.encode_ns < best.encode_ns ? cost.encode_ns : best.encode_ns;
			best.decode_ns = cost.decode_ns < best.decode_ns ? cost.decode_ns : best.decode_ns;
		}
		records += (size_t)stream->rows[i] * stream->event->size;
		sum.raw_bytes += best.raw_bytes;
		sum.blob_bytes += best.blob_bytes;
		sum.encode_ns += best.encode_ns;
		sum.decode_ns += best.decode_ns;
	}
	return sum;
}

static void report(struct vt_chunk_coder *coder, const struct stream *stream)
{
	static const int levels[] = { -5, 1, 3, 5, 9 };
	double n = (double)stream->nrows;

	if (!stream->nrows)
		return;
	for (size_t i = 0; i < VT_ARRAY_SIZE(levels); i++) {
		struct cost cost = measure(coder, stream, levels[i]);

		printf("%-14s %9llu  %5d  %7u %10.2f %10.2f %10.1f %10.1f\n", stream->event->name,
		       (unsigned long long)stream->nrows, levels[i], stream->event->size, (double)cost.raw_bytes / n,
		       (double)cost.blob_bytes / n, cost.encode_ns / n, cost.decode_ns / n);
	}
}

int main(int argc, char **argv)
{
	struct stream *streams = calloc(vt_nevents, sizeof(*streams));
	struct vt_chunk_coder *coder = vt_chunk_coder_new();

	if (!streams || !coder)
		fail("out of memory");
	if (argc > 1)
		load_trace(argv[1], streams);
	else
		make_stream(&streams[0]);
	printf("                            zstd  bytes per event                 ns per event\n"
	       "kind              events  level   record    encoded compressed     encode     decode\n");
	for (size_t i = 0; i < vt_nevents; i++) {
		report(coder, &streams[i]);
		vt_buf_done(&streams[i].records);
	}
	vt_chunk_coder_free(coder);
	free(streams);
	return 0;
}
