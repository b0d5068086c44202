/* flame.c - see flame.h: from blocks to a tree of frames. */
#include "analyze/flame/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

/* Frames of a stack; deeper ones are left out, from the outside. */
#define FRAMES_MAX 1024
#define ENGINE "autograd::engine::evaluate_function"
#define PROFILER_STEP "ProfilerStep#"

struct stack {
	uint32_t frames[FRAMES_MAX]; /* the innermost first */
	unsigned count;
};

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for a flame graph");
}

static int push(struct vt_flame *flame, struct stack *stack, const char *function, const char *file, uint32_t line)
{
	struct vt_idmap_key key = { .c = line };
	uint32_t frame;

	if (stack->count == FRAMES_MAX)
		return 0;
	if (vt_texts_add(&flame->texts, function, strlen(function), &key.a) < 0 ||
	    vt_texts_add(&flame->texts, file, strlen(file), &key.b) < 0)
		return -VT_E_NOMEM;
	frame = vt_idmap_add(&flame->frames, key);
	if (frame == VT_IDMAP_NONE)
		return -VT_E_NOMEM;
	stack->frames[stack->count++] = frame;
	return 0;
}

/*
 * The ops of a block, innermost first. Of memory that stands at its forward line, those up to the autograd node: what is
 * above belongs to the thread that ran the backward.
 */
static int push_ops(struct vt_flame *flame, struct stack *stack, const struct vt_attributed *block)
{
	struct vt_op_info op;
	uint32_t node = block->op;
	bool has_node = false;

	for (unsigned depth = 0; depth < FRAMES_MAX; depth++, node = op.parent) {
		bool is_engine, is_step;

		if (!vt_symbols_op(flame->session->symbols, block->process, node, &op))
			break;
		is_engine = !strncmp(op.name, ENGINE, strlen(ENGINE));
		is_step = !strncmp(op.name, PROFILER_STEP, strlen(PROFILER_STEP));
		has_node |= op.scope == VT_op_scope_BACKWARD;
		/* The engine adds up gradients between nodes, in its own name. */
		if (is_engine && !has_node && push(flame, stack, "(autograd engine)", "", 0) < 0)
			return -VT_E_NOMEM;
		if (is_engine && block->forward_stack)
			break;
		if (!is_engine && !is_step && push(flame, stack, op.name[0] ? op.name : "?", "", 0) < 0)
			return -VT_E_NOMEM;
	}
	return 0;
}

static int push_python(struct vt_flame *flame, struct stack *stack, const struct vt_attributed *block)
{
	uint32_t node = block->forward_stack ? block->forward_stack : block->stack;
	struct vt_frame_info frame;

	while (stack->count < FRAMES_MAX && vt_symbols_frame(flame->session->symbols, block->process, node, &frame)) {
		if (push(flame, stack, frame.function[0] ? frame.function : "?", frame.file[0] ? frame.file : "?",
			 frame.line) < 0)
			return -VT_E_NOMEM;
		node = frame.parent;
	}
	return 0;
}

/* The node of (parent, frame), made where it is not there. */
static int descend(struct vt_flame *flame, struct vt_idmap_key key, uint32_t *ret)
{
	*ret = vt_idmap_add(&flame->nodes, key);
	if (*ret == VT_IDMAP_NONE)
		return -VT_E_NOMEM;
	return vt_array_reach((void **)&flame->sums, &flame->sums_room, *ret, sizeof(*flame->sums));
}

static int make_leaf(struct vt_flame *flame, const struct vt_attributed *block, uint32_t *ret)
{
	struct stack stack;
	int r;

	stack.count = 0;
	r = push_ops(flame, &stack, block);
	if (!r)
		r = push_python(flame, &stack, block);
	if (!r && !stack.count)
		r = push(flame, &stack, "(no op and no Python line)", "", 0);
	if (!r)
		r = descend(flame, (struct vt_idmap_key){ VT_IDMAP_NONE, block->device, 0 }, ret);
	while (!r && stack.count)
		r = descend(flame, (struct vt_idmap_key){ *ret, stack.frames[--stack.count], 0 }, ret);
	return r;
}

