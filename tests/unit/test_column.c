/*
 * test_column.c - column codecs: whatever the values, every codec gives them back, and the one chosen is never larger
 * than the one that events.def hints at; payloads that lie are refused in words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/column.h"
#include "schema/varint.h"
#include "schema_random.h"

#define ROWS_MAX 5000

static const struct {
	enum vt_type type;
	uint8_t width;
} types[] = { { VT_TYPE_U16, 2 }, { VT_TYPE_U32, 4 }, { VT_TYPE_U64, 8 },
	      { VT_TYPE_I16, 2 }, { VT_TYPE_I32, 4 }, { VT_TYPE_I64, 8 } };

/* What SPAN and SUM look at, as it lies in records. */
struct row {
	uint64_t first;
	int64_t size_bytes;
	int16_t device;
	uint16_t device_type;
	uint32_t fill;
};

static struct row rows_of_peers[ROWS_MAX];
static uint64_t values[ROWS_MAX], decoded[ROWS_MAX];

static struct vt_column_peers peers_from(uint32_t row)
{
	const uint8_t *at = (const uint8_t *)&rows_of_peers[row];
	size_t stride = sizeof(struct row);

	return (struct vt_column_peers){
		.first = { at + offsetof(struct row, first), stride, 8, false },
		.size_bytes = { at + offsetof(struct row, size_bytes), stride, 8, true },
		.device = { at + offsetof(struct row, device), stride, 2, true },
		.device_type = { at + offsetof(struct row, device_type), stride, 2, false },
	};
}

static void fill_peers(struct schema_random *random, uint32_t rows, uint64_t devices)
{
	uint64_t time = schema_random_next(random);

	for (uint32_t i = 0; i < rows; i++) {
		time += schema_random_below(random, 3000);
		rows_of_peers[i] = (struct row){ .first = time,
						 .size_bytes = (int64_t)schema_random_next(random) >> 40,
						 .device = (int16_t)(schema_random_below(random, devices) - 1),
						 .device_type = (uint16_t)schema_random_below(random, 2) };
	}
}

static struct vt_col column_of(size_t type)
{
	return (struct vt_col){ .name = "x", .id = 9, .width = types[type].width, .type = (uint8_t)types[type].type };
}

/* Decodes the payload in slices of random length, as a stranger's would be: no slice may disturb the next. */
static int decode(struct schema_random *random, enum vt_codec codec, const struct vt_col *col,
		  const struct vt_buf *payload, uint32_t rows, struct vt_err *err)
{
	struct vt_column_reader reader = { 0 };
	uint8_t *exact = malloc(payload->bytes ? payload->bytes : 1); /* so that a sanitizer sees a byte too far */
	uint32_t done = 0;
	int r;

	assert_non_null(exact);
	memcpy(exact, payload->data, payload->bytes);
	memset(decoded, 0, sizeof(decoded));
	r = vt_column_reader_start(&reader, codec, col, &(struct vt_column_payload){ exact, payload->bytes, rows },
				   err);
	while (r == 0 && done < rows) {
		uint32_t n = 1 + (uint32_t)schema_random_below(random, rows - done);
		struct vt_column_peers peers = peers_from(done);

		r = vt_column_read(&reader, (uint8_t *)&decoded[done], sizeof(*decoded), n, &peers, err);
		done += n;
	}
	vt_column_reader_done(&reader);
	free(exact);
	return r;
}

static void check_codec(struct schema_random *random, struct vt_column_work *work, enum vt_codec codec,
			const struct vt_col *col, uint32_t rows, size_t *ret_bytes)
{
	struct vt_column_peers peers = peers_from(0);
	const struct vt_column_values in = { .values = values, .rows = rows, .width = col->width, .peers = &peers };
	struct vt_buf out = { 0 };
	struct vt_err err = { 0 };

	assert_int_equal(vt_column_encode(work, codec, &in, &out), 0);
	if (decode(random, codec, col, &out, rows, &err) < 0)
		fail_msg("%s: %s", vt_codec_name(codec), err.msg);
	for (uint32_t i = 0; i < rows; i++)
		assert_int_equal(schema_random_fit(decoded[i], col->width, vt_col_is_signed(col)), values[i]);
	*ret_bytes = out.bytes;
	vt_buf_done(&out);
}

