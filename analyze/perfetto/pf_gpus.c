/* pf_gpus.c - see pf_gpus.h. */
#include "analyze/perfetto/pf_gpus.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/symbols/kernel_name.h"
#include "schema/base/bits.h"

/* Perfetto keeps the list in order: a file cannot ask for more entries than machines have devices. */
#define GPUS_MAX 1024
#define UUID_BYTES 16

static void fail(struct vt_pf_gpus *gpus)
{
	gpus->sequence->output->failed = true;
}

static char *words(const char *text)
{
	return (char *)(uintptr_t)text; /* NOLINT(performance-no-int-to-ptr): protobuf-c only reads it */
}

/* ------------------------------------------------------------------ the list */

/* The entry of (process, ordinal), by its uuid where there is one. */
static uint32_t *device_slot(struct vt_pf_gpus *gpus, uint32_t process, int16_t ordinal)
{
	uint32_t place = vt_idmap_add(&gpus->devices, (struct vt_idmap_key){ process, (uint32_t)(uint16_t)ordinal, 0 });

	if (place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&gpus->ids, &gpus->id_room, place, sizeof(*gpus->ids)) < 0) {
		fail(gpus);
		return NULL;
	}
	return &gpus->ids[place];
}

static uint32_t find_gpu(const struct vt_pf_gpus *gpus, const char *uuid, int16_t ordinal)
{
	for (uint32_t i = 0; i < gpus->count; i++) {
		const struct vt_pf_gpu *gpu = &gpus->list[i];

		if (uuid[0] ? !strcmp(gpu->uuid, uuid) : !gpu->uuid[0] && gpu->ordinal == ordinal)
			return i;
	}
	return UINT32_MAX;
}

static uint32_t add_gpu(struct vt_pf_gpus *gpus, const char *uuid, int16_t ordinal)
{
	uint32_t id = find_gpu(gpus, uuid, ordinal);

	if (id != UINT32_MAX)
		return id;
	if (gpus->count == GPUS_MAX)
		return GPUS_MAX - 1;
	if (vt_array_reach((void **)&gpus->list, &gpus->room, gpus->count, sizeof(*gpus->list)) < 0) {
		fail(gpus);
		return 0;
	}
	gpus->list[gpus->count].ordinal = ordinal;
	(void)snprintf(gpus->list[gpus->count].uuid, sizeof(gpus->list[0].uuid), "%s", uuid);
	return (uint32_t)gpus->count++;
}

uint32_t vt_pf_gpus_id(struct vt_pf_gpus *gpus, uint32_t process, int16_t ordinal)
{
	uint32_t *slot = device_slot(gpus, process, ordinal);

	if (!slot)
		return 0;
	if (!*slot)
		*slot = add_gpu(gpus, "", ordinal) + 1;
	return *slot - 1;
}

const char *vt_pf_gpus_name(struct vt_pf_gpus *gpus, uint32_t process, int16_t ordinal)
{
	uint32_t id = vt_pf_gpus_id(gpus, process, ordinal);

	return id < gpus->count ? gpus->list[id].name : "";
}

/* uuids first: they say which devices are one. */
static int take_uuid(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)rec;
	struct vt_pf_gpus *gpus = arg;
	uint32_t *slot;

	if (note->code != VT_note_code_DEVICE_UUID || note->value > INT16_MAX)
		return 0;
	slot = device_slot(gpus, process, (int16_t)note->value);
	if (slot)
		*slot = add_gpu(gpus, vt_symbols_string(gpus->sequence->symbols, process, note->text),
				(int16_t)note->value) +
			1;
	return slot ? 0 : -VT_E_NOMEM;
}

