/*
 * load.c - reads the definitions of a trace into the tables of table.h.
 *
 * The order matters: strings raw, then code objects (their line tables are bytes, not text), then texts, frames with
 * their lines decoded once, and the two trees, parents before children.
 */
#include "analyze/symbols/table.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/symbols/generated.h"
#include "analyze/symbols/modules.h"
#include "analyze/symbols/python_lines.h"
#include "analyze/symbols/tree.h"
#include "analyze/symbols/user_file.h"

/* Bytes of line tables that are read for one file. Real ones need a few hundred MB at most; beyond it lines are 0. */
#define LINE_BYTES_MAX (UINT64_C(2) << 30)

struct raw_string {
	uint64_t key;
	size_t offset, bytes; /* in loader.raw */
	bool is_table;	      /* a line table and nothing else */
};

struct code {
	uint32_t function, file; /* raw strings until texts are made, then texts; VT_MAP_NONE: unknown */
	uint32_t table;		 /* raw string */
	uint32_t first_line, python;
};

struct frame {
	uint32_t function, file, line;
	uint32_t generated; /* text, or VT_MAP_NONE */
	bool is_user;
};

struct node {
	uint32_t process, id, parent;
	uint32_t what;	 /* stack: index of the frame, or VT_MAP_NONE; op: text of the name */
	uint32_t scope;	 /* op */
	uint32_t module; /* stack: index of the module, or VT_MAP_NONE */
};

struct loader {
	struct vt_store *store;
	struct vt_symbols *symbols;
	struct vt_buf raw;
	struct vt_buf strings; /* struct raw_string */
	struct vt_map string_of;
	struct vt_buf codes; /* struct code */
	struct vt_map code_of;
	struct vt_buf frames; /* struct frame */
	struct vt_map frame_of;
	struct vt_buf stacks; /* struct node */
	struct vt_modules modules;
	struct vt_buf ops; /* struct node */
	struct vt_map code_keys, place_keys,
		stack_keys; /* numbers for equal (function, file), (code, line), (parent, place) */
	uint64_t line_bytes;
	uint32_t generated_file; /* text: the last file of torch.compile that was read */
	char *generated;
};

/* Registers `index` under the id unless it is known or 0; 1: new. */
static int claim(struct vt_map *map, uint32_t process, uint32_t id, size_t index)
{
	uint64_t key = vt_symbols_key(process, id);
	int r;

	if (!id || vt_map_find(map, key) != VT_MAP_NONE)
		return 0;
	if (index >= VT_MAP_NONE)
		return -VT_E_NOMEM;
	r = vt_map_put(map, key, (uint32_t)index);
	return r < 0 ? r : 1;
}

static int load_string(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_string *string = (const struct vt_string *)(const void *)rec;
	struct loader *loader = arg;
	struct raw_string raw = {
		.key = vt_symbols_key(process, string->id),
		.offset = loader->raw.bytes,
		.bytes = string->size_bytes,
	};
	int r = claim(&loader->string_of, process, string->id, loader->strings.bytes / sizeof(raw));

	if (r <= 0)
		return r;
	r = vt_buf_append(&loader->raw, string + 1, string->size_bytes);
	return r < 0 ? r : vt_buf_append(&loader->strings, &raw, sizeof(raw));
}

static uint32_t find_string(const struct loader *loader, uint32_t process, uint32_t id)
{
	return id ? vt_map_find(&loader->string_of, vt_symbols_key(process, id)) : VT_MAP_NONE;
}

static struct raw_string *string_at(const struct loader *loader, uint32_t index)
{
	return (struct raw_string *)(void *)loader->strings.data + index;
}

static int load_code(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_code *code = (const struct vt_code *)(const void *)rec;
	struct loader *loader = arg;
	struct code row = {
		.function = find_string(loader, process, code->qualname),
		.file = find_string(loader, process, code->filename),
		.table = find_string(loader, process, code->linetable),
		.first_line = code->first_line,
		.python = code->python,
	};
	int r = claim(&loader->code_of, process, code->id, loader->codes.bytes / sizeof(row));

	return r <= 0 ? r : vt_buf_append(&loader->codes, &row, sizeof(row));
}

