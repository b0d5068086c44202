/* pf_tracks.c - see pf_tracks.h. */
#include "analyze/perfetto/pf_tracks.h"

#include <stdlib.h>
#include <string.h>

#include "schema/base/cleanup.h"
#include "schema/base/utf8.h"

/* What a descriptor says; 0 and NULL leave a field out. */
struct row {
	uint64_t parent;
	const char *name;
	const char *description;
	const char *axis; /* counters of bytes that share an axis; NULL: no counter */
	int32_t rank;
	bool keeps_order; /* children by their rank */
	uint64_t unit;	  /* counters: bytes that one stands for; 0: one */
};

static char *words(const char *text)
{
	return (char *)(uintptr_t)text; /* NOLINT(performance-no-int-to-ptr): protobuf-c only reads it */
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
		counter.has_unit_multiplier = row->unit != 0;
		counter.unit_multiplier = (int64_t)row->unit;
		descriptor.counter = &counter;
	}
	write_descriptor(tracks, &descriptor);
	return descriptor.uuid;
}

/* ------------------------------------------------------------------ processes and threads */

/* Longest command line that is shown. */
#define COMMAND_MAX 4096

/* A copy that is UTF-8, as texts of protocol buffers must be; NULL: no memory. The caller frees it. */
static char *clean_text(const char *text)
{
	size_t bytes = strnlen(text, COMMAND_MAX);
	char *copy = malloc(3 * bytes + 1); /* a broken byte becomes three */
	size_t used = 0;

	for (size_t at = 0; copy && at < bytes;) {
		uint32_t codepoint;

		at += vt_utf8_decode(text + at, bytes - at, &codepoint);
		used += vt_utf8_encode(copy + used, vt_utf8_is_unsafe(codepoint) ? ' ' : codepoint);
	}
	if (copy)
		copy[used] = '\0';
	return copy;
}

struct begin_context {
	struct vt_pf_tracks *tracks;
	struct vt_err *err;
};

static int add_process(void *arg, const struct vt_process_row *row)
{
	struct begin_context *context = arg;
	struct vt_pf_tracks *tracks = context->tracks;
	VT_CLEANUP(vt_freep) char *name = clean_text(row->command[0] ? row->command : row->executable);
	Pf__TrackDescriptor descriptor = PF__TRACK_DESCRIPTOR__INIT;
	Pf__ProcessDescriptor process = PF__PROCESS_DESCRIPTOR__INIT;
	char label[32], *labels[1] = { label }, *command[1] = { name };
	uint32_t place = vt_idmap_add(&tracks->processes, (struct vt_idmap_key){ row->id, 0, 0 });

	if (!name || place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&tracks->process_rows, &tracks->process_room, place,
			   sizeof(*tracks->process_rows)) < 0)
		return vt_err_set(context->err, VT_E_NOMEM, "out of memory for process %u", row->id);
	descriptor.uuid = ++tracks->next_uuid;
	process.has_pid = 1;
	process.pid = (int32_t)row->pid;
	process.process_name = name;
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
	tracks->process_rows[place] = (struct vt_pf_process_tracks){ .pid = row->pid, .process = descriptor.uuid };
	return 0;
}

static uint64_t add_thread(struct vt_pf_tracks *tracks, uint32_t process, uint32_t tid, const char *name)
{
	Pf__TrackDescriptor descriptor = PF__TRACK_DESCRIPTOR__INIT;
	Pf__ThreadDescriptor thread = PF__THREAD_DESCRIPTOR__INIT;
	VT_CLEANUP(vt_freep) char *clean = clean_text(name);
	uint32_t place = vt_idmap_add(&tracks->threads, (struct vt_idmap_key){ process, tid, 0 });

	if (!clean || place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&tracks->thread_uuids, &tracks->thread_room, place, sizeof(*tracks->thread_uuids)) <
		    0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): VT_CLEANUP frees clean */
		tracks->sequence->output->failed = true;
		return 0;
	}
	if (tracks->thread_uuids[place])
		return tracks->thread_uuids[place];
	descriptor.uuid = ++tracks->next_uuid;
	thread.has_pid = thread.has_tid = 1;
	thread.pid = (int32_t)vt_pf_tracks_pid(tracks, process);
	thread.tid = tid;
	thread.thread_name = clean[0] ? clean : NULL;
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

	*tracks = (struct vt_pf_tracks){ .sequence = sequence };
	r = vt_store_each_process(store, add_process, &context, err);
	if (r == 0)
		r = vt_store_each_thread(store, add_thread_row, &context, err);
	return r;
}

void vt_pf_tracks_done(struct vt_pf_tracks *tracks)
{
	vt_idmap_done(&tracks->processes);
	vt_idmap_done(&tracks->threads);
	free(tracks->process_rows);
	free(tracks->thread_uuids);
	for (size_t i = 0; i < tracks->device_room; i++)
		free(tracks->devices[i]);
	free(tracks->devices);
}

uint32_t vt_pf_tracks_pid(const struct vt_pf_tracks *tracks, uint32_t process)
{
	uint32_t place = vt_idmap_find(&tracks->processes, (struct vt_idmap_key){ process, 0, 0 });

	return place == VT_IDMAP_NONE ? process : tracks->process_rows[place].pid;
}

uint64_t vt_pf_tracks_thread(struct vt_pf_tracks *tracks, uint32_t process, uint32_t tid)
{
	uint32_t place = vt_idmap_find(&tracks->threads, (struct vt_idmap_key){ process, tid, 0 });

	return place == VT_IDMAP_NONE ? add_thread(tracks, process, tid, "") : tracks->thread_uuids[place];
}

