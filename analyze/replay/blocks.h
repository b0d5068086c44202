/*
 * blocks.h - the live blocks: open addressing on (device, address), with the blocks in the slots themselves, so that
 * most look-ups touch one cache line.
 */
#ifndef VT_ANALYZE_BLOCKS_H
#define VT_ANALYZE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/replay/replay.h"

/* Zero-initialised is empty; the holder calls vt_blocks_done. */
struct vt_blocks {
	struct vt_block *slots; /* serial 0: empty */
	size_t room;		/* a power of two, or 0 */
	size_t used;
	uint64_t seed;
};

/* Puts a block with serial > 0. 1: another was live there, now in *ret_old; 0: none; -VT_E_NOMEM. */
int vt_blocks_put(struct vt_blocks *blocks, const struct vt_block *block, struct vt_block *ret_old);
/* Removes the block at (device, address) into *ret; false: none. */
bool vt_blocks_take(struct vt_blocks *blocks, uint32_t device, uint64_t address, struct vt_block *ret);
/* Fetches the place of (device, address) into the cache: it will be put or taken soon. */
void vt_blocks_expect(const struct vt_blocks *blocks, uint32_t device, uint64_t address);
void vt_blocks_done(struct vt_blocks *blocks);

#endif
