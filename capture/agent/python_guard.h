/*
 * python_guard.h - whether the frames of the calling thread stay while it reads them.
 *
 * A thread's frames and its thread state are its own, with one exception: when the interpreter ends, the main thread
 * frees the states of daemon threads under them. The main thread itself and a thread that holds the GIL cannot be
 * overtaken so. Others (PyTorch releases the GIL around each op) read only between the time when a function of ours is
 * among the interpreter's atexit functions and the time when it runs: it closes the door and waits for those inside.
 * It is put there by a pending call, the one thing that may be asked of an interpreter without its GIL.
 */
#ifndef VT_AGENT_PYTHON_GUARD_H
#define VT_AGENT_PYTHON_GUARD_H

#include "capture/agent/agent.h"

/* Asks for the atexit function, and begins anew in a child of a fork. The interpreter is initialized and does not end. */
void vt_python_guard_attach(void);

enum vt_guarded { VT_GUARD_SHUT, VT_GUARD_OPEN, VT_GUARD_COUNTED };

/* SHUT: nothing of Python's may be read. Otherwise _leave must follow soon: the end of the interpreter waits for it. */
enum vt_guarded vt_python_guard_enter(const struct vt_thread *thread);
void vt_python_guard_leave(enum vt_guarded guarded);

#endif
