/*
 * groups.h - live bytes and blocks by (device, op, Python stack): a listener of the replay.
 *
 * Each group also knows what it held at its device's last peak, at O(1) an event: a device counts its peaks, a group
 * remembers for which of them its peak values are right, and they are renewed only when the group is about to change.
 * Over the groups of a device live_bytes sums up to vt_device.allocated_bytes at any time.
 */
#ifndef VT_ANALYZE_GROUPS_H
#define VT_ANALYZE_GROUPS_H

#include "analyze/replay/replay.h"

struct vt_groups;

struct vt_group {
	uint32_t device; /* index into the replay's devices */
	uint32_t op;	 /* op_node */
	uint32_t stack;
	uint64_t live_bytes, live_blocks;
	uint64_t peak_bytes, peak_blocks; /* of these, live at the device's last peak */
	/* Over the whole replay. */
	uint64_t allocs, allocated_bytes;
	uint64_t frees;		       /* of blocks whose allocation was seen */
	unsigned __int128 lifetime_ns; /* sum over those frees */
};

int vt_groups_new(struct vt_groups **ret, struct vt_err *err);
void vt_groups_free(struct vt_groups *groups); /* NULL is fine */
/* A listener for vt_replay_add; borrows groups. */
struct vt_listener vt_groups_listener(struct vt_groups *groups);

uint32_t vt_groups_count(const struct vt_groups *groups);
/* A copy with the values of this moment; valid inside callbacks of later listeners and after the run. */
struct vt_group vt_groups_get(const struct vt_groups *groups, uint32_t index);

#endif
