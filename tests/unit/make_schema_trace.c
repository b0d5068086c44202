/*
 * make_schema_trace.c - writes a trace with every kind of event and every shape of column: constant, rising, few values,
 * any value, the extremes of the type. What the values mean makes no sense; what they are must survive.
 *
 *   make_schema_trace FILE [SEED [small]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/base/buf.h"
#include "schema/store.h"

enum shape { CONSTANT, RISING, FEW, ANY, EXTREMES, RUNS, NSHAPES };

static const uint32_t sizes[] = { 1, 2, 700, 3000 };

struct options {
	uint64_t seed;
	size_t nsizes;	/* of sizes: chunks of a kind */
	uint32_t nrows; /* rows of a table */
};

static void need(int result, const struct vt_err *err)
{
	if (result < 0) {
		fprintf(stderr, "make_schema_trace: %s\n", err->msg);
		exit(1);
	}
}

static uint64_t value_of(enum shape shape, uint64_t seed, uint32_t row, const struct vt_col *col)
{
	uint64_t any = vt_mix64(seed * 1000003 + row + 1);

	switch (shape) {
	case CONSTANT:
		return vt_mix64(seed);
	case RISING:
		return seed + (uint64_t)row * 17;
	case FEW:
		return vt_mix64(seed + any % 7);
	case RUNS:
		return vt_mix64(seed + row / 50);
	case EXTREMES:
		if (vt_col_is_signed(col))
			return any & 1 ? UINT64_C(1) << (col->width * 8 - 1)
				       : (UINT64_C(1) << (col->width * 8 - 1)) - 1;
		return any & 1 ? UINT64_MAX : 0;
	case ANY:
	case NSHAPES:
		break;
	}
	return any;
}

/* Ids of definitions are numbered by row, so that none is there twice. */
static void fill_column(uint8_t *records, const struct vt_event *event, const struct vt_col *col, uint32_t rows,
			uint64_t seed)
{
	enum shape shape = (enum shape)(vt_mix64(seed) % NSHAPES);

	for (uint32_t row = 0; row < rows; row++) {
		uint64_t value = value_of(shape, seed, row, col);

		if (event->class == VT_CLASS_CHUNK && col->id == 1)
			value = UINT64_C(1000000) + (uint64_t)row * (seed % 900);
		else if (!strcmp(col->name, "id"))
			value = row + 1;
		memcpy(records + (size_t)row * event->size + col->offset, &value, col->width);
	}
}

static uint8_t *make_records(const struct vt_event *event, uint32_t rows, uint64_t seed)
{
	uint8_t *records = calloc(rows, event->size);

	if (!records)
		abort();
	for (uint32_t c = 0; c < event->ncols; c++)
		if (!vt_col_is_pad(&event->cols[c]))
			fill_column(records, event, &event->cols[c], rows, vt_mix64(seed + event->id * 64 + c));
	for (uint32_t row = 0; row < rows; row++) {
		struct vt_rec rec = { event->id, (uint16_t)(event->size / 8), row };

		memcpy(records + (size_t)row * event->size, &rec, sizeof(rec));
	}
	return records;
}

static void put_chunks(struct vt_store *store, uint32_t process, const struct vt_event *event,
		       const struct options *options)
{
	struct vt_err err = { 0 };

	for (size_t i = 0; i < options->nsizes; i++) {
		uint8_t *records = make_records(event, sizes[i], options->seed * 1000 + process + i);

		need(vt_store_add_chunk(store, process, &(struct vt_chunk_rows){ event, records, sizes[i], 0 }, NULL,
					NULL, &err),
		     &err);
		free(records);
	}
}

/* The bytes of a BLOB: none, text, text of several bytes a character, and any. */
static size_t make_bytes(uint8_t out[64], uint32_t row, uint64_t seed)
{
	static const char *const texts[] = { "", "aten::mm", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8d",
					     "cut \xe2\x82", "a\"\\\n\x7f" };

	if (row < VT_ARRAY_SIZE(texts)) {
		memcpy(out, texts[row], strlen(texts[row]));
		return strlen(texts[row]);
	}
	for (size_t i = 0; i < 64; i++)
		out[i] = (uint8_t)vt_mix64(seed + row * 64 + i);
	return row % 64;
}

static void put_rows(struct vt_store *store, uint32_t process, const struct vt_event *event,
		     const struct options *options)
{
	uint64_t seed = options->seed * 1000 + process;
	const struct vt_col *size = vt_event_col_name(event, "size_bytes");
	uint8_t *records = make_records(event, options->nrows, seed);
	struct vt_err err = { 0 };

	for (uint32_t row = 0; row < options->nrows; row++) {
		struct {
			_Alignas(8) uint8_t bytes[512 + 64];
		} one = { 0 };
		struct vt_rec *rec = (struct vt_rec *)(void *)one.bytes;
		size_t bytes = event->size;

		memcpy(one.bytes, records + (size_t)row * event->size, event->size);
		if (event->class == VT_CLASS_BLOB) {
			uint32_t count = (uint32_t)make_bytes(one.bytes + event->size, row, seed);

			memcpy(one.bytes + size->offset, &count, sizeof(count));
			bytes += vt_align_up(count, 8);
		}
		rec->len8 = (uint16_t)(bytes / 8);
		need(vt_store_add_record(store, process, rec, &err), &err);
	}
	free(records);
}

int main(int argc, char **argv)
{
	struct vt_store *store = NULL;
	struct vt_err err = { 0 };
	struct options options = { .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
				   .nsizes = VT_ARRAY_SIZE(sizes),
				   .nrows = 100 };

	if (argc < 2) {
		fprintf(stderr, "usage: make_schema_trace FILE [SEED [small]]\n");
		return 2;
	}
	if (argc > 3 && !strcmp(argv[3], "small")) {
		options.nsizes = 3;
		options.nrows = 6;
	}
	need(vt_store_create(&store, argv[1], VT_STORE_REPLACE, &err), &err);
	need(vt_store_begin(store, &err), &err);
	for (uint32_t process = 1; process <= 2; process++) {
		const struct vt_process_row row = { .pid = process, .rank = -1, .executable = "x", .command = "x y" };

		need(vt_store_put_process(store, &row, NULL, &err), &err);
		for (size_t i = 0; i < vt_nevents; i++) {
			if (vt_events[i].class == VT_CLASS_CHUNK)
				put_chunks(store, process, &vt_events[i], &options);
			else
				put_rows(store, process, &vt_events[i], &options);
		}
	}
	need(vt_store_commit(store, &err), &err);
	need(vt_store_finish(store, &err), &err);
	vt_store_close(store);
	return 0;
}
