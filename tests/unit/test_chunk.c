/*
 * test_chunk.c - chunks: every event comes back; whatever is wrong in one is refused in words, without a crash and within
 * bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zstd.h>

#include <cmocka.h>

#include "schema/base/bits.h"
#include "schema/chunk.h"
#include "schema_random.h"

static struct vt_chunk_coder *coder;

static int setup(void **state)
{
	(void)state;
	coder = vt_chunk_coder_new();
	return coder ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	vt_chunk_coder_free(coder);
	return 0;
}

/* ------------------------------------------------------------------ round trips */

static void check_same(const struct vt_event *event, const uint8_t *records, const struct vt_chunk_rows *rows)
{
	for (uint32_t row = 0; row < rows->nrecords; row++) {
		const uint8_t *here = (const uint8_t *)rows->records + (size_t)row * event->size;
		const struct vt_rec *rec = (const struct vt_rec *)(const void *)here;

		assert_int_equal(rec->type, event->id);
		assert_int_equal(rec->len8 * 8, event->size);
		for (uint32_t c = 0; c < event->ncols; c++) {
			const struct vt_col *col = &event->cols[c];
			uint64_t want = schema_record_value(records + (size_t)row * event->size, col);

			if (schema_record_value(here, col) != want)
				fail_msg("%s.%s of row %u is not what it was", event->name, col->name, row);
		}
	}
}

static int encode(const struct vt_event *event, const void *records, uint32_t nrecords, struct vt_chunk_blob *ret,
		  struct vt_err *err)
{
	const struct vt_chunk_rows rows = { event, records, nrecords, 0 };

	return vt_chunk_encode(coder, &rows, 1, ret, err);
}

static void check_round_trip(struct schema_random *random, const struct vt_event *event, uint32_t nrecords)
{
	uint8_t *records = schema_random_records(random, event, nrecords);
	struct vt_chunk_rows rows = { 0 };
	struct vt_err err = { 0 };
	struct vt_chunk_blob blob;
	uint8_t *copy;

	assert_non_null(records);
	assert_int_equal(encode(event, records, nrecords, &blob, &err), 0);
	copy = malloc(blob.bytes); /* of its very size, for the sanitizer */
	assert_non_null(copy);
	memcpy(copy, blob.data, blob.bytes);
	if (vt_chunk_decode(coder, copy, blob.bytes, event->id, &rows, &err) < 0)
		fail_msg("%s, %u rows: %s", event->name, nrecords, err.msg);
	assert_ptr_equal(rows.event, event);
	assert_int_equal(rows.nrecords, nrecords);
	assert_int_equal(rows.unknown_columns, 0);
	check_same(event, records, &rows);
	free(copy);
	free(records);
}

static void every_event_comes_back(void **state)
{
	static const uint32_t edges[] = { 1, 2, 511, 512, 513, 1024 };
	struct schema_random random = { 11 };

	(void)state;
	for (size_t i = 0; i < vt_nevents; i++) {
		if (vt_events[i].class != VT_CLASS_CHUNK)
			continue;
		for (size_t e = 0; e < VT_ARRAY_SIZE(edges); e++)
			check_round_trip(&random, &vt_events[i], edges[e]);
		for (int round = 0; round < 20; round++)
			check_round_trip(&random, &vt_events[i], 1 + (uint32_t)schema_random_below(&random, 3000));
	}
}

static void rows_have_bounds(void **state)
{
	const struct vt_event *event = vt_event_find(VT_EVENT_tensor);
	struct vt_err err = { 0 };
	struct vt_chunk_blob blob;

	(void)state;
	assert_int_equal(encode(event, &blob, 0, &blob, &err), -VT_E_USAGE);
	assert_int_equal(encode(event, &blob, VT_CHUNK_ROWS_MAX + 1, &blob, &err), -VT_E_USAGE);
}

/* ------------------------------------------------------------------ chunks made by hand */

/* An uncompressed chunk under construction. */
struct raw {
	uint8_t bytes[4096];
	size_t n;
};

