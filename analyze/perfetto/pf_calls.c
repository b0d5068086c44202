/* pf_calls.c - see pf_calls.h. */
#include "analyze/perfetto/pf_calls.h"

#include "analyze/perfetto/pf_args.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

/* Fields of GpuCorrelation and of GpuRenderStageEvent and its parts. */
enum { SUBMISSION_IDS = 1, WAIT_IDS = 2 };
enum {
	EVENT_ID = 1,
	DURATION = 2,
	CONTEXT = 5,
	GPU_ID = 11,
	QUEUE_IID = 13,
	STAGE_IID = 14,
	KERNEL_IID = 19,
	NAME_IID = 20,
	LAUNCH = 21,
};
enum { GRID = 1, BLOCK = 2, ARGS = 3 };
enum { ARG_NAME_IID = 1, ARG_UINT = 4 };
/* Ids of work that no launch points to. */
#define UNLAUNCHED (UINT64_C(1) << 62)

static void close_cursor(struct vt_cursor **cursor)
{
	vt_cursor_close(*cursor);
}

/*
 * The id by which a launch names its kernel or copy: nothing needs to be remembered between the two. Small where pids of
 * the file are few, which is what their bytes in the file depend on.
 */
static uint64_t launched_id(const struct vt_pf_calls *calls, uint32_t process, uint32_t correlation)
{
	const struct vt_idmap *processes = &calls->gpus->tracks->processes;
	uint32_t place = vt_idmap_find(processes, (struct vt_idmap_key){ process, 0, 0 });

	if (place == VT_IDMAP_NONE || !correlation)
		return 0;
	return (uint64_t)correlation * processes->count + place;
}

/* Of a graph's kernels, which all carry its launch's number, the first to end has the arrow. */
static bool is_first_of_graph(struct vt_pf_calls *calls, uint64_t id)
{
	uint64_t *slot = &calls->graphs[vt_mix64(id) % VT_PF_GRAPHS_MAX];
	bool is_first = *slot != id;

	*slot = id;
	return is_first;
}

/* ------------------------------------------------------------------ threads */

/* A slice cut to the window; false: it lies outside. What is cut says how long it took. */
static bool cut(const struct vt_pf_calls *calls, struct vt_pf_thread *thread, struct vt_pf_slice *slice,
		struct vt_pf_event *body)
{
	uint64_t whole_ns = slice->end_ns > slice->start_ns ? slice->end_ns - slice->start_ns : 0;
	bool is_cut = false;

	if (slice->end_ns < calls->from_ns || (calls->to_ns && slice->start_ns > calls->to_ns))
		return false;
	if (slice->start_ns < calls->from_ns) {
		slice->start_ns = calls->from_ns;
		is_cut = true;
	}
	if (calls->to_ns && slice->end_ns > calls->to_ns) {
		slice->end_ns = calls->to_ns;
		is_cut = true;
	}
	if (is_cut)
		vt_pf_arg_number(&thread->sequence, body, "whole_duration_ns", whole_ns);
	return true;
}

static void add_slice(struct vt_pf_calls *calls, struct vt_pf_thread *thread, struct vt_pf_slice slice,
		      struct vt_pf_event *body)
{
	if (cut(calls, thread, &slice, body))
		vt_pf_slices_add(calls->slices, thread, &slice, body);
}

