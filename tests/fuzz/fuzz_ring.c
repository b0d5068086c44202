/*
 * fuzz_ring.c - what a target could leave in its shared memory. The input is
 *
 *   0   u16 bytes of the file's head, XORed over a valid one (0 leaves it so), then those
 *   .   u8  ring, u8 unused, u32 position's low part, u32 head - position
 *   .       what lies in the ring from position on, around its end
 *
 * Records must lie within the ring, and the walk must end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "schema/ring_read.h"
#include "tests/fuzz/fuzz.h"

#define PLACE_BYTES 10

static int memory = -1; /* the file, and a view of it; made once */
static uint8_t *view;
static char path[64];
static size_t touched;

static void make_file(void)
{
	size_t bytes = (size_t)vt_shm_file_bytes();

	(void)snprintf(path, sizeof(path), "%s/vramtrace-ring-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
		       (int)getpid());
	memory = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	if (memory < 0 || ftruncate(memory, (off_t)bytes) < 0)
		abort();
	view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (view == MAP_FAILED)
		abort();
}

static void remove_file(void)
{
	(void)unlink(path);
}

static void write_head(const uint8_t *data, size_t bytes)
{
	struct vt_shm *shm = (struct vt_shm *)(void *)view;

	memset(view, 0, VT_SHM_HEADER_BYTES + vt_shm_rings_bytes());
	shm->magic = VT_SHM_MAGIC;
	shm->abi = VT_SHM_ABI;
	shm->events_bytes = VT_SHM_EVENTS_BYTES;
	shm->file_bytes = vt_shm_file_bytes();
	shm->rings_offset = VT_SHM_HEADER_BYTES;
	shm->nrings_max = VT_SHM_RINGS_MAX;
	atomic_store(&shm->nrings, 3);
	for (size_t i = 0; i < bytes && i < VT_SHM_HEADER_BYTES; i++)
		view[i] ^= data[i];
}

/* Puts the bytes into a ring from position on; returns its index. */
static uint32_t write_ring(const uint8_t *data, size_t bytes, uint64_t *ret_position)
{
	uint32_t index = data[0] % VT_SHM_RINGS_MAX;
	uint64_t size = vt_ring_bytes(index);
	uint8_t *ring = view + vt_ring_data_offset(index);
	uint32_t low, length;
	uint64_t position;
	struct vt_ring *header;

	memcpy(&low, data + 2, 4);
	memcpy(&length, data + 6, 4);
	position = low;
	for (size_t i = PLACE_BYTES; i < bytes && i - PLACE_BYTES < size; i++)
		ring[(position + i - PLACE_BYTES) & (size - 1)] = data[i];
	header = (struct vt_ring *)(void *)(view + VT_SHM_HEADER_BYTES) + index;
	atomic_store(&header->head, position + length);
	*ret_position = position;
	return index;
}

static void walk(const struct vt_ring_file *file, uint32_t index, uint64_t position)
{
	const uint8_t *data = (const uint8_t *)file->shm + vt_ring_data_offset(index);
	uint64_t size = vt_ring_bytes(index);
	uint64_t head = vt_ring_head(file, index, position);
	const struct vt_rec *rec;
	uint64_t torn = 0, steps = 0, before = position;

	while ((rec = vt_ring_next(file, index, &position, head, &torn))) {
		const uint8_t *at = (const uint8_t *)rec;
		size_t bytes = (size_t)rec->len8 * 8;

		if (at < data || bytes < sizeof(*rec) || at + bytes > data + size || position <= before ||
		    position > head || ++steps > size / 8)
			abort();
		for (size_t i = 0; i < bytes; i++)
			touched += at[i];
		before = position;
	}
	if (position < head)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct vt_ring_file file = { .fd = -1 };
	struct vt_err err = { 0 };
	uint64_t position = 0;
	uint32_t index = 0;
	size_t head;

	if (bytes < 2 || (head = (size_t)(data[0] | data[1] << 8)) > bytes - 2 || bytes - 2 - head < PLACE_BYTES)
		return 0;
	if (memory < 0) {
		make_file();
		(void)atexit(remove_file);
	}
	write_head(data + 2, head);
	index = write_ring(data + 2 + head, bytes - 2 - head, &position);
	if (vt_ring_file_open(&file, path, &err) < 0) {
		if (err.code == VT_E_OK || !err.msg[0])
			abort(); /* an error without words */
		return 0;
	}
	if (vt_ring_file_count(&file) > VT_SHM_RINGS_MAX)
		abort();
	walk(&file, index, position);
	vt_ring_file_close(&file);
	return 0;
}
