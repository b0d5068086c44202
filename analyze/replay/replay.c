/* replay.c - see replay.h: the pass over the events, and the totals of each device. */
#include "analyze/replay/replay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/replay/blocks.h"
#include "analyze/replay/driver.h"
#include "schema/base/bits.h"
#include "schema/base/buf.h"
#include "schema/base/hash.h"

/* More (process, device) pairs than any machine has: a file with more was made to take memory. */
#define DEVICES_MAX 65536u

/* What the trace says of the allocator behind a process's tensors. */
enum backend { BACKEND_UNKNOWN, BACKEND_NATIVE, BACKEND_POOL };

/* Whether tensor events came for a device, and its totals are those of the last one. */
enum seen { SEEN_NEVER, SEEN_BEFORE_A_GAP, SEEN };

struct vt_replay {
	struct vt_buf listeners;   /* struct vt_listener */
	struct vt_buf devices;	   /* struct vt_device */
	struct vt_buf seen_tensor; /* uint8_t per device: enum seen */
	struct vt_map device_of;   /* process, type, index -> index into devices */
	struct vt_map ordinal_of;  /* process -> the device its driver calls last named */
	struct vt_map backend_of;  /* process -> enum backend */
	struct vt_blocks blocks;
	struct vt_driver driver;
	struct vt_driver_change change; /* of the driver call under way */
	uint64_t serial;
	uint64_t first_ns, last_ns;
	uint64_t last_key; /* the last look-up in device_of, and its result */
	uint32_t last_device;
	bool any;
};

/* Calls one callback of every listener that has it; ends the calling function where a listener fails. */
#define TELL(replay, callback, ...)                                                                                    \
	do {                                                                                                           \
		const struct vt_listener *l_ = (const struct vt_listener *)(const void *)(replay)->listeners.data;     \
		size_t n_ = (replay)->listeners.bytes / sizeof(*l_);                                                   \
                                                                                                                       \
		for (size_t i_ = 0; i_ < n_; i_++) {                                                                   \
			int r_ = l_[i_].callback ? l_[i_].callback(l_[i_].self, (replay), __VA_ARGS__) : 0;            \
                                                                                                                       \
			if (VT_UNLIKELY(r_ < 0))                                                                       \
				return r_;                                                                             \
		}                                                                                                      \
	} while (0)

static struct vt_device *device_at(const struct vt_replay *replay, uint32_t index)
{
	return (struct vt_device *)(void *)replay->devices.data + index;
}

static int out_of_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for what is live in the trace");
}

static int add_device(struct vt_replay *replay, uint64_t key, const struct vt_device *device, struct vt_err *err)
{
	uint32_t count = vt_replay_device_count(replay);
	uint8_t seen = SEEN_NEVER;

	if (count == DEVICES_MAX)
		return vt_err_set(err, VT_E_CORRUPT, "the trace names more than %u devices", DEVICES_MAX);
	if (vt_buf_append(&replay->devices, device, sizeof(*device)) < 0 ||
	    vt_buf_append(&replay->seen_tensor, &seen, sizeof(seen)) < 0 ||
	    vt_map_put(&replay->device_of, key, count) < 0)
		return out_of_memory(err);
	return 0;
}

static int find_device(struct vt_replay *replay, uint32_t process, uint16_t type, int16_t device, uint32_t *ret,
		       struct vt_err *err)
{
	uint64_t key = (uint64_t)process << 32 | (uint64_t)type << 16 | (uint16_t)device;
	int r;

	if (VT_LIKELY(key == replay->last_key && replay->devices.bytes)) {
		*ret = replay->last_device;
		return 0;
	}
	*ret = vt_map_find(&replay->device_of, key);
	if (*ret == VT_MAP_NONE) {
		const struct vt_device fresh = {
			.process = process,
			.device_type = type,
			.device = device,
			.min_free_bytes = UINT64_MAX,
		};

		*ret = vt_replay_device_count(replay);
		r = add_device(replay, key, &fresh, err);
		if (r < 0)
			return r;
	}
	replay->last_key = key;
	replay->last_device = *ret;
	return 0;
}

