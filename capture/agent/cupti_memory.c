/*
 * cupti_memory.c - see cupti_memory.h.
 *
 * The start of a call waits for its end in the thread's own state, not in CUPTI's correlationData: when the program
 * has a CUPTI client of its own (cupti.c), that slot is its to use.
 */
#include "capture/agent/cupti_memory.h"

#include "capture/agent/agent.h"
#include "capture/agent/cupti_decode.h"
#include "capture/agent/cupti_pool.h"
#include "capture/agent/cupti_work.h"
#include "capture/agent/device.h"
#include "capture/agent/native.h"
#include "capture/agent/oom.h"

static void enter_call(struct vt_thread *thread, const struct vt_call *call, const struct vt_cupti_callback_data *data)
{
	struct vt_open_call *open = &thread->driver_call;

	open->correlation = data->correlation;
	open->pool = 0;
	/* Once the memory is freed, nobody can say any more which pool it was in. */
	if ((vt_call_traits(call) & (VT_CALL_POOL | VT_CALL_FREE)) == (VT_CALL_POOL | VT_CALL_FREE))
		open->pool = vt_pool_of_address(vt_call_decode(call, data->params, false).address);
	open->start_ns = vt_agent_now(thread);
}

static void write_event(struct vt_thread *thread, const struct vt_driver_memory *event)
{
	struct vt_driver_memory *record = vt_ring_reserve(&thread->writer, VT_EVENT_driver_memory, sizeof(*record));

	if (!record)
		return;
	memcpy((char *)record + sizeof(record->rec), (const char *)event + sizeof(event->rec),
	       sizeof(*event) - sizeof(event->rec));
	vt_ring_commit(&thread->writer, sizeof(*record));
}

/*
 * A stream-ordered pool that cannot serve a request ends the request: torch's cudaMallocAsync backend raises its error
 * then, and tells no hook. (Its native allocator frees its cache and tries again; it reports for itself.)
 */
static void write_oom(struct vt_thread *thread, const struct vt_driver_memory *call)
{
	const struct vt_oom_facts facts = { .requested_bytes = call->size_bytes,
					    .allocated_bytes = call->pool_used_bytes,
					    .reserved_bytes = call->pool_reserved_bytes,
					    .context = { call->op, call->stack },
					    .device_type = VT_device_type_CUDA,
					    .device = call->device };

	vt_oom_write(thread, &facts);
}

/* What may be a device address in a kernel's parameters. A free by address does not say its size: its pages stay. */
static void tell_launches(const struct vt_driver_memory *event)
{
	if (event->result != VT_CU_SUCCESS || !event->address || !event->size_bytes || event->device < 0)
		return;
	if (event->api == VT_driver_api_MEM_UNMAP)
		vt_work_memory_went(event->address, event->size_bytes);
	else
		vt_work_memory_came(event->address, event->size_bytes);
}

static void exit_call(struct vt_thread *thread, const struct vt_call *call, const struct vt_cupti_callback_data *data)
{
	struct vt_driver_memory event = { .time_ns = vt_agent_now(thread), .thread = thread->tid };
	unsigned traits = vt_call_traits(call);
	bool is_begun = thread->driver_call.start_ns && thread->driver_call.correlation == data->correlation;
	struct vt_call_facts facts;
	struct vt_pool_facts pool;
	struct vt_context context;

	event.result = data->result ? *(const int32_t *)data->result : 0;
	facts = vt_call_decode(call, data->params, event.result == VT_CU_SUCCESS);
	if ((traits & VT_CALL_FREE) && !facts.address)
		return;
	event.start_ns = is_begun ? thread->driver_call.start_ns : event.time_ns;
	thread->driver_call.start_ns = 0;
	event.address = facts.address;
	event.size_bytes = facts.size_bytes;
	event.handle = facts.handle;
	event.stream = facts.stream;
	event.flags = facts.flags;
	event.api = vt_call_api(call);
	event.device = facts.device;
	if (facts.device == VT_CALL_DEVICE_OF_CONTEXT)
		event.device = vt_device_of_context(data->context, data->context_uid);
	if (traits & VT_CALL_POOL) {
		pool = vt_pool_read(facts.handle || !is_begun ? facts.handle : thread->driver_call.pool, event.device);
		event.handle = pool.handle;
		event.pool_reserved_bytes = pool.reserved_bytes;
		event.pool_used_bytes = pool.used_bytes;
	}
	context = vt_agent_context(thread);
	event.op = context.op;
	event.stack = context.stack;
	/* Pool calls are as quick as a walk: only where nothing else says whose they are. */
	if (!(traits & VT_CALL_POOL) || !event.op)
		event.caller = vt_native_caller(thread);
	write_event(thread, &event);
	if ((traits & VT_CALL_POOL) && !(traits & VT_CALL_FREE) && event.result == VT_CU_ERROR_OUT_OF_MEMORY)
		write_oom(thread, &event);
	tell_launches(&event);
	if (!(traits & VT_CALL_DEVICE))
		return;
	vt_device_moved(thread, event.device);
	if (event.result == VT_CU_ERROR_OUT_OF_MEMORY)
		vt_device_refused(thread, event.device);
}

/* Pools that come into being without an event's telling, and those that do: from now on frees must ask. */
static void watch_pools(const struct vt_call *call, const struct vt_cupti_callback_data *data)
{
	if (data->site == VT_CUPTI_API_EXIT &&
	    ((vt_call_traits(call) & VT_CALL_REPOOL) || vt_call_api(call) == VT_driver_api_POOL_CREATE))
		vt_pool_changed();
}

void vt_cupti_memory_call(uint32_t cbid, const struct vt_cupti_callback_data *data)
{
	const struct vt_call *call = vt_call_find(cbid);
	struct vt_thread *thread;

	if (!call || !data->params)
		return;
	watch_pools(call, data);
	if (vt_call_api(call) == VT_driver_api_NONE)
		return;
	thread = vt_agent_enter();
	if (!thread)
		return;
	if (data->site == VT_CUPTI_API_ENTER)
		enter_call(thread, call, data);
	else
		exit_call(thread, call, data);
	vt_agent_leave(thread);
}