/* Every codec forced, then the choice for every hint. */
static void check_values(struct schema_random *random, struct vt_column_work *work, const struct vt_col *col,
			 uint32_t rows)
{
	struct vt_column_peers peers = peers_from(0);
	const struct vt_column_values in = { .values = values, .rows = rows, .width = col->width, .peers = &peers };
	size_t bytes[VT_CODEC_SUM + 1];

	for (int codec = 0; codec <= VT_CODEC_SUM; codec++)
		check_codec(random, work, (enum vt_codec)codec, col, rows, &bytes[codec]);
	for (int hint = 0; hint <= VT_CODEC_SUM; hint++) {
		enum vt_codec chosen;

		assert_int_equal(vt_column_choose(work, (enum vt_codec)hint, &in, &chosen), 0);
		assert_true(bytes[chosen] <= bytes[hint]);
		assert_true(bytes[chosen] <= bytes[VT_CODEC_RAW]);
		assert_true(bytes[chosen] <= bytes[VT_CODEC_DELTA]);
		assert_true(bytes[chosen] <= bytes[VT_CODEC_RLE]);
		if (bytes[chosen] == bytes[hint])
			assert_int_equal(chosen, hint);
	}
}

static void every_codec_gives_back_every_value(void **state)
{
	struct vt_column_work *work = vt_column_work_new();
	struct schema_random random = { 1 };

	(void)state;
	assert_non_null(work);
	for (int round = 0; round < 400; round++) {
		uint32_t rows = 1 + (uint32_t)schema_random_below(&random, round % 4 ? 40 : ROWS_MAX);
		size_t type = schema_random_below(&random, VT_ARRAY_SIZE(types));
		enum schema_shape shape = (enum schema_shape)schema_random_below(&random, SHAPE_COUNT);
		struct vt_col col = column_of(type);

		fill_peers(&random, rows, 1 + schema_random_below(&random, 20));
		schema_random_values(&random, shape, col.width, vt_col_is_signed(&col), values, rows);
		check_values(&random, work, &col, rows);
	}
	vt_column_work_free(work);
}

