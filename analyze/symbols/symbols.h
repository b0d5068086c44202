/*
 * symbols.h - what the ids in events mean: strings, op stacks, Python stacks with decoded lines.
 *
 * Loaded whole at open (they grow with the program's code, not with the trace's length). Every look-up takes hostile
 * ids: unknown ones and cycles read as "nothing". Texts are UTF-8, with control characters and broken bytes replaced.
 * Returned pointers live as long as the object.
 */
#ifndef VT_ANALYZE_SYMBOLS_H
#define VT_ANALYZE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/store.h"

struct vt_symbols;

int vt_symbols_open(struct vt_symbols **ret, struct vt_store *store, struct vt_err *err);
void vt_symbols_close(struct vt_symbols *symbols); /* NULL is fine */

/* "" where the id is 0 or unknown. */
const char *vt_symbols_string(const struct vt_symbols *symbols, uint32_t process, uint32_t id);

struct vt_op_info {
	const char *name;
	uint32_t parent; /* op_node of the caller; 0: outermost */
	uint32_t scope;	 /* enum vt_op_scope */
};
/* false where node is 0 or unknown: *ret is then { "", 0, 0 }. */
bool vt_symbols_op(const struct vt_symbols *symbols, uint32_t process, uint32_t node, struct vt_op_info *ret);

struct vt_frame_info {
	const char *function;  /* co_qualname */
	const char *file;      /* co_filename, whole */
	uint32_t line;	       /* 0: not known */
	uint32_t parent;       /* stack node of the caller; 0: outermost */
	const char *generated; /* of code that torch.compile made: what the line is for (generated.h); else NULL */
	/*
	 * Where the frame begins the call of a module, or moves it: the name of its class, else NULL. The module is number
	 * module_index of the module_count of that class below the module around it, in the order of first sight.
	 */
	const char *module;
	uint32_t module_index, module_count;
	uint32_t module_id; /* of the object: equal for calls of the same one; over all processes */
	/*
	 * The stack node to go on from to the modules around it: parent, but where a checkpoint calls a module again from
	 * outside of all others, the caller of its first call.
	 */
	uint32_t module_parent;
};
bool vt_symbols_frame(const struct vt_symbols *symbols, uint32_t process, uint32_t stack, struct vt_frame_info *ret);

/*
 * The frame of a stack that a user would call "my line": the innermost one whose file is not part of torch, of the
 * Python library or of site-packages; the innermost of all where there is none. false for an unknown stack.
 */
bool vt_symbols_user_frame(const struct vt_symbols *symbols, uint32_t process, uint32_t stack,
			   struct vt_frame_info *ret);

/* Equal numbers for equal text over all processes: keys to group by. 0 for an unknown node or stack. */
uint32_t vt_symbols_op_name_key(const struct vt_symbols *symbols, uint32_t process, uint32_t node);
uint32_t vt_symbols_stack_key(const struct vt_symbols *symbols, uint32_t process, uint32_t stack);

#endif
