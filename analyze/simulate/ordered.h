/*
 * ordered.h - an ordered set of (major, minor) keys with a number each: free blocks by size and address.
 *
 * Leaves of at most VT_ORDERED_LEAF entries in one array of leaves, whose greatest keys stand side by side: a look-up is
 * two binary searches, an insertion moves one leaf. With n entries: O(log n + leaf), and n / leaf when a leaf is split.
 */
#ifndef VT_ANALYZE_ORDERED_H
#define VT_ANALYZE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_ORDERED_LEAF 24u

struct vt_ordered_entry {
	uint64_t major, minor;
	uint32_t value;
};

struct vt_ordered_leaf {
	uint32_t count;
	struct vt_ordered_entry entries[VT_ORDERED_LEAF];
};

struct vt_ordered_top {
	uint64_t major, minor; /* the leaf's greatest key */
	struct vt_ordered_leaf *leaf;
};

/* Zero-initialised is empty; the holder calls vt_ordered_done. */
struct vt_ordered {
	struct vt_ordered_top *tops;
	size_t leaves, room;
	size_t count; /* of entries */
};

/* A place in the set; valid until the set is changed. */
struct vt_ordered_at {
	size_t leaf;
	uint32_t index;
};

/* 0 or -VT_E_NOMEM. The key must not be there. */
int vt_ordered_insert(struct vt_ordered *set, uint64_t major, uint64_t minor, uint32_t value);
/* Whether the key was there. */
bool vt_ordered_erase(struct vt_ordered *set, uint64_t major, uint64_t minor);
/* The first entry whose key is not below (major, minor); NULL: none. */
const struct vt_ordered_entry *vt_ordered_lower(const struct vt_ordered *set, uint64_t major, uint64_t minor,
						struct vt_ordered_at *ret_at);
/* The entry behind or before *at, which moves there; NULL: none, *at is unchanged. */
const struct vt_ordered_entry *vt_ordered_next(const struct vt_ordered *set, struct vt_ordered_at *at);
const struct vt_ordered_entry *vt_ordered_prev(const struct vt_ordered *set, struct vt_ordered_at *at);
/* The first and the last entry; NULL: the set is empty. */
const struct vt_ordered_entry *vt_ordered_first(const struct vt_ordered *set, struct vt_ordered_at *ret_at);
const struct vt_ordered_entry *vt_ordered_last(const struct vt_ordered *set, struct vt_ordered_at *ret_at);
void vt_ordered_done(struct vt_ordered *set);

#endif
