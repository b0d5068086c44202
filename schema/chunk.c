/* chunk.c - see chunk.h: the layout of a chunk is drawn there. */
#include "schema/chunk.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "schema/base/bits.h"
#include "schema/base/buf.h"
#include "schema/column.h"

#define MAGIC "VTC1"
#define HEADER_BYTES 16u
#define ENTRY_BYTES 12u
/* Columns a chunk may have: this build's, and those of later ones. */
#define COLUMNS_MAX 256u
/* Rows decoded at a time: their columns stay in the processor's first cache. */
#define SLICE_ROWS 512u

struct vt_chunk_coder {
	ZSTD_CCtx *compressor;
	ZSTD_DCtx *decompressor;
	struct vt_column_work *work;
	struct vt_buf raw;     /* header, directory, payloads */
	struct vt_buf blob;    /* compressed */
	struct vt_buf values;  /* one column, extended to 64 bits */
	struct vt_buf records; /* decoded */
	struct vt_column_reader readers[VT_COLS_MAX];
};

/* A column of a chunk as its directory has it. */
struct entry {
	uint16_t id;
	uint8_t type;
	uint8_t codec;
	uint32_t bytes;
};

static void put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *at, uint32_t value)
{
	put_u16(at, (uint16_t)value);
	put_u16(at + 2, (uint16_t)(value >> 16));
}

static uint16_t get_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t get_u32(const uint8_t *at)
{
	return get_u16(at) | (uint32_t)get_u16(at + 2) << 16;
}

struct vt_chunk_coder *vt_chunk_coder_new(void)
{
	struct vt_chunk_coder *coder = calloc(1, sizeof(*coder));

	if (!coder)
		return NULL;
	coder->compressor = ZSTD_createCCtx();
	coder->decompressor = ZSTD_createDCtx();
	coder->work = vt_column_work_new();
	if (!coder->compressor || !coder->decompressor || !coder->work) {
		vt_chunk_coder_free(coder);
		return NULL;
	}
	return coder;
}

void vt_chunk_coder_free(struct vt_chunk_coder *coder)
{
	if (!coder)
		return;
	(void)ZSTD_freeCCtx(coder->compressor);
	(void)ZSTD_freeDCtx(coder->decompressor);
	vt_column_work_free(coder->work);
	for (size_t i = 0; i < VT_ARRAY_SIZE(coder->readers); i++)
		vt_column_reader_done(&coder->readers[i]);
	vt_buf_done(&coder->raw);
	vt_buf_done(&coder->blob);
	vt_buf_done(&coder->values);
	vt_buf_done(&coder->records);
	free(coder);
}

static struct vt_field field_of(const struct vt_event *event, const struct vt_col *col, const uint8_t *records)
{
	if (!col || !records)
		return (struct vt_field){ 0 };
	return (struct vt_field){ .at = records + col->offset,
				  .stride = event->size,
				  .width = col->width,
				  .is_signed = vt_col_is_signed(col) };
}

static struct vt_column_peers peers_of(const struct vt_event *event, const uint8_t *records)
{
	return (struct vt_column_peers){
		.first = field_of(event, &event->cols[0], records),
		.size_bytes = field_of(event, vt_event_col_name(event, "size_bytes"), records),
		.device = field_of(event, vt_event_col_name(event, "device"), records),
		.device_type = field_of(event, vt_event_col_name(event, "device_type"), records),
	};
}

/* ------------------------------------------------------------------ encoding */

static int encode_column(struct vt_chunk_coder *coder, const struct vt_event *event, const struct vt_col *col,
			 const uint8_t *records, uint32_t rows, struct entry *ret)
{
	struct vt_field field = field_of(event, col, records);
	struct vt_column_peers peers = peers_of(event, records);
	uint64_t *values = (uint64_t *)(void *)coder->values.data;
	struct vt_column_values in = { .values = values, .rows = rows, .width = col->width, .peers = &peers };
	enum vt_codec codec = (enum vt_codec)col->codec;
	size_t before = coder->raw.bytes;
	int r;

	for (uint32_t row = 0; row < rows; row++)
		values[row] = vt_field_load(&field, row);
	r = vt_column_choose(coder->work, codec, &in, &codec);
	if (r == 0)
		r = vt_column_encode(coder->work, codec, &in, &coder->raw);
	*ret = (struct entry){ col->id, col->type, (uint8_t)codec, (uint32_t)(coder->raw.bytes - before) };
	return r;
}

