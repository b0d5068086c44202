/* pf_memory.c - see pf_memory.h. */
#include "analyze/perfetto/pf_memory.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/perfetto/pf_args.h"
#include "schema/base/format.h"

/* The device's rows and sequence, made at its first use; NULL: no memory. */
static struct vt_pf_device *device_of(struct vt_pf_memory *memory, const struct vt_replay *replay, uint32_t device)
{
	const struct vt_device *state = vt_replay_device(replay, device);
	bool is_host = state->device_type == VT_device_type_HOST;
	struct vt_pf_device *own;

	if (device < memory->device_room && memory->devices[device])
		return memory->devices[device];
	own = calloc(1, sizeof(*own));
	if (!own ||
	    vt_array_reach((void **)&memory->devices, &memory->device_room, device, sizeof(*memory->devices)) < 0) {
		memory->common->output->failed = true;
		free(own);
		return NULL;
	}
	memory->devices[device] = own;
	own->rows = vt_pf_tracks_device(memory->tracks, state, device,
					is_host ? "" : vt_pf_gpus_name(memory->gpus, state->process, state->device));
	vt_pf_sequence_begin(&own->sequence, memory->common->output, memory->symbols, memory->clocks,
			     own->rows ? own->rows->allocated : 0);
	return own;
}

static void write_counter(struct vt_pf_device *own, uint64_t track, uint64_t value, uint64_t time_ns)
{
	struct vt_pf_event event;

	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_COUNTER, track);
	vt_pf_put_number(&event, VT_PF_COUNTER_VALUE, value);
	vt_pf_write_event(&own->sequence, VT_PF_TRACK_EVENT, &event, time_ns);
}

/* The counters that do not come with the instants, where they have changed. */
static void write_counters(struct vt_pf_device *own, const struct vt_device *state, uint64_t time_ns)
{
	uint64_t used = state->total_bytes > state->free_bytes ? state->total_bytes - state->free_bytes : 0;

	if (!own->rows)
		return;
	if (state->reserved_bytes != own->reserved)
		write_counter(own, own->rows->reserved, state->reserved_bytes, time_ns);
	if (state->driver_bytes != own->driver)
		write_counter(own, own->rows->driver, state->driver_bytes, time_ns);
	if (used != own->used)
		write_counter(own, own->rows->device_used, used, time_ns);
	own->reserved = state->reserved_bytes;
	own->driver = state->driver_bytes;
	own->used = used;
}

/* The iids of where a block was allocated, found once. NULL: no memory. */
static const struct vt_pf_place_texts *texts_of(struct vt_pf_memory *memory, struct vt_pf_device *own, uint32_t process,
						const struct vt_block *block)
{
	uint32_t place = vt_idmap_add(&own->places, (struct vt_idmap_key){ block->op, block->stack, 0 });
	struct vt_pf_place_texts *texts;
	struct vt_op_info op;

	if (place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&own->place_texts, &own->place_room, place, sizeof(*own->place_texts)) < 0) {
		memory->common->output->failed = true;
		return NULL;
	}
	texts = &own->place_texts[place];
	if (texts->name)
		return texts;
	(void)vt_symbols_op(memory->symbols, process, block->op, &op);
	texts->name = vt_pf_text(&own->sequence, VT_PF_EVENT_NAME, op.name[0] ? op.name : "(no op)");
	texts->stack = vt_pf_callstack(&own->sequence, process, block->op, block->stack);
	return texts;
}

/* The allocator's total where it does not come with an instant. */
static void write_allocated(struct vt_pf_device *own, uint64_t bytes, uint64_t time_ns)
{
	struct vt_pf_event event;

	if (bytes % own->rows->allocated_unit == 0) {
		write_counter(own, 0, bytes / own->rows->allocated_unit, time_ns);
		return;
	}
	/* Exact: a power of two divides it. */
	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_COUNTER, 0);
	vt_pf_put_double(&event, VT_PF_DOUBLE_COUNTER_VALUE, (double)bytes / (double)own->rows->allocated_unit);
	vt_pf_write_event(&own->sequence, VT_PF_TRACK_EVENT, &event, time_ns);
}

