/* feed.c - see feed.h. */
#include "analyze/simulate/feed.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/simulate/addresses.h"
#include "analyze/views/idmap.h"
#include "schema/base/bits.h"
#include "schema/base/buf.h"
#include "schema/base/hash.h"

#define BATCH 2048u
/* More streams than any program has; what comes beyond is taken for the last. */
#define STREAMS_MAX 1024u
#define RESULT_OUT_OF_MEMORY 2
#define FRAMES_LOOKED_AT 4

struct device_feed {
	struct vt_feed_sink sink;
	struct vt_feed_quality quality;
	struct vt_feed_event *batch; /* BATCH of them; NULL: not opened */
	size_t count;
	struct vt_map slots;   /* address -> slot: one live block an address */
	struct vt_buf spare;   /* uint32_t: slots to use again */
	struct vt_map streams; /* stream -> its number */
	uint32_t nslots;
	/* Since the last request. */
	bool emptied, refused, device_changed;
	uint64_t context_bytes, others_bytes; /* at the last sample */
};

struct vt_feed {
	struct vt_feed_setup setup;
	struct device_feed *devices;
	size_t room;
};

int vt_feed_new(struct vt_feed **ret, const struct vt_feed_setup *setup, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the requests");
	(*ret)->setup = *setup;
	return 0;
}

void vt_feed_free(struct vt_feed *feed)
{
	if (!feed)
		return;
	for (size_t i = 0; i < feed->room; i++) {
		vt_map_done(&feed->devices[i].slots);
		vt_map_done(&feed->devices[i].streams);
		vt_buf_done(&feed->devices[i].spare);
		free(feed->devices[i].batch);
	}
	free(feed->devices);
	free(feed);
}

const struct vt_feed_quality *vt_feed_quality(const struct vt_feed *feed, uint32_t device)
{
	return device < feed->room && feed->devices[device].batch ? &feed->devices[device].quality : NULL;
}

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for the requests");
}

static int flush(struct device_feed *device, struct vt_err *err)
{
	size_t count = device->count;

	device->count = 0;
	return count && device->sink.take ? device->sink.take(device->sink.self, device->batch, count, err) : 0;
}

static int push(struct device_feed *device, const struct vt_feed_event *event, struct vt_err *err)
{
	device->batch[device->count++] = *event;
	return device->count == BATCH ? flush(device, err) : 0;
}

static int reach(struct vt_feed *feed, uint32_t index, struct device_feed **ret, struct vt_err *err)
{
	if (vt_array_reach((void **)&feed->devices, &feed->room, index, sizeof(*feed->devices)) < 0)
		return no_memory(err);
	*ret = &feed->devices[index];
	return 0;
}

/* Opens the device's sink at its first event of any kind. */
static int open_device(struct vt_feed *feed, const struct vt_replay *replay, uint32_t index, struct device_feed **ret,
		       struct vt_err *err)
{
	int r = reach(feed, index, ret, err);

	if (r || (*ret)->batch)
		return r;
	(*ret)->batch = calloc(BATCH, sizeof(*(*ret)->batch));
	return (*ret)->batch ? feed->setup.open(feed->setup.arg, replay, index, &(*ret)->sink, err) : no_memory(err);
}

static int take_slot(struct device_feed *device, uint64_t address, uint32_t *ret)
{
	if (device->spare.bytes) {
		device->spare.bytes -= sizeof(*ret);
		memcpy(ret, device->spare.data + device->spare.bytes, sizeof(*ret));
	} else {
		*ret = ++device->nslots;
	}
	return vt_map_put(&device->slots, address, *ret);
}

static int stream_number(struct device_feed *device, uint64_t stream, uint64_t *ret)
{
	uint32_t number = vt_map_find(&device->streams, stream);

	if (number == VT_MAP_NONE) {
		number = device->quality.streams < STREAMS_MAX ? device->quality.streams++ : STREAMS_MAX - 1;
		if (vt_map_put(&device->streams, stream, number) < 0)
			return -VT_E_NOMEM;
	}
	*ret = number;
	return 0;
}

/* What others hold, before the request that may fail for it. */
static int tell_device(struct device_feed *device, const struct vt_device *state, uint64_t time_ns, struct vt_err *err)
{
	uint64_t outside = device->context_bytes;

	if (!device->device_changed || !state->total_bytes)
		return 0;
	device->device_changed = false;
	if (state->driver_bytes > state->reserved_bytes)
		outside += state->driver_bytes - state->reserved_bytes;
	return push(device,
		    &(struct vt_feed_event){ .kind = VT_FEED_DEVICE,
					     .time_ns = time_ns,
					     .bytes = state->total_bytes,
					     .address = outside,
					     .others_bytes = device->others_bytes },
		    err);
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(replay, block->device);
	struct vt_feed_event event = { .kind = VT_FEED_ALLOC,
				       .time_ns = item->time_ns,
				       .bytes = block->requested_bytes ? block->requested_bytes : block->size_bytes,
				       .block_bytes = block->size_bytes,
				       .address = block->address,
				       .reserved_bytes = state->reserved_bytes };
	struct device_feed *device;
	int r;

	if (block->size_bytes > VT_ADDRESSES_MAX || event.bytes > block->size_bytes)
		return 0;
	r = open_device(self, replay, block->device, &device, err);
	if (!r)
		r = tell_device(device, state, item->time_ns, err);
	if (r)
		return r;
	device->emptied = device->refused = false;
	device->quality.allocs++;
	device->quality.requested_known += block->requested_bytes != 0;
	device->quality.stream_known |= block->stream != 0;
	if (stream_number(device, block->stream, &event.stream) < 0 ||
	    take_slot(device, block->address, &event.slot) < 0)
		return no_memory(err);
	return push(device, &event, err);
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	struct vt_feed_event event = { .kind = VT_FEED_FREE,
				       .time_ns = item->time_ns,
				       .reserved_bytes = vt_replay_device(replay, block->device)->reserved_bytes };
	struct device_feed *device;
	int r = open_device(self, replay, block->device, &device, err);

	if (r)
		return r;
	device->emptied = device->refused = false;
	device->quality.frees++;
	event.slot = vt_map_take(&device->slots, block->address);
	if (event.slot == VT_MAP_NONE) {
		device->quality.unknown_frees++;
		return 0;
	}
	if (vt_buf_append(&device->spare, &event.slot, sizeof(event.slot)) < 0)
		return no_memory(err);
	return push(device, &event, err);
}

