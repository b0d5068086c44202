/* page_touches.c - see page_touches.h. */
#include "analyze/page/page_touches.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/symbols/table.h"
#include "analyze/views/idmap.h"

/* Launches whose kernel has not come: the GPU is seldom thousands of kernels behind. */
#define LAUNCHES (1u << 16)
#define LAUNCH_BLOCKS 8

struct touch_set {
	uint32_t first, count; /* in addresses */
};

struct vt_page_launch {
	uint32_t process, correlation;
	uint32_t count;
	uint32_t blocks[LAUNCH_BLOCKS];
};

static int take_touch(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_touch *touch = (const struct vt_touch *)(const void *)rec;
	struct vt_page_touches *touches = arg;
	const struct touch_set set = { (uint32_t)(touches->addresses.bytes / sizeof(uint64_t)),
				       touch->size_bytes / (uint32_t)sizeof(uint64_t) };

	if (vt_map_put(&touches->by_id, vt_symbols_key(process, touch->id),
		       (uint32_t)(touches->sets.bytes / sizeof(set))) < 0 ||
	    vt_buf_append(&touches->sets, &set, sizeof(set)) < 0)
		return -VT_E_NOMEM;
	return vt_buf_append(&touches->addresses, touch + 1, (size_t)set.count * sizeof(uint64_t));
}

int vt_page_touches_begin(struct vt_page_touches *touches, struct vt_store *store, struct vt_err *err)
{
	int r = vt_store_each_record(store, vt_event_find(VT_EVENT_touch), take_touch, touches, err);

	touches->launches = calloc(LAUNCHES, sizeof(*touches->launches));
	if (r == -VT_E_NOMEM || !touches->launches)
		return vt_err_set(err, VT_E_NOMEM, "no memory for what kernels touch");
	return r;
}

/* The first live block that does not lie before (device, address). */
static size_t lower(const struct vt_page_touches *touches, uint32_t device, uint64_t address)
{
	size_t low = 0, high = touches->nlive;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct vt_page_live *live = &touches->live[mid];

		if (live->device < device || (live->device == device && live->end <= address))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	struct vt_page_touches *touches = self;
	uint32_t place = vt_map_find(&touches->blocks->by_serial, block->serial);
	struct vt_page_live live = { block->address, block->address + block->size_bytes, place, block->device };
	size_t at;

	(void)replay;
	(void)item;
	if (place == VT_MAP_NONE || live.end < live.address)
		return 0;
	if (vt_array_reach((void **)&touches->live, &touches->live_room, touches->nlive, sizeof(live)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the blocks of the page");
	at = lower(touches, block->device, block->address);
	memmove(&touches->live[at + 1], &touches->live[at], (touches->nlive - at) * sizeof(live));
	touches->live[at] = live;
	touches->nlive++;
	return 0;
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	struct vt_page_touches *touches = self;
	size_t at = lower(touches, block->device, block->address);

	(void)replay;
	(void)item;
	(void)err;
	if (!block->serial || at == touches->nlive || touches->live[at].address != block->address ||
	    touches->live[at].device != block->device)
		return 0;
	touches->nlive--;
	memmove(&touches->live[at], &touches->live[at + 1], (touches->nlive - at) * sizeof(*touches->live));
	return 0;
}

static uint32_t find_device(const struct vt_replay *replay, uint32_t process, int16_t device)
{
	for (uint32_t i = 0; i < vt_replay_device_count(replay); i++) {
		const struct vt_device *state = vt_replay_device(replay, i);

		if (state->process == process && state->device == device && state->device_type == VT_device_type_CUDA)
			return i;
	}
	return UINT32_MAX;
}

static void touch(struct vt_page_touches *touches, struct vt_page_launch *launch, uint32_t device, uint64_t address,
		  uint64_t time_ns)
{
	size_t at = lower(touches, device, address);
	const struct vt_page_live *live = &touches->live[at];
	struct vt_page_block *block;

	if (at == touches->nlive || live->device != device || live->address > address)
		return;
	block = &touches->blocks->list[live->place];
	for (uint32_t i = 0; i < launch->count; i++)
		if (launch->blocks[i] == live->place)
			return;
	if (launch->count < LAUNCH_BLOCKS)
		launch->blocks[launch->count++] = live->place;
	block->first_touch_ns = block->touches ? block->first_touch_ns : time_ns;
	block->last_touch_ns = time_ns;
	block->touches++;
}

static void take_launch(struct vt_page_touches *touches, const struct vt_replay *replay, const struct vt_item *item)
{
	const struct vt_launch *launch = (const struct vt_launch *)(const void *)item->rec;
	uint32_t place = vt_map_find(&touches->by_id, vt_symbols_key(item->process, launch->touches));
	struct vt_page_launch *waiting = &touches->launches[launch->correlation % LAUNCHES];
	const uint64_t *addresses = (const uint64_t *)(const void *)touches->addresses.data;
	struct touch_set set;
	uint32_t device;

	if (!launch->touches || place == VT_MAP_NONE)
		return;
	touches->captured = true;
	device = find_device(replay, item->process, launch->device);
	if (device == UINT32_MAX)
		return;
	set = ((const struct touch_set *)(const void *)touches->sets.data)[place];
	*waiting = (struct vt_page_launch){ .process = item->process, .correlation = launch->correlation };
	for (uint32_t i = 0; i < set.count; i++)
		touch(touches, waiting, device, addresses[set.first + i], item->time_ns);
}

static void count_kernel(struct vt_page_block *block, uint32_t config)
{
	uint32_t i = 0;

	while (i < block->nkernels && block->kernels[i] != config)
		i++;
	if (i == VT_PAGE_KERNELS)
		return;
	if (i == block->nkernels)
		block->kernels[block->nkernels++] = config;
	block->kernel_counts[i]++;
}

static void take_kernel(struct vt_page_touches *touches, const struct vt_item *item)
{
	const struct vt_kernel *kernel = (const struct vt_kernel *)(const void *)item->rec;
	struct vt_page_launch *launch = &touches->launches[kernel->correlation % LAUNCHES];

	if (launch->process != item->process || launch->correlation != kernel->correlation)
		return;
	for (uint32_t i = 0; i < launch->count; i++)
		count_kernel(&touches->blocks->list[launch->blocks[i]], kernel->config);
	launch->count = 0;
}

static int on_work(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	(void)err;
	if (item->event->id == VT_EVENT_launch)
		take_launch(self, replay, item);
	else if (item->event->id == VT_EVENT_kernel)
		take_kernel(self, item);
	return 0;
}

struct vt_listener vt_page_touches_listener(struct vt_page_touches *touches)
{
	return (struct vt_listener){ .self = touches, .alloc = on_alloc, .free = on_free, .work = on_work };
}

void vt_page_touches_done(struct vt_page_touches *touches)
{
	vt_map_done(&touches->by_id);
	vt_buf_done(&touches->sets);
	vt_buf_done(&touches->addresses);
	free(touches->live);
	free(touches->launches);
	*touches = (struct vt_page_touches){ .blocks = NULL };
}