static void take_reserved(struct vt_device *device, uint64_t bytes, uint64_t now)
{
	device->reserved_bytes = bytes;
	if (bytes > device->peak_reserved_bytes) {
		device->peak_reserved_bytes = bytes;
		device->peak_reserved_ns = now;
	}
}

/* Returns whether the total is the highest so far. */
static bool take_reported(struct vt_device *device, uint64_t bytes, uint64_t now)
{
	device->reported_bytes = bytes;
	if (bytes <= device->peak_allocated_bytes)
		return false;
	device->peak_allocated_bytes = bytes;
	device->peak_allocated_ns = now;
	return true;
}

static void close_block(struct vt_device *device, const struct vt_block *block)
{
	device->live_blocks--;
	device->allocated_bytes -= block->size_bytes;
	if (block->requested_bytes)
		device->requested_bytes -= block->requested_bytes;
	else
		device->unrequested_bytes -= block->size_bytes;
}

/* A block begins. The totals of its device are those after the event; peak: they are the highest so far. */
static int begin_block(struct vt_replay *replay, const struct vt_item *item, struct vt_block *block, bool peak,
		       struct vt_err *err)
{
	struct vt_device *device = device_at(replay, block->device);
	struct vt_block old;
	int r;

	block->serial = ++replay->serial;
	block->alloc_ns = item->time_ns;
	r = vt_blocks_put(&replay->blocks, block, &old);
	if (VT_UNLIKELY(r < 0))
		return out_of_memory(err);
	device->allocs++;
	device->allocated_total_bytes += block->size_bytes;
	device->live_blocks++;
	device->allocated_bytes += block->size_bytes;
	if (block->requested_bytes)
		device->requested_bytes += block->requested_bytes;
	else
		device->unrequested_bytes += block->size_bytes;
	if (device->requested_bytes > device->peak_requested_bytes)
		device->peak_requested_bytes = device->requested_bytes;
	if (VT_UNLIKELY(r == 1)) {
		close_block(device, &old);
		device->replaced_blocks++;
		TELL(replay, free, item, &old, err);
	}
	if (peak)
		TELL(replay, peak, item, block->device, err);
	TELL(replay, alloc, item, block, err);
	return 0;
}

/* peak: where blocks are older than the capture, or events were lost, a total may be the highest even after a free. */
static int end_block(struct vt_replay *replay, const struct vt_item *item, const struct vt_block *freed, bool peak,
		     struct vt_err *err)
{
	struct vt_device *device = device_at(replay, freed->device);
	struct vt_block block;

	device->frees++;
	device->freed_total_bytes += freed->size_bytes;
	if (VT_LIKELY(vt_blocks_take(&replay->blocks, freed->device, freed->address, &block))) {
		close_block(device, &block);
	} else {
		device->unknown_frees++;
		block = *freed;
	}
	if (VT_UNLIKELY(peak))
		TELL(replay, peak, item, block.device, err);
	TELL(replay, free, item, &block, err);
	return 0;
}

static int collect_block(void *arg, const struct vt_block *block)
{
	return vt_buf_append(arg, block, sizeof(*block));
}

static int end_blocks(struct vt_replay *replay, const struct vt_item *item, const struct vt_buf *blocks,
		      struct vt_err *err)
{
	const struct vt_block *block = (const struct vt_block *)(const void *)blocks->data;
	struct vt_block taken;

	for (size_t n = blocks->bytes / sizeof(*block); n; n--, block++) {
		if (!vt_blocks_take(&replay->blocks, block->device, block->address, &taken))
			continue;
		close_block(device_at(replay, block->device), &taken);
		TELL(replay, free, item, &taken, err);
	}
	return 0;
}

/*
 * Tensor events came for a device whose stream-ordered calls were taken for its allocator: those were somebody else's.
 * Their blocks end, and the counts start anew with the framework's.
 */
