/* thread.c - see thread.h and, for enter, agent.h. */
#include "capture/agent/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/agent/config.h"
#include "capture/agent/op_cache.h"
#include "capture/agent/python_stack.h"
#include "capture/agent/shm.h"

/* One mapping per thread: what lies behind the public state belongs to the parts. */
struct thread_block {
	struct vt_thread thread;
	struct vt_op_cache ops;
	struct vt_stack_cache stacks;
};

/* A thread without a ring asks again each time it has lost this many events. */
#define RETRY_EVENTS 1024u

/* initial-exec: eight bytes of static TLS, reached without a call and without an allocation. */
static __thread struct vt_thread *current __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static bool end_key_made;

void vt_quiet_begin(struct vt_quiet *quiet)
{
	sigset_t all;

	quiet->error = errno;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &quiet->signals);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
}

void vt_quiet_end(const struct vt_quiet *quiet)
{
	(void)pthread_setcancelstate(quiet->cancel, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &quiet->signals, NULL);
	errno = quiet->error;
}

static inline uint32_t read_control(const struct vt_agent *agent)
{
	return atomic_load_explicit(&agent->shm->control, memory_order_relaxed); /* C1 */
}

static bool is_valid(const struct vt_agent *agent, const struct vt_thread *thread)
{
	return thread->generation == atomic_load_explicit(&agent->generation, memory_order_relaxed);
}

/* Runs when a thread that has a state ends. */
static void end_thread(void *arg)
{
	struct vt_thread *thread = arg;
	struct vt_agent *agent = vt_agent_get();
	struct vt_quiet quiet;

	current = NULL;
	if (!is_valid(agent, thread)) {
		/* Switched off, or made in the parent of this process: the ring is not ours to touch. */
		(void)munmap(thread, sizeof(struct thread_block));
		return;
	}
	vt_quiet_begin(&quiet);
	(void)pthread_mutex_lock(&agent->lock);
	if (thread->writer.ring)
		vt_shm_close_ring(agent, thread->writer.ring);
	thread->next_idle = agent->idle_threads;
	agent->idle_threads = thread;
	(void)pthread_mutex_unlock(&agent->lock);
	vt_quiet_end(&quiet);
}

void vt_thread_prepare(void)
{
	/* Without a key a ring stays with its dead thread: capture goes on, with fewer rings. */
	if (!end_key_made)
		end_key_made = pthread_key_create(&end_key, end_thread) == 0;
}

static void take_ring(struct vt_agent *agent, struct vt_thread *thread)
{
	uint8_t *data = NULL;
	struct vt_ring *ring = vt_shm_take_ring(agent, thread->tid, &data);

	if (ring)
		vt_ring_writer_init(&thread->writer, ring, data);
}

/* The thread's state, empty: its own from before a fork, one of a thread that ended, or new memory. */
static struct vt_thread *make_thread(struct vt_agent *agent)
{
	struct vt_thread *thread = current;
	struct thread_block *block;

	if (!thread && agent->idle_threads) {
		thread = agent->idle_threads;
		agent->idle_threads = thread->next_idle;
	}
	block = (struct thread_block *)(void *)thread;
	if (!block) {
		block = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED)
			return NULL;
	} else {
		memset(block, 0, sizeof(*block));
	}
	block->thread.op_cache = &block->ops;
	block->thread.stacks = &block->stacks;
	block->thread.tid = (uint32_t)gettid();
	block->thread.generation = atomic_load_explicit(&agent->generation, memory_order_relaxed);
	block->thread.control = read_control(agent) & ~1u;
	if (end_key_made)
		(void)pthread_setspecific(end_key, block);
	return &block->thread;
}

/* Counts the event as lost and, now and then, asks for a ring again. NULL while there is none. */
static struct vt_thread *enter_without_ring(struct vt_agent *agent, struct vt_thread *thread)
{
	struct vt_quiet quiet;

