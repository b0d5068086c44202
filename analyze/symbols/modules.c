/* modules.c - see modules.h. */
#include "analyze/symbols/modules.h"

#include <stdlib.h>

#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

/* No index of a call. */
#define SEVERAL (UINT32_MAX - 1)

struct call {
	uint32_t process, outer, class;
	uint32_t module; /* index; its order is that of first calls */
	uint32_t stack;
	uint32_t like; /* stack of the call that tells what is around this one; as a rule its own */
};

struct module {
	uint32_t process, class;
};

/* Two threads that meet a module at one moment give it an id each: the first one's row counts. */
int vt_modules_add(struct vt_modules *modules, uint32_t process, const struct vt_module *module, uint32_t class)
{
	const struct module row = { process, class };
	uint64_t object = vt_mix64(module->address ^ vt_mix64((uint64_t)process << 32 | class));
	uint32_t index = vt_map_find(&modules->of_object, object);

	if (!module->id || vt_map_find(&modules->of_id, vt_symbols_key(process, module->id)) != VT_MAP_NONE)
		return 0;
	if (index == VT_MAP_NONE) {
		index = (uint32_t)(modules->list.bytes / sizeof(row));
		if (vt_buf_append(&modules->list, &row, sizeof(row)) < 0 ||
		    vt_map_put(&modules->of_object, object, index) < 0)
			return -VT_E_NOMEM;
	}
	return vt_map_put(&modules->of_id, vt_symbols_key(process, module->id), index);
}

uint32_t vt_modules_find(const struct vt_modules *modules, uint32_t process, uint32_t id)
{
	return id ? vt_map_find(&modules->of_id, vt_symbols_key(process, id)) : VT_MAP_NONE;
}

int vt_modules_call(struct vt_modules *modules, uint32_t outer, uint32_t module, uint32_t stack)
{
	const struct module *row = (const struct module *)(const void *)modules->list.data + module;
	const struct call call = { row->process, outer, row->class, module, stack, stack };

	return vt_buf_append(&modules->calls, &call, sizeof(call));
}

#define ORDER(x, y)                                                                                                    \
	do {                                                                                                           \
		if ((x) != (y))                                                                                        \
			return (x) < (y) ? -1 : 1;                                                                     \
	} while (0)

/* Calls of one class by one module stand together. */
static int by_order(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	ORDER(x->process, y->process);
	ORDER(x->outer, y->outer);
	ORDER(x->class, y->class);
	ORDER(x->module, y->module);
	ORDER(x->stack, y->stack);
	return 0;
}

static bool are_siblings(const struct call *x, const struct call *y)
{
	return x->process == y->process && x->outer == y->outer && x->class == y->class;
}

/*
 * A call from outside of all modules, of a module that one other module calls elsewhere: torch.utils.checkpoint runs it
 * again, in the backward pass. It stands where the first call stood. Where several modules call it, none is meant.
 */
static int place_repeated(struct call *calls, size_t n)
{
	VT_CLEANUP(vt_map_done) struct vt_map home = { .used = 0 }; /* module -> call, or SEVERAL */
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		uint32_t known = vt_map_find(&home, calls[i].module);

		if (calls[i].outer == VT_MAP_NONE)
			continue;
		if (known == VT_MAP_NONE)
			r = vt_map_put(&home, calls[i].module, (uint32_t)i);
		else if (known != SEVERAL && calls[known].outer != calls[i].outer)
			r = vt_map_put(&home, calls[i].module, SEVERAL);
	}
	for (size_t i = 0; i < n && !r; i++) {
		uint32_t known = vt_map_find(&home, calls[i].module);

		if (calls[i].outer != VT_MAP_NONE || known == VT_MAP_NONE || known == SEVERAL)
			continue;
		calls[i].outer = calls[known].outer;
		calls[i].like = calls[known].stack;
	}
	return r;
}

int vt_modules_number(struct vt_modules *modules, struct vt_symbol_stack *stacks)
{
	struct call *calls = (struct call *)(void *)modules->calls.data;
	size_t n = modules->calls.bytes / sizeof(*calls), first = 0;

	if (!n)
		return 0;
	if (n >= SEVERAL || place_repeated(calls, n) < 0)
		return -VT_E_NOMEM;
	qsort(calls, n, sizeof(*calls), by_order);
	while (first < n) {
		uint32_t count = 0;
		size_t end = first;

		for (; end < n && are_siblings(&calls[first], &calls[end]); end++) {
			count += end == first || calls[end].module != calls[end - 1].module;
			stacks[calls[end].stack].module = calls[end].class;
			stacks[calls[end].stack].module_index = count - 1;
			stacks[calls[end].stack].module_id = calls[end].module;
			stacks[calls[end].stack].module_parent = stacks[calls[end].like].parent;
		}
		for (; first < end; first++)
			stacks[calls[first].stack].module_count = count;
	}
	return 0;
}

void vt_modules_done(struct vt_modules *modules)
{
	vt_buf_done(&modules->list);
	vt_buf_done(&modules->calls);
	vt_map_done(&modules->of_id);
	vt_map_done(&modules->of_object);
}
