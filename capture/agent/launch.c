/* launch.c - see launch.h. */
#include "capture/agent/launch.h"

#include <string.h>

#include "capture/agent/intern.h"

/* CUDA driver API, cuda.h: CU_LAUNCH_PARAM_END, _BUFFER_POINTER, _BUFFER_SIZE. */
#define LAUNCH_PARAM_END ((void *)0)
#define LAUNCH_PARAM_BUFFER ((void *)1)
#define LAUNCH_PARAM_BYTES ((void *)2)
#define LAUNCH_EXTRA_MAX 16
/* CUDA 12.1 and later take at most this many bytes of parameters (CUDA C++ Programming Guide, __global__ parameters). */
#define PARAM_BYTES_MAX 32764

struct touches {
	uint64_t addresses[VT_TOUCHES_MAX];
	uint32_t count;
};

static void touch(struct touches *touches, uint64_t address)
{
	for (uint32_t i = 0; i < touches->count; i++)
		if (touches->addresses[i] == address)
			return;
	if (touches->count < VT_TOUCHES_MAX)
		touches->addresses[touches->count++] = address;
}

/* Parameters are aligned to their types, so an address lies at a multiple of 8 from the parameter's start. */
static void scan(struct touches *touches, const struct vt_device_pages *pages, const void *bytes, size_t size)
{
	const char *at = bytes;

	for (; size >= sizeof(uint64_t); at += sizeof(uint64_t), size -= sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		if (VT_UNLIKELY(vt_device_pages_has(pages, word)))
			touch(touches, word);
	}
}

static void scan_params(struct touches *touches, struct vt_launch_state *state, const struct vt_launch_call *call)
{
	struct vt_param_layout layout;

	if (!vt_param_layout_find(&state->layouts, call->function, &layout))
		return;
	for (uint32_t i = 0; i < layout.count; i++)
		if (layout.sizes[i] >= sizeof(uint64_t) && call->params[i])
			scan(touches, &state->pages, call->params[i], layout.sizes[i]);
}

static void scan_extra(struct touches *touches, const struct vt_launch_state *state, void *const *extra)
{
	const void *buffer = NULL;
	size_t bytes = 0;

	for (unsigned i = 0; i + 1 < LAUNCH_EXTRA_MAX && extra[i] != LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == LAUNCH_PARAM_BUFFER)
			buffer = extra[i + 1];
		else if (extra[i] == LAUNCH_PARAM_BYTES && extra[i + 1])
			memcpy(&bytes, extra[i + 1], sizeof(bytes));
	}
	if (buffer && bytes <= PARAM_BYTES_MAX)
		scan(touches, &state->pages, buffer, bytes);
}

static uint32_t touches_of(struct vt_thread *thread, struct vt_launch_state *state, const struct vt_launch_call *call)
{
	struct touches touches;

	touches.count = 0;
	if (!state->pages.bits || !call->function)
		return 0;
	if (call->params)
		scan_params(&touches, state, call);
	else if (call->extra)
		scan_extra(&touches, state, call->extra);
	return touches.count ? vt_intern_touch(thread, touches.addresses, touches.count) : 0;
}

void vt_launch_record(struct vt_thread *thread, struct vt_launch_state *state, const struct vt_launch_call *call)
{
	uint32_t touched = touches_of(thread, state, call);
	struct vt_context context = vt_agent_context(thread);
	uint64_t now_ns = vt_agent_now(thread);
	struct vt_launch *record = vt_ring_reserve(&thread->writer, VT_EVENT_launch, sizeof(*record));

	if (!record)
		return;
	record->time_ns = now_ns;
	record->start_ns = call->start_ns;
	record->correlation = call->correlation;
	record->op = context.op;
	record->stack = context.stack;
	record->touches = touched;
	record->thread = thread->tid;
	record->result = call->result;
	record->api = (uint16_t)call->api;
	record->device = call->device;
	record->fill = 0;
	vt_ring_commit(&thread->writer, sizeof(*record));
}