static void put(struct raw *raw, uint64_t value, unsigned width)
{
	assert_true(raw->n + width <= sizeof(raw->bytes));
	memcpy(raw->bytes + raw->n, &value, width);
	raw->n += width;
}

static void begin_raw(struct raw *raw, uint32_t event, uint32_t rows, uint32_t ncols)
{
	raw->n = 0;
	put(raw, 0x31435456, 4); /* "VTC1" */
	put(raw, event, 4);
	put(raw, rows, 4);
	put(raw, ncols, 4);
}

static void put_entry(struct raw *raw, unsigned id, unsigned type, unsigned codec, uint32_t bytes)
{
	put(raw, id, 2);
	put(raw, type, 1);
	put(raw, codec, 1);
	put(raw, bytes, 4);
	put(raw, 0, 4);
}

static int decode_raw(const struct raw *raw, struct vt_chunk_rows *ret, struct vt_err *err)
{
	uint8_t blob[8192];
	size_t n = ZSTD_compress(blob, sizeof(blob), raw->bytes, raw->n, 1);

	assert_false(ZSTD_isError(n));
	return vt_chunk_decode(coder, blob, n, VT_EVENT_tensor, ret, err);
}

static void assert_refused(const struct raw *raw, int code, const char *words)
{
	struct vt_chunk_rows rows;
	struct vt_err err = { 0 };
	int r = decode_raw(raw, &rows, &err);

	if (r != -code || !strstr(err.msg, words))
		fail_msg("%d, \"%s\"; wanted %d, \"%s\"", r, err.msg, -code, words);
}

/* Two tensor events of which only the times are told; the rest is 0. */
static void make_least(struct raw *raw)
{
	begin_raw(raw, VT_EVENT_tensor, 2, 1);
	put_entry(raw, 1, VT_TYPE_U64, VT_CODEC_DELTA, 2);
	put(raw, 20, 1);
	put(raw, 6, 1);
}

static void absent_columns_are_zero_and_unknown_ones_skipped(void **state)
{
	const struct vt_tensor *tensors;
	struct vt_chunk_rows rows;
	struct vt_err err = { 0 };
	struct raw raw;

	(void)state;
	begin_raw(&raw, VT_EVENT_tensor, 2, 3);
	put_entry(&raw, 900, 99, 77, 5); /* a column, a type and a codec of a later version */
	put_entry(&raw, 1, VT_TYPE_U64, VT_CODEC_DELTA, 2);
	put_entry(&raw, 9, VT_TYPE_I16, VT_CODEC_RLE, 2);
	put(&raw, 0xabcdef, 5);
	put(&raw, 20, 1);
	put(&raw, 6, 1);
	put(&raw, 1, 1); /* -1 */
	put(&raw, 2, 1); /* twice */
	assert_int_equal(decode_raw(&raw, &rows, &err), 0);
	tensors = rows.records;
	assert_int_equal(rows.nrecords, 2);
	assert_int_equal(rows.unknown_columns, 1);
	assert_int_equal(tensors[0].time_ns, 10);
	assert_int_equal(tensors[1].time_ns, 13);
	assert_int_equal(tensors[1].device, -1);
	assert_int_equal(tensors[1].size_bytes, 0);
	assert_int_equal(tensors[1].address, 0);
}

static void impossible_headers_are_refused(void **state)
{
	struct raw raw;

	(void)state;
	make_least(&raw);
	raw.bytes[3] = '2';
	assert_refused(&raw, VT_E_CORRUPT, "does not begin with VTC1");
	make_least(&raw);
	raw.bytes[4] = VT_EVENT_op;
	assert_refused(&raw, VT_E_CORRUPT, "holds event 3, its row says 1");
	make_least(&raw);
	memset(raw.bytes + 8, 0, 4);
	assert_refused(&raw, VT_E_CORRUPT, "rows: 0");
	make_least(&raw);
	memset(raw.bytes + 8, 0xff, 4);
	assert_refused(&raw, VT_E_CORRUPT, "rows: 4294967295");
	make_least(&raw);
	memset(raw.bytes + 12, 0, 4);
	assert_refused(&raw, VT_E_CORRUPT, "columns: 0");
	make_least(&raw);
	memset(raw.bytes + 12, 0xff, 4);
	assert_refused(&raw, VT_E_CORRUPT, "columns: 4294967295");
	make_least(&raw);
	raw.bytes[12] = 200;
	assert_refused(&raw, VT_E_CORRUPT, "columns: 200");
	make_least(&raw);
	raw.n = 12;
	assert_refused(&raw, VT_E_CORRUPT, "claims 12 bytes");
}