/* A number for all that a block's stack depends on. */
static uint32_t kind_of(struct vt_flame *flame, const struct vt_attributed *block)
{
	uint32_t kind =
		vt_idmap_add(&flame->known[0], (struct vt_idmap_key){ block->process, block->op, block->stack });

	if (kind != VT_IDMAP_NONE)
		kind = vt_idmap_add(&flame->known[1],
				    (struct vt_idmap_key){ kind, block->forward_op, block->forward_stack });
	if (kind != VT_IDMAP_NONE)
		kind = vt_idmap_add(&flame->known[2], (struct vt_idmap_key){ kind, block->device, 0 });
	return kind;
}

int vt_flame_add(struct vt_flame *flame, const struct vt_attributed *block, enum vt_flame_weight weight,
		 struct vt_err *err)
{
	const uint32_t none = 0;
	uint32_t kind, leaf;

	if (!vt_session_wants(flame->session, block->device))
		return 0;
	kind = kind_of(flame, block);
	if (kind == VT_IDMAP_NONE)
		return no_memory(err);
	if (flame->leaves.bytes / sizeof(none) <= kind && vt_buf_append(&flame->leaves, &none, sizeof(none)) < 0)
		return no_memory(err);
	leaf = ((const uint32_t *)(const void *)flame->leaves.data)[kind];
	if (!leaf) {
		if (make_leaf(flame, block, &leaf) < 0)
			return no_memory(err);
		((uint32_t *)(void *)flame->leaves.data)[kind] = ++leaf;
	}
	flame->sums[leaf - 1].bytes[weight] += block->size_bytes;
	flame->sums[leaf - 1].blocks[weight]++;
	return 0;
}

int vt_flame_add_run(struct vt_flame *flame, const struct vt_attributed *block, struct vt_err *err)
{
	int r = vt_flame_add(flame, block, VT_FLAME_TOTAL, err);

	if (!r && block->category == VT_CATEGORY_TEMPORARY)
		r = vt_flame_add(flame, block, VT_FLAME_TEMPORARY, err);
	return r;
}

static int on_block(void *self, const struct vt_attributed *block, struct vt_err *err)
{
	return vt_flame_add_run(self, block, err);
}

static int add_list(struct vt_flame *flame, struct vt_attributed_list blocks, struct vt_err *err)
{
	int r = 0;

	for (size_t i = 0; i < blocks.count && !r; i++)
		r = vt_flame_add(flame, &blocks.list[i], VT_FLAME_LIVE, err);
	return r;
}

int vt_flame_add_live(struct vt_flame *flame, const struct vt_attribution *attribution, uint32_t mark,
		      struct vt_err *err)
{
	uint32_t n = vt_replay_device_count(flame->session->replay);
	int r = 0;

	if (flame->session->moment == VT_MOMENT_NOW)
		return add_list(flame, vt_attribution_marked(attribution, mark), err);
	for (uint32_t i = 0; i < n && !r; i++)
		r = add_list(flame, vt_attribution_peak(attribution, i), err);
	return r;
}

static void attribution_done(struct vt_attribution **attribution)
{
	vt_attribution_free(*attribution);
}

int vt_flame_run(struct vt_flame *flame, struct vt_session *session, bool quiet, struct vt_err *err)
{
	VT_CLEANUP(attribution_done) struct vt_attribution *attribution = NULL;
	struct vt_listener listener;
	uint32_t mark = 0;
	int r;

	flame->session = session;
	r = vt_attribution_new(&attribution, session->symbols, err);
	if (r < 0)
		return r;
	vt_attribution_each(attribution, on_block, flame);
	if (session->moment == VT_MOMENT_NOW)
		r = vt_attribution_mark_at(attribution, session->until_ns ? session->until_ns : UINT64_MAX, &mark, err);
	/* Only what comes later tells what a block was for. */
	session->until_ns = 0;
	listener = vt_attribution_listener(attribution);
	if (!r)
		r = vt_replay_add(session->replay, &listener, err);
	if (!r)
		r = vt_session_run(session, quiet, err);
	return r ? r : vt_flame_add_live(flame, attribution, mark, err);
}

