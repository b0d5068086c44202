/* store_rig.c - see store_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/base/bits.h"
#include "store_rig.h"

char store_rig_directory[64], store_rig_path[128];
struct vt_err store_rig_err;

int store_rig_setup(void **state)
{
	(void)state;
	(void)strcpy(store_rig_directory, "/dev/shm/vt-test-store-XXXXXX");
	if (!mkdtemp(store_rig_directory))
		return -1;
	(void)snprintf(store_rig_path, sizeof(store_rig_path), "%s/t.vramtrace", store_rig_directory);
	return 0;
}

int store_rig_teardown(void **state)
{
	char command[192];

	(void)state;
	(void)snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", store_rig_directory,
		       store_rig_directory);
	return system(command);
}

struct vt_store *store_rig_create(enum vt_store_mode mode)
{
	struct vt_store *store = NULL;

	ok(vt_store_create(&store, store_rig_path, mode, &store_rig_err));
	return store;
}

struct vt_store *store_rig_open(void)
{
	struct vt_store *store = NULL;

	ok(vt_store_open(&store, store_rig_path, &store_rig_err));
	return store;
}

int64_t store_rig_add(struct vt_store *store, uint64_t first_ns, uint32_t rows, const int64_t *replaces,
		      size_t nreplaces)
{
	struct vt_tensor tensors[2 * STORE_RIG_ROWS];
	int64_t id = 0;

	assert_true(rows <= VT_ARRAY_SIZE(tensors));
	memset(tensors, 0, sizeof(tensors));
	for (uint32_t i = 0; i < rows; i++)
		tensors[i] = (struct vt_tensor){ .time_ns = first_ns + i, .size_bytes = 512, .thread = 5 };
	ok(vt_store_add_chunk(store, 1, &(struct vt_chunk_rows){ vt_event_find(VT_EVENT_tensor), tensors, rows, 0 },
			      &(struct vt_chunk_ids){ replaces, nreplaces }, &id, &store_rig_err));
	return id;
}

static int keep_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct store_rig_chunks *chunks = arg;

	assert_true(chunks->count < VT_ARRAY_SIZE(chunks->infos));
	chunks->infos[chunks->count++] = *info;
	chunks->events += info->events;
	return 0;
}

struct store_rig_chunks store_rig_chunks(struct vt_store *store)
{
	struct store_rig_chunks chunks = { .count = 0 };

	ok(vt_store_each_chunk(store, keep_chunk, &chunks, &store_rig_err));
	return chunks;
}
