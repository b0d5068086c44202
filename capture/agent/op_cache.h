/* op_cache.h - a thread's own memory of op nodes: what op follows which caller hardly changes. */
#ifndef VT_AGENT_OP_CACHE_H
#define VT_AGENT_OP_CACHE_H

#include <stdint.h>

#define VT_OP_CACHE_SLOTS 512u

struct vt_op_cache_slot {
	uint64_t key; /* hash of name, caller and scope; 0: empty */
	uint32_t node;
	uint32_t unused;
};

/* Direct-mapped: a slot holds the last of the ops that fall on it. */
struct vt_op_cache {
	struct vt_op_cache_slot slots[VT_OP_CACHE_SLOTS];
};

#endif
