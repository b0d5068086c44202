/* pf_events.c - see pf_events.h. */
#include "analyze/perfetto/pf_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/format.h"

#define ARGS_MAX 12

/* Arguments of an event, shown in its details. */
struct args {
	Pf__DebugAnnotation list[ARGS_MAX];
	Pf__DebugAnnotation *pointers[ARGS_MAX];
	size_t count;
};

static Pf__DebugAnnotation *add_arg(struct vt_pf_sequence *sequence, struct args *args, const char *name)
{
	Pf__DebugAnnotation *arg = &args->list[args->count];

	pf__debug_annotation__init(arg);
	arg->has_name_iid = 1;
	arg->name_iid = vt_pf_text(sequence, VT_PF_ANNOTATION_NAME, name);
	args->pointers[args->count++] = arg;
	return arg;
}

static void add_number(struct vt_pf_sequence *sequence, struct args *args, const char *name, uint64_t value)
{
	Pf__DebugAnnotation *arg = add_arg(sequence, args, name);

	arg->has_uint_value = 1;
	arg->uint_value = value;
}

static void add_address(struct vt_pf_sequence *sequence, struct args *args, const char *name, uint64_t value)
{
	Pf__DebugAnnotation *arg = add_arg(sequence, args, name);

	arg->has_pointer_value = 1;
	arg->pointer_value = value;
}

static void add_words(struct vt_pf_sequence *sequence, struct args *args, const char *name, const char *value)
{
	add_arg(sequence, args, name)->string_value = (char *)(uintptr_t)value; /* protobuf-c only reads it */
}

static void set_args(Pf__TrackEvent *event, struct args *args)
{
	event->n_debug_annotations = args->count;
	event->debug_annotations = args->pointers;
}

static void write_event(struct vt_pf_sequence *sequence, Pf__TrackEvent *event, Pf__TrackEvent__Type type, uint64_t track,
			uint64_t time_ns)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	event->has_type = 1;
	event->type = type;
	event->has_track_uuid = 1;
	event->track_uuid = track;
	packet.track_event = event;
	vt_pf_write(sequence, &packet, time_ns);
}

static void write_counter(struct vt_pf_sequence *sequence, uint64_t track, uint64_t value, uint64_t time_ns)
{
	Pf__TrackEvent event = PF__TRACK_EVENT__INIT;

	event.has_counter_value = 1;
	event.counter_value = (int64_t)value;
	write_event(sequence, &event, PF__TRACK_EVENT__TYPE__TYPE_COUNTER, track, time_ns);
}

static void write_slice(struct vt_pf_sequence *sequence, Pf__TrackEvent *begin, uint64_t track, uint64_t start_ns,
			uint64_t end_ns)
{
	Pf__TrackEvent end = PF__TRACK_EVENT__INIT;

	write_event(sequence, begin, PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track, start_ns);
	write_event(sequence, &end, PF__TRACK_EVENT__TYPE__TYPE_SLICE_END, track, end_ns);
}

static void set_name(struct vt_pf_sequence *sequence, Pf__TrackEvent *event, const char *name)
{
	event->has_name_iid = 1;
	event->name_iid = vt_pf_text(sequence, VT_PF_EVENT_NAME, name[0] ? name : "?");
}

/* ------------------------------------------------------------------ memory */

static struct vt_pf_last *last_of(struct vt_pf_events *events, uint32_t device)
{
	if (vt_array_reach((void **)&events->last, &events->last_room, device, sizeof(*events->last)) < 0) {
		events->memory->output->failed = true;
		return NULL;
	}
	return &events->last[device];
}

/* The counters that do not come with the instants, where they have changed. */
static void write_counters(struct vt_pf_events *events, const struct vt_replay *replay, uint32_t device, uint64_t time_ns)
{
	const struct vt_device *state = vt_replay_device(replay, device);
	const struct vt_pf_device_tracks *rows = vt_pf_tracks_device(events->tracks, replay, device);
	struct vt_pf_last *last = last_of(events, device);
	uint64_t used = state->total_bytes ? state->total_bytes - state->free_bytes : 0;

	if (!rows || !last || !rows->reserved)
		return;
	if (state->reserved_bytes != last->reserved || !last->any)
		write_counter(events->memory, rows->reserved, state->reserved_bytes, time_ns);
	if (state->driver_bytes != last->driver || !last->any)
		write_counter(events->memory, rows->driver, state->driver_bytes, time_ns);
	if (used && used != last->used)
		write_counter(events->memory, rows->device_used, used, time_ns);
	*last = (struct vt_pf_last){ state->reserved_bytes, state->driver_bytes, used, true };
}

