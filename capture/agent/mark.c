/* mark.c - see mark.h; and the doors behind capture/include/vramtrace.h. */
#include "capture/agent/mark.h"

#include "capture/agent/intern.h"
#include "capture/agent/op_stack.h"
#include "capture/agent/state.h"

VT_EXPORT void vramtrace_agent_mark(const char *name);
VT_EXPORT void vramtrace_agent_step(uint64_t step);
VT_EXPORT void vramtrace_agent_range_push(const char *name);
VT_EXPORT void vramtrace_agent_range_pop(void);

void vt_mark_write(struct vt_thread *thread, const struct vt_mark_facts *facts)
{
	struct vt_mark *record = vt_ring_reserve(&thread->writer, VT_EVENT_mark, sizeof(*record));

	if (!record)
		return;
	record->time_ns = vt_agent_now(thread);
	record->start_ns = facts->start_ns ? facts->start_ns : record->time_ns;
	record->value = facts->value;
	record->name = facts->name;
	record->op = vt_thread_op(thread);
	record->thread = thread->tid;
	record->kind = (uint16_t)facts->kind;
	record->fill = 0;
	vt_ring_commit(&thread->writer, sizeof(*record));
}

/* Ranges of the domain that are open on the thread. */
static int count_open(const struct vt_thread *thread, const struct vt_nvtx_domain *domain)
{
	uint32_t held = thread->depth < VT_OP_DEPTH_MAX ? thread->depth : VT_OP_DEPTH_MAX;
	int n = 0;

	for (uint32_t i = 0; i < held; i++)
		n += thread->ops[i].function == domain;
	return n;
}

int vt_range_push(struct vt_thread *thread, const struct vt_nvtx_domain *domain, const struct vt_nvtx_text *text)
{
	struct vt_open_op *op = vt_op_stack_push(thread);
	int level = count_open(thread, domain);

	if (!op) {
		thread->deep_ranges++;
		return level;
	}
	op->function = domain;
	op->sequence = -1;
	op->forward_thread = 0;
	/* It may outlive the op around it. */
	op->here = (struct vt_python_here){ .frame = NULL };
	op->is_range = true;
	op->node = vt_op_stack_node(thread, text->bytes, text->length, VT_op_scope_NVTX);
	op->start_ns = vt_agent_now(thread);
	thread->depth++;
	return level;
}

int vt_range_pop(struct vt_thread *thread, const struct vt_nvtx_domain *domain)
{
	uint32_t at;

	if (thread->deep_ranges > 0) {
		thread->deep_ranges--;
		thread->depth--;
		return VT_NVTX_NO_LEVEL;
	}
	at = vt_op_stack_find(thread, domain);
	if (at == thread->depth)
		return VT_NVTX_NO_LEVEL;
	vt_op_stack_write(thread, &thread->ops[at]);
	vt_op_stack_remove(thread, at);
	return count_open(thread, domain);
}

/* ------------------------------------------------------------------ the doors of vramtrace.h */

void vramtrace_agent_mark(const char *name)
{
	struct vt_thread *thread = vt_agent_enter();
	struct vt_nvtx_text text;
	struct vt_mark_facts facts = { .kind = VT_mark_kind_MARK };

	if (!thread)
		return;
	vt_nvtx_text_plain(&text, vt_nvtx_domain_own(), name);
	facts.name = vt_intern_string(thread, text.bytes, (uint32_t)text.length);
	vt_mark_write(thread, &facts);
	vt_agent_leave(thread);
}

void vramtrace_agent_step(uint64_t step)
{
	struct vt_thread *thread = vt_agent_enter();
	struct vt_mark_facts facts = { .kind = VT_mark_kind_STEP, .value = step };

	if (!thread)
		return;
	facts.name = vt_intern_string(thread, "step", 4);
	vt_mark_write(thread, &facts);
	vt_agent_leave(thread);
}

void vramtrace_agent_range_push(const char *name)
{
	struct vt_thread *thread = vt_agent_enter();
	struct vt_nvtx_text text;

	if (!thread)
		return;
	vt_nvtx_text_plain(&text, vt_nvtx_domain_own(), name);
	(void)vt_range_push(thread, vt_nvtx_domain_own(), &text);
	vt_agent_leave(thread);
}

void vramtrace_agent_range_pop(void)
{
	struct vt_thread *thread = vt_agent_enter_live();

	if (!thread)
		return;
	(void)vt_range_pop(thread, vt_nvtx_domain_own());
	vt_agent_leave(thread);
}
