/*
 * ring_read.c - see ring_read.h. The producer is another program: every length and offset is checked against the
 * layout that this build would have made, and the layout itself is never taken from the file.
 */
#include "schema/ring_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/base/cleanup.h"

static int check_header(const struct vt_shm *shm, const char *path, struct vt_err *err)
{
	if (shm->magic != VT_SHM_MAGIC)
		return vt_err_set(err, VT_E_CORRUPT,
				  "%s: not a vramtrace ring file, or one whose process died while making it", path);
	if (shm->abi != VT_SHM_ABI || shm->events_bytes != VT_SHM_EVENTS_BYTES)
		return vt_err_set(err, VT_E_VERSION,
				  "%s: written by an agent of another vramtrace build; use the agent installed beside "
				  "this program",
				  path);
	if (shm->file_bytes != vt_shm_file_bytes() || shm->rings_offset != VT_SHM_HEADER_BYTES ||
	    shm->nrings_max != VT_SHM_RINGS_MAX)
		return vt_err_set(err, VT_E_CORRUPT, "%s: the header describes an impossible layout", path);
	return 0;
}

int vt_ring_file_open(struct vt_ring_file *ret, const char *path, struct vt_err *err)
{
	VT_CLEANUP(vt_closep) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct vt_ring_file file = { .bytes = vt_shm_file_bytes() };
	struct stat st;
	void *map;

	if (fd < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot open: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot stat: %s", path, strerror(errno));
	if ((uint64_t)st.st_size != file.bytes)
		return vt_err_set(err, VT_E_CORRUPT, "%s: %lld bytes, a ring file has %llu", path,
				  (long long)st.st_size, (unsigned long long)file.bytes);
	map = mmap(NULL, file.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return vt_err_set(err, VT_E_IO, "%s: cannot map: %s", path, strerror(errno));
	file.shm = map;
	if (check_header(file.shm, path, err) < 0) {
		(void)munmap(map, file.bytes);
		return -(int)(err ? err->code : VT_E_CORRUPT);
	}
	file.fd = vt_steal_fd(&fd);
	*ret = file;
	return 0;
}

void vt_ring_file_close(struct vt_ring_file *file)
{
	if (!file->shm)
		return;
	(void)munmap(file->shm, file->bytes);
	(void)close(file->fd);
	file->shm = NULL;
	file->fd = -1;
}

uint32_t vt_ring_file_count(const struct vt_ring_file *file)
{
	uint32_t n = atomic_load_explicit(&file->shm->nrings, memory_order_acquire); /* A3 */

	return n < VT_SHM_RINGS_MAX ? n : VT_SHM_RINGS_MAX;
}

struct vt_ring *vt_ring_file_ring(const struct vt_ring_file *file, uint32_t index)
{
	return (struct vt_ring *)(void *)((uint8_t *)file->shm + VT_SHM_HEADER_BYTES) + index;
}

uint64_t vt_ring_head(const struct vt_ring_file *file, uint32_t index, uint64_t from)
{
	const struct vt_ring *ring = vt_ring_file_ring(file, index);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire); /* A1 */

	/* Positions are multiples of 8; an impossible head reads as "nothing new". */
	if (head < from || (head & 7) || head - from > vt_ring_bytes(index))
		return from;
	return head;
}

const struct vt_rec *vt_ring_next(const struct vt_ring_file *file, uint32_t index, uint64_t *position, uint64_t head,
				  uint64_t *ret_torn)
{
	const uint8_t *data = (const uint8_t *)file->shm + vt_ring_data_offset(index);
	uint64_t size = vt_ring_bytes(index);

	if (*position < head && (((*position | head) & 7) || head - *position > size)) {
		(*ret_torn)++;
		*position = head;
		return NULL;
	}
	while (*position < head) {
		uint64_t at = *position & (size - 1);
		const struct vt_rec *rec = (const struct vt_rec *)(const void *)(data + at);
		uint64_t bytes = (uint64_t)rec->len8 * 8;

		if (rec->type == VT_EVENT_FILLER && bytes == 0)
			bytes = size - at;
		if (bytes < sizeof(*rec) || bytes > size - at || bytes > head - *position) {
			(*ret_torn)++;
			*position = head;
			return NULL;
		}
		*position += bytes;
		if (rec->type != VT_EVENT_FILLER)
			return rec;
	}
	return NULL;
}

void vt_ring_release(struct vt_ring *ring, uint64_t position)
{
	atomic_store_explicit(&ring->tail, position, memory_order_release); /* R2 */
}
