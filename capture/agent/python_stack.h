/*
 * python_stack.h - the Python stack of the calling thread, without the GIL.
 *
 * A thread's frames are changed by that thread alone, and frames own their code objects, so a thread may always read
 * its own: no lock, no reference counts. PyTorch allocates with the GIL released; other threads run Python meanwhile.
 */
#ifndef VT_AGENT_PYTHON_STACK_H
#define VT_AGENT_PYTHON_STACK_H

#include "capture/agent/agent.h"
#include "capture/agent/python_code.h"

/* Of a deeper stack the outermost frames are left out. */
#define VT_PYTHON_DEPTH_MAX 128u

/* A place in a live frame. */
struct vt_python_place {
	const void *code;
	uint64_t stamp; /* vt_python_code_stamp of code */
	int64_t instruction;
	const void *module, *class; /* of the call of a module: the module and its class; else NULL */
};

/* The last walk of a thread, to find what of the next one is the same: from one allocation to the next, nearly all. */
struct vt_stack_cache {
	uint32_t depth;
	struct {
		struct vt_python_place place;
		uint32_t stack;				  /* id of the node for this frame and its callers */
	} known[VT_PYTHON_DEPTH_MAX];			  /* outermost first */
	struct vt_python_place walk[VT_PYTHON_DEPTH_MAX]; /* innermost first */
	char scratch[VT_PYTHON_NAME_BYTES];
};

/* Learns the interpreter's layout, once per process, and says in a note whether stacks are on. */
void vt_python_attach(struct vt_thread *thread);

/*
 * Where the calling thread is, with the id of its stack; that is 0 where there are no Python frames, or none that can be
 * read. The innermost op's stack is taken where Python has not moved since that op began: it cannot have, to come back.
 */
struct vt_python_here vt_python_here(struct vt_thread *thread);

#endif
