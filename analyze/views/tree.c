/* tree.c - see tree.h: builds the trees. */
#include "analyze/views/tree.h"

#include <stdlib.h>
#include <string.h>

static struct vt_memory_node *node_at(const struct vt_memory_tree *tree, uint32_t node)
{
	return (struct vt_memory_node *)(void *)tree->nodes.data + node;
}

uint32_t vt_memory_tree_count(const struct vt_memory_tree *tree)
{
	return (uint32_t)(tree->nodes.bytes / sizeof(struct vt_memory_node));
}

const struct vt_memory_node *vt_memory_tree_node(const struct vt_memory_tree *tree, uint32_t node)
{
	return node_at(tree, node);
}

static int begin(struct vt_memory_tree *tree)
{
	const struct vt_memory_node root = { .label = 0 };

	return tree->nodes.bytes ? 0 : vt_buf_append(&tree->nodes, &root, sizeof(root));
}

static int descend(struct vt_memory_tree *tree, uint32_t parent, uint32_t label, uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | label;
	const struct vt_memory_node node = { .label = label, .parent = parent };

	*ret = vt_map_find(&tree->child_of, key);
	if (*ret != VT_MAP_NONE)
		return 0;
	*ret = vt_memory_tree_count(tree);
	if (vt_buf_append(&tree->nodes, &node, sizeof(node)) < 0)
		return -VT_E_NOMEM;
	return vt_map_put(&tree->child_of, key, *ret);
}

static void count(struct vt_memory_tree *tree, uint32_t leaf, uint64_t bytes)
{
	struct vt_memory_node *node = node_at(tree, leaf);

	node->self_bytes += bytes;
	node->self_blocks++;
}

/* Adds what ends in each node to all above it: a child always stands behind its parent. */
static void sum_up(struct vt_memory_tree *tree)
{
	uint32_t n = vt_memory_tree_count(tree);

	for (uint32_t i = 0; i < n; i++) {
		node_at(tree, i)->bytes = node_at(tree, i)->self_bytes;
		node_at(tree, i)->blocks = node_at(tree, i)->self_blocks;
	}
	for (uint32_t i = n; i-- > 1;) {
		struct vt_memory_node *node = node_at(tree, i);

		node_at(tree, node->parent)->bytes += node->bytes;
		node_at(tree, node->parent)->blocks += node->blocks;
	}
}

static bool has_dimension(const struct vt_path_by *by, enum vt_dimension dimension)
{
	for (unsigned i = 0; i < by->count; i++)
		if (by->list[i] == dimension)
			return true;
	return false;
}

/* A small number for all that a block's path depends on, equal for blocks of equal path. VT_IDMAP_NONE: no memory. */
static uint32_t kind_of(struct vt_tree_report *report, const struct vt_attributed *block)
{
	const struct vt_path_by *by = &report->options.by;
	uint32_t uses = (uint32_t)block->category << 16 | (uint32_t)block->phase << 8 | block->range_step;
	uint32_t step = has_dimension(by, VT_BY_STEP) ? block->step : 0;
	uint32_t thread = has_dimension(by, VT_BY_THREAD) ? block->thread : 0;
	uint32_t where, forward;

	where = vt_idmap_add(&report->known[0], (struct vt_idmap_key){ block->process, block->op, block->stack });
	forward = vt_idmap_add(&report->known[1],
			       (struct vt_idmap_key){ block->device, block->forward_op, block->forward_stack });
	if (where == VT_IDMAP_NONE || forward == VT_IDMAP_NONE)
		return VT_IDMAP_NONE;
	where = vt_idmap_add(&report->known[2], (struct vt_idmap_key){ where, forward, uses });
	if (where == VT_IDMAP_NONE)
		return VT_IDMAP_NONE;
	return vt_idmap_add(&report->known[3], (struct vt_idmap_key){ where, step, thread });
}

static int make_leaf(struct vt_tree_report *report, struct vt_memory_tree *tree, const struct vt_attributed *block,
		     uint32_t *ret)
{
	struct vt_path path;
	int r = vt_path_find(&path, &report->labels, report->session, &report->options.by, block);

	*ret = 0;
	for (unsigned i = 0; i < path.count && !r; i++)
		r = descend(tree, *ret, path.labels[report->options.inverted ? path.count - 1 - i : i], ret);
	return r;
}

static int find_leaf(struct vt_tree_report *report, struct vt_memory_tree *tree, const struct vt_attributed *block,
		     uint32_t *ret)
{
	const uint32_t none = 0;
	uint32_t kind, *leaf;
	int r;

	if (has_dimension(&report->options.by, VT_BY_BLOCK))
		return make_leaf(report, tree, block, ret);
	kind = kind_of(report, block);
	if (kind == VT_IDMAP_NONE)
		return -VT_E_NOMEM;
	if (report->leaves.bytes / sizeof(none) <= kind && vt_buf_append(&report->leaves, &none, sizeof(none)) < 0)
		return -VT_E_NOMEM;
	leaf = (uint32_t *)(void *)report->leaves.data + kind;
	if (*leaf) {
		*ret = *leaf - 1;
		return 0;
	}
	r = make_leaf(report, tree, block, ret);
	*leaf = *ret + 1;
	return r;
}