/* Line tables are not turned into text, unless something else calls them text too. */
static void mark_tables(struct loader *loader)
{
	const struct code *codes = (const struct code *)(const void *)loader->codes.data;
	size_t n = loader->codes.bytes / sizeof(*codes);

	for (size_t i = 0; i < n; i++)
		if (codes[i].table != VT_MAP_NONE)
			string_at(loader, codes[i].table)->is_table = true;
	for (size_t i = 0; i < n; i++) {
		if (codes[i].function != VT_MAP_NONE)
			string_at(loader, codes[i].function)->is_table = false;
		if (codes[i].file != VT_MAP_NONE)
			string_at(loader, codes[i].file)->is_table = false;
	}
}

static int make_texts(struct loader *loader)
{
	struct vt_symbols *symbols = loader->symbols;
	size_t n = loader->strings.bytes / sizeof(struct raw_string);
	uint32_t text;
	int r = vt_texts_add(&symbols->texts, "", 0, &text);

	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct raw_string *raw = string_at(loader, (uint32_t)i);

		if (raw->is_table)
			continue;
		r = vt_texts_add(&symbols->texts, loader->raw.data + raw->offset, raw->bytes, &text);
		if (r >= 0)
			r = vt_map_put(&symbols->strings, raw->key, text);
	}
	return r;
}

/* 0, the empty text, where there is no such string. */
static uint32_t text_of(const struct loader *loader, uint32_t string)
{
	uint32_t text = VT_MAP_NONE;

	if (string != VT_MAP_NONE)
		text = vt_map_find(&loader->symbols->strings, string_at(loader, string)->key);
	return text == VT_MAP_NONE ? 0 : text;
}

static uint32_t decode_line(struct loader *loader, const struct code *code, uint32_t instruction)
{
	const struct raw_string *table;

	if (code->table == VT_MAP_NONE)
		return 0;
	table = string_at(loader, code->table);
	loader->line_bytes += table->bytes;
	if (loader->line_bytes > LINE_BYTES_MAX)
		return 0;
	return vt_python_line(code->python, loader->raw.data + table->offset, table->bytes, code->first_line,
			      instruction);
}

/* What a line of a file that torch.compile made is for; VT_MAP_NONE for any other. */
static int find_generated(struct loader *loader, uint32_t file, uint32_t line, uint32_t *ret)
{
	const char *path = vt_texts_get(&loader->symbols->texts, file);
	char text[VT_GENERATED_MAX];

	*ret = VT_MAP_NONE;
	if (!vt_is_generated_file(path))
		return 0;
	if (loader->generated_file != file) {
		free(loader->generated);
		loader->generated = vt_generated_read(path);
		loader->generated_file = file;
	}
	(void)vt_generated_text(text, loader->generated ? loader->generated : "", path, line);
	return vt_texts_add(&loader->symbols->texts, text, strlen(text), ret);
}

static int load_frame(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_frame *frame = (const struct vt_frame *)(const void *)rec;
	struct loader *loader = arg;
	uint32_t index =
		frame->code ? vt_map_find(&loader->code_of, vt_symbols_key(process, frame->code)) : VT_MAP_NONE;
	struct frame row = { .generated = VT_MAP_NONE };
	int r = claim(&loader->frame_of, process, frame->id, loader->frames.bytes / sizeof(row));

	if (r <= 0)
		return r;
	if (index != VT_MAP_NONE) {
		const struct code *code = (const struct code *)(const void *)loader->codes.data + index;

		row.function = text_of(loader, code->function);
		row.file = text_of(loader, code->file);
		row.line = decode_line(loader, code, frame->instruction);
		row.is_user = vt_is_user_file(vt_texts_get(&loader->symbols->texts, row.file));
		r = find_generated(loader, row.file, row.line, &row.generated);
	}
	return r < 0 ? r : vt_buf_append(&loader->frames, &row, sizeof(row));
}

static int load_stack(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_stack *stack = (const struct vt_stack *)(const void *)rec;
	struct loader *loader = arg;
	struct node node = { .process = process, .id = stack->id, .parent = stack->parent, .what = VT_MAP_NONE };
	int r = claim(&loader->symbols->stack_of, process, stack->id, loader->stacks.bytes / sizeof(node));

	if (r <= 0)
		return r;
	if (stack->frame)
		node.what = vt_map_find(&loader->frame_of, vt_symbols_key(process, stack->frame));
	node.module = vt_modules_find(&loader->modules, process, stack->module);
	return vt_buf_append(&loader->stacks, &node, sizeof(node));
}

