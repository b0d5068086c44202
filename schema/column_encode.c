/* column_encode.c - values of one column into bytes; see column.h. */
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/column.h"
#include "schema/varint.h"

struct vt_column_work {
	uint32_t *slots;   /* hash table: position in dict + 1; 0 = empty */
	size_t slots_room; /* a power of two */
	uint32_t ndict;
	struct vt_buf dict;  /* uint64_t, in order of first appearance */
	struct vt_buf index; /* uint32_t per row */
};

struct vt_column_work *vt_column_work_new(void)
{
	return calloc(1, sizeof(struct vt_column_work));
}

void vt_column_work_free(struct vt_column_work *work)
{
	if (!work)
		return;
	free(work->slots);
	vt_buf_done(&work->dict);
	vt_buf_done(&work->index);
	free(work);
}

static unsigned index_bytes(uint64_t count)
{
	return count <= 256 ? 1 : count <= 65536 ? 2 : 4;
}

static int prepare_dict(struct vt_column_work *work, uint32_t rows)
{
	size_t room = 1024;

	while (room < 2 * (size_t)rows)
		room *= 2;
	if (room > work->slots_room) {
		uint32_t *slots = realloc(work->slots, room * sizeof(*slots));

		if (!slots)
			return -VT_E_NOMEM;
		work->slots = slots;
		work->slots_room = room;
	}
	memset(work->slots, 0, room * sizeof(*work->slots));
	vt_buf_clear(&work->dict);
	vt_buf_clear(&work->index);
	if (vt_buf_reserve(&work->dict, (size_t)rows * 8) < 0 || vt_buf_reserve(&work->index, (size_t)rows * 4) < 0)
		return -VT_E_NOMEM;
	return 0;
}

static size_t dict_bytes(size_t entry_bytes, uint32_t count, uint32_t rows)
{
	return vt_varint_bytes(count) + entry_bytes + (size_t)rows * index_bytes(count);
}

/*
 * Fills dict, ndict and index; *ret_bytes is the payload's size. It only grows with the values found: once above `limit`
 * the rest is left out, all three are partial, and *ret_bytes is SIZE_MAX.
 */
static int build_dict(struct vt_column_work *work, const struct vt_column_values *in, size_t limit, size_t *ret_bytes)
{
	int r = prepare_dict(work, in->rows);
	uint64_t *dict = (uint64_t *)(void *)work->dict.data;
	uint32_t *index = (uint32_t *)(void *)work->index.data;
	uint32_t count = 0, at = 0;
	size_t mask = 1023, entry_bytes = 0;
	uint64_t last = 0;

	if (r < 0)
		return r;
	while (mask + 1 < 2 * (size_t)in->rows)
		mask = mask * 2 + 1;
	*ret_bytes = SIZE_MAX;
	for (uint32_t i = 0; i < in->rows; i++) {
		uint64_t value = in->values[i];

		if (!count || dict[at] != value) {
			size_t slot = vt_mix64(value) & mask;

			while (work->slots[slot] && dict[work->slots[slot] - 1] != value)
				slot = (slot + 1) & mask;
			if (!work->slots[slot]) {
				entry_bytes += vt_varint_bytes(vt_zigzag(value - last));
				dict[count++] = last = value;
				work->slots[slot] = count;
				if (dict_bytes(entry_bytes, count, in->rows) > limit)
					return 0;
			}
			at = work->slots[slot] - 1;
		}
		index[i] = at;
	}
	work->ndict = count;
	*ret_bytes = dict_bytes(entry_bytes, count, in->rows);
	return 0;
}

static uint8_t *put_dict(uint8_t *at, const struct vt_column_work *work, uint32_t rows)
{
	uint32_t count = work->ndict;
	const uint64_t *dict = (const uint64_t *)(const void *)work->dict.data;
	const uint32_t *index = (const uint32_t *)(const void *)work->index.data;
	unsigned width = index_bytes(count);
	uint64_t previous = 0;

	at = vt_varint_put(at, count);
	for (uint32_t i = 0; i < count; i++) {
		at = vt_varint_put(at, vt_zigzag(dict[i] - previous));
		previous = dict[i];
	}
	for (uint32_t i = 0; i < rows; i++, at += width)
		memcpy(at, &index[i], width);
	return at;
}

static uint8_t *put_raw(uint8_t *at, const struct vt_column_values *in)
{
	for (uint32_t i = 0; i < in->rows; i++, at += in->width)
		memcpy(at, &in->values[i], in->width);
	return at;
}

static uint8_t *put_delta(uint8_t *at, const struct vt_column_values *in)
{
	uint64_t previous = 0;

	for (uint32_t i = 0; i < in->rows; i++) {
		at = vt_varint_put(at, vt_zigzag(in->values[i] - previous));
		previous = in->values[i];
	}
	return at;
}

static uint8_t *put_span(uint8_t *at, const struct vt_column_values *in)
{
	for (uint32_t i = 0; i < in->rows; i++)
		at = vt_varint_put(at, vt_zigzag(vt_field_load(&in->peers->first, i) - in->values[i]));
	return at;
}

static uint8_t *put_rle(uint8_t *at, const struct vt_column_values *in)
{
	uint64_t previous = 0;

	for (uint32_t i = 0, end; i < in->rows; i = end) {
		for (end = i + 1; end < in->rows && in->values[end] == in->values[i];)
			end++;
		at = vt_varint_put(at, vt_zigzag(in->values[i] - previous));
		at = vt_varint_put(at, end - i);
		previous = in->values[i];
	}
	return at;
}