/* An allocation or a free: an instant that carries the bytes, who, and the new total. */
static void write_block(struct vt_pf_events *events, const struct vt_replay *replay, const struct vt_item *item,
			const struct vt_block *block, bool is_alloc)
{
	const struct vt_device *state = vt_replay_device(replay, block->device);
	const struct vt_pf_device_tracks *rows = vt_pf_tracks_device(events->tracks, replay, block->device);
	Pf__TrackEvent event = PF__TRACK_EVENT__INIT;
	struct args args = { .count = 0 };
	struct vt_op_info op;
	int64_t total = (int64_t)state->reported_bytes;
	uint64_t counter;

	if (!rows)
		return;
	counter = rows->allocated;
	if (events->detail == VT_PF_LOW) {
		write_counter(events->memory, counter, state->reported_bytes, item->time_ns);
		return;
	}
	(void)vt_symbols_op(events->symbols, item->process, block->op, &op);
	set_name(events->memory, &event, op.name[0] ? op.name : is_alloc ? "alloc" : "free");
	event.callstack_iid = vt_pf_callstack(events->memory, item->process, block->op, block->stack);
	event.has_callstack_iid = event.callstack_iid != 0;
	event.has_callstack_weight = event.callstack_iid != 0;
	event.callstack_weight = (double)block->size_bytes;
	event.n_extra_counter_values = event.n_extra_counter_track_uuids = 1;
	event.extra_counter_values = &total;
	event.extra_counter_track_uuids = &counter;
	if (events->detail == VT_PF_FULL) {
		add_number(events->memory, &args, "bytes", block->size_bytes);
		add_address(events->memory, &args, "address", block->address);
		if (!is_alloc && block->serial)
			add_number(events->memory, &args, "lifetime_ns", item->time_ns - block->alloc_ns);
		set_args(&event, &args);
	}
	write_event(events->memory, &event, PF__TRACK_EVENT__TYPE__TYPE_INSTANT, is_alloc ? rows->allocs : rows->frees,
		    item->time_ns);
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	(void)err;
	write_block(self, replay, item, block, true);
	write_counters(self, replay, block->device, item->time_ns);
	return 0;
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	(void)err;
	write_block(self, replay, item, block, false);
	write_counters(self, replay, block->device, item->time_ns);
	return 0;
}

static int on_sample(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_device_sample *sample = (const struct vt_device_sample *)(const void *)item->rec;
	struct vt_pf_events *events = self;
	Pf__GpuMemTotalEvent total = PF__GPU_MEM_TOTAL_EVENT__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	(void)err;
	write_counters(events, replay, device, item->time_ns);
	if (sample->total_bytes < sample->free_bytes)
		return 0;
	total.has_gpu_id = total.has_pid = total.has_size = 1;
	total.gpu_id = (uint32_t)sample->device;
	total.size = sample->total_bytes - sample->free_bytes;
	packet.gpu_mem_total_event = &total;
	vt_pf_write(events->memory, &packet, item->time_ns);
	return 0;
}

static int on_oom(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		  struct vt_err *err)
{
	const struct vt_oom *oom = (const struct vt_oom *)(const void *)item->rec;
	const struct vt_pf_device_tracks *rows;
	struct vt_pf_events *events = self;
	Pf__TrackEvent event = PF__TRACK_EVENT__INIT;
	Pf__GpuLog log = PF__GPU_LOG__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;
	struct args args = { .count = 0 };
	char text[256], asked[VT_FORMAT_MAX], held[VT_FORMAT_MAX], left[VT_FORMAT_MAX];

	rows = vt_pf_tracks_device(events->tracks, replay, device);
	if (!rows)
		return 0;
	(void)snprintf(text, sizeof(text), "out of memory: %s asked for, %s allocated, %s free on the device",
		       vt_format_bytes(asked, oom->requested_bytes), vt_format_bytes(held, oom->allocated_bytes),
		       vt_format_bytes(left, oom->device_free_bytes));
	set_name(events->memory, &event, "out of memory");
	event.callstack_iid = vt_pf_callstack(events->memory, item->process, oom->op, oom->stack);
	event.has_callstack_iid = event.callstack_iid != 0;
	add_number(events->memory, &args, "requested_bytes", oom->requested_bytes);
	add_number(events->memory, &args, "allocated_bytes", oom->allocated_bytes);
	add_number(events->memory, &args, "reserved_bytes", oom->reserved_bytes);
	add_number(events->memory, &args, "device_free_bytes", oom->device_free_bytes);
	add_number(events->memory, &args, "device_total_bytes", oom->device_total_bytes);
	add_number(events->memory, &args, "process_bytes", oom->process_bytes);
	add_words(events->memory, &args, "text", text);
	set_args(&event, &args);
	write_event(events->memory, &event, PF__TRACK_EVENT__TYPE__TYPE_INSTANT, rows->ooms, item->time_ns);
	log.has_severity = 1;
	log.severity = PF__GPU_LOG__SEVERITY__LOG_SEVERITY_ERROR;
	log.tag = (char *)(uintptr_t)"vramtrace";
	log.log_message = text;
	packet.gpu_log = &log;
	vt_pf_write(events->memory, &packet, item->time_ns);
	return vt_pf_heaps_keep(&events->heaps, events->groups, device, item->time_ns, err);
}

