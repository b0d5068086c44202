/* levels.c - see levels.h. */
#include "analyze/views/levels.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"

#define UNATTRIBUTED "unattributed (figures of different moments)"

struct rows {
	struct vt_level_row *list;
	unsigned count;
	bool open; /* a level above is known: its bytes down to the next known level are still to be named */
	uint64_t above;
};

static void put(struct rows *rows, struct vt_level_row row)
{
	if (rows->count < VT_LEVEL_ROWS_MAX)
		rows->list[rows->count++] = row;
}

/* A known level, and before it the gap between it and the known level above. */
static void put_level(struct rows *rows, struct vt_level_row level, const char *gap, const char *gap_key)
{
	int64_t between = (int64_t)(rows->above - (uint64_t)level.bytes);

	if (rows->open)
		put(rows, (struct vt_level_row){ between < 0 ? UNATTRIBUTED : gap,
						 between < 0 ? "unattributed" : gap_key, between, VT_LEVEL_GAP, true });
	put(rows, level);
	rows->open = true;
	rows->above = (uint64_t)level.bytes;
}

static void put_unknown(struct rows *rows, const char *name, const char *key)
{
	put(rows, (struct vt_level_row){ name, key, 0, VT_LEVEL, false });
}

static struct vt_level_row level(const char *name, const char *key, uint64_t bytes)
{
	return (struct vt_level_row){ name, key, (int64_t)bytes, VT_LEVEL, true };
}

static void put_device(struct rows *rows, const struct vt_levels *levels)
{
	if (!levels->total_bytes) {
		put_unknown(rows, "Device total", "total");
		put_unknown(rows, "Used by all processes", "used");
		return;
	}
	put_level(rows, level("Device total", "total", levels->total_bytes), "", "");
	put_level(rows, level("Used by all processes", "used", levels->total_bytes - levels->free_bytes), "free",
		  "free");
}

static void put_process(struct rows *rows, const struct vt_levels *levels)
{
	const char *name = "This process, as the driver counts it";

	if (levels->process_bytes)
		put_level(rows, level(name, "process", levels->process_bytes), "other processes", "other_processes");
	else
		put_unknown(rows, name, "process");
	name = "Allocated by driver calls";
	if (!levels->has_driver)
		put_unknown(rows, name, "driver");
	else if (levels->process_bytes)
		put_level(rows, level(name, "driver", levels->driver_bytes), "CUDA context, kernel code, driver",
			  "context");
	else
		put_level(rows, level(name, "driver", levels->driver_bytes), "other processes, CUDA contexts, driver",
			  "outside");
}

/* What stands between "reserved" and the nearest level known above it. */
static void put_reserved(struct rows *rows, const struct vt_levels *levels)
{
	struct vt_level_row row = level("Reserved by PyTorch", "reserved", levels->reserved_bytes);

	if (levels->has_driver)
		put_level(rows, row, "outside PyTorch's allocator", "outside_allocator");
	else if (levels->process_bytes)
		put_level(rows, row, "outside PyTorch's allocator: context, libraries", "outside_allocator");
	else
		put_level(rows, row, "outside PyTorch's allocator: this and other processes", "outside_allocator");
}

/* Host memory: pinned bytes and tensors overlap in part, and which part is not known: two levels side by side. */
static void put_host(struct rows *rows, const struct vt_levels *levels)
{
	if (levels->has_driver)
		put_level(rows, level("Pinned or registered by driver calls", "pinned", levels->driver_bytes), "", "");
	rows->open = false;
	if (levels->has_tensors)
		put_level(rows, level("Tensors in host memory", "allocated", levels->allocated_bytes), "", "");
	else
		put_unknown(rows, "Tensors in host memory", "allocated");
}

static void put_device_levels(struct rows *rows, const struct vt_levels *levels)
{
	put_device(rows, levels);
	put_process(rows, levels);
	if (!levels->has_tensors) {
		put_unknown(rows, "Reserved by PyTorch", "reserved");
		put_unknown(rows, "Allocated by PyTorch", "allocated");
		return;
	}
	put_reserved(rows, levels);
	put_level(rows, level("Allocated by PyTorch", "allocated", levels->allocated_bytes), "reserved but unallocated",
		  "unallocated");
	if (levels->requested_bytes)
		put_level(rows, level("Requested by the program", "requested", levels->requested_bytes),
			  levels->unrequested_bytes ? "rounding, and blocks whose request is not known" : "rounding",
			  levels->unrequested_bytes ? "rounding_or_not_known" : "rounding");
}

unsigned vt_levels_rows(const struct vt_levels *levels, struct vt_level_row rows[VT_LEVEL_ROWS_MAX])
{
	struct rows all = { .list = rows };
	uint64_t known = levels->known_bytes, allocated = levels->allocated_bytes;

	if (levels->is_host)
		put_host(&all, levels);
	else
		put_device_levels(&all, levels);
	if (levels->has_tensors && known != allocated)
		put(&all, (struct vt_level_row){ "unattributed: allocated before the capture, or lost", "unattributed",
						 (int64_t)(allocated - known), VT_LEVEL_GAP, true });
	return all.count;
}

