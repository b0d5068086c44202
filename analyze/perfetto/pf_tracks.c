/* pf_tracks.c - see pf_tracks.h. */
#include "analyze/perfetto/pf_tracks.h"

#include <stdlib.h>
#include <string.h>

/* What a descriptor says; 0 and NULL leave a field out. */
struct row {
	uint64_t parent;
	const char *name;
	const char *description;
	const char *axis; /* counters of bytes that share an axis; NULL: no counter */
	int32_t rank;
	bool keeps_order; /* children by their rank */
};

static char *words(const char *text)
{
	return (char *)(uintptr_t)text; /* protobuf-c only reads it */
}

static void write_descriptor(struct vt_pf_tracks *tracks, Pf__TrackDescriptor *descriptor)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	descriptor->has_uuid = 1;
	packet.track_descriptor = descriptor;
	vt_pf_write(tracks->sequence, &packet, 0);
}

static uint64_t add_row(struct vt_pf_tracks *tracks, const struct row *row)
{
	Pf__TrackDescriptor descriptor = PF__TRACK_DESCRIPTOR__INIT;
	Pf__CounterDescriptor counter = PF__COUNTER_DESCRIPTOR__INIT;

	descriptor.uuid = ++tracks->next_uuid;
	descriptor.has_parent_uuid = 1;
	descriptor.parent_uuid = row->parent;
	descriptor.name = words(row->name);
	descriptor.description = words(row->description);
	descriptor.has_sibling_order_rank = 1;
	descriptor.sibling_order_rank = row->rank;
	/* Else rows of one name become one row. */
	descriptor.has_sibling_merge_behavior = 1;
	descriptor.sibling_merge_behavior = PF__TRACK_DESCRIPTOR__SIBLING_MERGE_BEHAVIOR__SIBLING_MERGE_BEHAVIOR_NONE;
	descriptor.has_child_ordering = row->keeps_order;
	descriptor.child_ordering = PF__TRACK_DESCRIPTOR__CHILD_TRACKS_ORDERING__EXPLICIT;
	if (row->axis) {
		counter.has_unit = 1;
		counter.unit = PF__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES;
		counter.y_axis_share_key = words(row->axis);
		descriptor.counter = &counter;
	}
	write_descriptor(tracks, &descriptor);
	return descriptor.uuid;
}

/* ------------------------------------------------------------------ processes and threads */

struct begin_context {
	struct vt_pf_tracks *tracks;
	struct vt_err *err;
};

static int add_process(void *arg, const struct vt_process_row *row)
{
	struct begin_context *context = arg;
	struct vt_pf_tracks *tracks = context->tracks;
	Pf__TrackDescriptor descriptor = PF__TRACK_DESCRIPTOR__INIT;
	Pf__ProcessDescriptor process = PF__PROCESS_DESCRIPTOR__INIT;
	char label[32], *labels[1] = { label }, *command[1] = { words(row->command) };
	uint32_t place = vt_idmap_add(&tracks->processes, (struct vt_idmap_key){ row->id, 0, 0 });

	if (place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&tracks->process_uuids, &tracks->process_room, 2 * (size_t)place + 1,
			   sizeof(*tracks->process_uuids)) < 0 ||
	    vt_array_reach((void **)&tracks->pids, &tracks->pid_room, place, sizeof(*tracks->pids)) < 0)
		return vt_err_set(context->err, VT_E_NOMEM, "out of memory for process %u", row->id);
	descriptor.uuid = ++tracks->next_uuid;
	process.has_pid = 1;
	process.pid = (int32_t)row->pid;
	process.process_name = words(row->command[0] ? row->command : row->executable);
	process.n_cmdline = 1;
	process.cmdline = command;
	process.has_start_timestamp_ns = 1;
	process.start_timestamp_ns = (int64_t)row->start_ns;
	if (row->rank >= 0) {
		(void)snprintf(label, sizeof(label), "rank %d", row->rank);
		process.n_process_labels = 1;
		process.process_labels = labels;
	}
	descriptor.process = &process;
	write_descriptor(tracks, &descriptor);
	tracks->process_uuids[2 * place] = descriptor.uuid;
	tracks->pids[place] = row->pid;
	return 0;
}