static uint32_t stored_columns(const struct vt_event *event)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < event->ncols; i++)
		count += !vt_col_is_pad(&event->cols[i]);
	return count;
}

static int encode_raw(struct vt_chunk_coder *coder, const struct vt_event *event, const uint8_t *records, uint32_t rows,
		      struct vt_err *err)
{
	uint32_t ncols = stored_columns(event);
	size_t directory_bytes = HEADER_BYTES + (size_t)ncols * ENTRY_BYTES;
	uint32_t place = 0;

	vt_buf_clear(&coder->raw);
	if (vt_buf_reserve(&coder->raw, directory_bytes) < 0 || vt_buf_reserve(&coder->values, (size_t)rows * 8) < 0)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for %u %s events", rows, event->name);
	memset(coder->raw.data, 0, directory_bytes);
	memcpy(coder->raw.data, MAGIC, 4);
	put_u32(coder->raw.data + 4, event->id);
	put_u32(coder->raw.data + 8, rows);
	put_u32(coder->raw.data + 12, ncols);
	coder->raw.bytes = directory_bytes;
	for (uint32_t i = 0; i < event->ncols; i++) {
		struct entry entry;
		uint8_t *at;

		if (vt_col_is_pad(&event->cols[i]))
			continue;
		if (encode_column(coder, event, &event->cols[i], records, rows, &entry) < 0)
			return vt_err_set(err, VT_E_NOMEM, "column %s.%s cannot be encoded", event->name,
					  event->cols[i].name);
		at = coder->raw.data + HEADER_BYTES + (size_t)place++ * ENTRY_BYTES;
		put_u16(at, entry.id);
		at[2] = entry.type;
		at[3] = entry.codec;
		put_u32(at + 4, entry.bytes);
	}
	return 0;
}

int vt_chunk_encode(struct vt_chunk_coder *coder, const struct vt_chunk_rows *rows, int level,
		    struct vt_chunk_blob *ret, struct vt_err *err)
{
	size_t bound;
	size_t bytes;
	int r;

	if (rows->nrecords == 0 || rows->nrecords > VT_CHUNK_ROWS_MAX)
		return vt_err_set(err, VT_E_USAGE, "a chunk holds 1 to %u events, not %u", VT_CHUNK_ROWS_MAX,
				  rows->nrecords);
	r = encode_raw(coder, rows->event, rows->records, rows->nrecords, err);
	if (r < 0)
		return r;
	bound = ZSTD_compressBound(coder->raw.bytes);
	vt_buf_clear(&coder->blob);
	if (vt_buf_reserve(&coder->blob, bound) < 0)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for a chunk of %zu bytes", bound);
	(void)ZSTD_CCtx_setParameter(coder->compressor, ZSTD_c_compressionLevel, level);
	(void)ZSTD_CCtx_setParameter(coder->compressor, ZSTD_c_checksumFlag, 1);
	bytes = ZSTD_compress2(coder->compressor, coder->blob.data, coder->blob.room, coder->raw.data,
			       coder->raw.bytes);
	if (ZSTD_isError(bytes))
		return vt_err_set(err, VT_E_NOMEM, "zstd cannot compress a chunk: %s", ZSTD_getErrorName(bytes));
	*ret = (struct vt_chunk_blob){ coder->blob.data, bytes, coder->raw.bytes };
	return 0;
}

/* ------------------------------------------------------------------ decoding */

