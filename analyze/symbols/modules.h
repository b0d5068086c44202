/*
 * modules.h - the modules that a program called (torch.nn.Module), and their numbers among those that the same module
 * calls. Part of symbols.
 *
 * The trace has no names of attributes and no list a module stands in: what tells two modules of one class apart is the
 * object, and their order that in which they were first seen, in which ids rise.
 */
#ifndef VT_ANALYZE_MODULES_H
#define VT_ANALYZE_MODULES_H

#include "analyze/symbols/table.h"
#include "schema/event.h"

/* Zero-initialised is empty; the holder calls vt_modules_done. */
struct vt_modules {
	struct vt_buf list;	 /* struct module */
	struct vt_buf calls;	 /* struct call */
	struct vt_map of_id;	 /* process and id -> index in list */
	struct vt_map of_object; /* process, class and address -> the same */
};

/* class: a text. 0 or -VT_E_NOMEM, as all that return int. */
int vt_modules_add(struct vt_modules *modules, uint32_t process, const struct vt_module *module, uint32_t class);
/* Index of a module; VT_MAP_NONE: unknown, or 0. */
uint32_t vt_modules_find(const struct vt_modules *modules, uint32_t process, uint32_t id);
/* A stack node calls a module from within another one (VT_MAP_NONE: from outside of all). */
int vt_modules_call(struct vt_modules *modules, uint32_t outer, uint32_t module, uint32_t stack);
/* After all calls: tells the stack nodes. */
int vt_modules_number(struct vt_modules *modules, struct vt_symbol_stack *stacks);
void vt_modules_done(struct vt_modules *modules);

#endif