static void spans_and_sums_are_a_byte_where_they_fit(void **state)
{
	struct vt_column_work *work = vt_column_work_new();
	struct vt_column_peers peers = peers_from(0);
	const struct vt_column_values in = { .values = values, .rows = 1000, .width = 8, .peers = &peers };
	struct schema_random random = { 2 };
	uint64_t totals[2][4] = { { 0 } };
	struct vt_buf out = { 0 };

	(void)state;
	fill_peers(&random, 1000, 3);
	for (uint32_t i = 0; i < 1000; i++)
		values[i] = rows_of_peers[i].first - i % 60;
	assert_int_equal(vt_column_encode(work, VT_CODEC_SPAN, &in, &out), 0);
	assert_int_equal(out.bytes, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		values[i] = totals[rows_of_peers[i].device_type][rows_of_peers[i].device + 1] +=
			(uint64_t)rows_of_peers[i].size_bytes;
	vt_buf_clear(&out);
	assert_int_equal(vt_column_encode(work, VT_CODEC_SUM, &in, &out), 0);
	assert_int_equal(out.bytes, 1000);
	for (size_t i = 0; i < out.bytes; i++)
		assert_int_equal(out.data[i], 0);
	vt_buf_done(&out);
	vt_column_work_free(work);
}

/* Indices of 1, 2 and 4 bytes, on both sides of where they change. */
static void dictionaries_of_all_widths(void **state)
{
	static const uint32_t counts[] = { 1, 255, 256, 257, 65535, 65536, 65537 };
	struct vt_column_work *work = vt_column_work_new();
	struct vt_col col = column_of(2);
	uint64_t *many = malloc(70000 * sizeof(*many)), *back = malloc(70000 * sizeof(*back));

	(void)state;
	assert_true(work && many && back);
	for (size_t c = 0; c < VT_ARRAY_SIZE(counts); c++) {
		const struct vt_column_values in = { .values = many, .rows = counts[c] + 1, .width = 8 };
		unsigned width = counts[c] <= 256 ? 1 : counts[c] <= 65536 ? 2 : 4;
		struct vt_column_reader reader = { 0 };
		struct vt_buf out = { 0 };
		struct vt_err err = { 0 };
		struct vt_column_payload payload;
		size_t entries = vt_varint_bytes(counts[c]);
		uint64_t last = 0;

		for (uint32_t i = 0; i <= counts[c]; i++)
			many[i] = vt_mix64(i % counts[c] + 1);
		for (uint32_t i = 0; i < counts[c]; last = many[i++])
			entries += vt_varint_bytes(vt_zigzag(many[i] - last));
		assert_int_equal(vt_column_encode(work, VT_CODEC_DICT, &in, &out), 0);
		assert_int_equal(out.bytes, entries + (size_t)in.rows * width);
		payload = (struct vt_column_payload){ out.data, out.bytes, in.rows };
		assert_int_equal(vt_column_reader_start(&reader, VT_CODEC_DICT, &col, &payload, &err), 0);
		assert_int_equal(vt_column_read(&reader, (uint8_t *)back, 8, in.rows, NULL, &err), 0);
		assert_memory_equal(back, many, (size_t)in.rows * 8);
		vt_column_reader_done(&reader);
		vt_buf_done(&out);
	}
	free(many);
	free(back);
	vt_column_work_free(work);
}

static void sums_over_too_many_devices_are_refused(void **state)
{
	struct vt_column_work *work = vt_column_work_new();
	struct vt_column_peers peers = peers_from(0);
	const struct vt_column_values in = {
		.values = values, .rows = VT_SUM_DEVICES_MAX + 1, .width = 8, .peers = &peers
	};
	static const uint8_t zeros[VT_SUM_DEVICES_MAX + 1];
	struct vt_buf payload = { .data = malloc(sizeof(zeros)), .bytes = sizeof(zeros), .room = sizeof(zeros) };
	struct vt_buf out = { 0 };
	struct vt_col col = column_of(2);
	struct schema_random random = { 3 };
	struct vt_err err = { 0 };
	enum vt_codec chosen;

	(void)state;
	for (uint32_t i = 0; i < in.rows; i++)
		rows_of_peers[i] = (struct row){ .device = (int16_t)i };
	assert_int_equal(vt_column_encode(work, VT_CODEC_SUM, &in, &out), -VT_E_USAGE);
	assert_int_equal(vt_column_choose(work, VT_CODEC_SUM, &in, &chosen), 0);
	assert_int_not_equal(chosen, VT_CODEC_SUM);
	memset(payload.data, 0, payload.bytes);
	assert_int_equal(decode(&random, VT_CODEC_SUM, &col, &payload, in.rows, &err), -VT_E_CORRUPT);
	assert_non_null(strstr(err.msg, "more devices"));
	vt_buf_done(&payload);
	vt_buf_done(&out);
	vt_column_work_free(work);
}

static void lies_are_refused_in_words(void **state)
{
	static const struct {
		enum vt_codec codec;
		size_t type;
		uint32_t rows;
		uint8_t bytes[24];
		size_t nbytes;
		const char *words;
	} cases[] = {
		{ VT_CODEC_RAW, 0, 2, { 1, 2, 3 }, 3, "3 bytes for 2 rows" },
		{ VT_CODEC_RAW, 0, 2, { 1, 2, 3, 4, 5 }, 5, "5 bytes for 2 rows" },
		{ VT_CODEC_DELTA, 2, 2, { 1 }, 1, "ends before" },
		{ VT_CODEC_DELTA, 2, 1, { 0x80 }, 1, "ends before" },
		{ VT_CODEC_DELTA, 2, 1, { 1, 1 }, 2, "1 bytes left over" },
		{ VT_CODEC_DELTA, 0, 1, { 0x01 }, 1, "does not fit" },		   /* -1 in U16 */
		{ VT_CODEC_DELTA, 0, 1, { 0x80, 0x80, 0x08 }, 3, "does not fit" }, /* 65536 */
		{ VT_CODEC_DELTA, 3, 1, { 0x80, 0x80, 0x04 }, 3, "does not fit" }, /* 32768 in I16 */
		{ VT_CODEC_DELTA, 2, 1, { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 }, 10, "overlong" },
		{ VT_CODEC_DELTA, 2, 1, { 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1 }, 11, "overlong" },
		{ VT_CODEC_SPAN, 2, 1, { 0 }, 0, "ends before" },
		{ VT_CODEC_SUM, 2, 1, { 0 }, 0, "ends before" },
		{ VT_CODEC_RLE, 2, 3, { 2, 0 }, 2, "a run of 0" },
		{ VT_CODEC_RLE, 2, 3, { 2, 4 }, 2, "a run of 4 where 3" },
		{ VT_CODEC_RLE, 2, 3, { 2, 2, 2, 2 }, 4, "a run of 2 where 1" },
		{ VT_CODEC_RLE, 2, 3, { 2, 2 }, 2, "ends before" },
		{ VT_CODEC_RLE, 2, 3, { 2, 3, 0 }, 3, "1 bytes left over" },
		{ VT_CODEC_RLE, 0, 3, { 1, 3 }, 2, "does not fit" },
		{ VT_CODEC_RLE,
		  2,
		  3,
		  { 2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 },
		  11,
		  "a run of 18446744073709551615" },
		{ VT_CODEC_DICT, 2, 3, { 0, 0, 0, 0 }, 4, "size is impossible" },
		{ VT_CODEC_DICT, 2, 3, { 4, 0, 0, 0, 0, 0, 0, 0 }, 8, "size is impossible" },
		{ VT_CODEC_DICT, 2, 3, { 2, 0 }, 2, "ends before" },
		{ VT_CODEC_DICT, 2, 3, { 2, 0, 2, 0, 1 }, 5, "2 bytes of dictionary indices for 3 rows" },
		{ VT_CODEC_DICT, 2, 3, { 2, 0, 2, 0, 1, 1, 1 }, 7, "4 bytes of dictionary indices for 3 rows" },
		{ VT_CODEC_DICT, 2, 3, { 2, 0, 2, 0, 1, 2 }, 6, "dictionary index 2, the dictionary has 2" },
		{ VT_CODEC_DICT, 0, 3, { 2, 1, 2, 0, 1, 1 }, 6, "does not fit" },
		{ (enum vt_codec)6, 2, 1, { 0 }, 1, "codec 6 is not known" },
	};
	struct schema_random random = { 4 };

	(void)state;
	memset(rows_of_peers, 0, sizeof(rows_of_peers));
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_buf payload = { .data = (uint8_t *)(uintptr_t)cases[i].bytes, .bytes = cases[i].nbytes };
		struct vt_col col = column_of(cases[i].type);
		struct vt_err err = { 0 };
		int r = decode(&random, cases[i].codec, &col, &payload, cases[i].rows, &err);

		if (r >= 0 || !strstr(err.msg, cases[i].words))
			fail_msg("case %zu: %d, \"%s\", wanted \"%s\"", i, r, err.msg, cases[i].words);
		assert_int_equal(r, cases[i].codec > VT_CODEC_SUM ? -VT_E_VERSION : -VT_E_CORRUPT);
	}
}