static int take_name(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)rec;
	struct vt_pf_gpus *gpus = arg;
	struct vt_pf_gpu *gpu;
	const char *name;
	uint32_t id;

	if (note->code != VT_note_code_DEVICE_NAME || note->value > INT16_MAX)
		return 0;
	id = vt_pf_gpus_id(gpus, process, (int16_t)note->value);
	if (id >= gpus->count)
		return -VT_E_NOMEM;
	gpu = &gpus->list[id];
	name = vt_symbols_string(gpus->sequence->symbols, process, note->text);
	(void)snprintf(gpu->name, sizeof(gpu->name), "%.*s", (int)vt_pf_text_bytes(name, sizeof(gpu->name) - 1), name);
	return 0;
}

/* The 16 bytes of "GPU-12345678-..."; false where it is not one. */
static bool parse_uuid(const char *text, uint8_t uuid[UUID_BYTES])
{
	size_t n = 0;

	text += strncmp(text, "GPU-", 4) ? 0 : 4;
	for (; *text; text++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, *text);

		if (*text == '-')
			continue;
		if (!digit || n == (size_t)2 * UUID_BYTES)
			return false;
		uuid[n / 2] = (uint8_t)(uuid[n / 2] << 4 | (digit - digits));
		n++;
	}
	return n == (size_t)2 * UUID_BYTES;
}

/* Names label rows, so each has its number: "NVIDIA H200 #0". */
static void write_list(struct vt_pf_gpus *gpus)
{
	Pf__GpuInfo info = PF__GPU_INFO__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;
	Pf__GpuInfo__Gpu *entries = calloc(gpus->count + 1, sizeof(*entries));
	Pf__GpuInfo__Gpu **list = calloc(gpus->count + 1, sizeof(*list));
	struct {
		char name[160];
		uint8_t uuid[UUID_BYTES];
	} *texts = calloc(gpus->count + 1, sizeof(*texts));

	if (!entries || !list || !texts)
		fail(gpus);
	for (size_t i = 0; i < gpus->count && !gpus->sequence->output->failed; i++) {
		const struct vt_pf_gpu *gpu = &gpus->list[i];

		pf__gpu_info__gpu__init(&entries[i]);
		(void)snprintf(texts[i].name, sizeof(texts[i].name), "%s #%zu", gpu->name[0] ? gpu->name : "GPU", i);
		entries[i].name = texts[i].name;
		entries[i].model = gpu->name[0] ? words(gpu->name) : NULL;
		entries[i].has_uuid = parse_uuid(gpu->uuid, texts[i].uuid);
		entries[i].uuid.data = texts[i].uuid;
		entries[i].uuid.len = UUID_BYTES;
		list[i] = &entries[i];
	}
	info.n_gpus = gpus->count;
	info.gpus = list;
	packet.gpu_info = &info;
	if (gpus->count && !gpus->sequence->output->failed)
		vt_pf_write(gpus->sequence, &packet, 0);
	free(entries);
	free(list);
	free(texts);
}

/* ------------------------------------------------------------------ contexts, streams, kernels */

static void write_specification(struct vt_pf_gpus *gpus, uint64_t iid, const char *name, const char *description,
				Pf__InternedGpuRenderStageSpecification__RenderStageCategory category)
{
	Pf__InternedGpuRenderStageSpecification spec = PF__INTERNED_GPU_RENDER_STAGE_SPECIFICATION__INIT,
						*specs = &spec;
	Pf__InternedData data = PF__INTERNED_DATA__INIT;

	spec.has_iid = spec.has_category = 1;
	spec.iid = iid;
	spec.name = words(name);
	spec.description = words(description);
	spec.category = category;
	data.n_gpu_specifications = 1;
	data.gpu_specifications = &specs;
	vt_pf_write_interned(gpus->sequence, &data);
}

