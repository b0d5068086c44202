/*
 * ring_maker.h - ring files made by a test or benchmark in the place of an agent, with the agent's own ring_write.h.
 */
#ifndef VT_RING_MAKER_H
#define VT_RING_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/ring_write.h"

struct ring_maker {
	struct vt_shm *shm;
	char path[512];
	struct vt_ring_writer writers[VT_SHM_RINGS_MAX];
	uint64_t time_ns; /* of the last record; rises with each */
	uint64_t allocated_bytes;
};

/* Makes <session>/<pid>-<start ticks>[suffix].ring, as the agent of that process would. 0 or -1. */
int ring_maker_open(struct ring_maker *maker, const char *session, pid_t pid, const char *suffix);
/* Unmaps; the file stays. */
void ring_maker_close(struct ring_maker *maker);
uint64_t ring_maker_start_ticks(pid_t pid);

/* A thread takes ring `index` (a new one only directly behind the last), and ends. */
void ring_maker_take(struct ring_maker *maker, uint32_t index, uint32_t tid);
void ring_maker_leave(struct ring_maker *maker, uint32_t index);
struct vt_ring *ring_maker_ring(struct ring_maker *maker, uint32_t index);

/* One record each; false where the ring is full (counted there as a loss). */
bool ring_maker_tensor(struct ring_maker *maker, uint32_t index, int64_t size_bytes, uint32_t op);
bool ring_maker_op(struct ring_maker *maker, uint32_t index, uint32_t node);
bool ring_maker_string(struct ring_maker *maker, uint32_t index, uint32_t id, const char *text);
bool ring_maker_op_node(struct ring_maker *maker, uint32_t index, uint32_t id, uint32_t name);
bool ring_maker_oom(struct ring_maker *maker, uint32_t index, uint32_t op);

#endif