static void take_op(struct vt_pf_calls *calls, const struct vt_item *item)
{
	const struct vt_op *op = (const struct vt_op *)(const void *)item->rec;
	struct vt_pf_thread *thread = vt_pf_slices_thread(calls->slices, item->process, op->thread);
	struct vt_pf_slice slice = { .start_ns = op->start_ns, .end_ns = op->end_ns };
	struct vt_pf_event body;
	struct vt_op_info info;
	uint32_t forward = op->forward_thread ? op->forward_thread : op->torch_thread;

	if (!thread)
		return;
	body.bytes = 0;
	(void)vt_symbols_op(calls->symbols, item->process, op->node, &info);
	vt_pf_event_name(&thread->sequence, &body, info.name);
	if (op->sequence >= 0 && forward) {
		/* One arrow from a forward op to its backward: the forward's thread and number name it. */
		slice.flow = vt_mix64(((uint64_t)item->process << 32 | forward) ^ vt_mix64((uint64_t)op->sequence)) | 1;
		slice.number = op->sequence;
		slice.flow_kind = op->forward_thread ? VT_PF_FLOW_IN : VT_PF_FLOW_OUT;
		if (calls->detail == VT_PF_FULL)
			vt_pf_arg_number(&thread->sequence, &body, "sequence", (uint64_t)op->sequence);
	}
	add_slice(calls, thread, slice, &body);
}

static void take_driver(struct vt_pf_calls *calls, const struct vt_item *item)
{
	const struct vt_driver_memory *call = (const struct vt_driver_memory *)(const void *)item->rec;
	struct vt_pf_thread *thread = vt_pf_slices_thread(calls->slices, item->process, call->thread);
	const char *name = vt_enum_text("driver_api", call->api);
	struct vt_pf_event body;

	if (!thread)
		return;
	body.bytes = 0;
	vt_pf_event_name(&thread->sequence, &body, name ? name : "");
	vt_pf_arg_number(&thread->sequence, &body, "bytes", call->size_bytes);
	if (call->result || calls->detail == VT_PF_FULL) {
		vt_pf_arg_address(&thread->sequence, &body, "address", call->address);
		vt_pf_arg_number(&thread->sequence, &body, "result", (uint32_t)call->result);
	}
	add_slice(calls, thread, (struct vt_pf_slice){ .start_ns = call->start_ns, .end_ns = call->time_ns }, &body);
}

/* What ties a call to the work on the device that it launched or waited for. */
static void put_correlation(struct vt_pf_calls *calls, struct vt_pf_event *body, uint32_t process, uint32_t correlation,
			    uint32_t field)
{
	uint64_t id = launched_id(calls, process, correlation);
	struct vt_pf_event inner;

	if (!id)
		return;
	inner.bytes = 0;
	vt_pf_put_number(&inner, field, id);
	vt_pf_put_message(body, VT_PF_GPU_CORRELATION, &inner);
	vt_pf_put_number(body, VT_PF_GPU_API, PF__GPU_API__GPU_API_CUDA);
}

static void take_launch(struct vt_pf_calls *calls, const struct vt_item *item)
{
	const struct vt_launch *launch = (const struct vt_launch *)(const void *)item->rec;
	struct vt_pf_thread *thread = vt_pf_slices_thread(calls->slices, item->process, launch->thread);
	const char *name = vt_enum_text("launch_api", launch->api);
	struct vt_pf_event body;

	if (!thread)
		return;
	body.bytes = 0;
	vt_pf_event_name(&thread->sequence, &body, name ? name : "");
	put_correlation(calls, &body, item->process, launch->correlation, SUBMISSION_IDS);
	if (launch->result)
		vt_pf_arg_number(&thread->sequence, &body, "result", (uint32_t)launch->result);
	add_slice(calls, thread, (struct vt_pf_slice){ .start_ns = launch->start_ns, .end_ns = launch->time_ns },
		  &body);
}

static void take_wait(struct vt_pf_calls *calls, const struct vt_item *item)
{
	const struct vt_wait *wait = (const struct vt_wait *)(const void *)item->rec;
	struct vt_pf_thread *thread = vt_pf_slices_thread(calls->slices, item->process, wait->thread);
	const char *name = vt_enum_text("wait_api", wait->api);
	struct vt_pf_event body;

	if (!thread)
		return;
	body.bytes = 0;
	vt_pf_event_name(&thread->sequence, &body, name ? name : "");
	put_correlation(calls, &body, item->process, wait->correlation, WAIT_IDS);
	if (wait->size_bytes)
		vt_pf_arg_number(&thread->sequence, &body, "bytes", wait->size_bytes);
	if (wait->result)
		vt_pf_arg_number(&thread->sequence, &body, "result", (uint32_t)wait->result);
	add_slice(calls, thread, (struct vt_pf_slice){ .start_ns = wait->start_ns, .end_ns = wait->time_ns }, &body);
}

