/* op_stack.c - see op_stack.h. */
#include "capture/agent/op_stack.h"

#include <string.h>

#include "capture/agent/intern.h"
#include "capture/agent/op_cache.h"

uint32_t vt_op_stack_node(struct vt_thread *thread, const char *name, size_t length, uint32_t scope)
{
	uint32_t parent = vt_thread_op(thread);
	uint64_t hash = vt_hash_bytes(name, length);
	uint64_t key = vt_hash_words(hash, (uint64_t)scope << 32 | parent);
	struct vt_op_cache_slot *slot = &thread->op_cache->slots[key % VT_OP_CACHE_SLOTS];
	uint32_t text, node;

	if (VT_LIKELY(slot->key == key))
		return slot->node;
	text = vt_intern_string_hashed(thread, hash, name, (uint32_t)length);
	node = text ? vt_intern_op_node(thread, parent, text, scope) : 0;
	if (!node)
		return parent; /* counted as a lost definition; what happens below is charged to the caller */
	slot->key = key;
	slot->node = node;
	return node;
}

static void note_overflow(struct vt_thread *thread)
{
	static _Atomic uint32_t noted;

	if (!atomic_exchange_explicit(&noted, 1, memory_order_relaxed))
		vt_agent_note(thread, VT_note_code_OP_STACK_OVERFLOW, VT_OP_DEPTH_MAX, NULL);
}

struct vt_open_op *vt_op_stack_push(struct vt_thread *thread)
{
	if (VT_LIKELY(thread->depth < VT_OP_DEPTH_MAX))
		return &thread->ops[thread->depth];
	thread->depth++;
	note_overflow(thread);
	return NULL;
}

static uint32_t held(const struct vt_thread *thread)
{
	return thread->depth < VT_OP_DEPTH_MAX ? thread->depth : VT_OP_DEPTH_MAX;
}

uint32_t vt_op_stack_find(const struct vt_thread *thread, const void *function)
{
	for (uint32_t i = held(thread); i-- > 0;)
		if (thread->ops[i].function == function)
			return i;
	return thread->depth;
}

void vt_op_stack_remove(struct vt_thread *thread, uint32_t at)
{
	uint32_t last = held(thread) - 1;

	memmove(&thread->ops[at], &thread->ops[at + 1], (last - at) * sizeof(thread->ops[0]));
	if (VT_LIKELY(thread->depth <= VT_OP_DEPTH_MAX)) {
		thread->depth--;
		return;
	}
	/* What is too deep to be held is still inside: a hole, which ends with the op around it, keeps the count. */
	thread->ops[last] = (struct vt_open_op){ .node = last ? thread->ops[last - 1].node : 0 };
}

void vt_op_stack_end(struct vt_thread *thread, uint32_t at)
{
	uint32_t end = held(thread), left = at;

	/* Nearly always the innermost. */
	for (uint32_t i = at + 1; VT_UNLIKELY(i < end); i++)
		if (thread->ops[i].is_range)
			thread->ops[left++] = thread->ops[i];
	thread->depth = left;
	thread->deep_ranges = 0;
}

void vt_op_stack_write(struct vt_thread *thread, const struct vt_open_op *op)
{
	struct vt_op *record = vt_ring_reserve(&thread->writer, VT_EVENT_op, sizeof(*record));

	if (VT_UNLIKELY(!record))
		return;
	record->end_ns = vt_agent_now(thread);
	record->start_ns = op->start_ns;
	record->sequence = op->sequence;
	record->node = op->node;
	record->thread = thread->tid;
	record->forward_thread = op->forward_thread;
	record->torch_thread = thread->torch_thread;
	record->stack = op->sequence >= 0 ? op->here.stack : 0;
	record->fill = 0;
	vt_ring_commit(&thread->writer, sizeof(*record));
}
