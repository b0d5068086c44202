/* packing.c - see packing.h. */
#include "analyze/simulate/packing.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"
#include "schema/base/err.h"

int vt_packing_begin(struct vt_packing *packing, uint32_t slot, uint64_t bytes)
{
	if (vt_array_reach((void **)&packing->sizes, &packing->sizes_room, slot, sizeof(*packing->sizes)) < 0 ||
	    vt_array_reach((void **)&packing->open, &packing->open_room, slot, sizeof(*packing->open)) < 0)
		return -VT_E_NOMEM;
	packing->sizes[slot] = bytes;
	packing->live_bytes += bytes;
	if (packing->live_bytes > packing->peak_live_bytes)
		packing->peak_live_bytes = packing->live_bytes;
	packing->now++;
	packing->too_many = packing->too_many || packing->nlives == VT_PACKING_BLOCKS_MAX;
	if (packing->too_many)
		return 0;
	if (vt_array_reach((void **)&packing->lives, &packing->lives_room, packing->nlives, sizeof(*packing->lives)) <
	    0)
		return -VT_E_NOMEM;
	packing->lives[packing->nlives++] = (struct vt_packed_life){ bytes, packing->now, UINT64_MAX };
	packing->open[slot] = (uint32_t)packing->nlives;
	return 0;
}

void vt_packing_end(struct vt_packing *packing, uint32_t slot)
{
	packing->now++;
	if (slot >= packing->sizes_room)
		return;
	packing->live_bytes -= packing->sizes[slot];
	packing->sizes[slot] = 0;
	if (packing->open[slot])
		packing->lives[packing->open[slot] - 1].end = packing->now;
	packing->open[slot] = 0;
}

static int by_size(const void *a, const void *b)
{
	const struct vt_packed_life *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

struct placed {
	uint64_t start, end;   /* addresses */
	uint64_t begin, until; /* life */
};

/* The tightest gap between the blocks that live at the same time; list is by address. */
static uint64_t find_gap(const struct placed *list, size_t count, const struct vt_packed_life *life)
{
	uint64_t free_from = 0, best = UINT64_MAX, best_gap = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		if (list[i].begin >= life->end || list[i].until <= life->begin)
			continue;
		if (list[i].start > free_from && list[i].start - free_from >= life->bytes &&
		    list[i].start - free_from < best_gap) {
			best_gap = list[i].start - free_from;
			best = free_from;
		}
		if (list[i].end > free_from)
			free_from = list[i].end;
	}
	return best == UINT64_MAX ? free_from : best;
}

static void insert(struct placed *list, size_t count, struct placed block)
{
	size_t at = count;

	for (; at && list[at - 1].start > block.start; at--)
		list[at] = list[at - 1];
	list[at] = block;
}

int vt_packing_pack(struct vt_packing *packing, uint64_t *ret_bytes)
{
	struct placed *list;

	*ret_bytes = 0;
	if (packing->too_many)
		return 1;
	if (!packing->nlives)
		return 0;
	list = calloc(packing->nlives, sizeof(*list));
	if (!list)
		return -VT_E_NOMEM;
	qsort(packing->lives, packing->nlives, sizeof(*packing->lives), by_size);
	for (size_t i = 0; i < packing->nlives; i++) {
		const struct vt_packed_life *life = &packing->lives[i];
		uint64_t start = find_gap(list, i, life);

		insert(list, i, (struct placed){ start, start + life->bytes, life->begin, life->end });
		if (start + life->bytes > *ret_bytes)
			*ret_bytes = start + life->bytes;
	}
	free(list);
	return 0;
}

void vt_packing_done(struct vt_packing *packing)
{
	free(packing->lives);
	free(packing->open);
	free(packing->sizes);
	*packing = (struct vt_packing){ .now = 0 };
}
