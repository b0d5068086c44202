/* ordered.c - see ordered.h. */
#include "analyze/simulate/ordered.h"

#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/base/err.h"

static bool below(uint64_t a_major, uint64_t a_minor, uint64_t b_major, uint64_t b_minor)
{
	return a_major != b_major ? a_major < b_major : a_minor < b_minor;
}

/* Index of the first leaf whose greatest key is not below the key; set->leaves: none. */
static size_t find_leaf(const struct vt_ordered *set, uint64_t major, uint64_t minor)
{
	size_t low = 0, high = set->leaves;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (below(set->tops[mid].major, set->tops[mid].minor, major, minor))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t find_entry(const struct vt_ordered_leaf *leaf, uint64_t major, uint64_t minor)
{
	uint32_t low = 0, high = leaf->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (below(leaf->entries[mid].major, leaf->entries[mid].minor, major, minor))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void note_greatest(struct vt_ordered_top *top)
{
	const struct vt_ordered_entry *last = &top->leaf->entries[top->leaf->count - 1];

	top->major = last->major;
	top->minor = last->minor;
}

/* An empty leaf at place `at` of the array. */
static int add_leaf(struct vt_ordered *set, size_t at)
{
	struct vt_ordered_leaf *leaf = malloc(sizeof(*leaf));

	if (leaf && set->leaves == set->room) {
		size_t room = set->room ? set->room * 2 : 8;
		void *grown = realloc(set->tops, room * sizeof(*set->tops));

		if (!grown) {
			free(leaf);
			return -VT_E_NOMEM;
		}
		set->tops = grown;
		set->room = room;
	}
	if (!leaf)
		return -VT_E_NOMEM;
	leaf->count = 0;
	memmove(&set->tops[at + 1], &set->tops[at], sizeof(*set->tops) * (set->leaves - at));
	set->tops[at] = (struct vt_ordered_top){ .leaf = leaf };
	set->leaves++;
	return 0;
}

static int split_leaf(struct vt_ordered *set, size_t at)
{
	struct vt_ordered_leaf *left, *right;

	if (add_leaf(set, at + 1) < 0)
		return -VT_E_NOMEM;
	left = set->tops[at].leaf;
	right = set->tops[at + 1].leaf;
	right->count = left->count / 2;
	left->count -= right->count;
	memcpy(right->entries, &left->entries[left->count], sizeof(*left->entries) * right->count);
	note_greatest(&set->tops[at]);
	note_greatest(&set->tops[at + 1]);
	return 0;
}

int vt_ordered_insert(struct vt_ordered *set, uint64_t major, uint64_t minor, uint32_t value)
{
	size_t at = find_leaf(set, major, minor);
	struct vt_ordered_leaf *leaf;
	uint32_t index;

	if (!set->leaves && add_leaf(set, 0) < 0)
		return -VT_E_NOMEM;
	/* Beyond all: it becomes the greatest of the last leaf. */
	if (at == set->leaves)
		at--;
	if (set->tops[at].leaf->count == VT_ORDERED_LEAF) {
		if (split_leaf(set, at) < 0)
			return -VT_E_NOMEM;
		at += below(set->tops[at].major, set->tops[at].minor, major, minor);
	}
	leaf = set->tops[at].leaf;
	index = find_entry(leaf, major, minor);
	memmove(&leaf->entries[index + 1], &leaf->entries[index], sizeof(*leaf->entries) * (leaf->count - index));
	leaf->entries[index] = (struct vt_ordered_entry){ major, minor, value };
	leaf->count++;
	set->count++;
	if (index == leaf->count - 1)
		note_greatest(&set->tops[at]);
	return 0;
}

bool vt_ordered_erase(struct vt_ordered *set, uint64_t major, uint64_t minor)
{
	size_t at = find_leaf(set, major, minor);
	struct vt_ordered_leaf *leaf;
	uint32_t index;

	if (at == set->leaves)
		return false;
	leaf = set->tops[at].leaf;
	index = find_entry(leaf, major, minor);
	if (index == leaf->count || leaf->entries[index].major != major || leaf->entries[index].minor != minor)
		return false;
	leaf->count--;
	set->count--;
	memmove(&leaf->entries[index], &leaf->entries[index + 1], sizeof(*leaf->entries) * (leaf->count - index));
	if (!leaf->count) {
		free(leaf);
		set->leaves--;
		memmove(&set->tops[at], &set->tops[at + 1], sizeof(*set->tops) * (set->leaves - at));
	} else if (index == leaf->count) {
		note_greatest(&set->tops[at]);
	}
	return true;
}

static const struct vt_ordered_entry *entry_at(const struct vt_ordered *set, struct vt_ordered_at at)
{
	return &set->tops[at.leaf].leaf->entries[at.index];
}

const struct vt_ordered_entry *vt_ordered_lower(const struct vt_ordered *set, uint64_t major, uint64_t minor,
						struct vt_ordered_at *ret_at)
{
	ret_at->leaf = find_leaf(set, major, minor);
	if (ret_at->leaf == set->leaves)
		return NULL;
	ret_at->index = find_entry(set->tops[ret_at->leaf].leaf, major, minor);
	return entry_at(set, *ret_at);
}

const struct vt_ordered_entry *vt_ordered_next(const struct vt_ordered *set, struct vt_ordered_at *at)
{
	if (at->index + 1 < set->tops[at->leaf].leaf->count)
		at->index++;
	else if (at->leaf + 1 < set->leaves)
		*at = (struct vt_ordered_at){ at->leaf + 1, 0 };
	else
		return NULL;
	return entry_at(set, *at);
}

const struct vt_ordered_entry *vt_ordered_prev(const struct vt_ordered *set, struct vt_ordered_at *at)
{
	if (at->index)
		at->index--;
	else if (at->leaf)
		*at = (struct vt_ordered_at){ at->leaf - 1, set->tops[at->leaf - 1].leaf->count - 1 };
	else
		return NULL;
	return entry_at(set, *at);
}

const struct vt_ordered_entry *vt_ordered_first(const struct vt_ordered *set, struct vt_ordered_at *ret_at)
{
	*ret_at = (struct vt_ordered_at){ 0, 0 };
	return set->leaves ? entry_at(set, *ret_at) : NULL;
}

const struct vt_ordered_entry *vt_ordered_last(const struct vt_ordered *set, struct vt_ordered_at *ret_at)
{
	if (!set->leaves)
		return NULL;
	*ret_at = (struct vt_ordered_at){ set->leaves - 1, set->tops[set->leaves - 1].leaf->count - 1 };
	return entry_at(set, *ret_at);
}

void vt_ordered_done(struct vt_ordered *set)
{
	for (size_t i = 0; i < set->leaves; i++)
		free(set->tops[i].leaf);
	free(set->tops);
	*set = (struct vt_ordered){ .count = 0 };
}
