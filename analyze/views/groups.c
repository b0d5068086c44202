/* groups.c - see groups.h. */
#include "analyze/views/groups.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"

struct counters {
	uint64_t live_bytes, live_blocks;
	uint64_t peak_bytes, peak_blocks;
	uint64_t peak; /* the device's peak that peak_* belong to */
	uint64_t allocs, allocated_bytes;
	uint64_t frees;
	unsigned __int128 lifetime_ns;
};

struct device_peaks {
	uint64_t count;
	bool pending; /* a peak was announced; the event that makes it is not counted here yet */
};

struct vt_groups {
	struct vt_idmap map; /* device, op, stack */
	struct counters *counters;
	size_t room;
	struct device_peaks *peaks;
	size_t peaks_room;
};

int vt_groups_new(struct vt_groups **ret, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : vt_err_set(err, VT_E_NOMEM, "no memory for the groups of blocks");
}

void vt_groups_free(struct vt_groups *groups)
{
	if (!groups)
		return;
	vt_idmap_done(&groups->map);
	free(groups->counters);
	free(groups->peaks);
	free(groups);
}

static uint64_t peak_count(const struct vt_groups *groups, uint32_t device)
{
	return device < groups->peaks_room ? groups->peaks[device].count : 0;
}

/* To be called before live_* change: they are still those of every peak since the group's last change. */
static void settle(const struct vt_groups *groups, uint32_t device, struct counters *counters)
{
	uint64_t peak = peak_count(groups, device);

	if (counters->peak == peak)
		return;
	counters->peak = peak;
	counters->peak_bytes = counters->live_bytes;
	counters->peak_blocks = counters->live_blocks;
}

static void end_pending(struct vt_groups *groups, uint32_t device)
{
	if (device < groups->peaks_room && groups->peaks[device].pending) {
		groups->peaks[device].pending = false;
		groups->peaks[device].count++;
	}
}

static struct counters *find(struct vt_groups *groups, const struct vt_block *block, struct vt_err *err)
{
	struct vt_idmap_key key = { block->device, block->op, block->stack };
	uint32_t index = vt_idmap_add(&groups->map, key);

	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&groups->counters, &groups->room, index, sizeof(*groups->counters)) < 0) {
		vt_err_set(err, VT_E_NOMEM, "no memory for the groups of blocks");
		return NULL;
	}
	return &groups->counters[index];
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	struct vt_groups *groups = self;
	struct counters *counters = find(groups, block, err);

	(void)replay;
	(void)item;
	if (!counters)
		return -VT_E_NOMEM;
	settle(groups, block->device, counters);
	counters->live_bytes += block->size_bytes;
	counters->live_blocks++;
	counters->allocated_bytes += block->size_bytes;
	counters->allocs++;
	end_pending(groups, block->device);
	return 0;
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	struct vt_groups *groups = self;
	struct counters *counters;

	(void)replay;
	if (block->serial) {
		counters = find(groups, block, err);
		if (!counters)
			return -VT_E_NOMEM;
		settle(groups, block->device, counters);
		counters->live_bytes -= block->size_bytes;
		counters->live_blocks--;
		counters->frees++;
		if (item->time_ns > block->alloc_ns)
			counters->lifetime_ns += item->time_ns - block->alloc_ns;
	}
	end_pending(groups, block->device);
	return 0;
}

static int on_peak(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		   struct vt_err *err)
{
	struct vt_groups *groups = self;

	(void)replay;
	(void)item;
	if (vt_array_reach((void **)&groups->peaks, &groups->peaks_room, device, sizeof(*groups->peaks)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the peaks of devices");
	groups->peaks[device].pending = true;
	return 0;
}

/* A driver event may raise a pool's total without a block of its own. */
static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	(void)replay;
	(void)item;
	(void)err;
	end_pending(self, device);
	return 0;
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_groups *groups = self;

	(void)replay;
	(void)err;
	for (size_t i = 0; i < groups->peaks_room; i++)
		end_pending(groups, (uint32_t)i);
	return 0;
}

struct vt_listener vt_groups_listener(struct vt_groups *groups)
{
	return (struct vt_listener){
		.self = groups,
		.alloc = on_alloc,
		.free = on_free,
		.driver = on_driver,
		.peak = on_peak,
		.end = on_end,
	};
}

uint32_t vt_groups_count(const struct vt_groups *groups)
{
	return groups->map.count;
}

struct vt_group vt_groups_get(const struct vt_groups *groups, uint32_t index)
{
	struct vt_idmap_key key = groups->map.keys[index];
	struct counters now = groups->counters[index];

	settle(groups, key.a, &now);
	return (struct vt_group){
		.device = key.a,
		.op = key.b,
		.stack = key.c,
		.live_bytes = now.live_bytes,
		.live_blocks = now.live_blocks,
		.peak_bytes = now.peak_bytes,
		.peak_blocks = now.peak_blocks,
		.allocs = now.allocs,
		.allocated_bytes = now.allocated_bytes,
		.frees = now.frees,
		.lifetime_ns = now.lifetime_ns,
	};
}
