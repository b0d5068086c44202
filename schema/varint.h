/* varint.h - LEB128 and zigzag: the numbers inside column payloads. */
#ifndef VT_SCHEMA_VARINT_H
#define VT_SCHEMA_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "schema/base/bits.h"

#define VT_VARINT_MAX 10 /* bytes of the longest */

static inline uint64_t vt_zigzag(uint64_t v)
{
	return (v << 1) ^ (UINT64_C(0) - (v >> 63));
}

static inline uint64_t vt_unzigzag(uint64_t z)
{
	return (z >> 1) ^ (UINT64_C(0) - (z & 1));
}

static inline unsigned vt_varint_bytes(uint64_t v)
{
	return (unsigned)(70 - __builtin_clzll(v | 1)) / 7;
}

/* Writes at most VT_VARINT_MAX bytes at `at` and returns the place behind them. */
static inline uint8_t *vt_varint_put(uint8_t *at, uint64_t v)
{
	while (v >= 0x80) {
		*at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*at++ = (uint8_t)v;
	return at;
}

/* Byte by byte: the last bytes of a payload, and numbers of more than 8 bytes. */
static inline bool vt_varint_get_slow(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	const uint8_t *p = *at;
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
		uint64_t byte = *p++;

		if (shift == 63 && byte > 1)
			return false;
		v |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = p;
			*ret = v;
			return true;
		}
	}
	return false;
}

/*
 * Reads one number at *at, moving *at behind it; false where it does not end before `end` or exceeds 64 bits.
 * Lengths of mixed sizes defeat the branch predictor, so up to 8 bytes are taken at once: the first byte without its
 * high bit set gives the length, and the 7-bit groups are closed up pairwise. Assumes a little-endian machine.
 */
static inline bool vt_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	uint64_t w, stop;
	unsigned bits;

	if (VT_UNLIKELY(end - *at < 8))
		return vt_varint_get_slow(at, end, ret);
	memcpy(&w, *at, 8);
	stop = ~w & UINT64_C(0x8080808080808080);
	if (VT_UNLIKELY(!stop))
		return vt_varint_get_slow(at, end, ret);
	bits = (unsigned)__builtin_ctzll(stop) + 1;
	w &= UINT64_MAX >> (64 - bits);
	w &= UINT64_C(0x7f7f7f7f7f7f7f7f);
	w = (w & UINT64_C(0x007f007f007f007f)) | (w & UINT64_C(0x7f007f007f007f00)) >> 1;
	w = (w & UINT64_C(0x00003fff00003fff)) | (w & UINT64_C(0x3fff00003fff0000)) >> 2;
	w = (w & UINT64_C(0x000000000fffffff)) | (w & UINT64_C(0x0fffffff00000000)) >> 4;
	*at += bits / 8;
	*ret = w;
	return true;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "column payloads and records are little endian");

#endif
