/* page_bins.c - see page_bins.h. */
#include "analyze/page/page_bins.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"

/* What the greatest moment of a bin is by: where no tensor was seen, the driver's calls. */
static uint64_t height(const struct vt_page_bin *bin)
{
	return bin->allocated_bytes ? bin->allocated_bytes : bin->driver_bytes;
}

static int open_bin(struct vt_page_bins_device *device, const struct vt_page_bin *bin)
{
	if (vt_array_reach((void **)&device->list, &device->room, device->count, sizeof(*device->list)) < 0)
		return -VT_E_NOMEM;
	device->list[device->count++] = *bin;
	device->events = 0;
	return 0;
}

/* The state that a silence begins with gets a bin, unless the last bin is of that moment. */
static int end_before_silence(struct vt_page_bins_device *device)
{
	struct vt_page_bin quiet = device->now;

	if (!device->count || device->list[device->count - 1].at_ns == quiet.at_ns)
		return 0;
	quiet.first_ns = quiet.at_ns;
	return open_bin(device, &quiet);
}

static int take(struct vt_page_bins *bins, struct vt_page_bins_device *device, const struct vt_device *state,
		uint64_t time_ns)
{
	const struct vt_page_bin now = {
		.first_ns = time_ns,
		.at_ns = time_ns,
		.allocated_bytes = state->reported_bytes,
		.reserved_bytes = state->reserved_bytes,
		.driver_bytes = state->driver_bytes,
		.used_bytes = state->total_bytes > state->free_bytes ? state->total_bytes - state->free_bytes : 0,
	};
	bool silent = device->count && time_ns > device->now.at_ns && time_ns - device->now.at_ns >= bins->silence_ns;
	struct vt_page_bin *last;
	int r = silent ? end_before_silence(device) : 0;

	if (r < 0)
		return r;
	device->now = now;
	if (!device->count || silent || device->events >= bins->events_per_bin)
		r = open_bin(device, &now);
	if (r < 0)
		return r;
	device->events++;
	last = &device->list[device->count - 1];
	if (height(&now) > height(last) || device->events == 1) {
		uint64_t first_ns = last->first_ns;

		*last = now;
		last->first_ns = first_ns;
	}
	return 0;
}

static int on_device(struct vt_page_bins *bins, const struct vt_replay *replay, uint64_t time_ns, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(replay, device);

	if (!state)
		return 0;
	if (vt_array_reach((void **)&bins->devices, &bins->room, device, sizeof(*bins->devices)) < 0 ||
	    take(bins, &bins->devices[device], state, time_ns) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the picture of device %u", device);
	return 0;
}

static int on_block(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	return on_device(self, replay, item->time_ns, block->device, err);
}

static int on_call(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		   struct vt_err *err)
{
	return on_device(self, replay, item->time_ns, device, err);
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_page_bins *bins = self;

	(void)replay;
	for (size_t i = 0; i < bins->room; i++)
		if (end_before_silence(&bins->devices[i]) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for the picture of device %zu", i);
	return 0;
}

struct vt_listener vt_page_bins_listener(struct vt_page_bins *bins)
{
	return (struct vt_listener){
		.self = bins, .alloc = on_block, .free = on_block, .driver = on_call, .sample = on_call, .end = on_end
	};
}

size_t vt_page_bins_find(const struct vt_page_bins_device *device, uint64_t time_ns)
{
	size_t low = 0, high = device->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (device->list[mid].at_ns < time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void vt_page_bins_done(struct vt_page_bins *bins)
{
	for (size_t i = 0; i < bins->room; i++)
		free(bins->devices[i].list);
	free(bins->devices);
	*bins = (struct vt_page_bins){ .devices = NULL };
}
