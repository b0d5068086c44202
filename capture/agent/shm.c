/* shm.c - see shm.h. */
#include "capture/agent/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/agent/config.h"
#include "capture/agent/proc.h"

/* A process that was replaced by exec this often is not captured any further. */
#define EXECS_MAX 16u
/* Memory is asked for in steps, so that a process which gets signals all the time still gets on. */
#define ALLOCATE_STEP (UINT64_C(256) << 10)
#define ALLOCATE_TRIES 100

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void make_path(char *path, uint32_t pid, uint64_t ticks, unsigned execs)
{
	size_t length = strlen(vt_config.session);
	char *at = path + length;

	memcpy(path, vt_config.session, length);
	*at++ = '/';
	at = vt_proc_put_number(at, pid);
	*at++ = '-';
	at = vt_proc_put_number(at, ticks);
	if (execs > 0) {
		*at++ = '.';
		at = vt_proc_put_number(at, execs);
	}
	memcpy(at, ".ring", sizeof(".ring"));
}

/* Memory behind [offset, offset + bytes) of the file, for good: a store there cannot fail later. */
static bool allocate(int fd, uint64_t offset, uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += ALLOCATE_STEP) {
		uint64_t step = bytes - done < ALLOCATE_STEP ? bytes - done : ALLOCATE_STEP;
		int r = EINTR;

		for (int i = 0; r == EINTR && i < ALLOCATE_TRIES; i++)
			r = posix_fallocate(fd, (off_t)(offset + done), (off_t)step);
		if (r != 0) {
			/* What was got is of no use and may be what others lack. */
			(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
			return false;
		}
	}
	return true;
}

/* Whether the recorder has paused the whole session. */
static bool is_paused(void)
{
	char path[VT_SESSION_BYTES_MAX + sizeof("/" VT_SESSION_PAUSED)];
	size_t length = strlen(vt_config.session);

	memcpy(path, vt_config.session, length);
	memcpy(path + length, "/" VT_SESSION_PAUSED, sizeof("/" VT_SESSION_PAUSED));
	return access(path, F_OK) == 0;
}

static void fill_header(struct vt_shm *shm, uint64_t ticks)
{
	ssize_t n = readlink("/proc/self/exe", shm->executable, sizeof(shm->executable));

	shm->abi = VT_SHM_ABI;
	shm->events_bytes = VT_SHM_EVENTS_BYTES;
	shm->file_bytes = vt_shm_file_bytes();
	shm->rings_offset = VT_SHM_HEADER_BYTES;
	shm->nrings_max = VT_SHM_RINGS_MAX;
	shm->pid = (uint32_t)getpid();
	shm->parent_pid = (uint32_t)getppid();
	shm->rank = vt_proc_env_number("RANK", -1);
	shm->local_rank = vt_proc_env_number("LOCAL_RANK", -1);
	shm->world_size = vt_proc_env_number("WORLD_SIZE", -1);
	shm->pid_start_ticks = ticks;
	shm->start_ns = clock_ns(CLOCK_MONOTONIC);
	shm->start_realtime_ns = clock_ns(CLOCK_REALTIME);
	shm->start_boottime_ns = clock_ns(CLOCK_BOOTTIME);
	shm->command_bytes = (uint32_t)vt_proc_read("/proc/self/cmdline", shm->command, sizeof(shm->command));
	shm->executable_bytes = n > 0 ? (uint32_t)n : 0;
	atomic_store_explicit(&shm->control, is_paused() ? 1 : 0, memory_order_relaxed);
	atomic_store_explicit(&shm->state, VT_SHM_LIVE, memory_order_relaxed);
	/* The magic says that all else is there. */
	atomic_thread_fence(memory_order_release);
	*(volatile uint64_t *)&shm->magic = VT_SHM_MAGIC;
}

/* Sizes the new file, allocates its headers and maps it; NULL or why not. */
static const char *map_file(struct vt_agent *agent, int fd)
{
	uint64_t bytes = vt_shm_file_bytes();
	struct rlimit limit;
	struct stat st;
	void *map;

	/* Growing a file beyond the limit would send SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
		return "the file size limit (ulimit -f) is too small";
	if (ftruncate(fd, (off_t)bytes) < 0 || !allocate(fd, 0, vt_ring_data_offset(0)))
		return "no space in the session directory";
	if (fstat(fd, &st) < 0)
		return "cannot stat the session file";
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return "cannot map the session file";
	/* A child that wrote into its parent's rings would corrupt them. */
	if (madvise(map, bytes, MADV_DONTFORK) < 0) {
		(void)munmap(map, bytes);
		return "the kernel cannot keep a mapping from children";
	}
	agent->shm = map;
	agent->file_device = st.st_dev;
	agent->file_inode = st.st_ino;
	return NULL;
}

