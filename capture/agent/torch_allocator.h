/*
 * torch_allocator.h - what c10's report function does not tell of a block: how many bytes were asked for, before the
 * allocator rounded, and on which stream.
 *
 * Both are had from PyTorch itself. The bytes: c10::Allocator::allocate(size_t) is the third entry of the virtual table
 * of every allocator object (PyTorch 1.13 to 2.14: c10/core/Allocator.h has two destructors before it). The object of
 * each allocator gets a copy of its table in which that entry is ours: it remembers the size for its thread and calls
 * the allocator. The stream: c10::cuda::getCurrentCUDAStream, which reads a thread-local. Callers of raw_alloc come by
 * another entry: theirs are "not known".
 *
 * Nothing is changed unless the object is writable, its table lies in a library, and the entry is code of libc10* or
 * libtorch*. x86-64 only: elsewhere a class is returned in a way that C cannot pass on.
 */
#ifndef VT_AGENT_TORCH_ALLOCATOR_H
#define VT_AGENT_TORCH_ALLOCATOR_H

#include "capture/agent/agent.h"

/* Once torch's libraries are loaded; once per process. Calls the loader. */
void vt_allocator_attach(struct vt_thread *thread);

/*
 * Of the block that the calling thread is being handed: bytes beyond those asked for, plus 1; 0: not known. Forgets the
 * size: the next block needs one of its own. No lock, no allocation.
 */
uint64_t vt_allocator_take_slack(uint64_t size_bytes);

/* Id of the calling thread's current stream on a CUDA device, plus 1; 0: not known. */
uint64_t vt_allocator_stream(int16_t device);

#endif
