/* holders.c - see holders.h. */
#include "analyze/views/holders.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/views/idmap.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"
#include "schema/event.h"

static int by_place(const void *a, const void *b)
{
	const struct vt_holder *x = a, *y = b;
	int order = vt_place_compare(&x->place, &y->place);

	/* The largest member first: it lends its stacks to the whole. */
	if (!order)
		order = (y->bytes > x->bytes) - (y->bytes < x->bytes);
	if (!order)
		order = (x->op > y->op) - (x->op < y->op);
	if (!order)
		order = (x->stack > y->stack) - (x->stack < y->stack);
	return order ? order : (x->forward_op > y->forward_op) - (x->forward_op < y->forward_op);
}

static int by_bytes(const void *a, const void *b)
{
	const struct vt_holder *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return vt_place_compare(&x->place, &y->place);
}

static void add(struct vt_holder *to, const struct vt_holder *from)
{
	to->bytes += from->bytes;
	to->blocks += from->blocks;
	to->members += from->members;
	to->block_bytes = to->block_bytes == from->block_bytes ? to->block_bytes : 0;
	to->kept_bytes += from->kept_bytes;
	to->kept_ns += from->kept_ns;
	for (unsigned i = 0; i < VT_CATEGORIES; i++)
		to->category_bytes[i] += from->category_bytes[i];
}

/* Of members the only one yet: their module is the first; else it must be of the same class, or there is none to name. */
static int add_module(struct vt_idmap *seen, uint32_t row, struct vt_holder *to, const struct vt_holder *member)
{
	uint32_t known = seen->count;

	if (!to->module || !member->module || strcmp(to->module, member->module) != 0) {
		to->module = NULL;
		return 0;
	}
	if (vt_idmap_add(seen, (struct vt_idmap_key){ row, member->modules, 0 }) == VT_IDMAP_NONE)
		return -VT_E_NOMEM;
	/* Of a member `modules` is which one it is; of what is merged, how many. */
	to->modules = seen->count > known ? (to == member ? 1 : to->modules + 1) : to->modules;
	return 0;
}

/* Folds neighbours of equal place into the first of them. 0 or -VT_E_NOMEM. */
static int merge(struct vt_holder *list, size_t *count)
{
	VT_CLEANUP(vt_idmap_done) struct vt_idmap seen = { .count = 0 }; /* row, module */
	size_t last = 0;
	int r = add_module(&seen, 0, &list[0], &list[0]);

	for (size_t i = 1; i < *count && !r; i++) {
		if (vt_place_compare(&list[last].place, &list[i].place)) {
			list[++last] = list[i];
			r = add_module(&seen, (uint32_t)last, &list[last], &list[last]);
		} else {
			add(&list[last], &list[i]);
			r = add_module(&seen, (uint32_t)last, &list[last], &list[i]);
		}
	}
	*count = last + 1;
	return r;
}

static struct vt_holder of_block(const struct vt_attributed *block)
{
	struct vt_holder holder = {
		.bytes = block->size_bytes,
		.blocks = 1,
		.op = block->op,
		.stack = block->stack,
		.forward_op = block->forward_op,
		.forward_stack = block->forward_stack,
		.block_bytes = block->size_bytes,
	};

	holder.category_bytes[block->category] = block->size_bytes;
	if (block->freed_in_backward) {
		holder.kept_bytes = block->size_bytes;
		holder.kept_ns = (double)block->size_bytes * (double)(block->free_ns - block->alloc_ns);
	}
	return holder;
}

/* Blocks of equal stacks, before anything is looked up for them. */
struct gathering {
	struct vt_idmap where, kinds;
	struct vt_holder *list;
	size_t room;
};