static void lying_directories_are_refused(void **state)
{
	struct raw raw;

	(void)state;
	begin_raw(&raw, VT_EVENT_tensor, 2, 1);
	put_entry(&raw, 1, VT_TYPE_U64, VT_CODEC_DELTA, 3);
	put(&raw, 0, 2);
	assert_refused(&raw, VT_E_CORRUPT, "column 1: 3 bytes, 2 are left");
	make_least(&raw);
	put(&raw, 0, 1);
	assert_refused(&raw, VT_E_CORRUPT, "1 bytes after the last column");
	begin_raw(&raw, VT_EVENT_tensor, 2, 2);
	put_entry(&raw, 1, VT_TYPE_U64, VT_CODEC_DELTA, 2);
	put_entry(&raw, 1, VT_TYPE_U64, VT_CODEC_DELTA, 2);
	put(&raw, 0, 4);
	assert_refused(&raw, VT_E_CORRUPT, "twice");
	begin_raw(&raw, VT_EVENT_tensor, 2, 1);
	put_entry(&raw, 1, VT_TYPE_U32, VT_CODEC_DELTA, 2);
	put(&raw, 0, 2);
	assert_refused(&raw, VT_E_CORRUPT, "column time_ns: type 2");
	begin_raw(&raw, VT_EVENT_tensor, 2, 1);
	put_entry(&raw, 1, VT_TYPE_U64, 9, 2);
	put(&raw, 0, 2);
	assert_refused(&raw, VT_E_VERSION, "column time_ns: codec 9");
	begin_raw(&raw, VT_EVENT_tensor, 2, 1);
	put_entry(&raw, 9, VT_TYPE_I16, VT_CODEC_RLE, 2);
	put(&raw, 0x200, 2);
	assert_refused(&raw, VT_E_CORRUPT, "has no column time_ns");
}

/* SPAN of the times would be a span to itself, SUM of the sizes a sum of itself: decoding would read what is not there. */
static void columns_that_look_at_themselves_are_refused(void **state)
{
	static const struct {
		unsigned id, type, codec;
	} cases[] = {
		{ 3, VT_TYPE_I64, VT_CODEC_SUM },
		{ 3, VT_TYPE_I64, VT_CODEC_SPAN },
		{ 9, VT_TYPE_I16, VT_CODEC_SUM },
		{ 10, VT_TYPE_U16, VT_CODEC_SPAN },
	};
	struct raw raw;

	(void)state;
	begin_raw(&raw, VT_EVENT_tensor, 2, 1);
	put_entry(&raw, 1, VT_TYPE_U64, VT_CODEC_SPAN, 2);
	put(&raw, 0, 2);
	assert_refused(&raw, VT_E_CORRUPT, "codec SPAN cannot be used for it");
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		begin_raw(&raw, VT_EVENT_tensor, 2, 2);
		put_entry(&raw, 1, VT_TYPE_U64, VT_CODEC_DELTA, 2);
		put_entry(&raw, cases[i].id, cases[i].type, cases[i].codec, 2);
		put(&raw, 0, 4);
		assert_refused(&raw, VT_E_CORRUPT, "cannot be used for it");
	}
}

static void events_of_tables_are_no_chunks(void **state)
{
	struct vt_chunk_rows rows;
	struct vt_err err = { 0 };
	uint8_t blob[256];
	struct raw raw;
	size_t n;

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint32_t id = i ? 4711 : VT_EVENT_oom;

		begin_raw(&raw, id, 2, 1);
		put_entry(&raw, 1, VT_TYPE_U64, VT_CODEC_DELTA, 2);
		put(&raw, 0, 2);
		n = ZSTD_compress(blob, sizeof(blob), raw.bytes, raw.n, 1);
		assert_int_equal(vt_chunk_decode(coder, blob, n, id, &rows, &err), -VT_E_VERSION);
		assert_non_null(strstr(err.msg, "not known"));
	}
}

