/*
 * allocator_expand.c - expandable segments: addresses for more than the device has, memory mapped page by page.
 *
 * The blocks of such a segment tile all its addresses; those without memory are unmapped blocks. See allocator.h.
 */
#include "analyze/simulate/allocator_int.h"
#include "analyze/views/idmap.h"
#include "analyze/views/segments.h"
#include "schema/base/bits.h"

static bool is_usable(const struct vt_model_block *block)
{
	return block->state == VT_STATE_FREE || block->state == VT_STATE_UNMAPPED;
}

static bool has_room(const struct vt_allocator *allocator, uint32_t index, uint64_t bytes)
{
	uint64_t found = 0;

	for (; found < bytes && index && is_usable(vt_model_block(allocator, index));
	     index = vt_model_block(allocator, index)->next)
		found += vt_model_block(allocator, index)->bytes;
	return found >= bytes;
}

/* Addresses for 9/8 of the device, in pages. */
static int new_expandable(struct vt_allocator *allocator, uint32_t set, uint32_t *ret)
{
	bool small = vt_model_pool_of(allocator, set)->small;
	uint64_t page = small ? VT_TORCH_SMALL_SEGMENT : allocator->settings.large_segment_bytes;
	uint64_t wanted = allocator->total_bytes + allocator->total_bytes / 8;
	struct vt_expandable segment = { .page = page, .bytes = (wanted + page - 1) / page * page, .used = true };
	struct vt_model_block block = { .bytes = segment.bytes, .set = set, .state = VT_STATE_UNMAPPED };
	size_t at = 0;

	while (at < allocator->nexpandables && allocator->expandables[at].used)
		at++;
	if (vt_array_reach((void **)&allocator->expandables, &allocator->expandables_room, at,
			   sizeof(*allocator->expandables)) < 0)
		return -VT_E_NOMEM;
	allocator->nexpandables = at < allocator->nexpandables ? allocator->nexpandables : at + 1;
	segment.start = vt_addresses_reserve(&allocator->addresses, segment.bytes);
	allocator->expandables[at] = segment;
	block.address = segment.start;
	block.expandable = (uint32_t)at + 1;
	if (vt_model_block_new(allocator, &block, ret) < 0)
		return -VT_E_NOMEM;
	return vt_model_set_insert(allocator, *ret);
}

/* The lowest place with room for the request: an unmapped block, or the free one before it. */
static int find_place(struct vt_allocator *allocator, const struct vt_asking *asking, uint32_t *ret)
{
	const struct vt_ordered *unmapped = &allocator->sets[asking->set].unmapped;
	struct vt_ordered_at at;
	const struct vt_ordered_entry *entry = vt_ordered_first(unmapped, &at);

	for (; entry; entry = vt_ordered_next(unmapped, &at)) {
		uint32_t prev = vt_model_block(allocator, entry->value)->prev;

		*ret = prev && is_usable(vt_model_block(allocator, prev)) ? prev : entry->value;
		if (has_room(allocator, *ret, asking->bytes))
			return 0;
	}
	return new_expandable(allocator, asking->set, ret);
}