/* ------------------------------------------------------------------ calls */

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_driver_memory *call = (const struct vt_driver_memory *)(const void *)item->rec;
	const char *name = vt_enum_text("driver_api", call->api);
	struct vt_pf_events *events = self;
	Pf__TrackEvent event = PF__TRACK_EVENT__INIT;
	struct args args = { .count = 0 };

	(void)err;
	write_counters(events, replay, device, item->time_ns);
	if (events->detail == VT_PF_LOW)
		return 0;
	set_name(events->calls, &event, name ? name : "?");
	if (call->result || events->detail == VT_PF_FULL) {
		add_number(events->calls, &args, "bytes", call->size_bytes);
		add_address(events->calls, &args, "address", call->address);
		add_number(events->calls, &args, "result", (uint64_t)call->result);
		set_args(&event, &args);
	}
	write_slice(events->calls, &event, vt_pf_tracks_thread(events->tracks, item->process, call->thread), call->start_ns,
		    call->time_ns);
	return 0;
}

static int on_op(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_op *op = (const struct vt_op *)(const void *)item->rec;
	struct vt_pf_events *events = self;
	Pf__TrackEvent event = PF__TRACK_EVENT__INIT;
	struct args args = { .count = 0 };
	struct vt_op_info info;
	/* One arrow from the forward op to its backward: the thread of the forward and its number name it. */
	uint64_t flow = (uint64_t)(op->forward_thread ? op->forward_thread : op->torch_thread) << 40 ^ (uint64_t)op->sequence ^
			(uint64_t)item->process << 52;

	(void)replay, (void)err;
	if (events->detail == VT_PF_LOW)
		return 0;
	(void)vt_symbols_op(events->symbols, item->process, op->node, &info);
	set_name(events->calls, &event, info.name);
	if (op->sequence >= 0 && op->forward_thread) {
		event.n_terminating_flow_ids = 1;
		event.terminating_flow_ids = &flow;
	} else if (op->sequence >= 0 && events->detail == VT_PF_FULL) {
		event.n_flow_ids = 1;
		event.flow_ids = &flow;
	}
	if (events->detail == VT_PF_FULL && op->sequence >= 0) {
		add_number(events->calls, &args, "sequence", (uint64_t)op->sequence);
		set_args(&event, &args);
	}
	write_slice(events->calls, &event, vt_pf_tracks_thread(events->tracks, item->process, op->thread), op->start_ns,
		    op->end_ns);
	return 0;
}

/* The string id of a kernel's name. */
static uint32_t kernel_name(const struct vt_pf_events *events, uint32_t process, uint32_t config)
{
	uint32_t place = vt_idmap_find(&events->configs, (struct vt_idmap_key){ process, config, 0 });

	return place == VT_IDMAP_NONE ? 0 : events->config_names[place];
}

void vt_pf_events_kernel(struct vt_pf_events *events, uint32_t process, const struct vt_kernel *kernel)
{
	Pf__TrackEvent event = PF__TRACK_EVENT__INIT;

	if (events->detail == VT_PF_LOW)
		return;
	set_name(events->calls, &event, vt_symbols_string(events->symbols, process, kernel_name(events, process, kernel->config)));
	write_slice(events->calls, &event, vt_pf_tracks_queue(events->tracks, process, kernel->device, kernel->stream),
		    kernel->start_ns, kernel->end_ns);
}

void vt_pf_events_copy(struct vt_pf_events *events, uint32_t process, const struct vt_copy *copy)
{
	const char *kind = vt_enum_text("copy_kind", copy->kind);
	Pf__TrackEvent event = PF__TRACK_EVENT__INIT;
	struct args args = { .count = 0 };

	if (events->detail == VT_PF_LOW)
		return;
	set_name(events->calls, &event, kind ? kind : "?");
	add_number(events->calls, &args, "bytes", copy->size_bytes);
	set_args(&event, &args);
	write_slice(events->calls, &event, vt_pf_tracks_queue(events->tracks, process, copy->device, copy->stream),
		    copy->start_ns, copy->end_ns);
}

struct vt_listener vt_pf_events_listener(struct vt_pf_events *events)
{
	return (struct vt_listener){ .self = events,
				     .alloc = on_alloc,
				     .free = on_free,
				     .driver = on_driver,
				     .op = on_op,
				     .sample = on_sample,
				     .oom = on_oom };
}

void vt_pf_events_done(struct vt_pf_events *events)
{
	vt_pf_heaps_done(&events->heaps);
	vt_idmap_done(&events->configs);
	free(events->config_names);
	free(events->last);
}