static int decompress(struct vt_chunk_coder *coder, const void *blob, size_t bytes, struct vt_err *err)
{
	unsigned long long raw_bytes = ZSTD_getFrameContentSize(blob, bytes);
	size_t got;

	if (raw_bytes == ZSTD_CONTENTSIZE_ERROR || raw_bytes == ZSTD_CONTENTSIZE_UNKNOWN)
		return vt_err_set(err, VT_E_CORRUPT, "not a zstd frame with its size");
	if (raw_bytes < HEADER_BYTES || raw_bytes > VT_CHUNK_RAW_BYTES_MAX)
		return vt_err_set(err, VT_E_CORRUPT, "claims %llu bytes; a chunk has %u to %u", raw_bytes, HEADER_BYTES,
				  VT_CHUNK_RAW_BYTES_MAX);
	/* zstd turns a byte into at most some 100,000: a claim beyond is a lie, and costs no memory. */
	if (raw_bytes / 131072 > bytes)
		return vt_err_set(err, VT_E_CORRUPT, "claims %llu bytes from %zu: more than zstd can", raw_bytes,
				  bytes);
	vt_buf_clear(&coder->raw);
	if (vt_buf_reserve(&coder->raw, (size_t)raw_bytes) < 0)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for %llu bytes", raw_bytes);
	got = ZSTD_decompressDCtx(coder->decompressor, coder->raw.data, (size_t)raw_bytes, blob, bytes);
	if (ZSTD_isError(got))
		return vt_err_set(err, VT_E_CORRUPT, "zstd: %s", ZSTD_getErrorName(got));
	if (got != raw_bytes)
		return vt_err_set(err, VT_E_CORRUPT, "decompresses to %zu bytes, not %llu", got, raw_bytes);
	coder->raw.bytes = got;
	return 0;
}

/* What a chunk says it holds. */
struct directory {
	const struct vt_event *event; /* this build's description */
	uint32_t rows;		      /* within bounds, as is ncols */
	uint32_t ncols;
	uint32_t unknown;      /* columns that this build does not know */
	bool has[VT_COLS_MAX]; /* by place in event->cols: its reader is started */
};

static int read_header(const struct vt_buf *raw, uint32_t expect_id, struct directory *ret, struct vt_err *err)
{
	uint32_t id = get_u32(raw->data + 4);
	uint32_t rows = get_u32(raw->data + 8);
	uint32_t ncols = get_u32(raw->data + 12);
	const struct vt_event *event;

	if (memcmp(raw->data, MAGIC, 4) != 0)
		return vt_err_set(err, VT_E_CORRUPT, "does not begin with " MAGIC);
	if (id != expect_id)
		return vt_err_set(err, VT_E_CORRUPT, "holds event %u, its row says %u", id, expect_id);
	event = vt_event_find(id);
	if (!event || event->class != VT_CLASS_CHUNK)
		return vt_err_set(err, VT_E_VERSION, "event %u is not known to this build as one of chunks", id);
	if (rows == 0 || rows > VT_CHUNK_ROWS_MAX)
		return vt_err_set(err, VT_E_CORRUPT, "rows: %u, must be 1 to %u", rows, VT_CHUNK_ROWS_MAX);
	if (ncols == 0 || ncols > COLUMNS_MAX || HEADER_BYTES + (size_t)ncols * ENTRY_BYTES > raw->bytes)
		return vt_err_set(err, VT_E_CORRUPT, "columns: %u, do not fit", ncols);
	*ret = (struct directory){ .event = event, .rows = rows, .ncols = ncols };
	return 0;
}

static bool type_fits(const struct vt_col *col, unsigned type)
{
	return col->type == type && !vt_col_is_pad(col);
}

/* One column of the directory: a reader on its payload, if this build knows it. */
static int start_reader(struct vt_chunk_coder *coder, struct directory *directory, const struct entry *entry,
			const uint8_t *payload, struct vt_err *err)
{
	const struct vt_event *event = directory->event;
	const struct vt_col *col = vt_event_col(event, entry->id);
	const struct vt_column_payload part = { payload, entry->bytes, directory->rows };
	size_t place;
	int r;

	if (!col || vt_col_is_pad(col)) {
		directory->unknown++;
		return 0;
	}
	place = (size_t)(col - event->cols);
	if (!type_fits(col, entry->type) || directory->has[place])
		return vt_err_set(err, VT_E_CORRUPT, "column %s: type %u, or it comes twice", col->name, entry->type);
	r = vt_column_reader_start(&coder->readers[place], (enum vt_codec)entry->codec, col, &part, err);
	if (r < 0) {
		(void)vt_err_prefix(err, "column %s", col->name);
		return r;
	}
	directory->has[place] = true;
	return 0;
}

