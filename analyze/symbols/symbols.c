/* symbols.c - see symbols.h: look-ups. What is looked up here is made in load.c. */
#include "analyze/symbols/table.h"

#include <stdlib.h>

#include "schema/base/bits.h"

uint64_t vt_symbols_key(uint32_t process, uint32_t id)
{
	return (uint64_t)process << 32 | id;
}

const char *vt_symbols_string(const struct vt_symbols *symbols, uint32_t process, uint32_t id)
{
	uint32_t text = id ? vt_map_find(&symbols->strings, vt_symbols_key(process, id)) : VT_MAP_NONE;

	return text == VT_MAP_NONE ? "" : vt_texts_get(&symbols->texts, text);
}

static const struct vt_symbol_op *find_op(const struct vt_symbols *symbols, uint32_t process, uint32_t node)
{
	uint32_t index = node ? vt_map_find(&symbols->op_of, vt_symbols_key(process, node)) : VT_MAP_NONE;

	return index == VT_MAP_NONE ? NULL : (const struct vt_symbol_op *)(const void *)symbols->ops.data + index;
}

static const struct vt_symbol_stack *find_stack(const struct vt_symbols *symbols, uint32_t process, uint32_t stack)
{
	uint32_t index = stack ? vt_map_find(&symbols->stack_of, vt_symbols_key(process, stack)) : VT_MAP_NONE;

	return index == VT_MAP_NONE ? NULL : (const struct vt_symbol_stack *)(const void *)symbols->stacks.data + index;
}

bool vt_symbols_op(const struct vt_symbols *symbols, uint32_t process, uint32_t node, struct vt_op_info *ret)
{
	const struct vt_symbol_op *op = find_op(symbols, process, node);

	*ret = (struct vt_op_info){ .name = "" };
	if (!op)
		return false;
	*ret = (struct vt_op_info){ vt_texts_get(&symbols->texts, op->name), op->parent, op->scope };
	return true;
}

static bool give_frame(const struct vt_symbols *symbols, const struct vt_symbol_stack *stack, struct vt_frame_info *ret)
{
	*ret = (struct vt_frame_info){ .function = "", .file = "" };
	if (!stack)
		return false;
	*ret = (struct vt_frame_info){
		.function = vt_texts_get(&symbols->texts, stack->function),
		.file = vt_texts_get(&symbols->texts, stack->file),
		.line = stack->line,
		.parent = stack->parent,
		.module_index = stack->module_index,
		.module_count = stack->module_count,
		.module_parent = stack->module_parent,
		.module_id = stack->module_id,
	};
	if (stack->generated != VT_MAP_NONE)
		ret->generated = vt_texts_get(&symbols->texts, stack->generated);
	if (stack->module != VT_MAP_NONE)
		ret->module = vt_texts_get(&symbols->texts, stack->module);
	return true;
}

bool vt_symbols_frame(const struct vt_symbols *symbols, uint32_t process, uint32_t stack, struct vt_frame_info *ret)
{
	return give_frame(symbols, find_stack(symbols, process, stack), ret);
}

bool vt_symbols_user_frame(const struct vt_symbols *symbols, uint32_t process, uint32_t stack,
			   struct vt_frame_info *ret)
{
	const struct vt_symbol_stack *innermost = find_stack(symbols, process, stack);

	if (innermost && innermost->user != VT_MAP_NONE)
		innermost = (const struct vt_symbol_stack *)(const void *)symbols->stacks.data + innermost->user;
	return give_frame(symbols, innermost, ret);
}

uint32_t vt_symbols_op_name_key(const struct vt_symbols *symbols, uint32_t process, uint32_t node)
{
	const struct vt_symbol_op *op = find_op(symbols, process, node);

	/* Text 0 is the empty one; a node without a name is still a node. */
	return op ? op->name + 1 : 0;
}

uint32_t vt_symbols_stack_key(const struct vt_symbols *symbols, uint32_t process, uint32_t stack)
{
	const struct vt_symbol_stack *found = find_stack(symbols, process, stack);

	return found ? found->key : 0;
}

void vt_symbols_close(struct vt_symbols *symbols)
{
	if (!symbols)
		return;
	vt_texts_done(&symbols->texts);
	vt_map_done(&symbols->strings);
	vt_map_done(&symbols->op_of);
	vt_map_done(&symbols->stack_of);
	vt_buf_done(&symbols->ops);
	vt_buf_done(&symbols->stacks);
	free(symbols);
}
