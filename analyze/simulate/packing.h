/*
 * packing.h - how little memory would do: the most that was live at once, and a packing that knows all lifetimes.
 *
 * The first is a bound that no policy can go below. The second is offline best fit: blocks by falling size, each at the
 * lowest address where no block that lives at the same time is in the way, the tightest gap first; it can be reached by a
 * program that plans ahead.
 */
#ifndef VT_ANALYZE_PACKING_H
#define VT_ANALYZE_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More blocks are not packed: each is compared with all that are packed. */
#define VT_PACKING_BLOCKS_MAX 20000u

/* A block and its life, in numbers of requests: [begin, end). */
struct vt_packed_life {
	uint64_t bytes, begin, end;
};

/* Zero-initialised is empty; the holder calls vt_packing_done. */
struct vt_packing {
	uint64_t now; /* requests so far */
	uint64_t live_bytes, peak_live_bytes;
	struct vt_packed_life *lives;
	size_t nlives, lives_room;
	uint32_t *open;	 /* by slot: index into lives + 1 */
	uint64_t *sizes; /* by slot */
	size_t open_room, sizes_room;
	bool too_many; /* blocks: lives are no longer kept */
};

/* Slots as in allocator.h. 0 or -VT_E_NOMEM. */
int vt_packing_begin(struct vt_packing *packing, uint32_t slot, uint64_t bytes);
void vt_packing_end(struct vt_packing *packing, uint32_t slot);
/* Bytes of the packing. 0; 1: too many blocks; -VT_E_NOMEM. Blocks that did not end live to the end. */
int vt_packing_pack(struct vt_packing *packing, uint64_t *ret_bytes);
void vt_packing_done(struct vt_packing *packing);

#endif