/* ------------------------------------------------------------------ devices */

/* What kernels and copies have in common. */
struct work {
	uint64_t start_ns, end_ns;
	uint64_t stage;
	uint32_t correlation, context, stream, graph;
	int16_t device;
};

static void begin_work(struct vt_pf_calls *calls, struct vt_pf_event *event, uint32_t process, const struct work *work)
{
	uint64_t id = launched_id(calls, process, work->correlation);
	uint32_t gpu = vt_pf_gpus_id(calls->gpus, process, work->device);

	event->bytes = 0;
	if (!id || (work->graph && !is_first_of_graph(calls, id)))
		id = UNLAUNCHED + ++calls->unlaunched;
	vt_pf_put_number(event, EVENT_ID, id);
	vt_pf_put_number(event, DURATION, work->end_ns > work->start_ns ? work->end_ns - work->start_ns : 0);
	vt_pf_put_number(event, CONTEXT, vt_pf_gpus_context(calls->gpus, process, work->context));
	vt_pf_put_number(event, GPU_ID, gpu);
	vt_pf_put_number(event, QUEUE_IID, vt_pf_gpus_queue(calls->gpus, process, work->context, work->stream));
	vt_pf_put_number(event, STAGE_IID, work->stage);
}

static void put_size(struct vt_pf_event *launch, uint32_t field, uint32_t x, uint32_t y, uint32_t z)
{
	struct vt_pf_event size;

	size.bytes = 0;
	vt_pf_put_number(&size, 1, x);
	vt_pf_put_number(&size, 2, y);
	vt_pf_put_number(&size, 3, z);
	vt_pf_put_message(launch, field, &size);
}

static void put_arg(struct vt_pf_calls *calls, struct vt_pf_event *launch, const char *name, uint64_t value)
{
	struct vt_pf_event arg;

	arg.bytes = 0;
	vt_pf_put_number(&arg, ARG_NAME_IID, vt_pf_text(calls->work, VT_PF_ARGUMENT_NAME, name));
	vt_pf_put_number(&arg, ARG_UINT, value);
	vt_pf_put_message(launch, ARGS, &arg);
}

static bool is_outside(const struct vt_pf_calls *calls, uint64_t start_ns, uint64_t end_ns)
{
	return end_ns < calls->from_ns || (calls->to_ns && start_ns > calls->to_ns);
}

static void take_kernel(struct vt_pf_calls *calls, const struct vt_item *item)
{
	const struct vt_kernel *kernel = (const struct vt_kernel *)(const void *)item->rec;
	struct work work = { kernel->start_ns, kernel->end_ns, VT_PF_STAGE_KERNEL, kernel->correlation,
			     kernel->context,  kernel->stream, kernel->graph,	   kernel->device };
	struct vt_pf_kernel symbol = vt_pf_gpus_kernel(calls->gpus, item->process, kernel->config);
	struct vt_pf_event event, launch;

	if (is_outside(calls, kernel->start_ns, kernel->end_ns))
		return;
	begin_work(calls, &event, item->process, &work);
	vt_pf_put_number(&event, NAME_IID, symbol.name_iid);
	if (symbol.kernel_iid)
		vt_pf_put_number(&event, KERNEL_IID, symbol.kernel_iid);
	launch.bytes = 0;
	if (symbol.config && calls->detail == VT_PF_FULL) {
		put_size(&launch, GRID, symbol.config->grid_x, symbol.config->grid_y, symbol.config->grid_z);
		put_size(&launch, BLOCK, symbol.config->block_x, symbol.config->block_y, symbol.config->block_z);
		put_arg(calls, &launch, "device", (uint16_t)kernel->device);
		put_arg(calls, &launch, "stream", kernel->stream);
		put_arg(calls, &launch, "correlation", kernel->correlation);
		vt_pf_put_message(&event, LAUNCH, &launch);
	}
	vt_pf_write_event(calls->work, VT_PF_RENDER_STAGE, &event, kernel->start_ns);
}