static int leave_pool(struct vt_replay *replay, const struct vt_item *item, uint32_t index, struct vt_err *err)
{
	struct vt_device *device = device_at(replay, index);
	struct vt_buf blocks = { 0 };
	int r = vt_replay_each_live(replay, index, collect_block, &blocks);

	r = r < 0 ? out_of_memory(err) : end_blocks(replay, item, &blocks, err);
	vt_buf_done(&blocks);
	device->pool_backend = false;
	device->reported_bytes = device->peak_allocated_bytes = device->peak_allocated_ns = 0;
	device->reserved_bytes = device->peak_reserved_bytes = device->peak_reserved_ns = 0;
	device->allocs = device->frees = device->unknown_frees = device->replaced_blocks = 0;
	device->allocated_total_bytes = device->freed_total_bytes = 0;
	return r;
}

static int on_tensor(struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_tensor *tensor = (const struct vt_tensor *)(const void *)item->rec;
	struct vt_device *device;
	uint32_t index = 0;
	uint8_t *seen;
	bool peak;
	int r;

	r = find_device(replay, item->process, tensor->device_type, tensor->device, &index, err);
	if (VT_UNLIKELY(r < 0))
		return r;
	if (item->ahead)
		vt_blocks_expect(&replay->blocks, index,
				 ((const struct vt_tensor *)(const void *)item->ahead)->address);
	device = device_at(replay, index);
	seen = replay->seen_tensor.data + index;
	if (VT_UNLIKELY(*seen != SEEN)) {
		r = device->pool_backend ? leave_pool(replay, item, index, err) : 0;
		if (r < 0)
			return r;
		*seen = SEEN;
	} else if (VT_UNLIKELY(tensor->allocated_bytes != device->reported_bytes + (uint64_t)tensor->size_bytes)) {
		device->mismatches++;
	}
	take_reserved(device, tensor->reserved_bytes, item->time_ns);
	peak = take_reported(device, tensor->allocated_bytes, item->time_ns);
	if (tensor->size_bytes < 0) {
		const struct vt_block freed = {
			.address = tensor->address,
			.size_bytes = 0 - (uint64_t)tensor->size_bytes,
			.device = index,
		};

		return end_block(replay, item, &freed, peak, err);
	}
	struct vt_block block = {
		.address = tensor->address,
		.size_bytes = (uint64_t)tensor->size_bytes,
		.device = index,
		.thread = tensor->thread,
		.op = tensor->op,
		.stack = tensor->stack,
		.stream = tensor->stream,
	};

	if (tensor->slack_bytes && tensor->slack_bytes <= block.size_bytes)
		block.requested_bytes = block.size_bytes - (tensor->slack_bytes - 1);

	return begin_block(replay, item, &block, peak, err);
}

/* The device a driver call is about: host calls go to the host's; one that names none is its process's usual one. */
static int driver_device(struct vt_replay *replay, const struct vt_item *item, const struct vt_driver_memory *call,
			 uint32_t *ret, struct vt_err *err)
{
	int16_t ordinal = call->device;
	uint32_t usual;

	if (vt_driver_is_host(call->api))
		return find_device(replay, item->process, VT_device_type_HOST, -1, ret, err);
	if (ordinal < 0) {
		usual = vt_map_find(&replay->ordinal_of, item->process);
		ordinal = (int16_t)(usual == VT_MAP_NONE ? 0 : usual);
	} else if (vt_map_put(&replay->ordinal_of, item->process, (uint32_t)ordinal) < 0) {
		return out_of_memory(err);
	}
	return find_device(replay, item->process, VT_device_type_CUDA, ordinal, ret, err);
}

/* Whether this pool's blocks are what the framework hands out on the device. */
static bool is_allocator(const struct vt_replay *replay, uint32_t process, uint32_t index, uint64_t pool)
{
	const uint8_t *seen = replay->seen_tensor.data;
	uint32_t backend = vt_map_find(&replay->backend_of, process);

	if (backend == BACKEND_POOL)
		return pool == 0;
	return backend != BACKEND_NATIVE && seen[index] == SEEN_NEVER;
}