static int load_module(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_module *module = (const struct vt_module *)(const void *)rec;
	struct loader *loader = arg;
	uint32_t class = text_of(loader, find_string(loader, process, module->class));
	const char *name = vt_texts_get(&loader->symbols->texts, class);

	/* Never called, so in no path of a forward: nor shall they be where modules are moved. */
	if (!strcmp(name, "ModuleList") || !strcmp(name, "ModuleDict"))
		return 0;
	return vt_modules_add(&loader->modules, process, module, class);
}

static int load_op(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_op_node *op = (const struct vt_op_node *)(const void *)rec;
	struct loader *loader = arg;
	struct node node = { .process = process, .id = op->id, .parent = op->parent, .scope = op->scope };
	int r = claim(&loader->symbols->op_of, process, op->id, loader->ops.bytes / sizeof(node));

	if (r <= 0)
		return r;
	node.what = text_of(loader, find_string(loader, process, op->name));
	return vt_buf_append(&loader->ops, &node, sizeof(node));
}

/* A tree as tree.h settles it. */
struct settled {
	uint32_t *parents, *order, *depths; /* one piece of memory, at parents */
	uint32_t n;
};

static int settle(const struct vt_buf *nodes, const struct vt_map *index_of, struct settled *ret)
{
	const struct node *node = (const struct node *)(const void *)nodes->data;
	uint32_t n = (uint32_t)(nodes->bytes / sizeof(*node));

	*ret = (struct settled){ .parents = calloc((size_t)n * 3 + 1, sizeof(uint32_t)), .n = n };
	if (!ret->parents)
		return -VT_E_NOMEM;
	ret->order = ret->parents + n;
	ret->depths = ret->order + n;
	for (uint32_t i = 0; i < n; i++)
		ret->parents[i] = node[i].parent
					  ? vt_map_find(index_of, vt_symbols_key(node[i].process, node[i].parent))
					  : VT_TREE_NONE;
	vt_tree_settle(ret->parents, n, ret->order, ret->depths);
	return 0;
}

static int settle_ops(struct loader *loader)
{
	const struct node *nodes = (const struct node *)(const void *)loader->ops.data;
	struct settled tree;
	int r = settle(&loader->ops, &loader->symbols->op_of, &tree);

	for (uint32_t i = 0; r >= 0 && i < tree.n; i++) {
		const struct vt_symbol_op op = {
			.name = nodes[i].what,
			.parent = tree.parents[i] == VT_TREE_NONE ? 0 : nodes[i].parent,
			.scope = nodes[i].scope,
		};

		r = vt_buf_append(&loader->symbols->ops, &op, sizeof(op));
	}
	free(tree.parents);
	return r;
}

/* A number for a pair, equal for equal ones; from 1. */
static int number_pair(struct vt_map *map, uint32_t a, uint32_t b, uint32_t *ret)
{
	uint64_t key = (uint64_t)a << 32 | b;

	*ret = vt_map_find(map, key);
	if (*ret != VT_MAP_NONE)
		return 0;
	*ret = (uint32_t)map->used + 1;
	return vt_map_put(map, key, *ret);
}

static int settle_stack(struct loader *loader, const struct settled *tree, uint32_t index,
			struct vt_symbol_stack *stacks)
{
	const struct node *node = (const struct node *)(const void *)loader->stacks.data + index;
	struct vt_symbol_stack *stack = &stacks[index];
	uint32_t parent = tree->parents[index], key;
	struct frame frame = { .generated = VT_MAP_NONE };
	int r;

	if (node->what != VT_MAP_NONE)
		frame = ((const struct frame *)(const void *)loader->frames.data)[node->what];
	*stack = (struct vt_symbol_stack){
		.function = frame.function,
		.file = frame.file,
		.line = frame.line,
		.parent = parent == VT_TREE_NONE ? 0 : node->parent,
		.generated = frame.generated,
		.module = VT_MAP_NONE,
		.user = frame.is_user		 ? index
			: parent == VT_TREE_NONE ? VT_MAP_NONE
						 : stacks[parent].user,
	};
	r = number_pair(&loader->code_keys, frame.function, frame.file, &key);
	if (!r)
		r = number_pair(&loader->place_keys, key, frame.line, &key);
	if (!r)
		r = number_pair(&loader->stack_keys, parent == VT_TREE_NONE ? 0 : stacks[parent].key, key, &stack->key);
	return r;
}

