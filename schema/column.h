/*
 * column.h - one column of a chunk: how its values become bytes.
 *
 * Values are taken as 64-bit two's complement numbers (narrower columns sign- or zero-extended by their type; decoding
 * checks that they fit). varint = LEB128, at most 10 bytes. zigzag = (v << 1) ^ (v >> 63). Differences wrap modulo 2^64.
 *
 *   RAW    rows * width bytes, little endian
 *   DELTA  per row varint zigzag(value - previous value); the first against 0
 *   SPAN   per row varint zigzag(column 1 of the same row - value)
 *   RLE    runs: varint zigzag(value - previous run's value), varint run length (at least 1); lengths sum up to rows
 *   DICT   varint count (at least 1); count values as varint zigzag(value - previous), in order of first appearance;
 *          then one index per row, of 1, 2 or 4 bytes little endian: the least width that holds count - 1
 *   SUM    per row varint zigzag(value - expected), expected = value of the last row with the same device_type and
 *          device, plus this row's size_bytes; with no such row, size_bytes alone. For running totals: all zeros.
 *          At most VT_SUM_DEVICES_MAX distinct devices.
 *
 * Column 1, size_bytes, device and device_type are never SPAN or SUM, so that those two can be decoded after the others.
 * events.def gives a codec as a hint; the encoder may choose another that is smaller, and writes down which.
 */
#ifndef VT_SCHEMA_COLUMN_H
#define VT_SCHEMA_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/base/buf.h"
#include "schema/base/err.h"
#include "schema/event.h"

#define VT_SUM_DEVICES_MAX 64

/* A column as it lies in records: row i is at `at + i * stride`. at NULL: the event has none, every row reads as 0. */
struct vt_field {
	const uint8_t *at;
	size_t stride;
	uint8_t width;
	bool is_signed;
};

/* What SPAN and SUM look at beside their own values. */
struct vt_column_peers {
	struct vt_field first; /* column 1, 8 bytes wide */
	struct vt_field size_bytes;
	struct vt_field device;
	struct vt_field device_type;
};

/* ------------------------------------------------------------------ encoding */

struct vt_column_work; /* dictionary and hash table, kept between columns; one thread at a time */

struct vt_column_work *vt_column_work_new(void); /* NULL: no memory */
void vt_column_work_free(struct vt_column_work *work);

/* Values of one column, extended to 64 bits. */
struct vt_column_values {
	const uint64_t *values;
	uint32_t rows; /* at least 1 */
	uint8_t width;
	const struct vt_column_peers *peers; /* of the same rows */
};

/* Appends the payload to out. 0, -VT_E_NOMEM, or -VT_E_USAGE where the codec cannot hold them (SUM: too many devices). */
int vt_column_encode(struct vt_column_work *work, enum vt_codec codec, const struct vt_column_values *in,
		     struct vt_buf *out);

/* The codec with the smallest payload among those that make sense for the hint; the hint itself when nothing is smaller. */
int vt_column_choose(struct vt_column_work *work, enum vt_codec hint, const struct vt_column_values *in,
		     enum vt_codec *ret);

/* ------------------------------------------------------------------ decoding */

struct vt_column_sum {
	uint64_t key; /* device_type << 32 | device */
	uint64_t value;
};

/* A column being decoded some rows at a time. Holds pointers into the payload and into `dict`. */
struct vt_column_reader {
	const uint8_t *at;
	const uint8_t *end;
	struct vt_buf dict; /* DICT: the values; its memory is kept between columns */
	uint64_t previous;
	uint64_t run; /* RLE: rows left of the run */
	uint32_t ndict;
	uint32_t rows; /* left */
	uint8_t codec; /* enum vt_codec */
	uint8_t width;
	bool is_signed;
	uint8_t index_bytes;
	uint32_t nsums;
	struct vt_column_sum sums[VT_SUM_DEVICES_MAX];
};

/* A column as it lies in a chunk. */
struct vt_column_payload {
	const uint8_t *data;
	size_t bytes;
	uint32_t rows;
};

/* Zero-initialised is unused. Starts on a payload, which must outlive the reader; -VT_E_CORRUPT, -VT_E_NOMEM. */
int vt_column_reader_start(struct vt_column_reader *r, enum vt_codec codec, const struct vt_col *col,
			   const struct vt_column_payload *payload, struct vt_err *err);
/*
 * The next n values, written with the column's width at dst, dst + stride, ...; n at most what is left. peers: of these
 * n rows. After the last row, payload left over is VT_E_CORRUPT.
 */
int vt_column_read(struct vt_column_reader *r, uint8_t *dst, size_t stride, uint32_t n,
		   const struct vt_column_peers *peers, struct vt_err *err);
void vt_column_reader_done(struct vt_column_reader *r);

static inline uint64_t vt_field_load(const struct vt_field *f, size_t row)
{
	const uint8_t *at;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	if (!f->at)
		return 0;
	at = f->at + row * f->stride;
	if (f->width == 2) {
		__builtin_memcpy(&v16, at, 2);
		return f->is_signed ? (uint64_t)(int64_t)(int16_t)v16 : v16;
	}
	if (f->width == 4) {
		__builtin_memcpy(&v32, at, 4);
		return f->is_signed ? (uint64_t)(int64_t)(int32_t)v32 : v32;
	}
	__builtin_memcpy(&v64, at, 8);
	return v64;
}

#endif
