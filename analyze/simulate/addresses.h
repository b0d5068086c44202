/*
 * addresses.h - where the model's segments lie, and how much of the device is left for them.
 *
 * With hints (what the recorded driver calls returned, in order) a segment of the same size lies where the recorded one
 * did. Without, addresses follow what the driver of an H200 was seen to do: ranges of 32 MiB and its multiples are
 * taken downwards, and inside them the lowest hole that is large enough is filled first. Addresses decide between free
 * blocks of equal size only.
 */
#ifndef VT_ANALYZE_ADDRESSES_H
#define VT_ANALYZE_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/base/buf.h"

/* More memory than any device has: 32 TiB. */
#define VT_ADDRESSES_MAX (UINT64_C(1) << 45)

struct vt_range {
	uint64_t start, bytes;
};

/* Zero-initialised is empty, with limit_bytes 0; the holder calls vt_addresses_done. */
struct vt_addresses {
	uint64_t limit_bytes;	/* what the device has; at most VT_ADDRESSES_MAX */
	uint64_t outside_bytes; /* of it, held by others */
	uint64_t held_bytes;
	struct vt_range *holes; /* by address, not touching */
	size_t nholes, holes_room;
	uint64_t bottom;	/* ranges are taken below */
	uint64_t reserved;	/* bytes of address reservations made */
	struct vt_buf hints;	/* struct vt_range, oldest first */
	struct vt_buf reserves; /* the same, of address reservations */
};

enum { VT_ADDRESSES_FULL = 1 };

/* Physical memory: 0, or VT_ADDRESSES_FULL where the device has no room. */
int vt_addresses_hold(struct vt_addresses *addresses, uint64_t bytes);
void vt_addresses_release(struct vt_addresses *addresses, uint64_t bytes);
/* A place for a plain segment. 0 or -VT_E_NOMEM. */
int vt_addresses_take(struct vt_addresses *addresses, uint64_t bytes, uint64_t *ret);
int vt_addresses_give(struct vt_addresses *addresses, uint64_t start, uint64_t bytes);
/* A place for an expandable segment: addresses without memory. */
uint64_t vt_addresses_reserve(struct vt_addresses *addresses, uint64_t bytes);
/* What the recorded calls returned. 0 or -VT_E_NOMEM. Old hints that nobody took are forgotten. */
int vt_addresses_hint(struct vt_addresses *addresses, struct vt_range range);
int vt_addresses_hint_reserve(struct vt_addresses *addresses, struct vt_range range);
/* Of segments: what the calls since the last request returned and it did not take belongs to somebody else. */
void vt_addresses_forget(struct vt_addresses *addresses);
void vt_addresses_done(struct vt_addresses *addresses);

#endif