static void write_instant(struct vt_pf_memory *memory, struct vt_pf_device *own, const struct vt_device *state,
			  const struct vt_item *item, const struct vt_block *block, bool is_alloc)
{
	const struct vt_pf_place_texts *texts = texts_of(memory, own, state->process, block);
	bool whole = state->reported_bytes % own->rows->allocated_unit == 0;
	struct vt_pf_event event;

	if (!texts)
		return;
	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_INSTANT, is_alloc ? own->rows->allocs : own->rows->frees);
	vt_pf_put_number(&event, VT_PF_NAME_IID, texts->name);
	if (texts->stack) {
		vt_pf_put_number(&event, VT_PF_CALLSTACK_IID, texts->stack);
		vt_pf_put_double(&event, VT_PF_CALLSTACK_WEIGHT, (double)block->size_bytes);
	}
	if (whole)
		vt_pf_put_number(&event, VT_PF_EXTRA_COUNTER_VALUES, state->reported_bytes / own->rows->allocated_unit);
	if (memory->detail == VT_PF_FULL) {
		vt_pf_arg_number(&own->sequence, &event, "bytes", block->size_bytes);
		vt_pf_arg_address(&own->sequence, &event, "address", block->address);
		if (!is_alloc && block->serial)
			vt_pf_arg_number(&own->sequence, &event, "lifetime_ns", item->time_ns - block->alloc_ns);
	}
	vt_pf_write_event(&own->sequence, VT_PF_TRACK_EVENT, &event, item->time_ns);
	if (!whole)
		write_allocated(own, state->reported_bytes, item->time_ns);
}

/* An allocation or a free: an instant that carries the bytes, who, and the new total. */
static void write_block(struct vt_pf_memory *memory, const struct vt_replay *replay, const struct vt_item *item,
			const struct vt_block *block, bool is_alloc)
{
	const struct vt_device *state = vt_replay_device(replay, block->device);
	struct vt_pf_device *own;

	if (item->time_ns < memory->from_ns)
		return;
	own = device_of(memory, replay, block->device);
	if (!own || !own->rows || memory->coarse)
		return;
	if (memory->detail == VT_PF_LOW)
		write_allocated(own, state->reported_bytes, item->time_ns);
	else
		write_instant(memory, own, state, item, block, is_alloc);
	write_counters(own, state, item->time_ns);
}

/* A heap profile after a step's last event, of as many steps as there is room for. */
static int keep_step(struct vt_pf_memory *memory, const struct vt_item *item, uint32_t device, struct vt_err *err)
{
	const struct vt_page_device_steps *steps;
	struct vt_pf_device *own = device < memory->device_room ? memory->devices[device] : NULL;
	size_t every, step;

	if (!memory->steps || device >= memory->steps->room || !own || item->time_ns < memory->from_ns)
		return 0;
	steps = &memory->steps->devices[device];
	while (own->next_step < steps->count && steps->list[own->next_step].last_ns < item->time_ns)
		own->next_step++;
	step = own->next_step;
	if (step == steps->count || steps->list[step].last_ns != item->time_ns)
		return 0;
	own->next_step++;
	every = (steps->count + VT_PF_STEP_DUMPS_MAX - 1) / VT_PF_STEP_DUMPS_MAX;
	return step % every ? 0
			    : vt_pf_heaps_keep(&memory->heaps, memory->groups, device, item->time_ns + 1 + device, err);
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	write_block(self, replay, item, block, true);
	return keep_step(self, item, block->device, err);
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	write_block(self, replay, item, block, false);
	return keep_step(self, item, block->device, err);
}

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	struct vt_pf_memory *memory = self;
	struct vt_pf_device *own;

	(void)err;
	if (item->time_ns < memory->from_ns)
		return 0;
	own = device_of(memory, replay, device);
	if (own && !memory->coarse)
		write_counters(own, vt_replay_device(replay, device), item->time_ns);
	return 0;
}

/* The device's row at the top of the timeline, of all processes together, and this process's share. */
static void write_total(struct vt_pf_memory *memory, struct vt_pf_device *own, const struct vt_device *state,
			uint32_t pid, uint64_t bytes, uint64_t time_ns)
{
	Pf__GpuMemTotalEvent total = PF__GPU_MEM_TOTAL_EVENT__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	total.has_gpu_id = total.has_pid = total.has_size = 1;
	total.gpu_id = vt_pf_gpus_id(memory->gpus, state->process, state->device);
	total.pid = pid;
	total.size = bytes;
	packet.gpu_mem_total_event = &total;
	vt_pf_write(&own->sequence, &packet, time_ns);
}

static int on_sample(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_device_sample *sample = (const struct vt_device_sample *)(const void *)item->rec;
	const struct vt_device *state = vt_replay_device(replay, device);
	struct vt_pf_memory *memory = self;
	struct vt_pf_device *own;

	(void)err;
	if (item->time_ns < memory->from_ns)
		return 0;
	own = device_of(memory, replay, device);
	if (!own)
		return 0;
	if (!memory->coarse)
		write_counters(own, state, item->time_ns);
	if (sample->total_bytes >= sample->free_bytes)
		write_total(memory, own, state, 0, sample->total_bytes - sample->free_bytes, item->time_ns);
	if (sample->process_bytes)
		write_total(memory, own, state, vt_pf_tracks_pid(memory->tracks, state->process), sample->process_bytes,
			    item->time_ns);
	return 0;
}