static uint64_t add_thread(struct vt_pf_tracks *tracks, uint32_t process, uint32_t tid, const char *name)
{
	Pf__TrackDescriptor descriptor = PF__TRACK_DESCRIPTOR__INIT;
	Pf__ThreadDescriptor thread = PF__THREAD_DESCRIPTOR__INIT;
	uint32_t place = vt_idmap_add(&tracks->threads, (struct vt_idmap_key){ process, tid, 0 });

	if (place == VT_IDMAP_NONE || vt_array_reach((void **)&tracks->thread_uuids, &tracks->thread_room, place,
						     sizeof(*tracks->thread_uuids)) < 0) {
		tracks->sequence->output->failed = true;
		return 0;
	}
	if (tracks->thread_uuids[place])
		return tracks->thread_uuids[place];
	descriptor.uuid = ++tracks->next_uuid;
	thread.has_pid = thread.has_tid = 1;
	thread.pid = (int32_t)vt_pf_tracks_pid(tracks, process);
	thread.tid = tid;
	thread.thread_name = words(name);
	descriptor.thread = &thread;
	write_descriptor(tracks, &descriptor);
	tracks->thread_uuids[place] = descriptor.uuid;
	return descriptor.uuid;
}

static int add_thread_row(void *arg, const struct vt_thread_row *row)
{
	struct begin_context *context = arg;

	(void)add_thread(context->tracks, row->process, row->tid, row->name);
	return 0;
}

int vt_pf_tracks_begin(struct vt_pf_tracks *tracks, struct vt_pf_sequence *sequence, struct vt_store *store,
		       struct vt_err *err)
{
	struct begin_context context = { tracks, err };
	int r;

	*tracks = (struct vt_pf_tracks){ .sequence = sequence, .store = store };
	r = vt_store_each_process(store, add_process, &context, err);
	if (r == 0)
		r = vt_store_each_thread(store, add_thread_row, &context, err);
	return r;
}

void vt_pf_tracks_done(struct vt_pf_tracks *tracks)
{
	vt_idmap_done(&tracks->processes);
	vt_idmap_done(&tracks->threads);
	vt_idmap_done(&tracks->queues);
	free(tracks->process_uuids);
	free(tracks->pids);
	free(tracks->thread_uuids);
	free(tracks->devices);
	free(tracks->queue_uuids);
}

uint32_t vt_pf_tracks_pid(const struct vt_pf_tracks *tracks, uint32_t process)
{
	uint32_t place = vt_idmap_find(&tracks->processes, (struct vt_idmap_key){ process, 0, 0 });

	return place == VT_IDMAP_NONE ? process : tracks->pids[place];
}

uint64_t vt_pf_tracks_thread(struct vt_pf_tracks *tracks, uint32_t process, uint32_t tid)
{
	uint32_t place = vt_idmap_find(&tracks->threads, (struct vt_idmap_key){ process, tid, 0 });

	return place == VT_IDMAP_NONE ? add_thread(tracks, process, tid, "") : tracks->thread_uuids[place];
}

/* ------------------------------------------------------------------ devices */

static uint64_t memory_group(struct vt_pf_tracks *tracks, uint32_t process, bool is_host)
{
	uint32_t place = vt_idmap_find(&tracks->processes, (struct vt_idmap_key){ process, 0, 0 });

	if (place == VT_IDMAP_NONE)
		return 0;
	if (!tracks->process_uuids[2 * place + 1])
		tracks->process_uuids[2 * place + 1] =
			add_row(tracks, &(struct row){ .parent = tracks->process_uuids[2 * place],
						       .name = is_host ? "Host Memory" : "GPU Memory",
						       .keeps_order = true });
	return tracks->process_uuids[2 * place + 1];
}

struct name_context {
	uint32_t process;
	int16_t device;
	const struct vt_symbols *symbols;
	char *name;
	size_t room;
};