uint64_t vt_pf_gpus_context(struct vt_pf_gpus *gpus, uint32_t process, uint32_t context)
{
	struct vt_idmap_key key = { process, context, 0 };
	Pf__InternedGraphicsContext row = PF__INTERNED_GRAPHICS_CONTEXT__INIT, *rows = &row;
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	uint32_t place = vt_idmap_find(&gpus->contexts, key);

	if (place != VT_IDMAP_NONE)
		return (uint64_t)place + 1;
	place = vt_idmap_add(&gpus->contexts, key);
	if (place == VT_IDMAP_NONE) {
		fail(gpus);
		return 0;
	}
	row.has_iid = row.has_pid = row.has_api = 1;
	row.iid = (uint64_t)place + 1;
	row.pid = (int32_t)vt_pf_tracks_pid(gpus->tracks, process);
	row.api = PF__INTERNED_GRAPHICS_CONTEXT__API__CUDA;
	data.n_graphics_contexts = 1;
	data.graphics_contexts = &rows;
	vt_pf_write_interned(gpus->sequence, &data);
	return row.iid;
}

uint64_t vt_pf_gpus_queue(struct vt_pf_gpus *gpus, uint32_t process, uint32_t context, uint32_t stream)
{
	struct vt_idmap_key key = { process, context, stream };
	uint32_t place = vt_idmap_find(&gpus->queues, key);
	char name[64], owner[40] = "";

	if (place != VT_IDMAP_NONE)
		return (uint64_t)place + VT_PF_QUEUE_FIRST;
	place = vt_idmap_add(&gpus->queues, key);
	if (place == VT_IDMAP_NONE) {
		fail(gpus);
		return 0;
	}
	/* Rows of several processes stand side by side below their GPU. */
	if (gpus->tracks->processes.count > 1)
		(void)snprintf(owner, sizeof(owner), " (process %u)", vt_pf_tracks_pid(gpus->tracks, process));
	(void)snprintf(name, sizeof(name), "Stream %u%s", stream, owner);
	write_specification(gpus, (uint64_t)place + VT_PF_QUEUE_FIRST, name, "Kernels and copies of one CUDA stream",
			    PF__INTERNED_GPU_RENDER_STAGE_SPECIFICATION__RENDER_STAGE_CATEGORY__COMPUTE);
	return (uint64_t)place + VT_PF_QUEUE_FIRST;
}

/* What all executions have in common: the mangled name, the grid, the block, registers and memory. */
static void write_kernel(struct vt_pf_gpus *gpus, uint64_t iid, const char *name, const char *readable,
			 const struct vt_kernel_config *config)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "registers", config->registers },
		{ "static_shared_bytes", config->static_shared_bytes },
		{ "dynamic_shared_bytes", config->dynamic_shared_bytes },
		{ "local_bytes_per_thread", config->local_bytes },
		{ "local_total_bytes", config->local_total_bytes },
	};
	Pf__InternedComputeKernel kernel = PF__INTERNED_COMPUTE_KERNEL__INIT, *kernels = &kernel;
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__ExtraComputeArg args[VT_ARRAY_SIZE(numbers)], *list[VT_ARRAY_SIZE(numbers)];
	char mangled[VT_PF_INTERNED_MAX + 1];

	(void)snprintf(mangled, sizeof(mangled), "%.*s", (int)vt_pf_text_bytes(name, VT_PF_INTERNED_MAX), name);
	for (size_t i = 0; i < VT_ARRAY_SIZE(numbers); i++) {
		pf__extra_compute_arg__init(&args[i]);
		args[i].name_field_case = PF__EXTRA_COMPUTE_ARG__NAME_FIELD_NAME_IID;
		args[i].name_iid = vt_pf_text(gpus->sequence, VT_PF_ARGUMENT_NAME, numbers[i].name);
		args[i].value_case = PF__EXTRA_COMPUTE_ARG__VALUE_UINT_VALUE;
		args[i].uint_value = numbers[i].value;
		list[i] = &args[i];
	}
	kernel.has_iid = 1;
	kernel.iid = iid;
	kernel.name = mangled;
	kernel.demangled_name = words(readable);
	kernel.n_args = VT_ARRAY_SIZE(numbers);
	kernel.args = list;
	data.n_compute_kernels = 1;
	data.compute_kernels = &kernels;
	vt_pf_write_interned(gpus->sequence, &data);
}

