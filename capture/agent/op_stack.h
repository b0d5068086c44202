/*
 * op_stack.h - a thread's stack of open ops: PyTorch's (torch_ops.c) and the program's own ranges (nvtx.c) in one.
 *
 * The two need not nest. Where an op ends, whatever PyTorch began inside it has ended too, unseen; ranges of NVTX inside
 * it go on. Where a range ends, ops inside it go on. An entry's node says what it lay in when it began.
 */
#ifndef VT_AGENT_OP_STACK_H
#define VT_AGENT_OP_STACK_H

#include <stddef.h>

#include "capture/agent/agent.h"

/* A longer name is cut; ranges may be called anything. */
#define VT_OP_NAME_BYTES_MAX 1024u

/* The node of an op of this name below the thread's innermost; that one where a definition could not be written. */
uint32_t vt_op_stack_node(struct vt_thread *thread, const char *name, size_t length, uint32_t scope);

/* Room for one more, to be filled in before thread->depth is raised; NULL where it is too deep: counted only. */
struct vt_open_op *vt_op_stack_push(struct vt_thread *thread);

/* Position of the innermost entry of a function (or NVTX domain), or thread->depth where it is not there. */
uint32_t vt_op_stack_find(const struct vt_thread *thread, const void *function);

/* Takes one entry off; those inside it stay. */
void vt_op_stack_remove(struct vt_thread *thread, uint32_t at);
/* Takes an op off, with the ops inside it; ranges inside it stay. */
void vt_op_stack_end(struct vt_thread *thread, uint32_t at);

/* The op event of an entry that ends now. */
void vt_op_stack_write(struct vt_thread *thread, const struct vt_open_op *op);

#endif
