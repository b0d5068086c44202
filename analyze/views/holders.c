/* holders.c - see holders.h. */
#include "analyze/views/holders.h"

#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
	const struct vt_holder *x = a, *y = b;
	int order = vt_place_compare(&x->place, &y->place);

	/* The largest member first: it lends its stacks to the whole. */
	if (!order)
		order = (y->bytes > x->bytes) - (y->bytes < x->bytes);
	if (!order)
		order = (x->op > y->op) - (x->op < y->op);
	return order ? order : (x->stack > y->stack) - (x->stack < y->stack);
}

static int by_bytes(const void *a, const void *b)
{
	const struct vt_holder *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return vt_place_compare(&x->place, &y->place);
}

/* Folds neighbours of equal place into the first of them. */
static size_t merge(struct vt_holder *list, size_t count)
{
	size_t last = 0;

	for (size_t i = 1; i < count; i++) {
		if (vt_place_compare(&list[last].place, &list[i].place)) {
			list[++last] = list[i];
			continue;
		}
		list[last].bytes += list[i].bytes;
		list[last].blocks += list[i].blocks;
		list[last].members++;
	}
	return count ? last + 1 : 0;
}

int vt_holders_build(struct vt_holders *ret, const struct vt_lens *lens, struct vt_err *err)
{
	uint32_t process = vt_replay_device(lens->replay, lens->device)->process;
	uint32_t n = vt_groups_count(lens->groups);

	*ret = (struct vt_holders){ .count = 0 };
	ret->list = calloc(n ? n : 1, sizeof(*ret->list));
	if (!ret->list)
		return vt_err_set(err, VT_E_NOMEM, "no memory for %u holders", n);
	for (uint32_t i = 0; i < n; i++) {
		struct vt_group group = vt_groups_get(lens->groups, i);
		bool peak = lens->moment == VT_MOMENT_PEAK;
		uint64_t blocks = peak ? group.peak_blocks : group.live_blocks;
		struct vt_holder *holder = &ret->list[ret->count];

		if (group.device != lens->device || !blocks)
			continue;
		*holder = (struct vt_holder){ .bytes = peak ? group.peak_bytes : group.live_bytes,
					      .blocks = blocks,
					      .op = group.op,
					      .stack = group.stack,
					      .members = 1 };
		vt_place_find(lens->symbols, process, group.op, group.stack, &holder->place);
		ret->bytes += holder->bytes;
		ret->blocks += blocks;
		ret->count++;
	}
	qsort(ret->list, ret->count, sizeof(*ret->list), by_place);
	ret->count = merge(ret->list, ret->count);
	qsort(ret->list, ret->count, sizeof(*ret->list), by_bytes);
	return 0;
}

void vt_holders_done(struct vt_holders *holders)
{
	free(holders->list);
	*holders = (struct vt_holders){ .count = 0 };
}