bool vt_levels_simultaneous(const struct vt_levels *levels)
{
	return levels->read_ns == levels->time_ns || levels->driver_then == levels->driver_bytes;
}

struct process_reading {
	uint64_t bytes;
	uint64_t driver_then;
};

struct device_levels {
	struct vt_levels sample; /* only what the driver said */
	struct vt_levels peak;
	struct process_reading process_read;
};

struct vt_levels_view {
	struct device_levels *devices;
	size_t room;
};

int vt_levels_view_new(struct vt_levels_view **ret, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : vt_err_set(err, VT_E_NOMEM, "no memory for the levels");
}

void vt_levels_view_free(struct vt_levels_view *view)
{
	if (!view)
		return;
	free(view->devices);
	free(view);
}

static struct device_levels *find(struct vt_levels_view *view, uint32_t device, struct vt_err *err)
{
	if (vt_array_reach((void **)&view->devices, &view->room, device, sizeof(*view->devices)) < 0) {
		vt_err_set(err, VT_E_NOMEM, "no memory for the levels of device %u", device);
		return NULL;
	}
	return &view->devices[device];
}

static struct vt_levels with_state(struct vt_levels levels, const struct vt_device *state, uint64_t time_ns)
{
	levels.time_ns = time_ns;
	levels.driver_bytes = state->driver_bytes;
	levels.has_driver = state->peak_driver_bytes || state->driver_failures;
	levels.has_tensors = state->allocs || state->frees;
	levels.is_host = state->device_type == VT_device_type_HOST;
	levels.reserved_bytes = state->reserved_bytes;
	levels.allocated_bytes = state->reported_bytes;
	levels.known_bytes = state->allocated_bytes;
	levels.requested_bytes = state->requested_bytes;
	levels.unrequested_bytes = state->unrequested_bytes;
	return levels;
}

/* The first figures after the peak serve it as well, if the process's own memory has stayed as it was. */
static void adopt_for_peak(struct device_levels *levels, const struct vt_device *state)
{
	struct vt_levels *peak = &levels->peak;

	if (!peak->time_ns || peak->driver_bytes != state->driver_bytes ||
	    peak->reserved_bytes != state->reserved_bytes)
		return;
	if (peak->total_bytes && vt_levels_simultaneous(peak))
		return;
	peak->total_bytes = levels->sample.total_bytes;
	peak->free_bytes = levels->sample.free_bytes;
	peak->process_bytes = levels->sample.process_bytes;
	peak->read_ns = levels->sample.read_ns;
	peak->driver_then = levels->sample.driver_then;
}

static int take_reading(struct vt_levels_view *view, const struct vt_replay *replay, uint32_t device,
			uint64_t process_bytes, uint64_t time_ns, struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(replay, device);
	struct device_levels *levels = find(view, device, err);

	if (!levels)
		return -VT_E_NOMEM;
	if (!state)
		return 0;
	levels->sample.total_bytes = state->total_bytes;
	levels->sample.free_bytes = state->free_bytes;
	/* The process's share is read less often: the last one stands as long as the process's calls changed nothing.
	 */
	if (process_bytes)
		levels->process_read = (struct process_reading){ process_bytes, state->driver_bytes };
	levels->sample.process_bytes =
		levels->process_read.driver_then == state->driver_bytes ? levels->process_read.bytes : 0;
	levels->sample.read_ns = time_ns;
	levels->sample.driver_then = state->driver_bytes;
	adopt_for_peak(levels, state);
	return 0;
}

static int on_sample(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_device_sample *rec = (const struct vt_device_sample *)(const void *)item->rec;

	return take_reading(self, replay, device, rec->process_bytes, item->time_ns, err);
}

static int on_oom(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		  struct vt_err *err)
{
	const struct vt_oom *rec = (const struct vt_oom *)(const void *)item->rec;

	if (!rec->device_total_bytes)
		return 0;
	return take_reading(self, replay, device, rec->process_bytes, item->time_ns, err);
}

static int on_peak(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		   struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(replay, device);
	struct device_levels *levels = find(self, device, err);

	if (!levels)
		return -VT_E_NOMEM;
	if (state)
		levels->peak = with_state(levels->sample, state, item->time_ns);
	return 0;
}

struct vt_listener vt_levels_listener(struct vt_levels_view *view)
{
	return (struct vt_listener){ .self = view, .sample = on_sample, .oom = on_oom, .peak = on_peak };
}

struct vt_levels vt_levels_now(const struct vt_levels_view *view, const struct vt_replay *replay, uint32_t device)
{
	const struct vt_device *state = vt_replay_device(replay, device);
	struct vt_levels levels = { .time_ns = 0 };

	if (device < view->room)
		levels = view->devices[device].sample;
	return state ? with_state(levels, state, vt_replay_last_ns(replay)) : levels;
}

struct vt_levels vt_levels_at_peak(const struct vt_levels_view *view, const struct vt_replay *replay, uint32_t device)
{
	/* A device without tensors has no peak: its last moment is all there is. */
	if (device >= view->room || !view->devices[device].peak.time_ns)
		return vt_levels_now(view, replay, device);
	return view->devices[device].peak;
}