static void write_log(struct vt_pf_sequence *sequence, const char *text, uint64_t time_ns)
{
	Pf__GpuLog log = PF__GPU_LOG__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	log.has_severity = 1;
	log.severity = PF__GPU_LOG__SEVERITY__LOG_SEVERITY_ERROR;
	/* protobuf-c only reads them. NOLINTBEGIN(performance-no-int-to-ptr) */
	log.tag = (char *)(uintptr_t) "vramtrace";
	log.log_message = (char *)(uintptr_t)text;
	/* NOLINTEND(performance-no-int-to-ptr) */
	packet.gpu_log = &log;
	vt_pf_write(sequence, &packet, time_ns);
}

static int on_oom(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		  struct vt_err *err)
{
	const struct vt_oom *oom = (const struct vt_oom *)(const void *)item->rec;
	struct vt_pf_memory *memory = self;
	struct vt_pf_device *own;
	struct vt_pf_event event;
	char text[256], asked[VT_FORMAT_MAX], held[VT_FORMAT_MAX], left[VT_FORMAT_MAX];
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "requested_bytes", oom->requested_bytes },	   { "allocated_bytes", oom->allocated_bytes },
		{ "reserved_bytes", oom->reserved_bytes },	   { "device_free_bytes", oom->device_free_bytes },
		{ "device_total_bytes", oom->device_total_bytes }, { "process_bytes", oom->process_bytes },
	};
	uint64_t stack;

	if (item->time_ns < memory->from_ns)
		return 0;
	own = device_of(memory, replay, device);
	if (!own || !own->rows)
		return 0;
	(void)snprintf(text, sizeof(text), "out of memory: %s asked for, %s allocated, %s free on the device",
		       vt_format_bytes(asked, oom->requested_bytes), vt_format_bytes(held, oom->allocated_bytes),
		       oom->device_total_bytes ? vt_format_bytes(left, oom->device_free_bytes) : "an unknown amount");
	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_INSTANT, own->rows->ooms);
	vt_pf_event_name(&own->sequence, &event, "out of memory");
	stack = vt_pf_callstack(&own->sequence, item->process, oom->op, oom->stack);
	if (stack)
		vt_pf_put_number(&event, VT_PF_CALLSTACK_IID, stack);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		vt_pf_arg_number(&own->sequence, &event, numbers[i].name, numbers[i].value);
	vt_pf_arg_text(&own->sequence, &event, "text", text);
	vt_pf_write_event(&own->sequence, VT_PF_TRACK_EVENT, &event, item->time_ns);
	write_log(&own->sequence, text, item->time_ns);
	if (memory->heaps.ooms++ >= VT_PF_OOM_DUMPS_MAX)
		return 0;
	return vt_pf_heaps_keep(&memory->heaps, memory->groups, device, item->time_ns, err);
}

static int on_note(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)item->rec;
	const char *code = vt_enum_text("note_code", note->code);
	struct vt_pf_memory *memory = self;
	struct vt_pf_event event;
	const char *text;
	uint64_t track;

	(void)replay, (void)err;
	if (item->time_ns < memory->from_ns)
		return 0;
	track = vt_pf_tracks_capture(memory->tracks, item->process);
	if (!track)
		return 0;
	text = vt_symbols_string(memory->symbols, item->process, note->text);
	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_INSTANT, track);
	vt_pf_event_name(memory->common, &event, code ? code : "note");
	vt_pf_arg_number(memory->common, &event, "value", note->value);
	if (text[0])
		vt_pf_arg_text(memory->common, &event, "text", text);
	vt_pf_write_event(memory->common, VT_PF_TRACK_EVENT, &event, item->time_ns);
	return 0;
}

struct vt_listener vt_pf_memory_listener(struct vt_pf_memory *memory)
{
	return (struct vt_listener){ .self = memory,
				     .alloc = on_alloc,
				     .free = on_free,
				     .driver = on_driver,
				     .sample = on_sample,
				     .oom = on_oom,
				     .note = on_note };
}

void vt_pf_memory_done(struct vt_pf_memory *memory)
{
	for (size_t i = 0; i < memory->device_room; i++) {
		if (memory->devices[i]) {
			vt_pf_sequence_done(&memory->devices[i]->sequence);
			vt_idmap_done(&memory->devices[i]->places);
			free(memory->devices[i]->place_texts);
		}
		free(memory->devices[i]);
	}
	free(memory->devices);
	vt_pf_heaps_done(&memory->heaps);
}
