/* allocator_release.c - giving memory back: garbage collection, oversize blocks, the whole cache. See allocator.h. */
#include <stdlib.h>

#include "analyze/simulate/allocator_int.h"

/* A plain segment that is one free block goes back to the driver. The caller has seen that it is one. */
static int release_segment(struct vt_allocator *allocator, uint32_t index)
{
	struct vt_model_block block = *vt_model_block(allocator, index);

	vt_model_set_erase(allocator, index);
	vt_model_block_drop(allocator, index);
	vt_model_unreserve(allocator, block.bytes);
	allocator->stats.segments--;
	vt_addresses_release(&allocator->addresses, block.bytes);
	return vt_addresses_give(&allocator->addresses, block.address, block.bytes);
}

static int64_t age_of(const struct vt_allocator *allocator, uint32_t index)
{
	const struct vt_model_block *block = vt_model_block(allocator, index);

	return vt_model_pool_of(allocator, block->set)->calls - block->calls_before;
}

/* The unsplit free blocks of the large default pool, of all streams: what garbage collection looks at. */
static int list_whole_segments(const struct vt_allocator *allocator, struct vt_buf *ret)
{
	for (size_t i = 0; i < allocator->nsets; i++) {
		const struct vt_free_set *set = &allocator->sets[i];
		struct vt_ordered_at at;
		const struct vt_ordered_entry *entry = vt_ordered_first(&set->blocks, &at);

		for (; set->pool == 1 && entry; entry = vt_ordered_next(&set->blocks, &at)) {
			const struct vt_model_block *block = vt_model_block(allocator, entry->value);

			if (!vt_model_is_split(block) && !block->expandable &&
			    vt_buf_append(ret, &entry->value, sizeof(entry->value)) < 0)
				return -VT_E_NOMEM;
		}
	}
	return 0;
}

/* In rounds: all that are at least as old as the mean of those left, until enough is given back. */
static int collect(struct vt_allocator *allocator, uint32_t *list, size_t count, uint64_t target)
{
	uint64_t reclaimed = 0;
	int64_t ages = 0;
	bool freed = true;

	for (size_t i = 0; i < count; i++)
		ages += age_of(allocator, list[i]);
	while (reclaimed < target && freed && count) {
		double threshold = (double)ages / (double)count;
		size_t left = 0, before = count;

		freed = false;
		for (size_t i = 0; i < before; i++) {
			int64_t age = age_of(allocator, list[i]);

			if ((double)age < threshold) {
				list[left++] = list[i];
				continue;
			}
			freed = true;
			reclaimed += vt_model_block(allocator, list[i])->bytes;
			ages -= age;
			count--;
			if (release_segment(allocator, list[i]) < 0)
				return -VT_E_NOMEM;
		}
	}
	return 1;
}

int vt_model_collect_garbage(struct vt_allocator *allocator)
{
	uint64_t threshold = (uint64_t)(allocator->settings.gc_threshold * (double)allocator->allowed_bytes);
	struct vt_buf list = { .bytes = 0 };
	int r;

	if (allocator->stats.reserved_bytes <= threshold)
		return 0;
	r = list_whole_segments(allocator, &list);
	if (!r)
		r = collect(allocator, (uint32_t *)(void *)list.data, list.bytes / sizeof(uint32_t),
			    allocator->stats.reserved_bytes - threshold);
	vt_buf_done(&list);
	return r;
}

/* Several oversize blocks of the request's set, from the largest on, until they add up to what is needed. */
static int release_oversize(struct vt_allocator *allocator, const struct vt_asking *asking, uint64_t needed)
{
	uint64_t released = 0;

	while (released < needed) {
		const struct vt_ordered *blocks = &allocator->sets[asking->set].blocks;
		struct vt_ordered_at at;
		const struct vt_ordered_entry *last = vt_ordered_last(blocks, &at);

		if (!last || last->major < allocator->settings.max_split_bytes ||
		    vt_model_is_split(vt_model_block(allocator, last->value)))
			break;
		released += last->major;
		if (release_segment(allocator, last->value) < 0)
			return -VT_E_NOMEM;
	}
	return released >= needed;
}

int vt_model_release_available(struct vt_allocator *allocator, const struct vt_asking *asking)
{
	uint64_t least = allocator->settings.max_split_bytes;
	uint64_t needed = asking->bytes < least ? least : asking->bytes;
	struct vt_ordered_at at;
	const struct vt_ordered_entry *entry;

	if (least == UINT64_MAX || allocator->settings.expandable)
		return 0;
	entry = vt_ordered_lower(&allocator->sets[asking->set].blocks, needed, 0, &at);
	if (!entry)
		return release_oversize(allocator, asking, needed);
	if (vt_model_is_split(vt_model_block(allocator, entry->value)))
		return 0;
	return release_segment(allocator, entry->value) < 0 ? -VT_E_NOMEM : 1;
}

static int complete_waiting(struct vt_allocator *allocator)
{
	const uint32_t *list = (const uint32_t *)(const void *)allocator->waiting.data;
	size_t count = allocator->waiting.bytes / sizeof(*list);
	int r = 0;

	for (size_t i = 0; i < count && !r; i++) {
		uint32_t index = allocator->slots[list[i]];

		allocator->slots[list[i]] = VT_BLOCK_NONE;
		r = vt_model_free_block(allocator, index);
	}
	vt_buf_clear(&allocator->waiting);
	return r;
}

/* Unmapping changes the set: the blocks are gathered first. */
static int release_set(struct vt_allocator *allocator, size_t index)
{
	struct vt_buf list = { .bytes = 0 };
	struct vt_ordered_at at;
	const struct vt_ordered *blocks = &allocator->sets[index].blocks;
	const struct vt_ordered_entry *entry = vt_ordered_first(blocks, &at);
	const uint32_t *gathered;
	int r = 0;

	for (; entry && !r; entry = vt_ordered_next(blocks, &at))
		r = vt_buf_append(&list, &entry->value, sizeof(entry->value));
	gathered = (const uint32_t *)(const void *)list.data;
	for (size_t i = 0; i < list.bytes / sizeof(*gathered) && !r; i++) {
		const struct vt_model_block *block = vt_model_block(allocator, gathered[i]);

		if (block->expandable)
			r = vt_model_unmap(allocator, gathered[i]);
		else if (!vt_model_is_split(block))
			r = release_segment(allocator, gathered[i]);
	}
	vt_buf_done(&list);
	return r;
}

int vt_model_release_cached(struct vt_allocator *allocator)
{
	int r = complete_waiting(allocator);

	for (size_t i = 0; i < allocator->nsets && !r; i++)
		if (vt_model_pool_of(allocator, (uint32_t)i)->releasable)
			r = release_set(allocator, i);
	return r < 0 ? r : 1;
}

int vt_allocator_empty_cache(struct vt_allocator *allocator)
{
	int r = vt_model_release_cached(allocator);

	return r < 0 ? r : 0;
}
