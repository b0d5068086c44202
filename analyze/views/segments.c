/* segments.c - see segments.h. Segments of a device lie in one sorted array: there are at most some thousands. */
#include "analyze/views/segments.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/views/idmap.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

struct device_segments {
	struct vt_segment *list; /* by start, not overlapping */
	size_t count, room;
	size_t hint; /* where the last block was found */
};

struct vt_segments {
	struct device_segments *devices;
	size_t room;
};

uint64_t vt_torch_segment_bytes(uint64_t request_bytes, uint64_t large_segment)
{
	if (request_bytes <= VT_TORCH_SMALL_REQUEST)
		return VT_TORCH_SMALL_SEGMENT;
	if (request_bytes < VT_TORCH_LARGE_REQUEST)
		return large_segment ? large_segment : VT_TORCH_LARGE_SEGMENT;
	return vt_align_up(request_bytes, VT_TORCH_SMALL_SEGMENT);
}

int vt_segments_new(struct vt_segments **ret, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : vt_err_set(err, VT_E_NOMEM, "no memory for the segments");
}

void vt_segments_free(struct vt_segments *segments)
{
	if (!segments)
		return;
	for (size_t i = 0; i < segments->room; i++)
		free(segments->devices[i].list);
	free(segments->devices);
	free(segments);
}