static int find_name(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct name_context *context = arg;
	const struct vt_note *note = (const struct vt_note *)(const void *)rec;

	if (process == context->process && note->code == VT_note_code_DEVICE_NAME &&
	    note->value == (uint64_t)context->device)
		(void)snprintf(context->name, context->room, "%s", vt_symbols_string(context->symbols, process, note->text));
	return 0;
}

/* "cuda:0 NVIDIA H200" */
static void device_name(struct vt_pf_tracks *tracks, const struct vt_device *device, char *name, size_t room)
{
	const char *type = vt_enum_text("device_type", device->device_type);
	char model[128] = "";
	struct name_context context = { device->process, device->device, tracks->sequence->symbols, model, sizeof(model) };

	if (device->device_type == VT_device_type_HOST) {
		(void)snprintf(name, room, "cpu");
		return;
	}
	(void)vt_store_each_record(tracks->store, vt_event_find(VT_EVENT_note), find_name, &context, NULL);
	(void)snprintf(name, room, "%s:%d %s", type ? type : "device", device->device, model);
}

static void make_device(struct vt_pf_tracks *tracks, struct vt_pf_device_tracks *rows, const struct vt_device *device)
{
	bool is_host = device->device_type == VT_device_type_HOST;
	uint64_t parent = memory_group(tracks, device->process, is_host);
	char name[192];

	device_name(tracks, device, name, sizeof(name));
	rows->group = add_row(tracks, &(struct row){ .parent = parent, .name = name, .keeps_order = true, .rank = device->device });
	rows->allocated = add_row(tracks, &(struct row){ rows->group, "Allocated",
							 "Bytes that the framework's allocator has handed out", "memory", 1, false });
	rows->ooms = add_row(tracks, &(struct row){ rows->group, "Out of memory", "Each OOM, with its numbers", NULL, 0, false });
	if (!is_host) {
		rows->reserved = add_row(tracks, &(struct row){ rows->group, "Reserved",
								"Bytes of segments that the allocator holds from the driver",
								"memory", 2, false });
		rows->driver = add_row(tracks, &(struct row){ rows->group, "Driver",
							      "Bytes held by driver calls of this process: cuMemAlloc, cuMemCreate, pools",
							      "memory", 3, false });
		rows->device_used = add_row(tracks, &(struct row){ rows->group, "Device used",
								   "Total minus free bytes of the device, as the driver says: all processes",
								   "memory", 4, false });
	}
	rows->allocs = add_row(tracks, &(struct row){ rows->group, "Allocations",
						      "Drag over it: bytes allocated by call stack", NULL, 5, false });
	rows->frees = add_row(tracks, &(struct row){ rows->group, "Frees", NULL, NULL, 6, false });
}

const struct vt_pf_device_tracks *vt_pf_tracks_device(struct vt_pf_tracks *tracks, const struct vt_replay *replay,
						      uint32_t device)
{
	if (vt_array_reach((void **)&tracks->devices, &tracks->device_room, device, sizeof(*tracks->devices)) < 0) {
		tracks->sequence->output->failed = true;
		return NULL;
	}
	if (!tracks->devices[device].group)
		make_device(tracks, &tracks->devices[device], vt_replay_device(replay, device));
	return &tracks->devices[device];
}

uint64_t vt_pf_tracks_queue(struct vt_pf_tracks *tracks, uint32_t process, int16_t device, uint32_t stream)
{
	struct vt_idmap_key key = { process, (uint32_t)(uint16_t)device, stream };
	uint32_t place = vt_idmap_add(&tracks->queues, key);
	char name[64];

	if (place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&tracks->queue_uuids, &tracks->queue_room, place, sizeof(*tracks->queue_uuids)) < 0) {
		tracks->sequence->output->failed = true;
		return 0;
	}
	if (!tracks->queue_uuids[place]) {
		(void)snprintf(name, sizeof(name), "GPU %d stream %u", device, stream);
		tracks->queue_uuids[place] = add_row(
			tracks, &(struct row){ .parent = memory_group(tracks, process, false), .name = name, .rank = 1000 });
	}
	return tracks->queue_uuids[place];
}