static int on_pool_call(struct vt_replay *replay, const struct vt_item *item, const struct vt_driver_memory *call,
			const struct vt_driver_effect *effect, struct vt_err *err)
{
	struct vt_device *device = device_at(replay, effect->device);
	bool peak;

	if (!is_allocator(replay, item->process, effect->device, effect->pool))
		return 0;
	device->pool_backend = true;
	take_reserved(device, effect->pool_reserved_bytes, item->time_ns);
	peak = take_reported(device, effect->pool_used_bytes, item->time_ns);
	if (effect->pool_free) {
		const struct vt_block freed = {
			.address = call->address,
			.size_bytes = effect->size_bytes,
			.device = effect->device,
		};

		return end_block(replay, item, &freed, peak, err);
	}
	if (!effect->pool_alloc)
		return 0;
	struct vt_block block = {
		.address = call->address,
		.size_bytes = effect->size_bytes,
		.device = effect->device,
		.thread = call->thread,
		.op = call->op,
		.stack = call->stack,
	};

	return begin_block(replay, item, &block, peak, err);
}

/* CUresult: CUDA_ERROR_OUT_OF_MEMORY. */
#define RESULT_OUT_OF_MEMORY 2

static int on_driver(struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_driver_memory *call = (const struct vt_driver_memory *)(const void *)item->rec;
	struct vt_driver_effect effect;
	struct vt_device *device;
	uint32_t index = 0;
	int r;

	r = driver_device(replay, item, call, &index, err);
	if (r < 0)
		return r;
	if (vt_driver_apply(&replay->driver, item->process, index, call, &effect) < 0)
		return out_of_memory(err);
	replay->change = (struct vt_driver_change){ (int64_t)effect.bytes, effect.owner };
	device = device_at(replay, effect.device);
	device->driver_failures += call->result == RESULT_OUT_OF_MEMORY;
	device->driver_bytes += effect.bytes;
	if (device->driver_bytes > device->peak_driver_bytes)
		device->peak_driver_bytes = device->driver_bytes;
	if (effect.pool_call) {
		r = on_pool_call(replay, item, call, &effect, err);
		if (r < 0)
			return r;
	}
	TELL(replay, driver, item, effect.device, err);
	return 0;
}

static int on_op(struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	TELL(replay, op, item, err);
	return 0;
}

static int on_sample(struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_device_sample *sample = (const struct vt_device_sample *)(const void *)item->rec;
	struct vt_device *device;
	uint32_t index = 0;
	int r = find_device(replay, item->process, VT_device_type_CUDA, sample->device, &index, err);

	if (r < 0)
		return r;
	device = device_at(replay, index);
	device->total_bytes = sample->total_bytes;
	device->free_bytes = sample->free_bytes;
	if (sample->process_bytes)
		device->process_bytes = sample->process_bytes;
	if (sample->free_bytes < device->min_free_bytes)
		device->min_free_bytes = sample->free_bytes;
	TELL(replay, sample, item, index, err);
	return 0;
}

static int on_oom(struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_oom *oom = (const struct vt_oom *)(const void *)item->rec;
	struct vt_device *device;
	uint32_t index = 0;
	int r = find_device(replay, item->process, oom->device_type, oom->device, &index, err);

	if (r < 0)
		return r;
	device = device_at(replay, index);
	if (oom->device_total_bytes) {
		device->total_bytes = oom->device_total_bytes;
		device->free_bytes = oom->device_free_bytes;
		if (oom->device_free_bytes < device->min_free_bytes)
			device->min_free_bytes = oom->device_free_bytes;
		if (oom->process_bytes)
			device->process_bytes = oom->process_bytes;
	}
	/* On its way to the error the allocator gave cached segments back, which no tensor event tells. */
	if (oom->device_type != VT_device_type_HOST)
		take_reserved(device, oom->reserved_bytes, item->time_ns);
	TELL(replay, oom, item, index, err);
	return 0;
}

/*
 * Recording goes on after a time when nothing was recorded: which of the blocks of before are still live, nobody can
 * say. They end; what of them lived on is in the allocator's totals, without a name.
 */
