/*
 * column.h - one column of a chunk: how its values become bytes.
 *
 * Values are taken as 64-bit two's complement numbers (narrower columns sign- or zero-extended by their type; decoding
 * checks that they fit). varint = LEB128, at most 10 bytes. zigzag = (v << 1) ^ (v >> 63). Differences wrap modulo 2^64.
 *
 *   RAW    rows * width bytes, little endian
 *   DELTA  per row varint zigzag(value - previous value); the first against 0
 *   SPAN   per row varint zigzag(column 1 of the same row - value)
 *   RLE    runs: varint zigzag(value - previous run's value), varint run length; lengths sum up to rows
 *   DICT   varint count; count values as varint zigzag(value - previous), in order of first appearance;
 *          then one index per row, of 1, 2 or 4 bytes little endian: the least width that holds count - 1
 *   SUM    per row varint zigzag(value - expected), expected = value of the last row with the same device_type and
 *          device, plus this row's size_bytes; with no such row, size_bytes alone. For running totals: all zeros.
 *
 * events.def gives a codec as a hint; the encoder may choose another that is smaller, and writes down which.
 */
#ifndef VT_SCHEMA_COLUMN_H
#define VT_SCHEMA_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "schema/base/buf.h"
#include "schema/base/err.h"
#include "schema/event.h"

/* What SPAN and SUM look at beside their own values; arrays of `rows`, NULL where the event has no such column. */
struct vt_column_peers {
	const uint64_t *first;       /* column 1 */
	const uint64_t *size_bytes;
	const uint64_t *device;
	const uint64_t *device_type;
};

/* Appends the payload to out. Returns 0, or -VT_E_NOMEM. */
int vt_column_encode(enum vt_codec codec, unsigned width, const uint64_t *values, uint32_t rows,
		     const struct vt_column_peers *peers, struct vt_buf *out);

/* Fills values[rows] from exactly `bytes` bytes of payload; anything left over or missing is VT_E_CORRUPT. */
int vt_column_decode(enum vt_codec codec, unsigned width, const uint8_t *payload, size_t bytes, uint64_t *values,
		     uint32_t rows, const struct vt_column_peers *peers, struct vt_err *err);

#endif