void vt_flame_done(struct vt_flame *flame)
{
	vt_texts_done(&flame->texts);
	vt_idmap_done(&flame->frames);
	vt_idmap_done(&flame->nodes);
	free(flame->sums);
	for (unsigned i = 0; i < VT_ARRAY_SIZE(flame->known); i++)
		vt_idmap_done(&flame->known[i]);
	vt_buf_done(&flame->leaves);
	*flame = (struct vt_flame){ .session = NULL };
}

static const char *const names[VT_FLAME_WEIGHTS] = {
	[VT_FLAME_LIVE] = "live", [VT_FLAME_TOTAL] = "total", [VT_FLAME_TEMPORARY] = "temporary"
};

int vt_flame_weight_parse(const char *text, enum vt_flame_weight *ret, struct vt_err *err)
{
	for (unsigned i = 0; i < VT_FLAME_WEIGHTS; i++)
		if (!strcmp(text, names[i])) {
			*ret = (enum vt_flame_weight)i;
			return 0;
		}
	return vt_err_set(err, VT_E_USAGE, "--what takes live, total or temporary, not '%.40s'", text);
}

const char *vt_flame_weight_name(enum vt_flame_weight weight)
{
	return names[weight];
}

const char *vt_flame_weight_text(const struct vt_flame *flame, char out[80], enum vt_flame_weight weight)
{
	switch (weight) {
	case VT_FLAME_LIVE:
		(void)snprintf(out, 80, "live %.70s", flame->session->moment_word);
		return out;
	case VT_FLAME_TOTAL:
		return "allocated over the run";
	case VT_FLAME_TEMPORARY:
	case VT_FLAME_WEIGHTS:
		break;
	}
	return "temporary, over the run (estimated)";
}

uint32_t *vt_flame_order(const struct vt_flame *flame)
{
	uint32_t n = flame->nodes.count, out = 0, depth = 0;
	uint32_t *order = malloc(4 * ((size_t)n + 1) * sizeof(*order));
	/* Children of a node as a chain, by first sight: nodes come after their parents. */
	uint32_t *first, *next, *waiting;
	uint32_t roots = VT_IDMAP_NONE;

	if (!order)
		return NULL;
	first = order + n;
	next = first + n;
	waiting = next + n;
	for (uint32_t i = 0; i < n; i++)
		first[i] = VT_IDMAP_NONE;
	for (uint32_t i = n; i-- > 0;) {
		uint32_t *head = vt_flame_is_root(flame, i) ? &roots : &first[flame->nodes.keys[i].a];

		next[i] = *head;
		*head = i;
	}
	/* waiting: nodes whose next sibling has not been visited; one for each level, so at most n. */
	for (uint32_t node = roots; node != VT_IDMAP_NONE || depth;) {
		if (node == VT_IDMAP_NONE) {
			node = next[waiting[--depth]];
			continue;
		}
		order[out++] = node;
		waiting[depth++] = node;
		node = first[node];
	}
	return order;
}

uint32_t vt_flame_root(const struct vt_flame *flame, uint32_t node)
{
	while (!vt_flame_is_root(flame, node))
		node = flame->nodes.keys[node].a;
	return node;
}

const char *vt_flame_root_label(const struct vt_flame *flame, char out[96], uint32_t root)
{
	const struct vt_session *session = flame->session;
	const struct vt_device *device = vt_replay_device(session->replay, flame->nodes.keys[root].b);
	char label[VT_FORMAT_MAX];

	if (!device)
		return "?";
	if (session->nprocesses < 2)
		(void)snprintf(out, 96, "%s", vt_session_device_label(label, device));
	else
		(void)snprintf(out, 96, "%s, process %" PRIu32, vt_session_device_label(label, device),
			       device->process);
	return out;
}

struct vt_flame_frame vt_flame_frame(const struct vt_flame *flame, uint32_t frame)
{
	const struct vt_idmap_key *key = &flame->frames.keys[frame];

	return (struct vt_flame_frame){ vt_texts_get(&flame->texts, key->a), vt_texts_get(&flame->texts, key->b),
					key->c };
}