	if (thread->unserved++ % RETRY_EVENTS == 0) {
		vt_quiet_begin(&quiet);
		(void)pthread_mutex_lock(&agent->lock);
		take_ring(agent, thread);
		(void)pthread_mutex_unlock(&agent->lock);
		vt_quiet_end(&quiet);
	}
	if (thread->writer.ring) {
		thread->busy++;
		return thread;
	}
	vt_agent_lose(agent, VT_loss_NO_RING);
	return NULL;
}

/*
 * The capture was paused, or is: whether this thread records now. What was open when it last did may have ended unseen,
 * and an end that comes for it finds nothing.
 */
static bool __attribute__((cold, noinline)) follow_control(struct vt_thread *thread, uint32_t control)
{
	if (control & 1)
		return false;
	thread->depth = 0;
	thread->deep_ranges = 0;
	thread->driver_call = (struct vt_open_call){ .start_ns = 0 };
	thread->work_call = (struct vt_open_work){ .start_ns = 0 };
	thread->control = control;
	return true;
}

/* Whatever the recorder says. */
static inline struct vt_thread *enter_anyway(struct vt_agent *agent, struct vt_thread *thread)
{
	if (VT_UNLIKELY(thread->busy > 0)) {
		if (thread->writer.ring)
			vt_ring_lose(thread->writer.ring, VT_loss_REENTRANT);
		return NULL;
	}
	if (VT_UNLIKELY(!thread->writer.ring))
		return enter_without_ring(agent, thread);
	thread->busy++;
	/* A signal handler on this thread must see us busy before we touch the ring. */
	atomic_signal_fence(memory_order_seq_cst);
	return thread;
}

static struct vt_thread *enter_valid(struct vt_agent *agent, struct vt_thread *thread)
{
	uint32_t control = read_control(agent);

	if (VT_UNLIKELY(control != thread->control) && thread->busy == 0 && !follow_control(thread, control))
		return NULL;
	return enter_anyway(agent, thread);
}

/* A thread's first event. */
static struct vt_thread *enter_first(bool anyway)
{
	struct vt_agent *agent = vt_agent_get();
	struct vt_thread *thread;
	struct vt_quiet quiet;

	vt_quiet_begin(&quiet);
	(void)pthread_mutex_lock(&agent->lock);
	thread = make_thread(agent);
	current = thread;
	(void)pthread_mutex_unlock(&agent->lock);
	if (thread)
		thread = enter_without_ring(agent, thread);
	else
		vt_agent_lose(agent, VT_loss_NO_RING);
	if (thread)
		vt_agent_first_thread(thread);
	if (thread && !anyway && read_control(agent) != thread->control) {
		/* The notes are written all the same; the event itself is not. */
		vt_agent_leave(thread);
		thread = NULL;
	}
	vt_quiet_end(&quiet);
	return thread;
}

struct vt_thread *vt_agent_enter(void)
{
	struct vt_thread *thread = current;

	if (VT_LIKELY(thread != NULL)) {
		struct vt_agent *agent = vt_agent_get();

		if (VT_LIKELY(is_valid(agent, thread)))
			return enter_valid(agent, thread);
	}
	return vt_config.wanted && vt_agent_start() ? enter_first(false) : NULL;
}

struct vt_thread *vt_agent_enter_paused(void)
{
	struct vt_thread *thread = current;
	struct vt_agent *agent = vt_agent_get();

	if (thread && is_valid(agent, thread))
		return enter_anyway(agent, thread);
	return vt_config.wanted && vt_agent_start() ? enter_first(true) : NULL;
}

struct vt_thread *vt_agent_enter_live(void)
{
	struct vt_thread *thread = current;
	struct vt_agent *agent = vt_agent_get();

	if (VT_LIKELY(thread && is_valid(agent, thread)))
		return enter_valid(agent, thread);
	return vt_agent_is_on() ? enter_first(false) : NULL;
}
