/* holders.h - who holds a device's memory at a moment: blocks merged by what a reader can tell apart. */
#ifndef VT_ANALYZE_HOLDERS_H
#define VT_ANALYZE_HOLDERS_H

#include "analyze/attribute/attribute.h"
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

/*
 * All that one op holds through one line of the user's code; of a backward op, through the forward line. Ops that only
 * get memory for their caller (aten::empty) are taken for that caller.
 */
struct vt_holder {
	uint64_t bytes, blocks;
	uint32_t op, stack;		    /* of the member that holds most: an example of the whole stacks */
	uint32_t forward_op, forward_stack; /* of it: attribute.h */
	uint32_t members;		    /* different op stacks and Python stacks */
	uint64_t block_bytes;		    /* of each block; 0 where sizes differ */
	uint64_t kept_bytes;		    /* of blocks that a backward op freed */
	double kept_ns;			    /* sum over those of bytes times life */
	uint64_t category_bytes[VT_CATEGORIES];
	struct vt_place place;
	const char *module; /* class of the innermost module around each block; NULL: none, or of different classes */
	uint32_t modules;   /* how many such modules */
};

struct vt_holders {
	struct vt_holder *list; /* most bytes first; ties by place, so that the order is always the same */
	size_t count;
	uint64_t bytes; /* sum over all */
	uint64_t blocks;
};

/* Which of the blocks count. */
struct vt_holders_filter {
	uint32_t device; /* index into the replay's devices */
	int category;	 /* enum vt_category; -1: all */
};

/* The holder calls vt_holders_done. */
int vt_holders_build(struct vt_holders *ret, const struct vt_symbols *symbols, struct vt_attributed_list blocks,
		     struct vt_holders_filter filter, struct vt_err *err);
void vt_holders_done(struct vt_holders *holders);
/* What most of its bytes are for. */
enum vt_category vt_holder_category(const struct vt_holder *holder);

#endif