const char *vt_shm_make(struct vt_agent *agent)
{
	uint64_t ticks = vt_proc_start_ticks();
	const char *why;
	int fd = -1;

	for (unsigned i = 0; fd < 0 && i < EXECS_MAX; i++) {
		make_path(agent->path, (uint32_t)getpid(), ticks, i);
		fd = open(agent->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return "cannot make a file in the session directory";
	why = map_file(agent, fd);
	/* The descriptor is not kept: a host program may close every number it does not know, and use it again. */
	(void)close(fd);
	if (why) {
		(void)unlink(agent->path);
		return why;
	}
	fill_header(agent->shm, ticks);
	return NULL;
}

static struct vt_ring *ring_at(const struct vt_agent *agent, uint32_t index)
{
	return (struct vt_ring *)(void *)((uint8_t *)agent->shm + VT_SHM_HEADER_BYTES) + index;
}

/* Whether the path still names the file that is mapped, and memory for the ring could be had. */
static bool back_ring(const struct vt_agent *agent, uint32_t index)
{
	int fd = open(agent->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool ok;

	if (fd < 0)
		return false;
	ok = fstat(fd, &st) == 0 && st.st_dev == agent->file_device && st.st_ino == agent->file_inode &&
	     allocate(fd, vt_ring_data_offset(index), vt_ring_bytes(index));
	(void)close(fd);
	return ok;
}

/* Maps the ring's pages now, so that the first events do not fault one by one; kernels before 5.14 cannot. */
static void prefault(const struct vt_agent *agent, uint32_t index)
{
#ifdef MADV_POPULATE_WRITE
	(void)madvise((uint8_t *)agent->shm + vt_ring_data_offset(index), vt_ring_bytes(index), MADV_POPULATE_WRITE);
#else
	(void)agent, (void)index;
#endif
}

static void open_ring(struct vt_ring *ring, uint32_t tid)
{
	ring->generation++;
	ring->tid = tid;
	ring->start_position = atomic_load_explicit(&ring->head, memory_order_relaxed);
	(void)prctl(PR_GET_NAME, ring->name);
	atomic_store_explicit(&ring->state, VT_RING_LIVE, memory_order_release); /* R3 */
}

/* A ring that was used before and is drained, or index nrings where there is none. */
static uint32_t find_free(const struct vt_agent *agent, uint32_t nrings)
{
	for (uint32_t i = 0; i < nrings; i++)
		if (!agent->claimed[i] &&
		    atomic_load_explicit(&ring_at(agent, i)->state, memory_order_acquire) == VT_RING_FREE) /* A5 */
			return i;
	return nrings;
}

struct vt_ring *vt_shm_take_ring(struct vt_agent *agent, uint32_t tid, uint8_t **ret_data)
{
	uint32_t nrings = atomic_load_explicit(&agent->shm->nrings, memory_order_relaxed);
	uint32_t index = find_free(agent, nrings);
	struct vt_ring *ring;

	if (index == VT_SHM_RINGS_MAX)
		return NULL;
	ring = ring_at(agent, index);
	if (index == nrings) {
		if (!back_ring(agent, index))
			return NULL;
		prefault(agent, index);
		ring->data_offset = vt_ring_data_offset(index);
		ring->data_bytes = vt_ring_bytes(index);
	}
	open_ring(ring, tid);
	agent->claimed[index] = 1;
	if (index == nrings)
		atomic_store_explicit(&agent->shm->nrings, nrings + 1, memory_order_release); /* R3 */
	*ret_data = (uint8_t *)agent->shm + ring->data_offset;
	return ring;
}

void vt_shm_close_ring(struct vt_agent *agent, struct vt_ring *ring)
{
	agent->claimed[ring - ring_at(agent, 0)] = 0;
	atomic_store_explicit(&ring->state, VT_RING_CLOSED, memory_order_release); /* R4 */
}