uint64_t vt_pf_tracks_lane(struct vt_pf_tracks *tracks, uint64_t thread_track, int32_t rank)
{
	return add_row(tracks, &(struct row){ .parent = thread_track,
					      .name = "overlapping",
					      .description = "What ran across the ends of the slices beside it",
					      .rank = rank });
}

static struct vt_pf_process_tracks *find_process(const struct vt_pf_tracks *tracks, uint32_t process)
{
	uint32_t place = vt_idmap_find(&tracks->processes, (struct vt_idmap_key){ process, 0, 0 });

	return place == VT_IDMAP_NONE ? NULL : &tracks->process_rows[place];
}

uint64_t vt_pf_tracks_capture(struct vt_pf_tracks *tracks, uint32_t process)
{
	struct vt_pf_process_tracks *rows = find_process(tracks, process);

	if (rows && !rows->capture)
		rows->capture = add_row(tracks, &(struct row){ .parent = rows->process,
							       .name = "Capture",
							       .description = "What the capture says about itself",
							       .rank = -2 });
	return rows ? rows->capture : 0;
}

/* ------------------------------------------------------------------ devices */

static uint64_t memory_group(struct vt_pf_tracks *tracks, uint32_t process)
{
	struct vt_pf_process_tracks *rows = find_process(tracks, process);

	if (rows && !rows->memory)
		rows->memory = add_row(
			tracks,
			&(struct row){ .parent = rows->process, .name = "Memory", .rank = -1, .keeps_order = true });
	return rows ? rows->memory : 0;
}

/* Counters of bytes of one device share an axis. */
#define MEMORY_AXIS "memory"

uint64_t vt_pf_tracks_plain(struct vt_pf_tracks *tracks, uint64_t parent, int32_t rank, const char *name,
			    const char *description)
{
	return add_row(tracks,
		       &(struct row){ .parent = parent, .name = name, .description = description, .rank = rank });
}

uint64_t vt_pf_tracks_counter(struct vt_pf_tracks *tracks, uint64_t parent, int32_t rank, const char *name,
			      const char *description)
{
	return add_row(tracks, &(struct row){ .parent = parent,
					      .name = name,
					      .description = description,
					      .axis = MEMORY_AXIS,
					      .rank = rank });
}

uint64_t vt_pf_tracks_group(struct vt_pf_tracks *tracks, uint64_t parent, int32_t rank, const char *name,
			    const char *description)
{
	return add_row(tracks, &(struct row){ .parent = parent,
					      .name = name,
					      .description = description,
					      .rank = rank,
					      .keeps_order = true });
}

uint64_t vt_pf_tracks_steps(struct vt_pf_tracks *tracks, uint32_t process, const char *how)
{
	const struct vt_pf_process_tracks *rows = find_process(tracks, process);
	char description[160];

	(void)snprintf(description, sizeof(description), "Steps of the loop, found %.100s", how);
	return rows ? vt_pf_tracks_plain(tracks, rows->process, -3, "Steps", description) : 0;
}

static void make_device(struct vt_pf_tracks *tracks, struct vt_pf_device_tracks *rows, const struct vt_device *device,
			const char *model)
{
	const char *type = vt_enum_text("device_type", device->device_type);
	bool is_host = device->device_type == VT_device_type_HOST;
	char name[192];

	if (is_host)
		(void)snprintf(name, sizeof(name), "cpu");
	else
		(void)snprintf(name, sizeof(name), "%s:%d%s%s", type ? type : "device", device->device,
			       model[0] ? " " : "", model);
	rows->group = add_row(tracks, &(struct row){ .parent = memory_group(tracks, device->process),
						     .name = name,
						     .keeps_order = true,
						     .rank = is_host ? INT16_MAX : device->device });
	rows->ooms = vt_pf_tracks_plain(tracks, rows->group, 0, "Out of memory", "Each OOM, with its numbers");
	/* Blocks of a GPU are whole kMinBlockSize of c10's allocator: smaller numbers are shorter ones in the file. */
	rows->allocated_unit = is_host ? 1 : 512;
	rows->allocated =
		add_row(tracks, &(struct row){ .parent = rows->group,
					       .name = "Allocated",
					       .description = "Bytes that the framework's allocator has handed out",
					       .axis = MEMORY_AXIS,
					       .rank = 1,
					       .unit = is_host ? 0 : rows->allocated_unit });
	rows->reserved = vt_pf_tracks_counter(tracks, rows->group, 2, "Reserved",
					      "Bytes of segments that the allocator holds from the driver");
	rows->driver = vt_pf_tracks_counter(
		tracks, rows->group, 3, "Driver",
		is_host ? "Pinned and registered host memory"
			: "Bytes held by driver calls of this process: cuMemAlloc, cuMemCreate, pools");
	rows->device_used =
		vt_pf_tracks_counter(tracks, rows->group, 4, "Device used",
				     "Total minus free bytes of the device, as the driver says: all processes");
	rows->allocs = vt_pf_tracks_plain(tracks, rows->group, 5, "Allocations",
					  "Drag over it: bytes allocated by call stack");
	rows->frees = vt_pf_tracks_plain(tracks, rows->group, 6, "Frees", "Drag over it: bytes freed by call stack");
}

const struct vt_pf_device_tracks *vt_pf_tracks_device(struct vt_pf_tracks *tracks, const struct vt_device *state,
						      uint32_t device, const char *model)
{
	struct vt_pf_device_tracks **rows;

	if (vt_array_reach((void **)&tracks->devices, &tracks->device_room, device,
			   sizeof(struct vt_pf_device_tracks *)) < 0) {
		tracks->sequence->output->failed = true;
		return NULL;
	}
	rows = &tracks->devices[device];
	if (!*rows) {
		*rows = calloc(1, sizeof(**rows));
		if (*rows)
			make_device(tracks, *rows, state, model);
		else
			tracks->sequence->output->failed = true;
	}
	return *rows;
}