static int on_oom(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t index,
		  struct vt_err *err)
{
	const struct vt_oom *oom = (const struct vt_oom *)(const void *)item->rec;
	const struct vt_device *state = vt_replay_device(replay, index);
	struct vt_feed_event event = { .kind = VT_FEED_OOM,
				       .time_ns = item->time_ns,
				       .bytes = oom->requested_bytes,
				       .reserved_bytes = oom->reserved_bytes };
	struct device_feed *device;
	int r = oom->requested_bytes > VT_ADDRESSES_MAX ? 0 : open_device(self, replay, index, &device, err);

	if (r || oom->requested_bytes > VT_ADDRESSES_MAX)
		return r;
	if (oom->device_total_bytes)
		device->device_changed = true;
	r = tell_device(device, state, item->time_ns, err);
	device->emptied = device->refused = false;
	if (!r && stream_number(device, 0, &event.stream) < 0)
		r = no_memory(err);
	return r ? r : push(device, &event, err);
}

/* Whether the call was made for torch.cuda.empty_cache(); where no Python line is known, whether nothing else explains it. */
static bool is_empty_cache(const struct vt_feed *feed, const struct device_feed *device, uint32_t process,
			   const struct vt_driver_memory *call)
{
	struct vt_frame_info frame;
	uint32_t stack = call->stack;

	if (!stack)
		return !device->refused && !call->op;
	for (int i = 0; i < FRAMES_LOOKED_AT && vt_symbols_frame(feed->setup.symbols, process, stack, &frame); i++) {
		if (!strcmp(frame.function, "empty_cache"))
			return true;
		stack = frame.parent;
	}
	return false;
}

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t index,
		     struct vt_err *err)
{
	const struct vt_driver_memory *call = (const struct vt_driver_memory *)(const void *)item->rec;
	struct vt_feed_event event = { .time_ns = item->time_ns, .bytes = call->size_bytes, .address = call->address };
	struct device_feed *device;
	int r = open_device(self, replay, index, &device, err);

	if (r)
		return r;
	device->device_changed = true;
	if (call->result) {
		device->refused |= call->result == RESULT_OUT_OF_MEMORY;
		return 0;
	}
	switch (call->api) {
	case VT_driver_api_MEM_ALLOC:
		device->quality.hints = true;
		event.kind = VT_FEED_SEGMENT;
		return push(device, &event, err);
	case VT_driver_api_MEM_ADDRESS_RESERVE:
		event.kind = VT_FEED_RESERVE;
		return push(device, &event, err);
	case VT_driver_api_MEM_MAP:
		device->quality.hints = true;
		return 0;
	case VT_driver_api_MEM_FREE:
	case VT_driver_api_MEM_UNMAP:
		if (device->emptied || !is_empty_cache(self, device, item->process, call))
			return 0;
		device->emptied = true;
		device->quality.empty_caches++;
		event.kind = VT_FEED_EMPTY_CACHE;
		return push(device, &event, err);
	default:
		return 0;
	}
}

static int on_sample(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t index,
		     struct vt_err *err)
{
	const struct vt_device_sample *sample = (const struct vt_device_sample *)(const void *)item->rec;
	const struct vt_device *state = vt_replay_device(replay, index);
	uint64_t used = sample->total_bytes > sample->free_bytes ? sample->total_bytes - sample->free_bytes : 0;
	uint64_t process = sample->process_bytes && sample->process_bytes < used ? sample->process_bytes : used;
	uint64_t known = state->driver_bytes > state->reserved_bytes ? state->driver_bytes : state->reserved_bytes;
	struct device_feed *device;
	int r = open_device(self, replay, index, &device, err);

	if (r)
		return r;
	device->context_bytes = process > known ? process - known : 0;
	device->others_bytes = used - process;
	device->device_changed = true;
	return 0;
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_feed *feed = self;
	int r = 0;

	(void)replay;
	for (size_t i = 0; i < feed->room && !r; i++)
		r = flush(&feed->devices[i], err);
	return r;
}

struct vt_listener vt_feed_listener(struct vt_feed *feed)
{
	return (struct vt_listener){ .self = feed,
				     .alloc = on_alloc,
				     .free = on_free,
				     .driver = on_driver,
				     .sample = on_sample,
				     .oom = on_oom,
				     .end = on_end };
}
