/*
 * state.h - the agent's process-wide state, and how it survives fork.
 *
 * struct vt_agent lives in a mapping of its own that the kernel empties in every child (MADV_WIPEONFORK), whichever
 * way the child was made. All zero means "not started", so a child starts anew at its first event, and a lock that
 * another thread held at the fork is free there. What the parent shared with the collector is not mapped in a child
 * at all (MADV_DONTFORK).
 *
 * A thread's state is valid while its generation equals vt_agent.generation: one comparison tells a thread that the
 * agent was switched off, or that this is a child.
 */
#ifndef VT_AGENT_STATE_H
#define VT_AGENT_STATE_H

#include <pthread.h>

#include "capture/agent/agent.h"
#include "capture/agent/table.h"

#define VT_TORCH_DONE UINT32_MAX

enum vt_agent_state { VT_AGENT_IDLE = 0, VT_AGENT_LIVE = 1, VT_AGENT_OFF = 2 };

struct vt_agent {
	_Atomic uint32_t state;	      /* enum vt_agent_state */
	_Atomic uint32_t generation;  /* of the threads that may record; 0: none may */
	_Atomic uint32_t greeted;     /* the first notes are written */
	_Atomic uint32_t torch_tries; /* torch_ops.c; VT_TORCH_DONE when there is nothing left to try */
	/* python_guard.c: threads that are reading their frames. Here, since a child of a fork has none of them. */
	_Atomic uint32_t python_readers;
	/* Taken once per thread, at its begin and its end, with all signals blocked; nothing is called under it that
	 * could wait for the host program. Guards the fields below it and the making of rings. */
	pthread_mutex_t lock;
	struct vt_thread *idle_threads;	   /* states of threads that ended, to be used again */
	uint8_t claimed[VT_SHM_RINGS_MAX]; /* ring i belongs to a thread that lives */
	/* constant while LIVE */
	struct vt_shm *shm;
	uint64_t file_device; /* which file the mapping came from: the path may mean another one later */
	uint64_t file_inode;
	char path[4096];
	/* lock-free */
	struct vt_table strings;
	struct vt_table op_nodes;
	struct vt_table code_identities; /* code object as it lies in memory -> code id */
	struct vt_table codes;
	struct vt_table frames;
	struct vt_table stacks;
	struct vt_table modules;
	struct vt_table kernel_configs;
	struct vt_table touches;
};

/* NULL before the first event of the process. */
extern struct vt_agent *_Atomic vt_agent;

static inline struct vt_agent *vt_agent_get(void)
{
	return atomic_load_explicit(&vt_agent, memory_order_acquire); /* G1: pairs with make_agent in agent.c */
}

/* Whether vt_torch_attach has nothing left to do; only in a process whose agent was started. */
static inline bool vt_torch_is_done(void)
{
	return atomic_load_explicit(&vt_agent_get()->torch_tries, memory_order_relaxed) == VT_TORCH_DONE;
}

/*
 * Starts the agent if it is not started: maps the session file. False where there is no session or it failed. Ends
 * with the agent LIVE, or OFF for good. Any thread.
 */
bool vt_agent_start(void);

/* Called by a thread that has just got its state; does what is to be done once per process with a ring at hand. */
void vt_agent_first_thread(struct vt_thread *thread);

/* A loss that belongs to no ring. */
void vt_agent_lose(struct vt_agent *agent, enum vt_loss why);

/* As vt_agent_enter, but NULL while the agent is not live: for events that alone are not worth a trace. */
struct vt_thread *vt_agent_enter_live(void);

#endif
