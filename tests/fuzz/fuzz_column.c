/*
 * fuzz_column.c - payloads of one column: a codec, a type, rows (16 bits), then the payload. What decodes must come out
 * the same when it is encoded and decoded again, whole and in pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/column.h"
#include "tests/fuzz/fuzz.h"

#define HEAD_BYTES 4
#define PIECE 37 /* rows at once in the second decoding */

/* A row as SPAN and SUM want it, with the column under test last. */
struct row {
	uint64_t first;
	int64_t size_bytes;
	int16_t device;
	uint16_t device_type;
	uint32_t fill;
	uint64_t value;
};

static const struct {
	uint8_t type, width;
} types[] = { { VT_TYPE_U16, 2 }, { VT_TYPE_U32, 4 }, { VT_TYPE_U64, 8 },
	      { VT_TYPE_I16, 2 }, { VT_TYPE_I32, 4 }, { VT_TYPE_I64, 8 } };

static struct vt_field field(struct row *rows, size_t offset, uint8_t width, bool is_signed)
{
	return (struct vt_field){ (const uint8_t *)rows + offset, sizeof(*rows), width, is_signed };
}

static struct vt_column_peers peers_at(struct row *rows)
{
	return (struct vt_column_peers){ .first = field(rows, offsetof(struct row, first), 8, false),
					 .size_bytes = field(rows, offsetof(struct row, size_bytes), 8, true),
					 .device = field(rows, offsetof(struct row, device), 2, true),
					 .device_type = field(rows, offsetof(struct row, device_type), 2, false) };
}

static void fill_peers(struct row *rows, uint32_t nrows)
{
	for (uint32_t i = 0; i < nrows; i++)
		rows[i] = (struct row){ .first = 1000 + i * 10,
					.size_bytes = (int64_t)vt_mix64(i) >> 40,
					.device = (int16_t)(i % 3 - 1),
					.device_type = i % 3 == 0 ? 0 : 1 };
}

/* All rows, `piece` at a time. */
static int decode(struct vt_column_reader *reader, const struct vt_col *col, enum vt_codec codec,
		  const uint8_t *payload, size_t bytes, struct row *rows, uint32_t nrows, uint32_t piece)
{
	struct vt_err err = { 0 };
	int r = vt_column_reader_start(reader, codec, col, &(struct vt_column_payload){ payload, bytes, nrows }, &err);

	for (uint32_t i = 0; i < nrows && r == 0; i += piece) {
		uint32_t n = nrows - i < piece ? nrows - i : piece;
		struct vt_column_peers peers = peers_at(rows + i);

		r = vt_column_read(reader, (uint8_t *)&rows[i].value, sizeof(*rows), n, &peers, &err);
	}
	if (r < 0 && (err.code == VT_E_OK || !err.msg[0]))
		abort(); /* an error without words */
	return r;
}

static void check_again(struct vt_column_reader *reader, const struct vt_col *col, struct row *rows, uint32_t nrows)
{
	struct vt_column_work *work = vt_column_work_new();
	uint64_t *values = calloc(nrows, sizeof(*values));
	struct vt_field value = field(rows, offsetof(struct row, value), col->width, vt_col_is_signed(col));
	struct vt_column_peers peers = peers_at(rows);
	struct vt_column_values in = { .values = values, .rows = nrows, .width = col->width, .peers = &peers };
	struct vt_buf out = { 0 };

	if (!work || !values)
		abort();
	for (uint32_t i = 0; i < nrows; i++)
		values[i] = vt_field_load(&value, i);
	for (int hint = 0; hint <= VT_CODEC_SUM; hint++) {
		enum vt_codec codec;

		vt_buf_clear(&out);
		if (vt_column_choose(work, (enum vt_codec)hint, &in, &codec) < 0 ||
		    vt_column_encode(work, codec, &in, &out) < 0)
			abort();
		for (uint32_t i = 0; i < nrows; i++)
			rows[i].value = 0;
		if (decode(reader, col, codec, out.data, out.bytes, rows, nrows, PIECE) < 0)
			abort();
		for (uint32_t i = 0; i < nrows; i++)
			if (vt_field_load(&value, i) != values[i])
				abort();
	}
	vt_buf_done(&out);
	free(values);
	vt_column_work_free(work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct vt_column_reader reader = { 0 };
	struct vt_col col = { .name = "column", .id = 2 };
	uint32_t nrows;
	struct row *rows;
	uint8_t *payload; /* exactly as long as it is, so that a read beyond shows */

	if (bytes < HEAD_BYTES)
		return 0;
	nrows = (uint32_t)(data[2] | data[3] << 8) + 1;
	col.type = types[data[1] % VT_ARRAY_SIZE(types)].type;
	col.width = types[data[1] % VT_ARRAY_SIZE(types)].width;
	rows = calloc(nrows, sizeof(*rows));
	payload = malloc(bytes - HEAD_BYTES + 1);
	if (!rows || !payload)
		abort();
	memcpy(payload + 1, data + HEAD_BYTES, bytes - HEAD_BYTES);
	fill_peers(rows, nrows);
	if (decode(&reader, &col, (enum vt_codec)(data[0] % (VT_CODEC_SUM + 2)), payload + 1, bytes - HEAD_BYTES, rows,
		   nrows, nrows) == 0)
		check_again(&reader, &col, rows, nrows);
	vt_column_reader_done(&reader);
	free(payload);
	free(rows);
	return 0;
}
