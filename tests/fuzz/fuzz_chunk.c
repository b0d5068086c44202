/*
 * fuzz_chunk.c - chunks. The first byte says whether the rest is taken as the blob itself, or as what it decompresses
 * to: then it is compressed here, since no mutation would survive zstd's checksum. What decodes must encode and decode to
 * the same records.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "schema/chunk.h"
#include "tests/fuzz/fuzz.h"

static void check_again(const struct vt_chunk_rows *rows)
{
	struct vt_chunk_coder *other = vt_chunk_coder_new();
	size_t bytes = (size_t)rows->nrecords * rows->event->size;
	struct vt_chunk_rows again;
	struct vt_chunk_blob blob;
	struct vt_err err = { 0 };

	if (!other || vt_chunk_encode(other, rows, 1, &blob, &err) < 0)
		abort();
	/* A coder of its own: the first one's records are compared. */
	if (vt_chunk_decode(other, blob.data, blob.bytes, rows->event->id, &again, &err) < 0 ||
	    again.nrecords != rows->nrecords || memcmp(again.records, rows->records, bytes) != 0)
		abort();
	vt_chunk_coder_free(other);
}

static void decode(const uint8_t *blob, size_t bytes, uint32_t id)
{
	struct vt_chunk_coder *coder = vt_chunk_coder_new();
	uint8_t *exact = malloc(bytes ? bytes : 1); /* so that a read beyond shows */
	struct vt_chunk_rows rows;
	struct vt_err err = { 0 };

	if (!coder || !exact)
		abort();
	if (bytes)
		memcpy(exact, blob, bytes);
	if (vt_chunk_decode(coder, exact, bytes, id, &rows, &err) == 0) {
		/* Rows that fit in a few kilobytes of runs would make this slow without making it better. */
		if (rows.nrecords <= 4096)
			check_again(&rows);
	} else if (err.code == VT_E_OK || !err.msg[0]) {
		abort(); /* an error without words */
	}
	free(exact);
	vt_chunk_coder_free(coder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint32_t id = 1;
	uint8_t *blob;
	size_t room, n;

	if (bytes < 9)
		return 0;
	if (data[0] & 1) {
		decode(data + 1, bytes - 1, data[0] >> 1);
		return 0;
	}
	data++;
	bytes--;
	memcpy(&id, data + 4, sizeof(id));
	room = ZSTD_compressBound(bytes);
	blob = malloc(room);
	if (!blob)
		abort();
	n = ZSTD_compress(blob, room, data, bytes, 1);
	if (ZSTD_isError(n))
		abort();
	decode(blob, n, id);
	free(blob);
	return 0;
}