/* Finds which frames begin the call of a module, and numbers the modules that each module calls. */
static int settle_modules(struct loader *loader, const struct settled *tree, struct vt_symbol_stack *stacks)
{
	const struct node *nodes = (const struct node *)(const void *)loader->stacks.data;
	uint32_t *around = calloc((size_t)tree->n + 1, sizeof(*around)); /* the innermost module from a node outwards */
	int r = around ? 0 : -VT_E_NOMEM;

	for (uint32_t i = 0; i < tree->n && !r; i++) {
		uint32_t index = tree->order[i], parent = tree->parents[index];
		uint32_t outer = parent == VT_TREE_NONE ? VT_MAP_NONE : around[parent];

		around[index] = nodes[index].module == VT_MAP_NONE ? outer : nodes[index].module;
		if (around[index] == outer)
			continue;
		/* Two functions of torch.nn.Module follow one another in a call: the first one counts. */
		r = vt_modules_call(&loader->modules, outer, around[index], index);
	}
	free(around);
	return r ? r : vt_modules_number(&loader->modules, stacks);
}

static int settle_stacks(struct loader *loader)
{
	struct vt_buf *out = &loader->symbols->stacks;
	struct settled tree;
	int r = settle(&loader->stacks, &loader->symbols->stack_of, &tree);

	if (r >= 0)
		r = vt_buf_reserve(out, (size_t)tree.n * sizeof(struct vt_symbol_stack));
	for (uint32_t i = 0; r >= 0 && i < tree.n; i++)
		r = settle_stack(loader, &tree, tree.order[i], (struct vt_symbol_stack *)(void *)out->data);
	if (r >= 0)
		r = settle_modules(loader, &tree, (struct vt_symbol_stack *)(void *)out->data);
	if (r >= 0)
		out->bytes = (size_t)tree.n * sizeof(struct vt_symbol_stack);
	free(tree.parents);
	return r;
}

static int load(struct loader *loader, struct vt_err *err)
{
	int r = vt_store_each_record(loader->store, vt_event_find(VT_EVENT_string), load_string, loader, err);

	if (!r)
		r = vt_store_each_record(loader->store, vt_event_find(VT_EVENT_code), load_code, loader, err);
	if (!r) {
		mark_tables(loader);
		r = make_texts(loader);
	}
	if (!r)
		r = vt_store_each_record(loader->store, vt_event_find(VT_EVENT_frame), load_frame, loader, err);
	if (!r)
		r = vt_store_each_record(loader->store, vt_event_find(VT_EVENT_module), load_module, loader, err);
	if (!r)
		r = vt_store_each_record(loader->store, vt_event_find(VT_EVENT_stack), load_stack, loader, err);
	if (!r)
		r = vt_store_each_record(loader->store, vt_event_find(VT_EVENT_op_node), load_op, loader, err);
	if (!r)
		r = settle_ops(loader);
	if (!r)
		r = settle_stacks(loader);
	return r;
}

static void loader_done(struct loader *loader)
{
	vt_buf_done(&loader->raw);
	vt_buf_done(&loader->strings);
	vt_buf_done(&loader->codes);
	vt_buf_done(&loader->frames);
	vt_buf_done(&loader->stacks);
	vt_buf_done(&loader->ops);
	vt_modules_done(&loader->modules);
	free(loader->generated);
	vt_map_done(&loader->string_of);
	vt_map_done(&loader->code_of);
	vt_map_done(&loader->frame_of);
	vt_map_done(&loader->code_keys);
	vt_map_done(&loader->place_keys);
	vt_map_done(&loader->stack_keys);
}

int vt_symbols_open(struct vt_symbols **ret, struct vt_store *store, struct vt_err *err)
{
	struct loader loader = { .store = store, .symbols = calloc(1, sizeof(*loader.symbols)) };
	int r = loader.symbols ? load(&loader, err) : -VT_E_NOMEM;

	loader_done(&loader);
	if (r < 0) {
		if (r == -VT_E_NOMEM)
			(void)vt_err_set(err, VT_E_NOMEM, "%s: no memory for its names and stacks",
					 vt_store_path(store));
		vt_symbols_close(loader.symbols);
		return r;
	}
	*ret = loader.symbols;
	return 0;
}