/* Index of the first segment that ends after the address. */
static size_t lower(const struct device_segments *device, uint64_t address)
{
	size_t low = 0, high = device->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (device->list[mid].start + device->list[mid].bytes <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void erase(struct device_segments *device, size_t at, size_t n)
{
	memmove(&device->list[at], &device->list[at + n], sizeof(*device->list) * (device->count - at - n));
	device->count -= n;
}

static int insert(struct device_segments *device, size_t at, struct vt_segment segment)
{
	if (vt_array_reach((void **)&device->list, &device->room, device->count, sizeof(*device->list)) < 0)
		return -VT_E_NOMEM;
	memmove(&device->list[at + 1], &device->list[at], sizeof(*device->list) * (device->count - at));
	device->list[at] = segment;
	device->count++;
	return 0;
}

/* Takes [start, end) out of whatever lies there; the pieces left and right of it stay. */
static int cut(struct device_segments *device, uint64_t start, uint64_t end)
{
	size_t at = lower(device, start);

	while (at < device->count && device->list[at].start < end) {
		struct vt_segment *segment = &device->list[at];
		struct vt_segment right = *segment;
		uint64_t segment_end = segment->start + segment->bytes;

		if (segment_end > end) {
			right.start = end;
			right.bytes = segment_end - end;
			if (segment->start >= start) {
				*segment = right;
				return 0;
			}
			segment->bytes = start - segment->start;
			return insert(device, at + 1, right);
		}
		if (segment->start >= start) {
			erase(device, at, 1);
			continue;
		}
		segment->bytes = start - segment->start;
		at++;
	}
	return 0;
}

static int add(struct device_segments *device, uint64_t start, uint64_t bytes, bool mapped)
{
	/* What a lost free left behind gives way. */
	int r = cut(device, start, start + bytes);

	return r < 0 ? r : insert(device, lower(device, start), (struct vt_segment){ start, bytes, mapped, false });
}

static void drop_at(struct device_segments *device, uint64_t address)
{
	size_t at = lower(device, address);

	if (at < device->count && device->list[at].start == address && !device->list[at].mapped)
		erase(device, at, 1);
}

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_driver_memory *rec = (const struct vt_driver_memory *)(const void *)item->rec;
	struct vt_segments *segments = self;
	struct device_segments *list;
	int r = 0;

	(void)replay;
	if (rec->result || !rec->address || rec->size_bytes > UINT64_MAX - rec->address || device == UINT32_MAX)
		return 0;
	if (vt_array_reach((void **)&segments->devices, &segments->room, device, sizeof(*segments->devices)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the segments");
	list = &segments->devices[device];
	switch (rec->api) {
	case VT_driver_api_MEM_ALLOC:
		r = rec->size_bytes ? add(list, rec->address, rec->size_bytes, false) : 0;
		break;
	case VT_driver_api_MEM_MAP:
		r = rec->size_bytes ? add(list, rec->address, rec->size_bytes, true) : 0;
		break;
	case VT_driver_api_MEM_FREE:
		drop_at(list, rec->address);
		break;
	case VT_driver_api_MEM_UNMAP:
		r = cut(list, rec->address, rec->address + rec->size_bytes);
		break;
	default:
		break;
	}
	return r < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory for the segments") : 0;
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	struct vt_segments *segments = self;
	struct device_segments *list;
	uint64_t end = block->address + block->size_bytes;
	size_t at;

	(void)replay;
	(void)item;
	(void)err;
	if (block->device >= segments->room)
		return 0;
	list = &segments->devices[block->device];
	at = list->hint;
	if (at >= list->count || block->address < list->list[at].start ||
	    block->address - list->list[at].start >= list->list[at].bytes)
		at = lower(list, block->address);
	list->hint = at;
	/* Under expandable segments a block may lie over several mapped pages. */
	for (; at < list->count && list->list[at].start < end; at++)
		list->list[at].framework = true;
	return 0;
}

struct vt_listener vt_segments_listener(struct vt_segments *segments)
{
	return (struct vt_listener){ .self = segments, .alloc = on_alloc, .driver = on_driver };
}

struct extent {
	uint64_t start, end;
};

struct extents {
	struct extent *list;
	size_t count, room;
};

static int collect(void *arg, const struct vt_block *block)
{
	struct extents *extents = arg;

	if (vt_array_reach((void **)&extents->list, &extents->room, extents->count, sizeof(*extents->list)) < 0)
		return -VT_E_NOMEM;
	extents->list[extents->count++] = (struct extent){ block->address, block->address + block->size_bytes };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void count_free(struct vt_free_space *space, uint64_t bytes, bool serves)
{
	if (!bytes)
		return;
	if (!serves) {
		space->other_free_bytes += bytes;
		return;
	}
	space->free_bytes += bytes;
	space->free_ranges++;
	if (bytes > space->largest_bytes)
		space->largest_bytes = bytes;
}

/* The free ranges of [start, end); blocks before *next are done. */
static void scan_range(struct vt_free_space *space, const struct extents *blocks, size_t *next, struct extent range,
		       bool serves)
{
	uint64_t at = range.start;

	for (; *next < blocks->count && blocks->list[*next].start < range.start; ++*next) {
		space->stray_blocks++;
		space->stray_bytes += blocks->list[*next].end - blocks->list[*next].start;
	}
	for (; *next < blocks->count && blocks->list[*next].start < range.end; ++*next) {
		if (blocks->list[*next].start > at)
			count_free(space, blocks->list[*next].start - at, serves);
		if (blocks->list[*next].end > at)
			at = blocks->list[*next].end;
	}
	if (range.end > at)
		count_free(space, range.end - at, serves);
}

static void scan(const struct device_segments *device, const struct extents *blocks, bool small,
		 struct vt_free_space *ret)
{
	size_t next = 0;

	for (size_t i = 0; i < device->count; i++) {
		const struct vt_segment *segment = &device->list[i];
		struct extent range = { segment->start, segment->start + segment->bytes };
		bool is_small = segment->bytes == VT_TORCH_SMALL_SEGMENT;

		if (!segment->framework)
			continue;
		ret->segments++;
		ret->segment_bytes += segment->bytes;
		/*
		 * Mapped pages join: one reservation is 9/8 of the device and filled from below, so that pages of two
		 * reservations cannot touch.
		 */
		while (segment->mapped && i + 1 < device->count && device->list[i + 1].mapped &&
		       device->list[i + 1].framework && device->list[i + 1].start == range.end) {
			range.end += device->list[++i].bytes;
			ret->segments++;
			ret->segment_bytes += device->list[i].bytes;
		}
		scan_range(ret, blocks, &next, range, is_small == small);
	}
	scan_range(ret, blocks, &next, (struct extent){ UINT64_MAX, UINT64_MAX }, false);
}

static void extents_done(struct extents *extents)
{
	free(extents->list);
}

int vt_segments_free_space(const struct vt_segments *segments, const struct vt_replay *replay, uint32_t device,
			   uint64_t request_bytes, struct vt_free_space *ret, struct vt_err *err)
{
	VT_CLEANUP(extents_done) struct extents blocks = { .count = 0 };
	static const struct device_segments none;
	int r = vt_replay_each_live(replay, device, collect, &blocks);

	*ret = (struct vt_free_space){ .segments = 0 };
	if (r < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory to place the live blocks");
	if (blocks.count)
		qsort(blocks.list, blocks.count, sizeof(*blocks.list), by_start);
	scan(device < segments->room ? &segments->devices[device] : &none, &blocks,
	     request_bytes <= VT_TORCH_SMALL_REQUEST, ret);
	return 0;
}

void vt_segments_each(const struct vt_segments *segments, uint32_t device,
		      void (*fn)(void *arg, const struct vt_segment *segment), void *arg)
{
	if (device >= segments->room)
		return;
	for (size_t i = 0; i < segments->devices[device].count; i++)
		fn(arg, &segments->devices[device].list[i]);
}