/* Puts memory behind the first bytes of an unmapped block, in whole pages. 0; 1: no room on the device. */
static int map(struct vt_allocator *allocator, uint32_t index, uint64_t bytes)
{
	struct vt_model_block *block = vt_model_block(allocator, index);
	uint64_t page = allocator->expandables[block->expandable - 1].page;
	uint64_t mapped = (bytes + page - 1) / page * page;

	if (vt_addresses_hold(&allocator->addresses, mapped) == VT_ADDRESSES_FULL)
		return 1;
	vt_model_set_erase(allocator, index);
	block->state = VT_STATE_FREE;
	if (mapped < block->bytes) {
		struct vt_model_block rest = *block;
		uint32_t rest_index;

		rest.address += mapped;
		rest.bytes -= mapped;
		rest.prev = index;
		rest.state = VT_STATE_UNMAPPED;
		if (vt_model_block_new(allocator, &rest, &rest_index) < 0)
			return -VT_E_NOMEM;
		block = vt_model_block(allocator, index);
		if (block->next)
			vt_model_block(allocator, block->next)->prev = rest_index;
		block->next = rest_index;
		block->bytes = mapped;
		if (vt_model_set_insert(allocator, rest_index) < 0)
			return -VT_E_NOMEM;
	}
	(void)vt_model_merge(allocator, index, vt_model_block(allocator, index)->prev);
	(void)vt_model_merge(allocator, index, vt_model_block(allocator, index)->next);
	vt_model_reserve(allocator, mapped);
	return vt_model_set_insert(allocator, index);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int vt_model_expand(struct vt_allocator *allocator, struct vt_asking *asking)
{
	uint32_t index = VT_BLOCK_NONE;
	int r = find_place(allocator, asking, &index);

	if (r < 0)
		return r;
	if (vt_model_block(allocator, index)->state == VT_STATE_UNMAPPED)
		r = map(allocator, index, lesser(vt_model_block(allocator, index)->bytes, asking->bytes));
	/* A free block with addresses behind it: mapping those joins them to it, under their number. */
	while (!r && vt_model_block(allocator, index)->bytes < asking->bytes) {
		uint64_t missing = asking->bytes - vt_model_block(allocator, index)->bytes;

		index = vt_model_block(allocator, index)->next;
		r = map(allocator, index, lesser(missing, vt_model_block(allocator, index)->bytes));
	}
	if (r)
		return r;
	vt_model_set_erase(allocator, index);
	asking->block = index;
	return 0;
}

/* Cuts [start, start + bytes) out of a free block in no set; what is left of it on either side stays free. */
static int cut_out(struct vt_allocator *allocator, uint32_t index, struct vt_range range)
{
	struct vt_model_block whole = *vt_model_block(allocator, index), part;
	uint32_t side;

	if (range.start > whole.address) {
		part = whole;
		part.bytes = range.start - whole.address;
		part.next = index;
		if (vt_model_block_new(allocator, &part, &side) < 0 || vt_model_set_insert(allocator, side) < 0)
			return -VT_E_NOMEM;
		if (whole.prev)
			vt_model_block(allocator, whole.prev)->next = side;
		vt_model_block(allocator, index)->prev = side;
	}
	if (range.start + range.bytes < whole.address + whole.bytes) {
		part = whole;
		part.address = range.start + range.bytes;
		part.bytes = whole.address + whole.bytes - part.address;
		part.prev = index;
		if (vt_model_block_new(allocator, &part, &side) < 0 || vt_model_set_insert(allocator, side) < 0)
			return -VT_E_NOMEM;
		if (whole.next)
			vt_model_block(allocator, whole.next)->prev = side;
		vt_model_block(allocator, index)->next = side;
	}
	vt_model_block(allocator, index)->address = range.start;
	vt_model_block(allocator, index)->bytes = range.bytes;
	return 0;
}

int vt_model_unmap(struct vt_allocator *allocator, uint32_t index)
{
	struct vt_model_block *block = vt_model_block(allocator, index);
	struct vt_expandable *segment = &allocator->expandables[block->expandable - 1];
	uint64_t page = segment->page, offset = block->address - segment->start;
	uint64_t first = (offset + page - 1) / page, end = (offset + block->bytes) / page;
	struct vt_range range = { segment->start + first * page, end > first ? (end - first) * page : 0 };

	if (!range.bytes)
		return 0;
	vt_model_set_erase(allocator, index);
	if (cut_out(allocator, index, range) < 0)
		return -VT_E_NOMEM;
	vt_model_block(allocator, index)->state = VT_STATE_UNMAPPED;
	(void)vt_model_merge(allocator, index, vt_model_block(allocator, index)->prev);
	(void)vt_model_merge(allocator, index, vt_model_block(allocator, index)->next);
	vt_model_unreserve(allocator, range.bytes);
	vt_addresses_release(&allocator->addresses, range.bytes);
	/* Wholly unmapped: the addresses go too. */
	if (!vt_model_is_split(vt_model_block(allocator, index))) {
		segment->used = false;
		vt_model_block_drop(allocator, index);
		return 0;
	}
	return vt_model_set_insert(allocator, index);
}
