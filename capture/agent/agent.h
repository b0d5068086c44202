/*
 * agent.h - what the parts of the injected library share. The contract with the host program:
 *
 *  1. Its results, exit status, output and signals are as without us.
 *  2. After a thread's first event, recording takes no lock, allocates nothing and makes no system call. It never
 *     waits: a full ring drops and counts.
 *  3. Only the symbols of agent.map are visible; NEEDED is libc (and libdl on old systems) alone.
 *  4. What our own code provokes while it runs is not recorded: vt_thread.busy guards every entry.
 *  5. fork: the child starts anew, with its own file, at its first event; the parent's memory is not touched.
 *  6. In a process that never uses torch or CUDA nothing happens: no thread, no file, no lock, no system call.
 *  7. While the recorder has paused the capture (struct vt_shm, control) every entry returns after one comparison; what
 *     a thread missed (ops begun or ended) is forgotten when it goes on.
 *  8. On any doubt the agent switches itself off (vt_agent_off) and says so in a note.
 *
 * Documented globals: one `struct vt_agent` (agent.c), one thread-local `struct vt_thread *` (thread.c).
 */
#ifndef VT_AGENT_AGENT_H
#define VT_AGENT_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/ring_write.h"

#define VT_EXPORT __attribute__((visibility("default")))
#define VT_OP_DEPTH_MAX 128

/* Where a thread's Python is. While it stays in one frame at one instruction, so do all the frames that called that one. */
struct vt_python_here {
	const void *frame; /* NULL: not known, or no Python */
	uint64_t instruction;
	uint32_t stack; /* stack id; 0: none */
};

/* An op that has begun on a thread and not ended. */
struct vt_open_op {
	const void *function; /* its at::RecordFunction, or the NVTX domain: tells which op an end belongs to */
	uint64_t start_ns;
	int64_t sequence;
	uint32_t node;
	uint32_t forward_thread;
	struct vt_python_here here; /* of its begin; only of ops with a sequence and what is inside them */
	bool is_range;		    /* of NVTX: ends by itself, whatever ends around it */
};

/* The watched driver call that a thread is in; driver calls do not nest (cupti_memory.c). */
struct vt_open_call {
	uint64_t start_ns;    /* 0: none */
	uint64_t pool;	      /* CUmemoryPool that a stream-ordered free takes from */
	uint32_t correlation; /* CUPTI's number of the call */
};

/* A driver call that gives work or waits, entered and not yet left. */
struct vt_open_work {
	uint64_t start_ns;
	uint32_t correlation; /* CUPTI's number of the call */
};

/* Everything the agent knows about one thread; made at its first event, never freed (reused after the thread's end). */
struct vt_thread {
	struct vt_ring_writer writer;
	uint64_t last_ns; /* times of a thread rise strictly */
	uint32_t tid;
	uint32_t torch_thread; /* at::RecordFunction::currentThreadId, 0 until an op was seen */
	uint32_t generation;   /* of struct vt_agent: after a fork older ones are void */
	uint32_t busy;	       /* > 0: inside the agent; events raised now are ours and are not recorded */
	uint32_t depth;	       /* open ops; beyond VT_OP_DEPTH_MAX only counted */
	uint32_t control;      /* struct vt_shm's, as this thread last saw it even */
	uint32_t deep_ranges;  /* how many of those beyond are ranges of NVTX */
	struct vt_open_op ops[VT_OP_DEPTH_MAX];
	struct vt_op_cache *op_cache;  /* torch_ops.c */
	struct vt_stack_cache *stacks; /* python_stack.c */
	struct vt_thread *next_idle;   /* thread.c, once the thread has ended */
	uint32_t unserved;	       /* events lost for want of a ring */
	uint32_t async_seen;	       /* torch_ops.c: async ends that were looked at */
	struct vt_open_call driver_call;
	struct vt_open_work work_call;
};

/* Where an event comes from: the op and the Python line that the calling thread is in. */
struct vt_context {
	uint32_t op;	/* op_node id, 0: none */
	uint32_t stack; /* stack id, 0: none */
};

/*
 * The calling thread's state, made on its first call; NULL when the agent is off, cannot be started, has no ring left,
 * when recording is paused, or when the thread is inside the agent already (counted as REENTRANT). Starts the agent if need be: only call it for
 * an event that is worth a trace. Enter raises `busy`; every enter that returned non-NULL is paired with a leave.
 */
struct vt_thread *vt_agent_enter(void);
/* As vt_agent_enter, while recording is paused too: for what is done once, and for notes on the capture itself. */
struct vt_thread *vt_agent_enter_paused(void);
static inline void vt_agent_leave(struct vt_thread *thread)
{
	thread->busy--;
}

/* CLOCK_MONOTONIC in nanoseconds, strictly rising per thread. */
uint64_t vt_agent_now(struct vt_thread *thread);

/* The innermost op that the thread is in; 0: none. */
static inline uint32_t vt_thread_op(const struct vt_thread *thread)
{
	uint32_t depth = thread->depth < VT_OP_DEPTH_MAX ? thread->depth : VT_OP_DEPTH_MAX;

	return depth ? thread->ops[depth - 1].node : 0;
}

/* Where Python was when the innermost op began. */
static inline struct vt_python_here vt_thread_here(const struct vt_thread *thread)
{
	uint32_t depth = thread->depth < VT_OP_DEPTH_MAX ? thread->depth : VT_OP_DEPTH_MAX;

	return depth ? thread->ops[depth - 1].here : (struct vt_python_here){ .frame = NULL };
}

/* Op from the thread's op stack, Python stack by walking it (when on). No lock, no GIL, no allocation once warm. */
struct vt_context vt_agent_context(struct vt_thread *thread);

/*
 * Interned ids: the definition is in the thread's ring before the id is returned; 0 when it could not be written.
 * Process-wide, lock-free, insert-only.
 */
uint32_t vt_intern_string(struct vt_thread *thread, const char *bytes, uint32_t size_bytes);
uint32_t vt_intern_op_node(struct vt_thread *thread, uint32_t parent, uint32_t name, uint32_t scope);

#define VT_NOTE_BYTES_MAX 4096u

/* A note in the trace; text may be NULL and is cut at VT_NOTE_BYTES_MAX. Rate-limited by its callers: notes are for
 * rare things. */
void vt_agent_note(struct vt_thread *thread, enum vt_note_code code, uint64_t value, const char *text);
/* Switches recording off for the rest of the process's life. */
void vt_agent_off(struct vt_thread *thread, const char *why);
bool vt_agent_is_on(void);

/* ---- parts; each is called once, by agent.c or by the others' first event, and may fail without consequence ---- */

/* torch_ops.c: finds libtorch_cpu, calibrates RecordFunction's layout, registers the callbacks; nothing once done. */
void vt_torch_attach(struct vt_thread *thread);
/* cupti.c: called from InitializeInjection (the driver is being initialised in this thread). */
void vt_cupti_attach(struct vt_thread *thread);
/* cupti.c: last flush at exit; no-op if not attached. */
void vt_cupti_detach(void);
/* device.c: free and total bytes of the current device as the driver says now; false where no driver is loaded or no
 * context is current. Makes a driver call: allowed in the OOM hook, where torch has just made the same call. */
bool vt_device_memory(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);
/* device.c: bytes NVML books for this process on a device; false where NVML cannot say. */
bool vt_device_process_bytes(int device, uint64_t *ret_bytes);

#endif
