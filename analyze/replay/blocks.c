/* blocks.c - see blocks.h: linear probing at half load, deletion by shifting back. */
#include "analyze/replay/blocks.h"

#include <stdlib.h>

#include "schema/base/bits.h"
#include "schema/base/hash.h"

#define ROOM_FIRST 4096

static size_t home(const struct vt_blocks *blocks, uint32_t device, uint64_t address)
{
	return (size_t)vt_mix64(address ^ (uint64_t)device << 48 ^ blocks->seed) & (blocks->room - 1);
}

/* The block's slot, or the empty one where it would go. room > used. */
static size_t locate(const struct vt_blocks *blocks, uint32_t device, uint64_t address)
{
	size_t at = home(blocks, device, address);

	for (;; at = (at + 1) & (blocks->room - 1)) {
		const struct vt_block *block = &blocks->slots[at];

		if (!block->serial || (block->address == address && block->device == device))
			return at;
	}
}

static int grow(struct vt_blocks *blocks)
{
	struct vt_blocks larger = {
		.room = blocks->room ? blocks->room * 2 : ROOM_FIRST,
		.used = blocks->used,
		.seed = blocks->room ? blocks->seed : vt_hash_seed(),
	};

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return -VT_E_NOMEM;
	for (size_t i = 0; i < blocks->room; i++) {
		const struct vt_block *block = &blocks->slots[i];

		if (block->serial)
			larger.slots[locate(&larger, block->device, block->address)] = *block;
	}
	free(blocks->slots);
	*blocks = larger;
	return 0;
}

int vt_blocks_put(struct vt_blocks *blocks, const struct vt_block *block, struct vt_block *ret_old)
{
	struct vt_block *slot;

	if (VT_UNLIKELY(blocks->used >= blocks->room / 2)) {
		int r = grow(blocks);

		if (r < 0)
			return r;
	}
	slot = &blocks->slots[locate(blocks, block->device, block->address)];
	if (VT_UNLIKELY(slot->serial)) {
		*ret_old = *slot;
		*slot = *block;
		return 1;
	}
	*slot = *block;
	blocks->used++;
	return 0;
}

bool vt_blocks_take(struct vt_blocks *blocks, uint32_t device, uint64_t address, struct vt_block *ret)
{
	size_t mask = blocks->room - 1, hole, at;

	if (!blocks->room)
		return false;
	hole = locate(blocks, device, address);
	if (!blocks->slots[hole].serial)
		return false;
	*ret = blocks->slots[hole];
	/* Whoever stands behind the hole and could be found there moves into it. */
	for (at = (hole + 1) & mask; blocks->slots[at].serial; at = (at + 1) & mask) {
		const struct vt_block *block = &blocks->slots[at];

		if (((at - home(blocks, block->device, block->address)) & mask) < ((at - hole) & mask))
			continue;
		blocks->slots[hole] = *block;
		hole = at;
	}
	blocks->slots[hole].serial = 0;
	blocks->used--;
	return true;
}

void vt_blocks_expect(const struct vt_blocks *blocks, uint32_t device, uint64_t address)
{
	if (blocks->room)
		__builtin_prefetch(&blocks->slots[home(blocks, device, address)], 1);
}

void vt_blocks_done(struct vt_blocks *blocks)
{
	free(blocks->slots);
	*blocks = (struct vt_blocks){ 0 };
}
