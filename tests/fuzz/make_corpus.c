/*
 * make_corpus.c - first inputs for the fuzz targets, taken from a trace: the trace itself, its chunks, their columns, and
 * its definitions as a ring would hold them. They follow events.def, so they are made, not kept.
 *
 *   make_corpus TRACE DIRECTORY
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "schema/base/buf.h"
#include "schema/chunk.h"
#include "schema/ring.h"
#include "schema/store.h"

#define HEAD_BYTES 16
#define ENTRY_BYTES 12

static const char *directory;
static unsigned nfiles;

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "make_corpus: %s\n", what);
	exit(1);
}

static void need(int result, const struct vt_err *err)
{
	if (result < 0)
		fail(err->msg);
}

static void put_file(const char *target, const void *head, size_t head_bytes, const void *data, size_t bytes)
{
	char path[4200];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, target);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		fail(path);
	(void)snprintf(path, sizeof(path), "%s/%s/made-%03u", directory, target, nfiles++);
	file = fopen(path, "wb");
	if (!file || fwrite(head, 1, head_bytes, file) != head_bytes || fwrite(data, 1, bytes, file) != bytes ||
	    fclose(file) != 0)
		fail(path);
}

/* fuzz_column's own order of types. */
static int column_type(uint8_t type)
{
	if (type >= VT_TYPE_U16 && type <= VT_TYPE_I64)
		return type - VT_TYPE_U16;
	return VT_TYPE_U32 - VT_TYPE_U16;
}

static void put_columns(const uint8_t *raw)
{
	uint32_t rows, ncols, bytes;
	const uint8_t *payload;

	memcpy(&rows, raw + 8, 4);
	memcpy(&ncols, raw + 12, 4);
	payload = raw + HEAD_BYTES + (size_t)ncols * ENTRY_BYTES;
	for (uint32_t i = 0; i < ncols; i++, payload += bytes) {
		const uint8_t *entry = raw + HEAD_BYTES + (size_t)i * ENTRY_BYTES;
		const uint8_t head[] = { entry[3], (uint8_t)column_type(entry[2]), (uint8_t)(rows - 1),
					 (uint8_t)((rows - 1) >> 8) };

		memcpy(&bytes, entry + 4, 4);
		put_file("fuzz_column", head, sizeof(head), payload, bytes);
	}
}

static int put_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct vt_store *store = arg;
	struct vt_err err = { 0 };
	uint8_t as_raw = 0, as_blob = (uint8_t)(info->kind << 1 | 1);
	const void *blob;
	size_t bytes;
	uint8_t *raw;

	if (info->process != 1)
		return 0;
	need(vt_store_read_chunk(store, info->id, &blob, &bytes, &err), &err);
	raw = malloc(info->raw_bytes);
	if (!raw || ZSTD_decompress(raw, info->raw_bytes, blob, bytes) != info->raw_bytes)
		fail("a chunk of the trace does not decompress");
	put_file("fuzz_chunk", &as_raw, 1, raw, info->raw_bytes);
	if (info->events == 1)
		put_file("fuzz_chunk", &as_blob, 1, blob, bytes);
	put_columns(raw);
	free(raw);
	return 0;
}

static int keep_record(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct vt_buf *ring = arg;

	(void)process;
	if (vt_buf_append(ring, rec, (size_t)rec->len8 * 8) < 0)
		fail("out of memory");
	return 0;
}

/* Definitions one after the other; once from the start of a ring, once across its end. */
static void put_rings(struct vt_store *store)
{
	const uint32_t places[] = { 0, (uint32_t)vt_ring_bytes(VT_SHM_RINGS_MAX - 1) - 256 };
	struct vt_buf records = { 0 };
	struct vt_err err = { 0 };

	for (size_t i = 0; i < vt_nevents; i++)
		if (vt_events[i].class != VT_CLASS_CHUNK)
			need(vt_store_each_record(store, &vt_events[i], keep_record, &records, &err), &err);
	if (records.bytes > 4096)
		records.bytes = 4096;
	for (size_t i = 0; i < 2; i++) {
		uint32_t length = (uint32_t)records.bytes;
		uint8_t head[2 + 10] = { 0, 0, VT_SHM_RINGS_MAX - 1 };

		memcpy(head + 4, &places[i], 4);
		memcpy(head + 8, &length, 4);
		put_file("fuzz_ring", head, sizeof(head), records.data, records.bytes);
	}
	vt_buf_done(&records);
}

static void put_trace(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct vt_buf all = { 0 };
	uint8_t part[4096];
	size_t n;

	if (!file)
		fail(path);
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		if (vt_buf_append(&all, part, n) < 0)
			fail("out of memory");
	(void)fclose(file);
	put_file("fuzz_store", "", 0, all.data, all.bytes);
	vt_buf_done(&all);
}

int main(int argc, char **argv)
{
	struct vt_store *store = NULL;
	struct vt_err err = { 0 };

	if (argc != 3)
		fail("usage: make_corpus TRACE DIRECTORY");
	directory = argv[2];
	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		fail(directory);
	put_trace(argv[1]);
	need(vt_store_open(&store, argv[1], &err), &err);
	need(vt_store_each_chunk(store, put_chunk, store, &err), &err);
	put_rings(store);
	vt_store_close(store);
	return 0;
}
