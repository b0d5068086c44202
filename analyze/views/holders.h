/* holders.h - who holds a device's memory at a moment: groups.h merged by what a reader can tell apart. */
#ifndef VT_ANALYZE_HOLDERS_H
#define VT_ANALYZE_HOLDERS_H

#include "analyze/views/groups.h"
#include "analyze/views/place.h"

enum vt_moment {
	VT_MOMENT_PEAK, /* the device's last peak */
	VT_MOMENT_NOW,	/* the end of the replay, or the moment of the callback that asks */
};

/* What is looked at: the blocks of one device at one moment. */
struct vt_lens {
	const struct vt_replay *replay;
	const struct vt_symbols *symbols;
	const struct vt_groups *groups;
	uint32_t device; /* index into the replay's devices; must be there */
	enum vt_moment moment;
};

/* All that one op holds through one line of the user's code. */
struct vt_holder {
	uint64_t bytes, blocks;
	uint32_t op, stack; /* of the member that holds most: an example of the whole stacks */
	uint32_t members;   /* groups: different op stacks and Python stacks */
	struct vt_place place;
};

struct vt_holders {
	struct vt_holder *list; /* most bytes first; ties by place, so that the order is always the same */
	size_t count;
	uint64_t bytes; /* sum over all */
	uint64_t blocks;
};

/* Holders of nothing are left out. The holder calls vt_holders_done. */
int vt_holders_build(struct vt_holders *ret, const struct vt_lens *lens, struct vt_err *err);
void vt_holders_done(struct vt_holders *holders);

#endif