static int add_block(void *self, const struct vt_attributed *block, struct vt_err *err)
{
	struct vt_tree_report *report = self;
	struct vt_memory_tree *tree;
	uint32_t leaf;

	if (!vt_session_wants(report->session, block->device))
		return 0;
	if (vt_array_reach((void **)&report->trees, &report->trees_room, block->device, sizeof(*report->trees)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the trees of devices");
	tree = &report->trees[block->device];
	if (begin(tree) < 0 || find_leaf(report, tree, block, &leaf) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the tree");
	count(tree, leaf, block->size_bytes);
	return 0;
}

static int add_list(struct vt_tree_report *report, struct vt_attributed_list blocks, struct vt_err *err)
{
	int r = 0;

	for (size_t i = 0; i < blocks.count && !r; i++)
		r = add_block(report, &blocks.list[i], err);
	return r;
}

static int gather(struct vt_tree_report *report, uint32_t mark, struct vt_err *err)
{
	uint32_t n = vt_replay_device_count(report->session->replay);
	int r = 0;

	if (!report->options.run && report->session->moment == VT_MOMENT_NOW)
		r = add_list(report, vt_attribution_marked(report->attribution, mark), err);
	for (uint32_t i = 0; i < n && !r && !report->options.run && report->session->moment == VT_MOMENT_PEAK; i++)
		r = add_list(report, vt_attribution_peak(report->attribution, i), err);
	for (size_t i = 0; i < report->trees_room; i++)
		sum_up(&report->trees[i]);
	return r;
}

int vt_tree_report_run(struct vt_tree_report *report, struct vt_session *session, bool quiet, struct vt_err *err)
{
	struct vt_listener listener;
	uint32_t mark = 0;
	int r;

	report->session = session;
	r = vt_attribution_new(&report->attribution, session->symbols, err);
	if (r < 0)
		return r;
	/* Only what comes later tells what a block was for. */
	report->moment_ns = session->until_ns;
	session->until_ns = 0;
	if (report->options.run)
		vt_attribution_each(report->attribution, add_block, report);
	else if (session->moment == VT_MOMENT_NOW)
		r = vt_attribution_mark_at(report->attribution, report->moment_ns ? report->moment_ns : UINT64_MAX,
					   &mark, err);
	listener = vt_attribution_listener(report->attribution);
	if (!r)
		r = vt_replay_add(session->replay, &listener, err);
	if (!r)
		r = vt_session_run(session, quiet, err);
	return r ? r : gather(report, mark, err);
}

void vt_tree_report_done(struct vt_tree_report *report)
{
	for (size_t i = 0; i < report->trees_room; i++)
		vt_memory_tree_done(&report->trees[i]);
	free(report->trees);
	for (int i = 0; i < 4; i++)
		vt_idmap_done(&report->known[i]);
	vt_buf_done(&report->leaves);
	vt_texts_done(&report->labels);
	vt_attribution_free(report->attribution);
	*report = (struct vt_tree_report){ .session = NULL };
}

struct order {
	const struct vt_memory_tree *tree;
	const struct vt_texts *labels;
};

static int by_size(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	const struct vt_memory_node *x = node_at(order->tree, *(const uint32_t *)a);
	const struct vt_memory_node *y = node_at(order->tree, *(const uint32_t *)b);

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->self_bytes != y->self_bytes && x->bytes == y->bytes)
		return x->self_bytes < y->self_bytes ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	/* "step 9" before "step 10". */
	return strverscmp(vt_texts_get(order->labels, x->label), vt_texts_get(order->labels, y->label));
}

int vt_memory_children_find(struct vt_memory_children *ret, const struct vt_memory_tree *tree,
			    const struct vt_texts *labels, struct vt_err *err)
{
	uint32_t n = vt_memory_tree_count(tree);
	struct order order = { tree, labels };

	ret->first = calloc((size_t)n + 2, sizeof(*ret->first));
	ret->list = calloc((size_t)n + 1, sizeof(*ret->list));
	if (!ret->first || !ret->list) {
		vt_memory_children_done(ret);
		return vt_err_set(err, VT_E_NOMEM, "no memory for a tree of %u nodes", n);
	}
	for (uint32_t i = 1; i < n; i++) {
		ret->list[i - 1] = i;
		ret->first[node_at(tree, i)->parent + 1]++;
	}
	for (uint32_t i = 0; i < n; i++)
		ret->first[i + 1] += ret->first[i];
	if (n > 1)
		qsort_r(ret->list, n - 1, sizeof(*ret->list), by_size, &order);
	return 0;
}

void vt_memory_children_done(struct vt_memory_children *children)
{
	free(children->first);
	free(children->list);
	*children = (struct vt_memory_children){ NULL, NULL };
}

/* Whether a node above has the same label: its bytes are counted there. */
static bool is_within_own(const struct vt_memory_tree *tree, uint32_t node)
{
	uint32_t label = node_at(tree, node)->label;

	for (node = node_at(tree, node)->parent; node; node = node_at(tree, node)->parent)
		if (node_at(tree, node)->label == label)
			return true;
	return false;
}

int vt_memory_tree_flatten(struct vt_memory_tree *ret, const struct vt_memory_tree *tree, struct vt_err *err)
{
	uint32_t row;

	*ret = (struct vt_memory_tree){ 0 };
	if (begin(ret) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a tree");
	for (uint32_t i = 0; i < vt_memory_tree_count(tree); i++) {
		const struct vt_memory_node *node = node_at(tree, i);

		row = 0;
		if (i && descend(ret, 0, node->label, &row) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for a tree");
		node_at(ret, row)->self_bytes += node->self_bytes;
		node_at(ret, row)->self_blocks += node->self_blocks;
		if (is_within_own(tree, i))
			continue;
		node_at(ret, row)->bytes += node->bytes;
		node_at(ret, row)->blocks += node->blocks;
	}
	return 0;
}

void vt_memory_tree_done(struct vt_memory_tree *tree)
{
	vt_buf_done(&tree->nodes);
	vt_map_done(&tree->child_of);
}
