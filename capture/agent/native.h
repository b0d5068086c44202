/*
 * native.h - which library made the call that is under way: found by the compiler's unwinder, from inside the callback.
 *
 * Only where walking takes no lock of the loader: the caller may hold a mutex (the allocator's) that a thread inside
 * dlopen waits for. glibc 2.35 has _dl_find_object, which is lock-free, and libgcc 12 uses it; elsewhere callers are
 * not captured, and a note says so. A walk is a few microseconds: for driver calls that take many.
 */
#ifndef VT_AGENT_NATIVE_H
#define VT_AGENT_NATIVE_H

#include "capture/agent/agent.h"

/* Finds the unwinder and notes the outcome; once, before the first callback. Calls the loader. */
void vt_native_attach(struct vt_thread *thread);

/*
 * String id of the path of the first library up the stack that is not the agent's, CUPTI's, the CUDA driver's or the CUDA
 * runtime's, or of the program itself; 0 where there is none within VT_NATIVE_FRAMES_MAX frames or callers are off.
 */
#define VT_NATIVE_FRAMES_MAX 64
uint32_t vt_native_caller(struct vt_thread *thread);

#endif
