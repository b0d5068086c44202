/*
 * column_decode.c - bytes back into values, written straight into records; see column.h.
 *
 * The inner functions are forced inline with a constant width, so that each (codec, width) is a tight loop of its own.
 * Range checks are gathered in a flag and looked at once per call.
 */
#include <string.h>

#include "schema/base/bits.h"
#include "schema/column.h"
#include "schema/varint.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Where the next n values go, and where their peers are. */
struct target {
	uint8_t *dst;
	size_t stride;
	uint32_t n;
	const struct vt_column_peers *peers;
};

ALWAYS_INLINE void store(uint8_t *dst, unsigned width, uint64_t value)
{
	memcpy(dst, &value, width);
}

ALWAYS_INLINE uint64_t misfit(uint64_t value, unsigned width, bool is_signed)
{
	if (width == 8)
		return 0;
	if (is_signed)
		return width == 4 ? value ^ (uint64_t)(int64_t)(int32_t)value
				  : value ^ (uint64_t)(int64_t)(int16_t)value;
	return value >> (width * 8);
}

static int corrupt(struct vt_err *err, const char *what)
{
	return vt_err_set(err, VT_E_CORRUPT, "%s", what);
}

static const char range_text[] = "a value does not fit the column's type";
static const char short_text[] = "the payload ends before its rows do, or holds an overlong number";

ALWAYS_INLINE int read_raw(struct vt_column_reader *r, const struct target *t, unsigned width)
{
	uint8_t *dst = t->dst;

	/* The whole length was checked at the start. */
	for (uint32_t i = 0; i < t->n; i++, dst += t->stride, r->at += width)
		memcpy(dst, r->at, width);
	return 0;
}

ALWAYS_INLINE int read_delta(struct vt_column_reader *r, const struct target *t, unsigned width, struct vt_err *err)
{
	const uint8_t *at = r->at, *end = r->end;
	uint64_t value = r->previous, z, bad = 0;
	uint8_t *dst = t->dst;

	for (uint32_t i = 0; i < t->n; i++, dst += t->stride) {
		if (VT_UNLIKELY(!vt_varint_get(&at, end, &z)))
			return corrupt(err, short_text);
		value += vt_unzigzag(z);
		bad |= misfit(value, width, r->is_signed);
		store(dst, width, value);
	}
	r->at = at;
	r->previous = value;
	return bad ? corrupt(err, range_text) : 0;
}

ALWAYS_INLINE int read_span(struct vt_column_reader *r, const struct target *t, unsigned width, struct vt_err *err)
{
	const uint8_t *at = r->at, *end = r->end;
	uint64_t value, z, bad = 0;
	uint8_t *dst = t->dst;

	for (uint32_t i = 0; i < t->n; i++, dst += t->stride) {
		if (VT_UNLIKELY(!vt_varint_get(&at, end, &z)))
			return corrupt(err, short_text);
		value = vt_field_load(&t->peers->first, i) - vt_unzigzag(z);
		bad |= misfit(value, width, r->is_signed);
		store(dst, width, value);
	}
	r->at = at;
	return bad ? corrupt(err, range_text) : 0;
}

/* The next run into previous and run. */
static int next_run(struct vt_column_reader *r, uint32_t rows_left, struct vt_err *err)
{
	uint64_t z;

	if (!vt_varint_get(&r->at, r->end, &z) || !vt_varint_get(&r->at, r->end, &r->run))
		return corrupt(err, short_text);
	r->previous += vt_unzigzag(z);
	if (!r->run || r->run > rows_left)
		return vt_err_set(err, VT_E_CORRUPT, "a run of %llu where %u rows are left", (unsigned long long)r->run,
				  rows_left);
	if (misfit(r->previous, r->width, r->is_signed))
		return corrupt(err, range_text);
	return 0;
}

