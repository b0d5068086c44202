/* allocator_check.c - is the model whole? See vt_allocator_check in allocator.h. */
#include "analyze/simulate/allocator_int.h"

struct sums {
	uint64_t live, waiting, free, unmapped, split;
};

static void add_block(struct sums *sums, const struct vt_model_block *block)
{
	switch (block->state) {
	case VT_STATE_LIVE:
		sums->live += block->bytes;
		break;
	case VT_STATE_WAITING:
		sums->waiting += block->bytes;
		break;
	case VT_STATE_FREE:
		sums->free += block->bytes;
		sums->split += vt_model_is_split(block) && !block->expandable ? block->bytes : 0;
		break;
	default:
		sums->unmapped += block->bytes;
		break;
	}
}

static const char *check_pair(const struct vt_model_block *block, const struct vt_model_block *next, uint32_t index)
{
	if (next->prev != index)
		return "neighbours disagree";
	if (next->address != block->address + block->bytes)
		return "a gap or an overlap between neighbours";
	if (next->set != block->set || next->expandable != block->expandable)
		return "neighbours of different segments";
	if (next->state == block->state && (next->state == VT_STATE_FREE || next->state == VT_STATE_UNMAPPED))
		return "two free neighbours that could be one";
	return NULL;
}

static const char *check_set(const struct vt_allocator *allocator, uint32_t set, const struct vt_ordered *ordered,
			     enum vt_block_state state, size_t *entries)
{
	struct vt_ordered_at at;
	const struct vt_ordered_entry *entry = vt_ordered_first(ordered, &at), *last = NULL;

	for (; entry; entry = vt_ordered_next(ordered, &at)) {
		const struct vt_model_block *block = vt_model_block(allocator, entry->value);

		if (block->set != set || block->state != state)
			return "a set holds a block of another kind";
		if (state == VT_STATE_FREE ? entry->major != block->bytes || entry->minor != block->address
					   : entry->major != block->address)
			return "a set's key is not the block's";
		if (last &&
		    (last->major > entry->major || (last->major == entry->major && last->minor >= entry->minor)))
			return "a set is out of order";
		last = entry;
		++*entries;
	}
	return NULL;
}

static const char *check_sets(const struct vt_allocator *allocator, size_t free_blocks)
{
	const char *wrong = NULL;
	size_t entries = 0;

	for (uint32_t i = 0; i < allocator->nsets && !wrong; i++) {
		wrong = check_set(allocator, i, &allocator->sets[i].blocks, VT_STATE_FREE, &entries);
		if (!wrong)
			wrong = check_set(allocator, i, &allocator->sets[i].unmapped, VT_STATE_UNMAPPED, &entries);
	}
	return wrong ? wrong : entries != free_blocks ? "a free block is in no set" : NULL;
}

const char *vt_allocator_check(const struct vt_allocator *allocator)
{
	const struct vt_alloc_stats *stats = &allocator->stats;
	struct sums sums = { .live = 0 };
	size_t free_blocks = 0;
	const char *wrong;

	for (uint32_t i = 1; i < allocator->nblocks; i++) {
		const struct vt_model_block *block = &allocator->blocks[i];

		if (!block->bytes) /* on the list of unused ones */
			continue;
		add_block(&sums, block);
		free_blocks += block->state == VT_STATE_FREE || block->state == VT_STATE_UNMAPPED;
		wrong = block->next ? check_pair(block, &allocator->blocks[block->next], i) : NULL;
		if (wrong)
			return wrong;
	}
	if (sums.live != stats->allocated_bytes || sums.live + sums.waiting != stats->active_bytes)
		return "live blocks do not add up to what is allocated";
	if (sums.live + sums.waiting + sums.free != stats->reserved_bytes)
		return "blocks do not add up to what is reserved";
	if (sums.split != stats->inactive_split_bytes)
		return "inactive_split_bytes is not the free bytes of split segments";
	if (stats->reserved_bytes != allocator->addresses.held_bytes)
		return "the device holds another sum than what is reserved";
	return check_sets(allocator, free_blocks);
}
