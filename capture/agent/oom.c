/* oom.c - see oom.h. */
#include "capture/agent/oom.h"

void vt_oom_write(struct vt_thread *thread, const struct vt_oom_facts *facts)
{
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	uint64_t process_bytes = 0;
	struct vt_oom *record;

	if (facts->device_type == VT_device_type_CUDA) {
		(void)vt_device_memory(facts->device, &free_bytes, &total_bytes);
		(void)vt_device_process_bytes(facts->device, &process_bytes);
	}
	record = vt_ring_reserve(&thread->writer, VT_EVENT_oom, sizeof(*record));
	if (!record)
		return;
	record->time_ns = vt_agent_now(thread);
	record->requested_bytes = facts->requested_bytes;
	record->allocated_bytes = facts->allocated_bytes;
	record->reserved_bytes = facts->reserved_bytes;
	record->device_free_bytes = free_bytes;
	record->device_total_bytes = total_bytes;
	record->process_bytes = process_bytes;
	record->thread = thread->tid;
	record->op = facts->context.op;
	record->stack = facts->context.stack;
	record->device = facts->device;
	record->device_type = facts->device_type;
	vt_ring_commit(&thread->writer, sizeof(*record));
}
