/* allocator.c - see allocator.h: serving requests, splitting and merging. Free space: allocator_release.c. */
#include "analyze/simulate/allocator_int.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"
#include "schema/base/bits.h"

#define ASYNC_PIECE (UINT64_C(32) << 20)

/*
 * A stream-ordered pool with PyTorch's settings: one pool for all sizes and streams that grows in pieces of 32 MiB (as
 * the reserved bytes of such pools were seen to grow), split to 512 bytes, and gives nothing back.
 */
static void play_async_pool(struct vt_alloc_settings *settings)
{
	double fraction = settings->fraction;

	vt_alloc_settings_default(settings);
	settings->async_backend = true;
	settings->expandable = true;
	settings->large_segment_bytes = ASYNC_PIECE;
	settings->fraction = fraction;
}

int vt_allocator_new(struct vt_allocator **ret, const struct vt_alloc_settings *settings, struct vt_err *err)
{
	struct vt_allocator *allocator = calloc(1, sizeof(*allocator));

	*ret = allocator;
	if (!allocator ||
	    vt_array_reach((void **)&allocator->blocks, &allocator->blocks_room, 64, sizeof(*allocator->blocks)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a model of the allocator");
	allocator->settings = *settings;
	if (settings->async_backend)
		play_async_pool(&allocator->settings);
	allocator->nblocks = 1;
	vt_allocator_set_device(allocator, 0, 0);
	return 0;
}

void vt_allocator_free(struct vt_allocator *allocator)
{
	if (!allocator)
		return;
	for (size_t i = 0; i < allocator->nsets; i++) {
		vt_ordered_done(&allocator->sets[i].blocks);
		vt_ordered_done(&allocator->sets[i].unmapped);
	}
	vt_addresses_done(&allocator->addresses);
	vt_buf_done(&allocator->waiting);
	free(allocator->sets);
	free(allocator->pools);
	free(allocator->expandables);
	free(allocator->slots);
	free(allocator->blocks);
	free(allocator);
}

void vt_allocator_set_device(struct vt_allocator *allocator, uint64_t total_bytes, uint64_t outside_bytes)
{
	uint64_t total = total_bytes && total_bytes < VT_ADDRESSES_MAX ? total_bytes : VT_ADDRESSES_MAX;

	allocator->total_bytes = total;
	allocator->addresses.limit_bytes = total;
	allocator->addresses.outside_bytes = outside_bytes < total ? outside_bytes : total;
	allocator->allowed_bytes = 0;
	if (allocator->settings.fraction > 0 && total_bytes)
		allocator->allowed_bytes = (uint64_t)(allocator->settings.fraction * (double)total);
}

struct vt_addresses *vt_allocator_addresses(struct vt_allocator *allocator)
{
	return &allocator->addresses;
}

const struct vt_alloc_stats *vt_allocator_stats(const struct vt_allocator *allocator)
{
	return &allocator->stats;
}

int vt_model_block_new(struct vt_allocator *allocator, const struct vt_model_block *block, uint32_t *ret)
{
	uint32_t index = allocator->spare;

	if (index) {
		allocator->spare = allocator->blocks[index].next;
	} else {
		if (VT_UNLIKELY(allocator->nblocks == UINT32_MAX ||
				vt_array_reach((void **)&allocator->blocks, &allocator->blocks_room, allocator->nblocks,
					       sizeof(*allocator->blocks)) < 0))
			return -VT_E_NOMEM;
		index = (uint32_t)allocator->nblocks++;
	}
	allocator->blocks[index] = *block;
	*ret = index;
	return 0;
}

void vt_model_block_drop(struct vt_allocator *allocator, uint32_t index)
{
	allocator->blocks[index] = (struct vt_model_block){ .next = allocator->spare };
	allocator->spare = index;
}

void vt_model_reserve(struct vt_allocator *allocator, uint64_t bytes)
{
	struct vt_alloc_stats *stats = &allocator->stats;

	stats->reserved_bytes += bytes;
	if (stats->reserved_bytes > stats->peak_reserved_bytes)
		stats->peak_reserved_bytes = stats->reserved_bytes;
	stats->device_allocs++;
}

void vt_model_unreserve(struct vt_allocator *allocator, uint64_t bytes)
{
	allocator->stats.reserved_bytes -= bytes;
	allocator->stats.device_frees++;
}

int vt_model_set_insert(struct vt_allocator *allocator, uint32_t index)
{
	struct vt_model_block *block = vt_model_block(allocator, index);
	struct vt_free_set *set = &allocator->sets[block->set];

	if (block->state == VT_STATE_UNMAPPED)
		return vt_ordered_insert(&set->unmapped, block->address, 0, index);
	block->calls_before = allocator->pools[set->pool].calls;
	return vt_ordered_insert(&set->blocks, block->bytes, block->address, index);
}

void vt_model_set_erase(struct vt_allocator *allocator, uint32_t index)
{
	struct vt_model_block *block = vt_model_block(allocator, index);
	struct vt_free_set *set = &allocator->sets[block->set];

	if (block->state == VT_STATE_UNMAPPED)
		(void)vt_ordered_erase(&set->unmapped, block->address, 0);
	else
		(void)vt_ordered_erase(&set->blocks, block->bytes, block->address);
}

/* dst is in no set; it may be live still where it is about to be freed. */
uint32_t vt_model_merge(struct vt_allocator *allocator, uint32_t dst, uint32_t src)
{
	struct vt_model_block *to = vt_model_block(allocator, dst), *from = vt_model_block(allocator, src);

	if (!src || from->state != to->state)
		return dst;
	vt_model_set_erase(allocator, src);
	if (to->prev == src) {
		to->address = from->address;
		to->prev = from->prev;
		if (to->prev)
			vt_model_block(allocator, to->prev)->next = dst;
	} else {
		to->next = from->next;
		if (to->next)
			vt_model_block(allocator, to->next)->prev = dst;
	}
	to->bytes += from->bytes;
	vt_model_block_drop(allocator, src);
	return dst;
}

static uint64_t split_bytes(const struct vt_model_block *block)
{
	return vt_model_is_split(block) && !block->expandable ? block->bytes : 0;
}

static uint64_t neighbour_split_bytes(const struct vt_allocator *allocator, uint32_t index)
{
	const struct vt_model_block *block = vt_model_block(allocator, index);

	return index && block->state == VT_STATE_FREE ? split_bytes(block) : 0;
}

int vt_model_free_block(struct vt_allocator *allocator, uint32_t index)
{
	struct vt_model_block *block = vt_model_block(allocator, index);
	struct vt_alloc_stats *stats = &allocator->stats;

	stats->active_bytes -= block->bytes;
	stats->requested_bytes -= block->requested_bytes;
	stats->inactive_split_bytes -= neighbour_split_bytes(allocator, block->prev);
	stats->inactive_split_bytes -= neighbour_split_bytes(allocator, block->next);
	block->state = VT_STATE_FREE;
	(void)vt_model_merge(allocator, index, block->prev);
	(void)vt_model_merge(allocator, index, block->next);
	stats->inactive_split_bytes += split_bytes(block);
	return vt_model_set_insert(allocator, index);
}

static int pools_reach(struct vt_allocator *allocator, size_t index)
{
	if (vt_array_reach((void **)&allocator->pools, &allocator->pools_room, index | 1, sizeof(*allocator->pools)) <
	    0)
		return -VT_E_NOMEM;
	for (; allocator->npools <= (index | 1); allocator->npools++)
		allocator->pools[allocator->npools] = (struct vt_model_pool){
			.small = !(allocator->npools & 1),
			.releasable = allocator->npools < 2,
			.private = allocator->npools >= 2,
		};
	return 0;
}

static int find_set(struct vt_allocator *allocator, uint64_t stream, uint32_t pool, uint32_t *ret)
{
	const struct vt_free_set *last = &allocator->sets[allocator->last_set];

	if (VT_LIKELY(allocator->nsets && last->stream == stream && last->pool == pool)) {
		*ret = allocator->last_set;
		return 0;
	}
	for (uint32_t i = 0; i < allocator->nsets; i++)
		if (allocator->sets[i].stream == stream && allocator->sets[i].pool == pool) {
			*ret = allocator->last_set = i;
			return 0;
		}
	if (pools_reach(allocator, pool) < 0 || vt_array_reach((void **)&allocator->sets, &allocator->sets_room,
							       allocator->nsets, sizeof(*allocator->sets)) < 0)
		return -VT_E_NOMEM;
	*ret = allocator->last_set = (uint32_t)allocator->nsets;
	allocator->sets[allocator->nsets++] = (struct vt_free_set){ .stream = stream, .pool = pool };
	return 0;
}

static uint64_t expandable_bytes(const struct vt_allocator *allocator, uint32_t index)
{
	const struct vt_model_block *block = vt_model_block(allocator, index);
	const struct vt_model_block *next = vt_model_block(allocator, block->next);

	return block->bytes + (block->next && next->state == VT_STATE_UNMAPPED ? next->bytes : 0);
}

/* Best fit in the pool and stream. Whether one was found; it is taken out of its set. */
static bool take_free_block(struct vt_allocator *allocator, struct vt_asking *asking)
{
	const struct vt_alloc_settings *settings = &allocator->settings;
	struct vt_free_set *set = &allocator->sets[asking->set];
	struct vt_ordered_at at, behind;
	const struct vt_ordered_entry *entry, *next;

	if (allocator->allowed_bytes && settings->gc_threshold > 0)
		allocator->pools[set->pool].calls++;
	entry = vt_ordered_lower(&set->blocks, asking->bytes, 0, &at);
	if (!entry)
		return false;
	/* A block that can grow counts with the addresses behind it: another one may be the better fit. */
	while (settings->expandable) {
		behind = at;
		next = vt_ordered_next(&set->blocks, &behind);
		if (!next || expandable_bytes(allocator, next->value) >= expandable_bytes(allocator, entry->value))
			break;
		entry = next;
		at = behind;
	}
	if (asking->bytes < settings->max_split_bytes && entry->major >= settings->max_split_bytes)
		return false;
	if (asking->bytes >= settings->max_split_bytes && entry->major >= asking->bytes + settings->max_non_split_bytes)
		return false;
	asking->block = entry->value;
	vt_model_set_erase(allocator, asking->block);
	allocator->stats.inactive_split_bytes -= split_bytes(vt_model_block(allocator, asking->block));
	return true;
}

/* A segment of its own from the driver. 0, 1: no room. */
static int new_segment(struct vt_allocator *allocator, struct vt_asking *asking)
{
	struct vt_model_block block = { .bytes = asking->segment_bytes, .set = asking->set, .state = VT_STATE_FREE };
	struct vt_alloc_stats *stats = &allocator->stats;
	int r;

	if (allocator->allowed_bytes && stats->reserved_bytes + asking->segment_bytes > allocator->allowed_bytes)
		return 1;
	if (allocator->settings.expandable)
		return vt_model_expand(allocator, asking);
	if (vt_addresses_hold(&allocator->addresses, block.bytes) == VT_ADDRESSES_FULL)
		return 1;
	r = vt_addresses_take(&allocator->addresses, block.bytes, &block.address);
	if (!r)
		r = vt_model_block_new(allocator, &block, &asking->block);
	if (r < 0)
		return r;
	vt_model_reserve(allocator, block.bytes);
	if (++stats->segments > stats->peak_segments)
		stats->peak_segments = stats->segments;
	return 0;
}

static bool should_split(const struct vt_allocator *allocator, const struct vt_asking *asking)
{
	uint64_t rest = vt_model_block(allocator, asking->block)->bytes - asking->bytes;

	if (vt_model_pool_of(allocator, asking->set)->small || allocator->settings.expandable)
		return rest >= VT_MIN_BLOCK;
	return asking->bytes < allocator->settings.max_split_bytes && rest > VT_SMALL_REQUEST;
}

/* The request gets the low end; the rest becomes a free block behind it. */
static int split(struct vt_allocator *allocator, const struct vt_asking *asking)
{
	struct vt_model_block *block = vt_model_block(allocator, asking->block);
	struct vt_model_block rest = *block;
	uint32_t index;

	rest.address += asking->bytes;
	rest.bytes -= asking->bytes;
	rest.prev = asking->block;
	rest.state = VT_STATE_FREE;
	if (vt_model_block_new(allocator, &rest, &index) < 0)
		return -VT_E_NOMEM;
	block = vt_model_block(allocator, asking->block);
	if (block->next)
		vt_model_block(allocator, block->next)->prev = index;
	block->next = index;
	block->bytes = asking->bytes;
	allocator->stats.inactive_split_bytes += split_bytes(vt_model_block(allocator, index));
	return vt_model_set_insert(allocator, index);
}

static int hand_out(struct vt_allocator *allocator, const struct vt_asking *asking,
		    const struct vt_alloc_request *request)
{
	struct vt_alloc_stats *stats = &allocator->stats;
	struct vt_model_block *block;

	if (should_split(allocator, asking) && split(allocator, asking) < 0)
		return -VT_E_NOMEM;
	block = vt_model_block(allocator, asking->block);
	block->state = VT_STATE_LIVE;
	block->requested_bytes = request->bytes;
	allocator->slots[request->slot] = asking->block;
	stats->allocs++;
	stats->allocated_bytes += block->bytes;
	stats->active_bytes += block->bytes;
	stats->requested_bytes += request->bytes;
	if (stats->allocated_bytes > stats->peak_allocated_bytes)
		stats->peak_allocated_bytes = stats->allocated_bytes;
	if (stats->requested_bytes > stats->peak_requested_bytes)
		stats->peak_requested_bytes = stats->requested_bytes;
	return 0;
}

/* The ladder of PyTorch's malloc once no free block fits. 0, 1: out of memory. */
static int find_room(struct vt_allocator *allocator, struct vt_asking *asking)
{
	int r = 0;

	if (allocator->allowed_bytes && allocator->settings.gc_threshold > 0)
		r = vt_model_collect_garbage(allocator);
	if (r < 0)
		return r;
	r = new_segment(allocator, asking);
	if (r == 1) {
		r = vt_model_release_available(allocator, asking);
		r = r == 1 ? new_segment(allocator, asking) : r < 0 ? r : 1;
	}
	if (r == 1) {
		r = vt_model_release_cached(allocator);
		if (r < 0)
			return r;
		allocator->stats.retries++;
		r = new_segment(allocator, asking);
	}
	if (r == 1)
		allocator->stats.ooms++;
	return r;
}

int vt_allocator_alloc(struct vt_allocator *allocator, const struct vt_alloc_request *request)
{
	struct vt_asking asking = { .bytes = vt_alloc_round(&allocator->settings, request->bytes) };
	bool one_pool = allocator->settings.async_backend;
	bool small = asking.bytes <= VT_SMALL_REQUEST && !one_pool;
	int r;

	if (VT_UNLIKELY(request->slot >= allocator->slots_room) &&
	    vt_array_reach((void **)&allocator->slots, &allocator->slots_room, request->slot,
			   sizeof(*allocator->slots)) < 0)
		return -VT_E_NOMEM;
	asking.segment_bytes = vt_alloc_segment_bytes(&allocator->settings, asking.bytes);
	r = find_set(allocator, one_pool ? 0 : request->stream, one_pool ? 1 : request->pool * 2 + !small, &asking.set);
	if (VT_UNLIKELY(r < 0))
		return r;
	if (!take_free_block(allocator, &asking)) {
		r = find_room(allocator, &asking);
		if (r)
			return r;
	}
	return hand_out(allocator, &asking, request);
}

int vt_allocator_release(struct vt_allocator *allocator, uint32_t slot, bool waits)
{
	uint32_t index = slot < allocator->slots_room ? allocator->slots[slot] : VT_BLOCK_NONE;

	if (!index)
		return 0;
	allocator->stats.allocated_bytes -= vt_model_block(allocator, index)->bytes;
	if (waits) {
		vt_model_block(allocator, index)->state = VT_STATE_WAITING;
		return vt_buf_append(&allocator->waiting, &slot, sizeof(slot));
	}
	allocator->slots[slot] = VT_BLOCK_NONE;
	return vt_model_free_block(allocator, index);
}

int vt_allocator_completed(struct vt_allocator *allocator, uint32_t slot)
{
	uint32_t *list = (uint32_t *)(void *)allocator->waiting.data;
	size_t count = allocator->waiting.bytes / sizeof(*list);
	uint32_t index = slot < allocator->slots_room ? allocator->slots[slot] : VT_BLOCK_NONE;

	for (size_t i = 0; i < count; i++) {
		if (list[i] != slot)
			continue;
		list[i] = list[count - 1];
		allocator->waiting.bytes -= sizeof(*list);
		allocator->slots[slot] = VT_BLOCK_NONE;
		return vt_model_free_block(allocator, index);
	}
	return 0;
}

bool vt_allocator_block(const struct vt_allocator *allocator, uint32_t slot, struct vt_range *ret)
{
	uint32_t index = slot < allocator->slots_room ? allocator->slots[slot] : VT_BLOCK_NONE;

	if (index)
		*ret = (struct vt_range){ allocator->blocks[index].address, allocator->blocks[index].bytes };
	return index != VT_BLOCK_NONE;
}

void vt_allocator_pool_unused(struct vt_allocator *allocator, uint32_t pool)
{
	for (size_t i = (size_t)pool * 2; pool && i < (size_t)pool * 2 + 2 && i < allocator->npools; i++)
		allocator->pools[i].releasable = true;
}
