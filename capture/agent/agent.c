/*
 * agent.c - start, notes, clock, switching off, exit. The contract with the host program is in agent.h; how the state
 * survives fork, in state.h.
 */
#include "capture/agent/agent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "capture/agent/config.h"
#include "capture/agent/python_stack.h"
#include "capture/agent/shm.h"
#include "capture/agent/thread.h"

struct vt_agent *_Atomic vt_agent;

/* Not emptied by a fork: how often an agent was started in this process and its ancestors since the last exec, and by
 * which process last. */
static _Atomic uint32_t starts;
static _Atomic uint32_t started_pid;

/* For kernels without MADV_WIPEONFORK (before 4.14): only forks that go through libc are seen. */
static void wipe_in_child(void)
{
	memset(vt_agent_get(), 0, sizeof(struct vt_agent));
}

/* The process's struct vt_agent, made by whoever comes first; NULL when there is no memory. */
static struct vt_agent *get_or_make_agent(void)
{
	struct vt_agent *agent = vt_agent_get();
	struct vt_agent *expected = NULL;
	size_t bytes = vt_align_up(sizeof(*agent), 4096);
	bool wiped;

	if (VT_LIKELY(agent != NULL))
		return agent;
	agent = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (agent == MAP_FAILED)
		return NULL;
	wiped = madvise(agent, bytes, MADV_WIPEONFORK) == 0;
	if (!atomic_compare_exchange_strong_explicit(&vt_agent, &expected, agent, memory_order_acq_rel, /* G1 */
						     memory_order_acquire)) {
		(void)munmap(agent, bytes);
		return expected;
	}
	if (!wiped)
		(void)pthread_atfork(NULL, NULL, wipe_in_child);
	return agent;
}

/* One line to the file named by VRAMTRACE_DEBUG, for people who ask why there is no trace. */
static void complain(const char *what)
{
	const char *path = secure_getenv(VT_ENV_DEBUG);
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;

	if (fd < 0)
		return;
	/* If it cannot be written, nobody is left to be told. */
	(void)!(write(fd, what, strlen(what)) < 0 || write(fd, "\n", 1) < 0);
	(void)close(fd);
}

bool vt_agent_start(void)
{
	struct vt_agent *agent = get_or_make_agent();
	struct vt_quiet quiet;
	uint32_t state = VT_AGENT_OFF;

	if (!agent)
		return false;
	if (atomic_load_explicit(&agent->state, memory_order_acquire) == VT_AGENT_IDLE) { /* G2 */
		vt_quiet_begin(&quiet);
		(void)pthread_mutex_lock(&agent->lock);
		if (atomic_load_explicit(&agent->state, memory_order_relaxed) == VT_AGENT_IDLE) {
			const char *why = vt_shm_make(agent);

			if (why) {
				complain(why);
			} else {
				vt_thread_prepare();
				atomic_store_explicit(&agent->generation,
						      atomic_fetch_add_explicit(&starts, 1, memory_order_relaxed) + 1,
						      memory_order_relaxed);
				state = VT_AGENT_LIVE;
			}
			atomic_store_explicit(&agent->state, state, memory_order_release); /* G2 */
		}
		(void)pthread_mutex_unlock(&agent->lock);
		vt_quiet_end(&quiet);
	}
	return vt_agent_is_on();
}

bool vt_agent_is_on(void)
{
	struct vt_agent *agent = vt_agent_get();

	return agent && atomic_load_explicit(&agent->state, memory_order_acquire) == VT_AGENT_LIVE; /* G2 */
}

void vt_agent_lose(struct vt_agent *agent, enum vt_loss why)
{
	atomic_fetch_add_explicit(&agent->shm->lost[why], 1, memory_order_relaxed);
}

static void note_settings(struct vt_thread *thread)
{
	const char *conf = secure_getenv("PYTORCH_CUDA_ALLOC_CONF");

	if (!conf)
		conf = secure_getenv("PYTORCH_ALLOC_CONF");
	if (conf)
		vt_agent_note(thread, VT_note_code_ALLOCATOR_CONF, 0, conf);
	if (vt_config.host)
		vt_agent_note(thread, VT_note_code_HOST_TENSORS_ON, 1, NULL);
}

void vt_agent_first_thread(struct vt_thread *thread)
{
	struct vt_agent *agent = vt_agent_get();
	uint32_t pid = agent->shm->pid;
	uint32_t before;

	if (atomic_exchange_explicit(&agent->greeted, 1, memory_order_relaxed))
		return;
	before = atomic_exchange_explicit(&started_pid, pid, memory_order_relaxed);
	vt_agent_note(thread, VT_note_code_AGENT_STARTED, VT_SHM_ABI, VT_VERSION);
	if (before != 0)
		vt_agent_note(thread, VT_note_code_PROCESS_FORKED, before, NULL);
	note_settings(thread);
	vt_python_attach(thread);
}

uint64_t vt_agent_now(struct vt_thread *thread)
{
	struct timespec t;
	uint64_t now;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
	if (VT_UNLIKELY(now <= thread->last_ns))
		now = thread->last_ns + 1;
	thread->last_ns = now;
	return now;
}

struct vt_context vt_agent_context(struct vt_thread *thread)
{
	struct vt_context context = { .op = vt_thread_op(thread), .stack = vt_python_here(thread).stack };

	return context;
}

void vt_agent_note(struct vt_thread *thread, enum vt_note_code code, uint64_t value, const char *text)
{
	uint32_t words = text ? vt_intern_string(thread, text, (uint32_t)strnlen(text, VT_NOTE_BYTES_MAX)) : 0;
	struct vt_note *note = vt_ring_reserve(&thread->writer, VT_EVENT_note, sizeof(*note));

	if (!note)
		return;
	note->time_ns = vt_agent_now(thread);
	note->value = value;
	note->text = words;
	note->thread = thread->tid;
	note->code = code;
	note->fill = 0;
	vt_ring_commit(&thread->writer, sizeof(*note));
}

void vt_agent_off(struct vt_thread *thread, const char *why)
{
	struct vt_agent *agent = vt_agent_get();

	vt_agent_note(thread, VT_note_code_AGENT_OFF, 0, why);
	complain(why);
	atomic_store_explicit(&agent->state, VT_AGENT_OFF, memory_order_release); /* G2 */
	atomic_store_explicit(&agent->generation, 0, memory_order_relaxed);
	atomic_store_explicit(&agent->shm->state, VT_SHM_OFF, memory_order_release);
}

__attribute__((constructor)) static void load(void)
{
	vt_config_load();
}

/* The process ends by exit: threads that still run may write until it is gone. */
__attribute__((destructor)) static void unload(void)
{
	struct vt_agent *agent = vt_agent_get();
	struct timespec t;

	if (!vt_agent_is_on())
		return;
	vt_cupti_detach();
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	atomic_store_explicit(&agent->shm->end_ns, (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec,
			      memory_order_relaxed);
	atomic_store_explicit(&agent->shm->state, VT_SHM_EXITED, memory_order_release);
}