/* Indices of two bytes that point behind the dictionary. */
static void wide_indices_stay_in_the_dictionary(void **state)
{
	struct vt_col col = column_of(2);
	struct vt_buf payload = { 0 };
	struct schema_random random = { 5 };
	struct vt_err err = { 0 };
	static uint8_t bytes[2 + 300 + 2 * 300];

	(void)state;
	bytes[0] = (300 & 0x7f) | 0x80;
	bytes[1] = 300 >> 7;
	payload = (struct vt_buf){ .data = bytes, .bytes = sizeof(bytes) };
	assert_int_equal(decode(&random, VT_CODEC_DICT, &col, &payload, 300, &err), 0);
	bytes[2 + 300 + 2 * 150] = 0xff;
	bytes[2 + 300 + 2 * 150 + 1] = 0xff;
	assert_int_equal(decode(&random, VT_CODEC_DICT, &col, &payload, 300, &err), -VT_E_CORRUPT);
	assert_non_null(strstr(err.msg, "dictionary index 65535"));
}

/* The reader that takes eight bytes at once and the one that takes one byte at a time are the same function. */
static void varints(void **state)
{
	struct schema_random random = { 6 };

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t want = schema_random_next(&random) >> schema_random_below(&random, 64), fast = 1, slow = 2;
		uint8_t bytes[VT_VARINT_MAX + 8] = { 0 };
		size_t n = (size_t)(vt_varint_put(bytes, want) - bytes);
		const uint8_t *at = bytes, *at_slow = bytes;

		assert_int_equal(n, vt_varint_bytes(want));
		assert_true(vt_varint_get(&at, bytes + sizeof(bytes), &fast));
		assert_true(vt_varint_get_slow(&at_slow, bytes + n, &slow));
		assert_ptr_equal(at, bytes + n);
		assert_ptr_equal(at_slow, bytes + n);
		assert_int_equal(fast, want);
		assert_int_equal(slow, want);
		at = bytes;
		assert_false(vt_varint_get(&at, bytes + n - 1, &fast));
		assert_int_equal(vt_unzigzag(vt_zigzag(want)), want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints),
		cmocka_unit_test(every_codec_gives_back_every_value),
		cmocka_unit_test(spans_and_sums_are_a_byte_where_they_fit),
		cmocka_unit_test(dictionaries_of_all_widths),
		cmocka_unit_test(sums_over_too_many_devices_are_refused),
		cmocka_unit_test(lies_are_refused_in_words),
		cmocka_unit_test(wide_indices_stay_in_the_dictionary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
