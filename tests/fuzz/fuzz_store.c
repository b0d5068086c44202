/* fuzz_store.c - trace files: opened, checked, and everything in them read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/chunk.h"
#include "schema/store.h"
#include "tests/fuzz/fuzz.h"

#define CHUNKS_MAX 64

struct chunks {
	struct vt_chunk_info infos[CHUNKS_MAX];
	size_t count;
};

static size_t touched; /* reads what is handed out, so that a sanitizer sees it */

static void touch(const void *at, size_t bytes)
{
	const uint8_t *byte = at;

	while (bytes--)
		touched += *byte++;
}

static int see_process(void *arg, const struct vt_process_row *row)
{
	(void)arg;
	touched += strlen(row->executable) + strlen(row->command);
	return 0;
}

static int see_thread(void *arg, const struct vt_thread_row *row)
{
	(void)arg;
	touched += strlen(row->name);
	return 0;
}

static int see_clock(void *arg, const struct vt_clock_row *row)
{
	(void)arg;
	touch(row, sizeof(*row));
	return 0;
}

static int see_loss(void *arg, const struct vt_loss_row *row)
{
	(void)arg;
	touch(row, sizeof(*row));
	return 0;
}

static int see_record(void *arg, uint32_t process, const struct vt_rec *rec)
{
	(void)arg;
	touched += process;
	touch(rec, (size_t)rec->len8 * 8);
	return 0;
}

static int see_unknown(void *arg, const char *name)
{
	(void)arg;
	touched += strlen(name);
	return 0;
}

static int keep_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct chunks *chunks = arg;

	if (chunks->count < CHUNKS_MAX)
		chunks->infos[chunks->count++] = *info;
	return 0;
}

static void read_chunks(struct vt_store *store)
{
	struct vt_chunk_coder *coder = vt_chunk_coder_new();
	struct chunks chunks = { .count = 0 };
	struct vt_chunk_rows rows;
	struct vt_err err;
	const void *blob;
	size_t bytes;

	if (!coder)
		abort();
	(void)vt_store_each_chunk(store, keep_chunk, &chunks, &err);
	for (size_t i = 0; i < chunks.count; i++)
		if (vt_store_read_chunk(store, chunks.infos[i].id, &blob, &bytes, &err) == 0 &&
		    vt_chunk_decode(coder, blob, bytes, chunks.infos[i].kind, &rows, &err) == 0)
			touch(rows.records, (size_t)rows.nrecords * rows.event->size);
	vt_chunk_coder_free(coder);
}

static void read_all(struct vt_store *store)
{
	struct vt_err err;

	(void)vt_store_check(store, &err);
	(void)vt_store_meta(store, "writer");
	(void)vt_store_warning(store);
	(void)vt_store_each_process(store, see_process, NULL, &err);
	(void)vt_store_each_thread(store, see_thread, NULL, &err);
	(void)vt_store_each_clock(store, see_clock, NULL, &err);
	(void)vt_store_each_loss(store, see_loss, NULL, &err);
	(void)vt_store_each_unknown(store, see_unknown, NULL, &err);
	for (size_t i = 0; i < vt_nevents; i++)
		if (vt_events[i].class != VT_CLASS_CHUNK)
			(void)vt_store_each_record(store, &vt_events[i], see_record, NULL, &err);
	read_chunks(store);
}

/* A name in memory; made once, gone with the process. */
static const char *place(void)
{
	static char path[64];

	if (!path[0])
		(void)snprintf(path, sizeof(path), "%s/vramtrace-fuzz-%d",
			       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
	return path;
}

static void write_file(const char *path, const uint8_t *data, size_t bytes)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes || close(fd) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct vt_store *store = NULL;
	struct vt_err err = { 0 };
	char log[80];

	write_file(place(), data, bytes);
	if (vt_store_open(&store, place(), &err) == 0)
		read_all(store);
	else if (err.code == VT_E_OK || !err.msg[0])
		abort(); /* an error without words */
	vt_store_close(store);
	(void)unlink(place());
	/* A file that says it has a log makes SQLite leave one. */
	(void)snprintf(log, sizeof(log), "%s-wal", place());
	(void)unlink(log);
	(void)snprintf(log, sizeof(log), "%s-shm", place());
	(void)unlink(log);
	return 0;
}
