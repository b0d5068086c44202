/* table.h - what symbols.c looks up and load.c makes. */
#ifndef VT_ANALYZE_SYMBOL_TABLE_H
#define VT_ANALYZE_SYMBOL_TABLE_H

#include "analyze/symbols/symbols.h"
#include "analyze/symbols/text.h"
#include "schema/base/hash.h"

/* An op_node. */
struct vt_symbol_op {
	uint32_t name;	 /* text */
	uint32_t parent; /* id in the process; 0: outermost */
	uint32_t scope;
};

/* A stack node with its frame. */
struct vt_symbol_stack {
	uint32_t function, file; /* texts */
	uint32_t line;
	uint32_t parent;    /* id in the process; 0: outermost */
	uint32_t user;	    /* index of the innermost node of user code from here outwards, or VT_MAP_NONE */
	uint32_t generated; /* text, or VT_MAP_NONE */
	uint32_t module;    /* of the call of a module: the text of its class, else VT_MAP_NONE */
	uint32_t module_index, module_count, module_parent, module_id; /* symbols.h */
	uint32_t key; /* equal for equal frames up to the outermost, over all processes */
};

struct vt_symbols {
	struct vt_texts texts;
	struct vt_map strings;	/* key -> text */
	struct vt_map op_of;	/* key -> index into ops */
	struct vt_map stack_of; /* key -> index into stacks */
	struct vt_buf ops;	/* struct vt_symbol_op */
	struct vt_buf stacks;	/* struct vt_symbol_stack */
};

/* The key of an id in the maps. */
uint64_t vt_symbols_key(uint32_t process, uint32_t id);

#endif
