/* tree_json.c - the trees as one JSON object: see tree.h. Nodes are a list with parents: JSON readers nest less deeply. */
#include "analyze/commands/open.h"
#include "analyze/render/losses.h"
#include "analyze/views/tree.h"

static void put_node(const struct vt_tree_report *report, struct vt_json *json, const struct vt_memory_node *node,
		     uint32_t number, uint32_t parent)
{
	bool run = report->options.run;

	vt_json_object(json);
	vt_json_put_u64(json, "node", number);
	vt_json_name(json, "parent");
	if (number)
		vt_json_u64(json, parent);
	else
		vt_json_null(json);
	vt_json_put_string(json, "label", vt_texts_get(&report->labels, node->label));
	vt_json_put_u64(json, run ? "allocated_bytes" : "live_bytes", node->bytes);
	vt_json_put_u64(json, "count", node->blocks);
	vt_json_put_u64(json, "self_bytes", node->self_bytes);
	vt_json_put_u64(json, "self_count", node->self_blocks);
	vt_json_object_end(json);
}

/* A node is left out with all that is below it. */
static bool is_shown(const struct vt_tree_report *report, const struct vt_memory_tree *tree, uint32_t node)
{
	double whole = (double)vt_memory_tree_node(tree, 0)->bytes;
	uint64_t depth = 0;

	if (100.0 * (double)vt_memory_tree_node(tree, node)->bytes < report->options.min_share * whole)
		return false;
	for (uint32_t i = node; i; i = vt_memory_tree_node(tree, i)->parent)
		depth++;
	return !report->options.depth || depth <= report->options.depth;
}

static int put_tree(const struct vt_tree_report *report, struct vt_json *json, const struct vt_memory_tree *tree,
		    struct vt_err *err)
{
	struct vt_memory_children children;
	int r = vt_memory_children_find(&children, tree, &report->labels, err);

	if (r < 0)
		return r;
	vt_json_put_array(json, "nodes");
	put_node(report, json, vt_memory_tree_node(tree, 0), 0, 0);
	for (uint32_t i = 0; i + 1 < vt_memory_tree_count(tree); i++) {
		uint32_t number = children.list[i];
		const struct vt_memory_node *node = vt_memory_tree_node(tree, number);

		if (is_shown(report, tree, number))
			put_node(report, json, node, number, node->parent);
	}
	vt_json_array_end(json);
	vt_memory_children_done(&children);
	return 0;
}

static int put_device(const struct vt_tree_report *report, struct vt_json *json, uint32_t device, struct vt_err *err)
{
	const struct vt_memory_tree *tree = &report->trees[device];
	const struct vt_device *state = vt_replay_device(report->session->replay, device);
	struct vt_memory_tree flat;
	enum vt_steps_how how;
	int r;

	if (!vt_memory_tree_count(tree))
		return 0;
	how = vt_attribution_steps_how(report->attribution, state->process);
	vt_json_object(json);
	vt_session_json_device(report->session, json, state);
	vt_json_put_u64(json, "steps", vt_attribution_steps(report->attribution, state->process));
	vt_json_put_string(json, "steps_found", vt_steps_how_text(how));
	if (report->options.flat) {
		r = vt_memory_tree_flatten(&flat, tree, err);
		if (!r)
			r = put_tree(report, json, &flat, err);
		vt_memory_tree_done(&flat);
	} else {
		r = put_tree(report, json, tree, err);
	}
	vt_json_object_end(json);
	return r;
}

int vt_tree_report_json(const struct vt_tree_report *report, FILE *out, struct vt_err *err)
{
	const struct vt_session *session = report->session;
	struct vt_json json;
	int r = 0;

	vt_json_init(&json, out, false);
	vt_session_json_begin(session, &json, "tree");
	vt_json_put_string(&json, "moment", report->options.run ? "run" : session->moment_word);
	/* Which of the labels are no facts. */
	vt_json_put_object(&json, "estimates");
	vt_json_put_string(&json, "category", "by scope and lifetime");
	vt_json_put_string(&json, "phase", "by op names, ranges and Python frames");
	vt_json_object_end(&json);
	vt_json_put_array(&json, "devices");
	for (size_t i = 0; i < report->trees_room && !r; i++)
		r = put_device(report, &json, (uint32_t)i, err);
	vt_json_array_end(&json);
	if (!r)
		r = vt_losses_json(&json, session->store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}