static void take_copy(struct vt_pf_calls *calls, const struct vt_item *item)
{
	const struct vt_copy *copy = (const struct vt_copy *)(const void *)item->rec;
	uint64_t stage = copy->kind == VT_copy_kind_MEMSET ? VT_PF_STAGE_SET : VT_PF_STAGE_COPY;
	struct work work = { copy->start_ns, copy->end_ns, stage,	copy->correlation,
			     copy->context,  copy->stream, copy->graph, copy->device };
	const char *kind = vt_enum_text("copy_kind", copy->kind);
	struct vt_pf_event event, launch;

	if (is_outside(calls, copy->start_ns, copy->end_ns))
		return;
	begin_work(calls, &event, item->process, &work);
	vt_pf_put_number(&event, NAME_IID, vt_pf_text(calls->work, VT_PF_EVENT_NAME, kind ? kind : "copy"));
	launch.bytes = 0;
	put_arg(calls, &launch, "bytes", copy->size_bytes);
	if (calls->detail == VT_PF_FULL) {
		put_arg(calls, &launch, "device", (uint16_t)copy->device);
		put_arg(calls, &launch, "stream", copy->stream);
		put_arg(calls, &launch, "correlation", copy->correlation);
	}
	vt_pf_put_message(&event, LAUNCH, &launch);
	vt_pf_write_event(calls->work, VT_PF_RENDER_STAGE, &event, copy->start_ns);
}

/* ------------------------------------------------------------------ the pass */

static void take(struct vt_pf_calls *calls, const struct vt_item *item)
{
	switch (item->event->id) {
	case VT_EVENT_op:
		take_op(calls, item);
		break;
	case VT_EVENT_driver_memory:
		take_driver(calls, item);
		break;
	case VT_EVENT_launch:
		take_launch(calls, item);
		break;
	case VT_EVENT_wait:
		take_wait(calls, item);
		break;
	case VT_EVENT_kernel:
		take_kernel(calls, item);
		break;
	case VT_EVENT_copy:
		take_copy(calls, item);
		break;
	default:
		break;
	}
}

/*
 * Events lie in the file by their end: what is still running at the window's end comes behind it, and a range may end
 * anywhere. So the pass goes to the end of the trace.
 */
int vt_pf_calls_write(struct vt_pf_calls *calls, struct vt_store *store, const struct vt_cursor_options *cursor_options,
		      struct vt_err *err)
{
	static const uint32_t kinds[] = { VT_EVENT_op,	 VT_EVENT_driver_memory, VT_EVENT_launch,
					  VT_EVENT_wait, VT_EVENT_kernel,	 VT_EVENT_copy };
	VT_CLEANUP(close_cursor) struct vt_cursor *cursor = NULL;
	struct vt_cursor_options only = *cursor_options;
	struct vt_item item;
	int r;

	if (calls->detail == VT_PF_LOW)
		return 0;
	only.kinds = kinds;
	only.nkinds = VT_ARRAY_SIZE(kinds);
	only.from_ns = calls->from_ns;
	only.to_ns = 0;
	r = vt_cursor_open(&cursor, store, &only, err);
	if (r < 0)
		return r;
	while ((r = vt_cursor_next(cursor, &item, err)) > 0)
		take(calls, &item);
	vt_pf_slices_finish(calls->slices);
	return r;
}