ALWAYS_INLINE int read_rle(struct vt_column_reader *r, const struct target *t, unsigned width, struct vt_err *err)
{
	uint8_t *dst = t->dst;
	uint32_t left = t->n;

	while (left) {
		uint32_t n;

		if (!r->run) {
			int e = next_run(r, r->rows - (t->n - left), err);

			if (e < 0)
				return e;
		}
		n = r->run < left ? (uint32_t)r->run : left;
		for (uint32_t i = 0; i < n; i++, dst += t->stride)
			store(dst, width, r->previous);
		r->run -= n;
		left -= n;
	}
	return 0;
}

/*
 * For 1 byte indices the table has an entry for every index there can be, so that the gather needs no check; wider ones
 * read entry 0 where they are out of range. The greatest index seen is looked at afterwards.
 */
ALWAYS_INLINE int gather(struct vt_column_reader *r, const struct target *t, unsigned width, unsigned index_bytes,
			 struct vt_err *err)
{
	const uint64_t *dict = (const uint64_t *)(const void *)r->dict.data;
	const uint8_t *at = r->at;
	uint8_t *dst = t->dst;
	uint32_t greatest = 0;

	for (uint32_t i = 0; i < t->n; i++, dst += t->stride, at += index_bytes) {
		uint32_t index = 0;

		memcpy(&index, at, index_bytes);
		greatest = index > greatest ? index : greatest;
		store(dst, width, dict[index_bytes == 1 || index < r->ndict ? index : 0]);
	}
	r->at = at;
	if (greatest >= r->ndict)
		return vt_err_set(err, VT_E_CORRUPT, "dictionary index %u, the dictionary has %u values", greatest,
				  r->ndict);
	return 0;
}

ALWAYS_INLINE int read_dict(struct vt_column_reader *r, const struct target *t, unsigned width, struct vt_err *err)
{
	if (r->index_bytes == 1)
		return gather(r, t, width, 1, err);
	if (r->index_bytes == 2)
		return gather(r, t, width, 2, err);
	return gather(r, t, width, 4, err);
}

/* The running total of a device; NULL when there are too many devices. */
static struct vt_column_sum *find_sum(struct vt_column_reader *r, uint64_t key)
{
	for (uint32_t i = 0; i < r->nsums; i++)
		if (r->sums[i].key == key)
			return &r->sums[i];
	if (r->nsums == VT_SUM_DEVICES_MAX)
		return NULL;
	r->sums[r->nsums] = (struct vt_column_sum){ .key = key };
	return &r->sums[r->nsums++];
}

ALWAYS_INLINE int read_sum(struct vt_column_reader *r, const struct target *t, unsigned width, struct vt_err *err)
{
	struct vt_column_sum *sum = NULL;
	const uint8_t *at = r->at, *end = r->end;
	uint8_t *dst = t->dst;
	uint64_t z, bad = 0;

	for (uint32_t i = 0; i < t->n; i++, dst += t->stride) {
		uint64_t key = vt_field_load(&t->peers->device_type, i) << 32 |
			       (vt_field_load(&t->peers->device, i) & UINT32_MAX);

		if (VT_UNLIKELY(!sum || sum->key != key)) {
			sum = find_sum(r, key);
			if (!sum)
				return corrupt(err, "a running total over more devices than the format allows");
		}
		if (VT_UNLIKELY(!vt_varint_get(&at, end, &z)))
			return corrupt(err, short_text);
		sum->value += vt_field_load(&t->peers->size_bytes, i) + vt_unzigzag(z);
		bad |= misfit(sum->value, width, r->is_signed);
		store(dst, width, sum->value);
	}
	r->at = at;
	return bad ? corrupt(err, range_text) : 0;
}

ALWAYS_INLINE int read_width(struct vt_column_reader *r, const struct target *t, unsigned width, struct vt_err *err)
{
	switch (r->codec) {
	case VT_CODEC_RAW:
		return read_raw(r, t, width);
	case VT_CODEC_DELTA:
		return read_delta(r, t, width, err);
	case VT_CODEC_DICT:
		return read_dict(r, t, width, err);
	case VT_CODEC_RLE:
		return read_rle(r, t, width, err);
	case VT_CODEC_SPAN:
		return read_span(r, t, width, err);
	default:
		return read_sum(r, t, width, err);
	}
}