struct vt_pf_kernel vt_pf_gpus_kernel(struct vt_pf_gpus *gpus, uint32_t process, uint32_t config)
{
	uint32_t place = vt_idmap_find(&gpus->configs, (struct vt_idmap_key){ process, config, 0 });
	const struct vt_kernel_config *row;
	char text[256];

	if (place == VT_IDMAP_NONE)
		return (struct vt_pf_kernel){ vt_pf_text(gpus->sequence, VT_PF_EVENT_NAME, "kernel"), 0, NULL };
	row = &gpus->kernels[place];
	if (!gpus->kernel_names[place]) {
		const char *name = vt_symbols_string(gpus->sequence->symbols, process, row->name);
		const char *readable = vt_kernel_short_name(name[0] ? name : "kernel", text, sizeof(text));

		gpus->kernel_names[place] = vt_pf_text(gpus->sequence, VT_PF_EVENT_NAME, readable);
		write_kernel(gpus, (uint64_t)place + 1, name, readable, row);
	}
	return (struct vt_pf_kernel){ gpus->kernel_names[place], (uint64_t)place + 1, row };
}

static int take_config(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_kernel_config *config = (const struct vt_kernel_config *)(const void *)rec;
	struct vt_pf_gpus *gpus = arg;
	uint32_t place = vt_idmap_add(&gpus->configs, (struct vt_idmap_key){ process, config->id, 0 });

	if (place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&gpus->kernels, &gpus->kernel_room, place, sizeof(*gpus->kernels)) < 0 ||
	    vt_array_reach((void **)&gpus->kernel_names, &gpus->name_room, place, sizeof(*gpus->kernel_names)) < 0)
		return -VT_E_NOMEM;
	gpus->kernels[place] = *config;
	return 0;
}

/* ------------------------------------------------------------------ */

int vt_pf_gpus_begin(struct vt_pf_gpus *gpus, struct vt_pf_sequence *sequence, struct vt_pf_tracks *tracks,
		     struct vt_store *store, struct vt_err *err)
{
	const struct vt_event *note = vt_event_find(VT_EVENT_note);
	int r;

	*gpus = (struct vt_pf_gpus){ .sequence = sequence, .tracks = tracks };
	r = vt_store_each_record(store, note, take_uuid, gpus, err);
	if (r == 0)
		r = vt_store_each_record(store, note, take_name, gpus, err);
	if (r == 0)
		r = vt_store_each_record(store, vt_event_find(VT_EVENT_kernel_config), take_config, gpus, err);
	if (r < 0)
		return r;
	write_list(gpus);
	write_specification(gpus, VT_PF_STAGE_KERNEL, "Kernel", "A kernel's execution",
			    PF__INTERNED_GPU_RENDER_STAGE_SPECIFICATION__RENDER_STAGE_CATEGORY__COMPUTE);
	write_specification(gpus, VT_PF_STAGE_COPY, "Copy", "A memory copy",
			    PF__INTERNED_GPU_RENDER_STAGE_SPECIFICATION__RENDER_STAGE_CATEGORY__OTHER);
	write_specification(gpus, VT_PF_STAGE_SET, "Memory set", "Memory set to a value",
			    PF__INTERNED_GPU_RENDER_STAGE_SPECIFICATION__RENDER_STAGE_CATEGORY__OTHER);
	return 0;
}

void vt_pf_gpus_done(struct vt_pf_gpus *gpus)
{
	vt_idmap_done(&gpus->devices);
	vt_idmap_done(&gpus->contexts);
	vt_idmap_done(&gpus->queues);
	vt_idmap_done(&gpus->configs);
	free(gpus->list);
	free(gpus->ids);
	free(gpus->kernels);
	free(gpus->kernel_names);
}
