/*
 * chunk.h - encodes many records of one event kind into one compressed blob, and back. A chunk decodes alone.
 *
 * The blob, after zstd (frame with content checksum), all numbers little endian:
 *
 *   OFFSET SIZE  MEANING
 *        0    4  "VTC1"
 *        4    4  event id
 *        8    4  rows (1 .. VT_CHUNK_ROWS_MAX)
 *       12    4  ncols
 *       16   12  per column: u16 column id, u8 enum vt_type, u8 enum vt_codec, u32 payload bytes, u32 reserved (0)
 *        .    .  payloads, in the same order, without gaps
 *
 * Payloads by codec are described at column.h. schema/format.md is the document for readers in other languages.
 *
 * Reading: columns this build does not know are skipped and counted; columns that the chunk lacks read as 0, except column 1,
 * which every chunk has.
 */
#ifndef VT_SCHEMA_CHUNK_H
#define VT_SCHEMA_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "schema/base/err.h"
#include "schema/event.h"

#define VT_CHUNK_ROWS_MAX (1u << 20)
#define VT_CHUNK_RAW_BYTES_MAX (256u << 20)

struct vt_chunk_coder; /* reusable buffers and zstd contexts; one thread at a time */

struct vt_chunk_coder *vt_chunk_coder_new(void); /* NULL: no memory */
void vt_chunk_coder_free(struct vt_chunk_coder *coder);

struct vt_chunk_rows {
	const struct vt_event *event; /* of this build */
	const void *records;	      /* nrecords of event->size bytes, back to back: struct vt_<event> */
	uint32_t nrecords;
	uint32_t unknown_columns; /* decoding: skipped */
};

struct vt_chunk_blob {
	const void *data; /* owned by the coder */
	size_t bytes;
	size_t raw_bytes; /* before compression */
};

/* Encodes rows, in their order. The result is valid until the coder's next use. level: zstd's. */
int vt_chunk_encode(struct vt_chunk_coder *coder, const struct vt_chunk_rows *rows, int level,
		    struct vt_chunk_blob *ret, struct vt_err *err);

/*
 * Decodes a blob into records, which the coder owns. The result is valid until the coder's next use. expect_id: the event id the chunk's row
 * claims. VT_E_CORRUPT names what contradicts what; nothing is read or allocated beyond the stated bounds.
 */
int vt_chunk_decode(struct vt_chunk_coder *coder, const void *blob, size_t bytes, uint32_t expect_id,
		    struct vt_chunk_rows *ret, struct vt_err *err);

#endif
