/* page_blocks.c - see page_blocks.h: two heaps a device, each with its least block on top. */
#include "analyze/page/page_blocks.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"

enum { BY_TIME, BY_SIZE, HEAPS };

static double score(const struct vt_page_block *block, unsigned by)
{
	double bytes = (double)block->block.size_bytes;

	return by == BY_SIZE ? bytes : bytes * (double)(block->last_touch_ns + 1);
}

/* Before the touches are known, last_touch_ns holds the life: what the order is by. */
static bool less(const struct vt_page_block *x, const struct vt_page_block *y, unsigned by)
{
	double a = score(x, by), b = score(y, by);

	return a != b ? a < b : x->block.serial > y->block.serial;
}

static void swap(struct vt_page_block *x, struct vt_page_block *y)
{
	struct vt_page_block keep = *x;

	*x = *y;
	*y = keep;
}

static void sift_up(struct vt_page_heap *heap, size_t at, unsigned by)
{
	for (; at && less(&heap->list[at], &heap->list[(at - 1) / 2], by); at = (at - 1) / 2)
		swap(&heap->list[at], &heap->list[(at - 1) / 2]);
}

static void sift_down(struct vt_page_heap *heap, unsigned by)
{
	for (size_t at = 0, child = 1; child < heap->count; at = child, child = 2 * at + 1) {
		if (child + 1 < heap->count && less(&heap->list[child + 1], &heap->list[child], by))
			child++;
		if (!less(&heap->list[child], &heap->list[at], by))
			return;
		swap(&heap->list[child], &heap->list[at]);
	}
}

static int offer(struct vt_page_heap *heap, const struct vt_page_block *block, size_t most, unsigned by)
{
	if (heap->count < most) {
		if (vt_array_reach((void **)&heap->list, &heap->room, heap->count, sizeof(*heap->list)) < 0)
			return -VT_E_NOMEM;
		heap->list[heap->count] = *block;
		sift_up(heap, heap->count++, by);
		return 0;
	}
	if (!heap->count || !less(&heap->list[0], block, by))
		return 0;
	heap->list[0] = *block;
	sift_down(heap, by);
	return 0;
}

int vt_page_blocks_add(struct vt_page_blocks *blocks, const struct vt_attributed *block, uint64_t end_ns)
{
	const uint64_t until_ns = block->free_ns == UINT64_MAX ? end_ns : block->free_ns;
	const struct vt_page_block kept = {
		.block = *block,
		.last_touch_ns = until_ns > block->alloc_ns ? until_ns - block->alloc_ns : 0,
	};
	size_t place = (size_t)HEAPS * block->device;
	int r = 0;

	blocks->seen++;
	if (vt_array_reach((void **)&blocks->heaps, &blocks->heap_room, place + HEAPS - 1, sizeof(*blocks->heaps)) < 0)
		return -VT_E_NOMEM;
	for (unsigned by = 0; by < HEAPS && !r; by++)
		r = offer(&blocks->heaps[place + by], &kept, blocks->most, by);
	return r;
}

static int by_device(const void *a, const void *b)
{
	const struct vt_page_block *x = a, *y = b;

	if (x->block.device != y->block.device)
		return x->block.device < y->block.device ? -1 : 1;
	return (x->block.serial > y->block.serial) - (x->block.serial < y->block.serial);
}

int vt_page_blocks_finish(struct vt_page_blocks *blocks, struct vt_err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < blocks->heap_room; i++)
		count += blocks->heaps[i].count;
	blocks->list = calloc(count + 1, sizeof(*blocks->list));
	if (!blocks->list)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the blocks of the page");
	for (size_t i = 0; i < blocks->heap_room; i++)
		for (size_t k = 0; k < blocks->heaps[i].count; k++)
			blocks->list[blocks->count++] = blocks->heaps[i].list[k];
	qsort(blocks->list, blocks->count, sizeof(*blocks->list), by_device);
	count = 0;
	for (size_t i = 0; i < blocks->count; i++) {
		if (count && blocks->list[count - 1].block.serial == blocks->list[i].block.serial)
			continue;
		blocks->list[count] = blocks->list[i];
		blocks->list[count].last_touch_ns = 0;
		if (vt_map_put(&blocks->by_serial, blocks->list[count].block.serial, (uint32_t)count) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for the blocks of the page");
		count++;
	}
	blocks->count = count;
	return 0;
}

void vt_page_blocks_done(struct vt_page_blocks *blocks)
{
	for (size_t i = 0; i < blocks->heap_room; i++)
		free(blocks->heaps[i].list);
	free(blocks->heaps);
	free(blocks->list);
	vt_map_done(&blocks->by_serial);
	*blocks = (struct vt_page_blocks){ .most = 0 };
}
