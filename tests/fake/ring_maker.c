/* ring_maker.c - see ring_maker.h. */
#include "tests/fake/ring_maker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define COMMAND "fake\0--it\0"

uint64_t ring_maker_start_ticks(pid_t pid)
{
	char path[64], text[1024] = { 0 }, *at;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	(void)!read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void fill_header(struct vt_shm *shm, pid_t pid, uint64_t ticks)
{
	shm->abi = VT_SHM_ABI;
	shm->events_bytes = VT_SHM_EVENTS_BYTES;
	shm->file_bytes = vt_shm_file_bytes();
	shm->rings_offset = VT_SHM_HEADER_BYTES;
	shm->nrings_max = VT_SHM_RINGS_MAX;
	shm->pid = (uint32_t)pid;
	shm->rank = shm->local_rank = shm->world_size = -1;
	shm->pid_start_ticks = ticks;
	shm->start_ns = now_ns(CLOCK_MONOTONIC);
	shm->start_realtime_ns = now_ns(CLOCK_REALTIME);
	shm->start_boottime_ns = now_ns(CLOCK_BOOTTIME);
	memcpy(shm->command, COMMAND, sizeof(COMMAND));
	shm->command_bytes = sizeof(COMMAND) - 1;
	atomic_store(&shm->state, VT_SHM_LIVE);
	atomic_thread_fence(memory_order_release);
	shm->magic = VT_SHM_MAGIC;
}

int ring_maker_open(struct ring_maker *maker, const char *session, pid_t pid, const char *suffix)
{
	uint64_t ticks = ring_maker_start_ticks(pid);
	void *map;
	int fd;

	memset(maker, 0, sizeof(*maker));
	(void)snprintf(maker->path, sizeof(maker->path), "%s/%d-%llu%s.ring", session, (int)pid,
		       (unsigned long long)ticks, suffix);
	fd = open(maker->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)vt_shm_file_bytes()) < 0) {
		(void)close(fd);
		return -1;
	}
	map = mmap(NULL, vt_shm_file_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (map == MAP_FAILED)
		return -1;
	maker->shm = map;
	fill_header(maker->shm, pid, ticks);
	maker->time_ns = maker->shm->start_ns;
	return 0;
}

void ring_maker_close(struct ring_maker *maker)
{
	if (maker->shm)
		(void)munmap(maker->shm, vt_shm_file_bytes());
	maker->shm = NULL;
}

struct vt_ring *ring_maker_ring(struct ring_maker *maker, uint32_t index)
{
	return (struct vt_ring *)(void *)((uint8_t *)maker->shm + VT_SHM_HEADER_BYTES) + index;
}

void ring_maker_take(struct ring_maker *maker, uint32_t index, uint32_t tid)
{
	struct vt_ring *ring = ring_maker_ring(maker, index);

	ring->data_offset = vt_ring_data_offset(index);
	ring->data_bytes = vt_ring_bytes(index);
	ring->generation++;
	ring->tid = tid;
	ring->start_position = atomic_load(&ring->head);
	memcpy(ring->name, "worker", sizeof("worker"));
	atomic_store_explicit(&ring->state, VT_RING_LIVE, memory_order_release); /* R3 */
	if (index >= atomic_load(&maker->shm->nrings))
		atomic_store_explicit(&maker->shm->nrings, index + 1, memory_order_release);
	vt_ring_writer_init(&maker->writers[index], ring, (uint8_t *)maker->shm + ring->data_offset);
}

void ring_maker_leave(struct ring_maker *maker, uint32_t index)
{
	atomic_store_explicit(&ring_maker_ring(maker, index)->state, VT_RING_CLOSED, memory_order_release); /* R4 */
}

/* Copies a record's columns behind its header; `tail` bytes follow them. */
static bool put(struct ring_maker *maker, uint32_t index, uint16_t type, const void *record, uint32_t bytes,
		const void *tail, uint32_t tail_bytes)
{
	uint32_t whole = (uint32_t)vt_align_up((uint64_t)bytes + tail_bytes, 8);
	uint8_t *to = vt_ring_reserve(&maker->writers[index], type, whole);

	if (!to)
		return false;
	memcpy(to + sizeof(struct vt_rec), (const uint8_t *)record + sizeof(struct vt_rec),
	       bytes - sizeof(struct vt_rec));
	if (tail_bytes)
		memcpy(to + bytes, tail, tail_bytes);
	vt_ring_commit(&maker->writers[index], whole);
	return true;
}

static uint32_t tid_of(struct ring_maker *maker, uint32_t index)
{
	return ring_maker_ring(maker, index)->tid;
}

bool ring_maker_tensor(struct ring_maker *maker, uint32_t index, int64_t size_bytes, uint32_t op)
{
	uint64_t time_ns = maker->time_ns += 100;
	struct vt_tensor tensor = {
		.time_ns = time_ns,
		.address = UINT64_C(0x7f0000000000) + vt_mix64(time_ns) % 4096 * 512,
		.size_bytes = size_bytes,
		.allocated_bytes = maker->allocated_bytes += (uint64_t)size_bytes,
		.reserved_bytes = UINT64_C(1) << 30,
		.thread = tid_of(maker, index),
		.op = op,
		.device_type = VT_device_type_CUDA,
	};

	return put(maker, index, VT_EVENT_tensor, &tensor, sizeof(tensor), NULL, 0);
}

bool ring_maker_op(struct ring_maker *maker, uint32_t index, uint32_t node)
{
	uint64_t time_ns = maker->time_ns += 100;
	struct vt_op op = {
		.end_ns = time_ns,
		.start_ns = time_ns - 50 - vt_mix64(time_ns) % 8192,
		.sequence = (int64_t)(time_ns / 1000),
		.node = node,
		.thread = tid_of(maker, index),
		.torch_thread = 1,
	};

	return put(maker, index, VT_EVENT_op, &op, sizeof(op), NULL, 0);
}

bool ring_maker_string(struct ring_maker *maker, uint32_t index, uint32_t id, const char *text)
{
	struct vt_string string = { .id = id, .size_bytes = (uint32_t)strlen(text) };

	return put(maker, index, VT_EVENT_string, &string, sizeof(string), text, string.size_bytes);
}

bool ring_maker_op_node(struct ring_maker *maker, uint32_t index, uint32_t id, uint32_t name)
{
	struct vt_op_node node = { .id = id, .name = name };

	return put(maker, index, VT_EVENT_op_node, &node, sizeof(node), NULL, 0);
}

bool ring_maker_oom(struct ring_maker *maker, uint32_t index, uint32_t op)
{
	struct vt_oom oom = { .time_ns = maker->time_ns += 100,
			      .requested_bytes = 1 << 20,
			      .op = op,
			      .thread = tid_of(maker, index),
			      .device_type = VT_device_type_CUDA };

	return put(maker, index, VT_EVENT_oom, &oom, sizeof(oom), NULL, 0);
}
