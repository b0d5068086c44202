/*
 * ring_read.h - the consumer's side: maps a process's file and walks its rings without trusting a number in it.
 *
 * Thread rule: one consumer per file. Nothing here blocks.
 */
#ifndef VT_SCHEMA_RING_READ_H
#define VT_SCHEMA_RING_READ_H

#include "schema/base/err.h"
#include "schema/ring.h"

struct vt_ring_file {
	struct vt_shm *shm;
	uint64_t bytes;
	int fd;
};

/* Maps path read-write. VT_E_VERSION: another ABI; VT_E_CORRUPT: the layout contradicts itself. */
int vt_ring_file_open(struct vt_ring_file *ret, const char *path, struct vt_err *err);
void vt_ring_file_close(struct vt_ring_file *file);

/* Number of valid ring headers; at most VT_SHM_RINGS_MAX whatever the file says. */
uint32_t vt_ring_file_count(const struct vt_ring_file *file);
struct vt_ring *vt_ring_file_ring(const struct vt_ring_file *file, uint32_t index);

/* Committed end of a ring (A1); `from` where the head cannot be right: behind `from`, or further than this ring is long. */
uint64_t vt_ring_head(const struct vt_ring_file *file, uint32_t index, uint64_t from);

/*
 * The record at *position, with *position moved behind it (fillers skipped); NULL at `head`. *ret_torn is raised, and
 * the walk goes to `head`, where a record's length is impossible or the way to `head` is longer than the ring. The pointer
 * is valid until the tail passes it; the producer may still change what it points to, the record's length here is
 * *position's way.
 */
const struct vt_rec *vt_ring_next(const struct vt_ring_file *file, uint32_t index, uint64_t *position, uint64_t head,
				  uint64_t *ret_torn);

/* Gives everything below position back to the producer (R2). */
void vt_ring_release(struct vt_ring *ring, uint64_t position);

#endif