static int end_gap(struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	uint8_t *seen = replay->seen_tensor.data;
	int r = 0;

	for (uint32_t i = 0; i < vt_replay_device_count(replay) && r == 0; i++) {
		struct vt_buf blocks = { 0 };

		if (device_at(replay, i)->process != item->process)
			continue;
		seen[i] = seen[i] == SEEN ? SEEN_BEFORE_A_GAP : seen[i];
		r = vt_replay_each_live(replay, i, collect_block, &blocks);
		r = r < 0 ? out_of_memory(err) : end_blocks(replay, item, &blocks, err);
		vt_buf_done(&blocks);
	}
	return r;
}

static int on_note(struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)item->rec;
	int r = note->code == VT_note_code_GAP_END && note->thread == 0 ? end_gap(replay, item, err) : 0;

	if (r < 0)
		return r;

	if (note->code == VT_note_code_ALLOCATOR_BACKEND &&
	    vt_map_put(&replay->backend_of, item->process, note->value ? BACKEND_POOL : BACKEND_NATIVE) < 0)
		return out_of_memory(err);
	TELL(replay, note, item, err);
	return 0;
}

static int on_item(struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	switch (item->event->id) {
	case VT_EVENT_tensor:
		return on_tensor(replay, item, err);
	case VT_EVENT_op:
		return on_op(replay, item, err);
	case VT_EVENT_driver_memory:
		return on_driver(replay, item, err);
	case VT_EVENT_device_sample:
		return on_sample(replay, item, err);
	case VT_EVENT_oom:
		return on_oom(replay, item, err);
	case VT_EVENT_note:
		return on_note(replay, item, err);
	default:
		TELL(replay, work, item, err);
		return 0;
	}
}

static int on_end(struct vt_replay *replay, struct vt_err *err)
{
	TELL(replay, end, err);
	return 0;
}

int vt_replay_run(struct vt_replay *replay, struct vt_cursor *cursor, struct vt_err *err)
{
	struct vt_item item = { 0 };
	int r;

	while ((r = vt_cursor_next(cursor, &item, err)) > 0) {
		if (VT_UNLIKELY(!replay->any)) {
			replay->first_ns = item.time_ns;
			replay->any = true;
		}
		replay->last_ns = item.time_ns;
		r = on_item(replay, &item, err);
		if (VT_UNLIKELY(r < 0))
			return r;
	}
	return r < 0 ? r : on_end(replay, err);
}

int vt_replay_new(struct vt_replay **ret, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : vt_err_set(err, VT_E_NOMEM, "no memory for a replay");
}

void vt_replay_free(struct vt_replay *replay)
{
	if (!replay)
		return;
	vt_buf_done(&replay->listeners);
	vt_buf_done(&replay->devices);
	vt_buf_done(&replay->seen_tensor);
	vt_map_done(&replay->device_of);
	vt_map_done(&replay->ordinal_of);
	vt_map_done(&replay->backend_of);
	vt_blocks_done(&replay->blocks);
	vt_driver_done(&replay->driver);
	free(replay);
}

int vt_replay_add(struct vt_replay *replay, const struct vt_listener *listener, struct vt_err *err)
{
	if (vt_buf_append(&replay->listeners, listener, sizeof(*listener)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a listener");
	return 0;
}

uint32_t vt_replay_device_count(const struct vt_replay *replay)
{
	return (uint32_t)(replay->devices.bytes / sizeof(struct vt_device));
}

const struct vt_device *vt_replay_device(const struct vt_replay *replay, uint32_t index)
{
	return index < vt_replay_device_count(replay) ? device_at(replay, index) : NULL;
}

uint64_t vt_replay_first_ns(const struct vt_replay *replay)
{
	return replay->first_ns;
}

uint64_t vt_replay_last_ns(const struct vt_replay *replay)
{
	return replay->last_ns;
}

int vt_replay_each_live(const struct vt_replay *replay, uint32_t device,
			int (*fn)(void *arg, const struct vt_block *block), void *arg)
{
	const struct vt_blocks *blocks = &replay->blocks;
	int r = 0;

	for (size_t i = 0; i < blocks->room && !r; i++)
		if (blocks->slots[i].serial && (device == UINT32_MAX || blocks->slots[i].device == device))
			r = fn(arg, &blocks->slots[i]);
	return r;
}

struct vt_driver_change vt_replay_driver_change(const struct vt_replay *replay)
{
	return replay->change;
}