static int gather(struct gathering *gathering, const struct vt_attributed *block)
{
	struct vt_holder holder = of_block(block);
	uint32_t where, kind, known;

	where = vt_idmap_add(&gathering->where, (struct vt_idmap_key){ block->op, block->stack, 0 });
	if (where == VT_IDMAP_NONE)
		return -VT_E_NOMEM;
	known = gathering->kinds.count;
	kind = vt_idmap_add(&gathering->kinds, (struct vt_idmap_key){ where, block->forward_op, block->forward_stack });
	if (kind == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&gathering->list, &gathering->room, kind, sizeof(*gathering->list)) < 0)
		return -VT_E_NOMEM;
	if (kind == known)
		gathering->list[kind] = holder;
	else
		add(&gathering->list[kind], &holder);
	return 0;
}

/* Ops that only get memory for their caller: the caller says more. */
static bool is_factory(const char *name)
{
	static const char *const names[] = { "aten::empty",   "aten::empty_like", "aten::empty_strided",
					     "aten::resize_", "aten::new_empty",  "aten::new_empty_strided" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The op to name: the innermost that is no mere factory; the innermost where ranges alone are around that. */
static uint32_t telling_op(const struct vt_symbols *symbols, uint32_t process, uint32_t op)
{
	uint32_t node = op;
	struct vt_op_info info;

	for (int depth = 0; depth < 16 && vt_symbols_op(symbols, process, node, &info); depth++) {
		if (info.scope != VT_op_scope_FUNCTION)
			break;
		if (!is_factory(info.name))
			return node;
		node = info.parent;
	}
	return op;
}

/* The innermost module around: its class, and until holders are merged, in `modules`, which one. */
static void find_module(const struct vt_symbols *symbols, uint32_t process, struct vt_holder *holder)
{
	uint32_t stack = holder->place.backward ? holder->forward_stack : holder->stack;
	struct vt_frame_info frame;

	for (int depth = 0; depth < 512 && vt_symbols_frame(symbols, process, stack, &frame); depth++) {
		if (frame.module) {
			holder->module = frame.module;
			holder->modules = frame.module_id;
			return;
		}
		stack = frame.parent;
	}
}

static void find_place(const struct vt_symbols *symbols, uint32_t process, struct vt_holder *holder)
{
	uint32_t op = telling_op(symbols, process, holder->op);

	holder->members = 1;
	if (holder->forward_stack)
		vt_place_of_backward(symbols, process, op, holder->forward_stack, &holder->place);
	if (!holder->forward_stack || !holder->place.backward)
		vt_place_find(symbols, process, op, holder->stack, &holder->place);
	find_module(symbols, process, holder);
}

int vt_holders_build(struct vt_holders *ret, const struct vt_symbols *symbols, struct vt_attributed_list blocks,
		     struct vt_holders_filter filter, struct vt_err *err)
{
	struct gathering gathering = { .list = NULL };
	uint32_t process = 0;
	int r = 0;

	*ret = (struct vt_holders){ .count = 0 };
	for (size_t i = 0; i < blocks.count && !r; i++) {
		const struct vt_attributed *block = &blocks.list[i];

		if (block->device != filter.device || (filter.category >= 0 && block->category != filter.category))
			continue;
		process = block->process;
		ret->bytes += block->size_bytes;
		ret->blocks++;
		r = gather(&gathering, block);
	}
	ret->list = gathering.list;
	ret->count = gathering.kinds.count;
	vt_idmap_done(&gathering.where);
	vt_idmap_done(&gathering.kinds);
	if (r < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the holders of memory");
	for (size_t i = 0; i < ret->count; i++)
		find_place(symbols, process, &ret->list[i]);
	if (!ret->count)
		return 0;
	qsort(ret->list, ret->count, sizeof(*ret->list), by_place);
	if (merge(ret->list, &ret->count) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the holders of memory");
	qsort(ret->list, ret->count, sizeof(*ret->list), by_bytes);
	return 0;
}

void vt_holders_done(struct vt_holders *holders)
{
	free(holders->list);
	*holders = (struct vt_holders){ .count = 0 };
}

enum vt_category vt_holder_category(const struct vt_holder *holder)
{
	enum vt_category best = VT_CATEGORY_UNKNOWN;

	for (unsigned i = 0; i < VT_CATEGORIES; i++)
		if (holder->category_bytes[i] > holder->category_bytes[best])
			best = (enum vt_category)i;
	return best;
}