/* Calls for each row's difference from what SUM expects. at NULL: only *ret_bytes. False: too many devices. */
static bool put_sum(uint8_t *at, const struct vt_column_values *in, size_t *ret_bytes)
{
	struct vt_column_sum sums[VT_SUM_DEVICES_MAX];
	uint32_t nsums = 0, s = 0;
	size_t bytes = 0;

	for (uint32_t i = 0; i < in->rows; i++) {
		uint64_t key = vt_field_load(&in->peers->device_type, i) << 32 |
			       (vt_field_load(&in->peers->device, i) & UINT32_MAX);
		uint64_t z;

		if (s >= nsums || sums[s].key != key)
			for (s = 0; s < nsums && sums[s].key != key;)
				s++;
		if (s == nsums) {
			if (nsums == VT_SUM_DEVICES_MAX)
				return false;
			sums[nsums++] = (struct vt_column_sum){ .key = key };
		}
		z = vt_zigzag(in->values[i] - (sums[s].value + vt_field_load(&in->peers->size_bytes, i)));
		sums[s].value = in->values[i];
		bytes += vt_varint_bytes(z);
		if (at)
			at = vt_varint_put(at, z);
	}
	*ret_bytes = bytes;
	return true;
}

/* A bound of the payload's bytes, whatever the values. */
static size_t bytes_max(enum vt_codec codec, const struct vt_column_values *in)
{
	switch (codec) {
	case VT_CODEC_RAW:
		return (size_t)in->rows * in->width;
	case VT_CODEC_RLE:
		return (size_t)in->rows * (VT_VARINT_MAX + 1) + VT_VARINT_MAX;
	case VT_CODEC_DICT:
		return (size_t)in->rows * (VT_VARINT_MAX + 4) + VT_VARINT_MAX;
	case VT_CODEC_DELTA:
	case VT_CODEC_SPAN:
	case VT_CODEC_SUM:
		break;
	}
	return (size_t)in->rows * VT_VARINT_MAX;
}

int vt_column_encode(struct vt_column_work *work, enum vt_codec codec, const struct vt_column_values *in,
		     struct vt_buf *out)
{
	uint8_t *end = NULL;
	uint8_t *begin;
	size_t bytes = 0;
	int r = vt_buf_reserve(out, bytes_max(codec, in));

	if (!r && codec == VT_CODEC_DICT)
		r = build_dict(work, in, SIZE_MAX, &bytes);
	if (r < 0)
		return r;
	begin = out->data + out->bytes;
	switch (codec) {
	case VT_CODEC_RAW:
		end = put_raw(begin, in);
		break;
	case VT_CODEC_DELTA:
		end = put_delta(begin, in);
		break;
	case VT_CODEC_SPAN:
		end = put_span(begin, in);
		break;
	case VT_CODEC_RLE:
		end = put_rle(begin, in);
		break;
	case VT_CODEC_DICT:
		end = put_dict(begin, work, in->rows);
		break;
	case VT_CODEC_SUM:
		if (!put_sum(begin, in, &bytes))
			return -VT_E_USAGE;
		end = begin + bytes;
		break;
	}
	out->bytes += (size_t)(end - begin);
	return 0;
}

static void measure(const struct vt_column_values *in, size_t *ret_delta, size_t *ret_rle)
{
	uint64_t previous = 0;
	size_t delta = 0, rle = 0;
	uint32_t run_start = 0;

	for (uint32_t i = 0; i < in->rows; i++) {
		unsigned n = vt_varint_bytes(vt_zigzag(in->values[i] - previous));

		delta += n;
		if (i == 0 || in->values[i] != previous) {
			rle += n + (i ? vt_varint_bytes(i - run_start) : 0);
			run_start = i;
		}
		previous = in->values[i];
	}
	*ret_delta = delta;
	*ret_rle = rle + vt_varint_bytes(in->rows - run_start);
}

static size_t span_bytes(const struct vt_column_values *in)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < in->rows; i++)
		bytes += vt_varint_bytes(vt_zigzag(vt_field_load(&in->peers->first, i) - in->values[i]));
	return bytes;
}

/* Of equal ones the hint. */
static enum vt_codec smallest(const size_t bytes[VT_CODEC_SUM + 1], enum vt_codec hint)
{
	enum vt_codec best = hint;

	for (int codec = 0; codec <= VT_CODEC_SUM; codec++)
		if (bytes[codec] < bytes[best])
			best = (enum vt_codec)codec;
	return best;
}

int vt_column_choose(struct vt_column_work *work, enum vt_codec hint, const struct vt_column_values *in,
		     enum vt_codec *ret)
{
	size_t bytes[VT_CODEC_SUM + 1];
	enum vt_codec best;
	int r;

	memset(bytes, 0xff, sizeof(bytes));
	bytes[VT_CODEC_RAW] = (size_t)in->rows * in->width;
	measure(in, &bytes[VT_CODEC_DELTA], &bytes[VT_CODEC_RLE]);
	if (hint == VT_CODEC_SPAN)
		bytes[VT_CODEC_SPAN] = span_bytes(in);
	if (hint == VT_CODEC_SUM)
		(void)put_sum(NULL, in, &bytes[VT_CODEC_SUM]);
	best = smallest(bytes, hint);
	/* A dictionary takes at least a byte per row: not worth building where the rest is already shorter. */
	if ((hint == VT_CODEC_DICT || hint == VT_CODEC_RLE) && bytes[best] > in->rows) {
		r = build_dict(work, in, bytes[best], &bytes[VT_CODEC_DICT]);
		if (r < 0)
			return r;
		best = smallest(bytes, hint);
	}
	*ret = best;
	return 0;
}