int vt_column_read(struct vt_column_reader *r, uint8_t *dst, size_t stride, uint32_t n,
		   const struct vt_column_peers *peers, struct vt_err *err)
{
	struct target t = { .dst = dst, .stride = stride, .n = n, .peers = peers };
	int e;

	if (n > r->rows)
		return vt_err_set(err, VT_E_USAGE, "%u rows asked for, %u are left", n, r->rows);
	if (r->width == 8)
		e = read_width(r, &t, 8, err);
	else if (r->width == 4)
		e = read_width(r, &t, 4, err);
	else
		e = read_width(r, &t, 2, err);
	if (e < 0)
		return e;
	r->rows -= n;
	if (!r->rows && r->at != r->end)
		return vt_err_set(err, VT_E_CORRUPT, "%zu bytes left over behind the last row",
				  (size_t)(r->end - r->at));
	return 0;
}

static int load_dict(struct vt_column_reader *r, struct vt_err *err)
{
	uint64_t count, value = 0, z, room, bad = 0;
	uint64_t *dict;

	if (!vt_varint_get(&r->at, r->end, &count) || count < 1 || count > r->rows)
		return corrupt(err, "the dictionary's size is impossible");
	r->index_bytes = count <= 256 ? 1 : count <= 65536 ? 2 : 4;
	room = r->index_bytes == 1 ? 256 : count;
	vt_buf_clear(&r->dict);
	if (vt_buf_reserve(&r->dict, room * sizeof(*dict)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a dictionary of %llu values",
				  (unsigned long long)count);
	dict = (uint64_t *)(void *)r->dict.data;
	for (uint64_t i = 0; i < count; i++) {
		if (!vt_varint_get(&r->at, r->end, &z))
			return corrupt(err, short_text);
		value += vt_unzigzag(z);
		bad |= misfit(value, r->width, r->is_signed);
		dict[i] = value;
	}
	if (bad)
		return corrupt(err, range_text);
	/* Entries that only a corrupt index can reach must still be defined. */
	memset(dict + count, 0, (size_t)(room - count) * sizeof(*dict));
	r->ndict = (uint32_t)count;
	if ((uint64_t)(r->end - r->at) != (uint64_t)r->rows * r->index_bytes)
		return vt_err_set(err, VT_E_CORRUPT, "%zu bytes of dictionary indices for %u rows of %u bytes each",
				  (size_t)(r->end - r->at), r->rows, r->index_bytes);
	return 0;
}

int vt_column_reader_start(struct vt_column_reader *r, enum vt_codec codec, const struct vt_col *col,
			   const struct vt_column_payload *payload, struct vt_err *err)
{
	r->at = payload->data;
	r->end = payload->data + payload->bytes;
	r->previous = 0;
	r->run = 0;
	r->ndict = 0;
	r->rows = payload->rows;
	r->codec = (uint8_t)codec;
	r->width = col->width;
	r->is_signed = vt_col_is_signed(col);
	r->nsums = 0;
	if ((unsigned)codec > VT_CODEC_SUM)
		return vt_err_set(err, VT_E_VERSION, "codec %u is not known to this build", (unsigned)codec);
	if (codec == VT_CODEC_RAW && payload->bytes != (size_t)payload->rows * col->width)
		return vt_err_set(err, VT_E_CORRUPT, "%zu bytes for %u rows of %u bytes each", payload->bytes,
				  payload->rows, col->width);
	if (codec == VT_CODEC_DICT)
		return load_dict(r, err);
	return 0;
}

void vt_column_reader_done(struct vt_column_reader *r)
{
	vt_buf_done(&r->dict);
}