/* readers[i] belongs to event->cols[i]. */
static int start_readers(struct vt_chunk_coder *coder, struct directory *directory, struct vt_err *err)
{
	size_t at = HEADER_BYTES + (size_t)directory->ncols * ENTRY_BYTES;
	int r;

	for (uint32_t i = 0; i < directory->ncols; i++) {
		const uint8_t *in = coder->raw.data + HEADER_BYTES + (size_t)i * ENTRY_BYTES;
		struct entry entry = { get_u16(in), in[2], in[3], get_u32(in + 4) };

		if (entry.bytes > coder->raw.bytes - at)
			return vt_err_set(err, VT_E_CORRUPT, "column %u: %u bytes, %zu are left", entry.id, entry.bytes,
					  coder->raw.bytes - at);
		r = start_reader(coder, directory, &entry, coder->raw.data + at, err);
		if (r < 0)
			return r;
		at += entry.bytes;
	}
	if (!directory->has[0])
		return vt_err_set(err, VT_E_CORRUPT, "has no column %s", directory->event->cols[0].name);
	if (at != coder->raw.bytes)
		return vt_err_set(err, VT_E_CORRUPT, "%zu bytes after the last column", coder->raw.bytes - at);
	return 0;
}

static void write_headers(uint8_t *records, const struct vt_event *event, uint32_t rows)
{
	for (uint32_t row = 0; row < rows; row++) {
		struct vt_rec rec = { event->id, (uint16_t)(event->size / 8), row };

		memcpy(records + (size_t)row * event->size, &rec, sizeof(rec));
	}
}

/* Columns of a slice in the order of the event: those that others look at (SPAN, SUM) have to come before them. */
static int read_slice(struct vt_chunk_coder *coder, const struct vt_event *event, const bool has[VT_COLS_MAX],
		      uint8_t *records, uint32_t rows, struct vt_err *err)
{
	struct vt_column_peers peers = peers_of(event, records);
	int r;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < event->ncols; i++) {
			const struct vt_col *col = &event->cols[i];
			uint8_t codec = coder->readers[i].codec;
			bool looks_at_others = codec == VT_CODEC_SPAN || codec == VT_CODEC_SUM;

			if (!has[i] || looks_at_others != (pass == 1))
				continue;
			r = vt_column_read(&coder->readers[i], records + col->offset, event->size, rows, &peers, err);
			if (r < 0) {
				(void)vt_err_prefix(err, "column %s", col->name);
				return r;
			}
		}
	}
	return 0;
}

/* A column that looks at others must not be one of those that are looked at. */
static int check_codecs(const struct vt_chunk_coder *coder, const struct vt_event *event, const bool has[VT_COLS_MAX],
			struct vt_err *err)
{
	for (uint32_t i = 0; i < event->ncols; i++) {
		const char *name = event->cols[i].name;
		bool looks = coder->readers[i].codec == VT_CODEC_SPAN || coder->readers[i].codec == VT_CODEC_SUM;
		bool is_peer = i == 0 || !strcmp(name, "size_bytes") || !strcmp(name, "device") ||
			       !strcmp(name, "device_type");

		if (has[i] && looks && is_peer)
			return vt_err_set(err, VT_E_CORRUPT, "column %s: codec %s cannot be used for it", name,
					  vt_codec_name(coder->readers[i].codec));
	}
	return 0;
}

int vt_chunk_decode(struct vt_chunk_coder *coder, const void *blob, size_t bytes, uint32_t expect_id,
		    struct vt_chunk_rows *ret, struct vt_err *err)
{
	struct directory directory;
	size_t size;
	int r = decompress(coder, blob, bytes, err);

	if (r == 0)
		r = read_header(&coder->raw, expect_id, &directory, err);
	if (r < 0)
		return r;
	r = start_readers(coder, &directory, err);
	if (r == 0)
		r = check_codecs(coder, directory.event, directory.has, err);
	if (r < 0)
		return r;
	size = directory.event->size;
	vt_buf_clear(&coder->records);
	if (vt_buf_reserve(&coder->records, directory.rows * size) < 0)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for %u %s events", directory.rows,
				  directory.event->name);
	memset(coder->records.data, 0, directory.rows * size);
	write_headers(coder->records.data, directory.event, directory.rows);
	for (uint32_t done = 0; done < directory.rows && r == 0; done += SLICE_ROWS) {
		uint32_t n = directory.rows - done < SLICE_ROWS ? directory.rows - done : SLICE_ROWS;

		r = read_slice(coder, directory.event, directory.has, coder->records.data + done * size, n, err);
	}
	if (r < 0)
		return r;
	*ret = (struct vt_chunk_rows){ .event = directory.event,
				       .records = coder->records.data,
				       .nrecords = directory.rows,
				       .unknown_columns = directory.unknown };
	return 0;
}