/* ------------------------------------------------------------------ damage */

/* A frame checksum covers every byte of ours: no flipped bit and no missing byte may pass. */
static void every_flipped_bit_and_every_cut_is_found(void **state)
{
	const struct vt_event *event = vt_event_find(VT_EVENT_tensor);
	struct schema_random random = { 12 };
	uint8_t *records = schema_random_records(&random, event, 12);
	struct vt_err err = { 0 };
	struct vt_chunk_rows rows;
	struct vt_chunk_blob blob;
	size_t passed = 0;

	(void)state;
	assert_int_equal(encode(event, records, 12, &blob, &err), 0);
	for (size_t bit = 0; bit < blob.bytes * 8; bit++) {
		uint8_t *copy = malloc(blob.bytes);
		int r;

		assert_non_null(copy);
		memcpy(copy, blob.data, blob.bytes);
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		err = (struct vt_err){ 0 };
		r = vt_chunk_decode(coder, copy, blob.bytes, event->id, &rows, &err);
		if (r < 0)
			assert_true(r == -VT_E_CORRUPT && err.msg[0]);
		else
			check_same(event, records, &rows);
		passed += r == 0;
		free(copy);
	}
	/* zstd has reserved bits that its decoder does not look at; with them the events are the same. */
	assert_true(passed <= 8);
	for (size_t n = 0; n < blob.bytes; n++) {
		uint8_t *copy = malloc(n ? n : 1);

		assert_non_null(copy);
		memcpy(copy, blob.data, n);
		assert_int_equal(vt_chunk_decode(coder, copy, n, event->id, &rows, &err), -VT_E_CORRUPT);
		free(copy);
	}
	free(records);
}

/* The same below zstd: a chunk of somebody who can compute checksums. Any answer will do, but no crash. */
static void every_flipped_bit_inside_is_survived(void **state)
{
	struct schema_random random = { 13 };
	uint32_t refused = 0;

	(void)state;
	for (size_t i = 0; i < vt_nevents; i++) {
		const struct vt_event *event = &vt_events[i];
		uint8_t *records = event->class == VT_CLASS_CHUNK ? schema_random_records(&random, event, 7) : NULL;
		struct vt_err err = { 0 };
		struct vt_chunk_rows rows;
		struct vt_chunk_blob blob;
		struct raw raw, flipped;

		if (!records)
			continue;
		assert_int_equal(encode(event, records, 7, &blob, &err), 0);
		raw.n = ZSTD_decompress(raw.bytes, sizeof(raw.bytes), blob.data, blob.bytes);
		assert_int_equal(raw.n, blob.raw_bytes);
		for (size_t bit = 0; bit < raw.n * 8; bit++) {
			uint8_t packed[8192];
			size_t n;

			flipped = raw;
			flipped.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			n = ZSTD_compress(packed, sizeof(packed), flipped.bytes, flipped.n, 1);
			err = (struct vt_err){ 0 };
			if (vt_chunk_decode(coder, packed, n, event->id, &rows, &err) < 0) {
				assert_true(err.msg[0]);
				refused++;
			}
		}
		free(records);
	}
	assert_true(refused > 100);
}

static void frames_that_are_not_one_are_refused(void **state)
{
	static const uint8_t skippable[] = { 0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4 };
	struct vt_chunk_rows rows;
	struct vt_err err = { 0 };
	uint8_t blob[512];
	struct raw raw;
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t n;

	(void)state;
	make_least(&raw);
	assert_int_equal(vt_chunk_decode(coder, "", 0, VT_EVENT_tensor, &rows, &err), -VT_E_CORRUPT);
	assert_int_equal(vt_chunk_decode(coder, "hello, world", 12, VT_EVENT_tensor, &rows, &err), -VT_E_CORRUPT);
	assert_non_null(strstr(err.msg, "not a zstd frame"));
	assert_int_equal(vt_chunk_decode(coder, skippable, sizeof(skippable), VT_EVENT_tensor, &rows, &err),
			 -VT_E_CORRUPT);
	/* A frame that does not say its size could be of any. */
	assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0)));
	n = ZSTD_compress2(context, blob, sizeof(blob), raw.bytes, raw.n);
	assert_int_equal(vt_chunk_decode(coder, blob, n, VT_EVENT_tensor, &rows, &err), -VT_E_CORRUPT);
	assert_non_null(strstr(err.msg, "with its size"));
	(void)ZSTD_freeCCtx(context);
	/* Two frames, the second behind what the first one claimed. */
	n = ZSTD_compress(blob, sizeof(blob), raw.bytes, raw.n, 1);
	memcpy(blob + n, blob, n);
	assert_int_equal(vt_chunk_decode(coder, blob, 2 * n, VT_EVENT_tensor, &rows, &err), -VT_E_CORRUPT);
}

/* ------------------------------------------------------------------ bombs */

static void claims_beyond_the_bounds_cost_nothing(void **state)
{
	/* Frame headers: single segment, content size in 8 bytes; then one empty last block. */
	uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0 };
	static const uint64_t claims[] = { UINT64_C(1) << 62, VT_CHUNK_RAW_BYTES_MAX + 1, VT_CHUNK_RAW_BYTES_MAX,
					   100 << 20 };
	struct vt_chunk_coder *fresh = vt_chunk_coder_new();
	struct vt_chunk_rows rows;
	struct vt_err err = { 0 };
	struct rusage before, after;

	(void)state;
	assert_non_null(fresh);
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < VT_ARRAY_SIZE(claims); i++) {
		memcpy(frame + 5, &claims[i], 8);
		assert_int_equal(vt_chunk_decode(fresh, frame, sizeof(frame), VT_EVENT_tensor, &rows, &err),
				 -VT_E_CORRUPT);
		assert_non_null(strstr(err.msg, "claims"));
	}
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 16 << 10);
	vt_chunk_coder_free(fresh);
}

/* The most that a few bytes may grow to: the greatest number of rows, in runs, of the widest event. */
static void the_greatest_chunk_is_bounded(void **state)
{
	const struct vt_event *event = vt_event_find(VT_EVENT_driver_memory);
	struct vt_chunk_rows rows;
	struct vt_err err = { 0 };
	uint8_t blob[256];
	struct raw raw;
	size_t n;

	(void)state;
	begin_raw(&raw, event->id, VT_CHUNK_ROWS_MAX, 1);
	put_entry(&raw, 1, VT_TYPE_U64, VT_CODEC_RLE, 4);
	put(&raw, 2, 1);
	put(&raw, 0x408080, 3); /* 2^20 */
	n = ZSTD_compress(blob, sizeof(blob), raw.bytes, raw.n, 1);
	assert_int_equal(vt_chunk_decode(coder, blob, n, event->id, &rows, &err), 0);
	assert_int_equal(rows.nrecords, VT_CHUNK_ROWS_MAX);
	assert_int_equal(((const struct vt_driver_memory *)rows.records)[VT_CHUNK_ROWS_MAX - 1].time_ns, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_comes_back),
		cmocka_unit_test(rows_have_bounds),
		cmocka_unit_test(absent_columns_are_zero_and_unknown_ones_skipped),
		cmocka_unit_test(impossible_headers_are_refused),
		cmocka_unit_test(lying_directories_are_refused),
		cmocka_unit_test(columns_that_look_at_themselves_are_refused),
		cmocka_unit_test(events_of_tables_are_no_chunks),
		cmocka_unit_test(every_flipped_bit_and_every_cut_is_found),
		cmocka_unit_test(every_flipped_bit_inside_is_survived),
		cmocka_unit_test(frames_that_are_not_one_are_refused),
		cmocka_unit_test(claims_beyond_the_bounds_cost_nothing),
		cmocka_unit_test(the_greatest_chunk_is_bounded),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
