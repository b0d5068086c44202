/* tree_print.c - the trees for people: see tree.h. */
#include <stdio.h>

#include "analyze/render/losses.h"
#include "analyze/views/report.h"
#include "analyze/views/tree.h"

#define INDENT_MAX 40
#define LABEL_MAX 512

struct printer {
	const struct vt_tree_report *report;
	const struct vt_memory_tree *tree;
	struct vt_memory_children children;
	struct vt_table *table;
	uint64_t whole;
};

static void put_row(const struct printer *printer, uint64_t bytes, uint64_t blocks, const char *label, unsigned indent)
{
	char text[VT_FORMAT_MAX];

	vt_table_cell(printer->table, "%s", vt_format_bytes(text, bytes));
	vt_table_cell(printer->table, "%s", vt_report_share(text, bytes, printer->whole));
	vt_table_cell(printer->table, "%s", vt_format_count(text, blocks));
	vt_table_cell(printer->table, "%*s%.*s", (int)(indent < INDENT_MAX ? indent : INDENT_MAX), "", LABEL_MAX,
		      label);
}

static bool is_shown(const struct printer *printer, const struct vt_memory_node *node)
{
	return 100.0 * (double)node->bytes >= printer->report->options.min_share * (double)printer->whole;
}

/* Indented only where there is a choice: a chain of single calls stands straight. */
static void put_children(const struct printer *printer, uint32_t parent, unsigned indent, uint64_t depth)
{
	const struct vt_tree_options *options = &printer->report->options;
	uint32_t from = printer->children.first[parent], to = printer->children.first[parent + 1], shown = from;
	const struct vt_memory_node *above = vt_memory_tree_node(printer->tree, parent);
	uint64_t bytes = above->bytes - above->self_bytes, blocks = above->blocks - above->self_blocks;
	bool siblings = printer->children.first[above->parent + 1] - printer->children.first[above->parent] > 1;
	unsigned step = parent && (siblings || to - from > 1 || above->self_bytes) ? 2 : 0;
	char label[64];

	if (options->depth && depth == options->depth)
		return;
	for (; shown < to; shown++) {
		uint32_t child = printer->children.list[shown];
		const struct vt_memory_node *node = vt_memory_tree_node(printer->tree, child);

		if (!is_shown(printer, node))
			break;
		bytes -= node->bytes;
		blocks -= node->blocks;
		put_row(printer, node->bytes, node->blocks, vt_texts_get(&printer->report->labels, node->label),
			indent + step);
		put_children(printer, child, indent + step, depth + 1);
	}
	if (shown == to)
		return;
	(void)snprintf(label, sizeof(label), "(%u more)", to - shown);
	put_row(printer, bytes, blocks, label, indent + step);
}

static int print_tree(const struct vt_tree_report *report, const struct vt_screen *screen,
		      const struct vt_memory_tree *tree, struct vt_err *err)
{
	struct printer printer = { .report = report, .tree = tree, .whole = vt_memory_tree_node(tree, 0)->bytes };
	int r = vt_memory_children_find(&printer.children, tree, &report->labels, err);

	if (r < 0)
		return r;
	printer.table = vt_table_new();
	vt_table_column(printer.table, "Bytes", VT_ALIGN_RIGHT, false);
	vt_table_column(printer.table, "Share", VT_ALIGN_RIGHT, false);
	vt_table_column(printer.table, "Blocks", VT_ALIGN_RIGHT, false);
	vt_table_column(printer.table, "", VT_ALIGN_LEFT, true);
	put_children(&printer, 0, 0, 0);
	r = vt_table_print(printer.table, screen) < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory for a table") : 0;
	vt_memory_children_done(&printer.children);
	return r;
}

static int print_flat(const struct vt_tree_report *report, const struct vt_screen *screen,
		      const struct vt_memory_tree *tree, uint64_t top, struct vt_err *err)
{
	uint64_t whole = vt_memory_tree_node(tree, 0)->bytes;
	struct vt_memory_children children = { NULL, NULL };
	struct vt_memory_tree flat;
	struct vt_table *table;
	char text[VT_FORMAT_MAX];
	int r = vt_memory_tree_flatten(&flat, tree, err);

	if (r >= 0)
		r = vt_memory_children_find(&children, &flat, &report->labels, err);
	if (r < 0) {
		vt_memory_tree_done(&flat);
		return r;
	}
	table = vt_table_new();
	vt_table_column(table, "Self", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Total", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Share", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Blocks", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "", VT_ALIGN_LEFT, true);
	for (uint32_t i = children.first[0]; i < children.first[1] && i < top; i++) {
		const struct vt_memory_node *node = vt_memory_tree_node(&flat, children.list[i]);

		vt_table_cell(table, "%s", vt_format_bytes(text, node->self_bytes));
		vt_table_cell(table, "%s", vt_format_bytes(text, node->bytes));
		vt_table_cell(table, "%s", vt_report_share(text, node->bytes, whole));
		vt_table_cell(table, "%s", vt_format_count(text, node->blocks));
		vt_table_cell(table, "%s", vt_texts_get(&report->labels, node->label));
	}
	r = vt_table_print(table, screen) < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory for a table") : 0;
	if (!r && children.first[1] > top)
		vt_screen_text(screen, 0, "(%s more)", vt_format_count(text, children.first[1] - top));
	vt_memory_children_done(&children);
	vt_memory_tree_done(&flat);
	return r;
}

static bool has(const struct vt_path_by *by, enum vt_dimension dimension)
{
	for (unsigned i = 0; i < by->count; i++)
		if (by->list[i] == dimension)
			return true;
	return false;
}

static void print_method(const struct vt_tree_report *report, const struct vt_screen *screen, uint32_t process)
{
	const struct vt_path_by *by = &report->options.by;

	if (has(by, VT_BY_CATEGORY))
		vt_screen_text(screen, 0, "Categories are estimated by scope and lifetime.");
	if (has(by, VT_BY_PHASE))
		vt_screen_text(screen, 0, "Phases are found by op names, ranges and Python frames.");
	if (has(by, VT_BY_STEP))
		vt_screen_text(screen, 0, "Steps are found %s.",
			       vt_steps_how_text(vt_attribution_steps_how(report->attribution, process)));
}

static int print_device(const struct vt_tree_report *report, const struct vt_screen *screen, uint32_t device,
			struct vt_err *err)
{
	const struct vt_memory_tree *tree = &report->trees[device];
	const struct vt_device *state = vt_replay_device(report->session->replay, device);
	const struct vt_memory_node *root;
	char bytes[VT_FORMAT_MAX], blocks[VT_FORMAT_MAX];
	int r;

	if (!vt_memory_tree_count(tree))
		return 0;
	root = vt_memory_tree_node(tree, 0);
	vt_session_print_device(report->session, screen, device);
	vt_screen_text(screen, 0, "%s in %s blocks %s.", vt_format_bytes(bytes, root->bytes),
		       vt_format_count(blocks, root->blocks),
		       report->options.run ? "allocated over the run" : report->session->moment_word);
	(void)putc('\n', screen->out);
	r = report->options.flat ? print_flat(report, screen, tree, report->top, err)
				 : print_tree(report, screen, tree, err);
	print_method(report, screen, state->process);
	(void)putc('\n', screen->out);
	return r;
}

int vt_tree_report_print(const struct vt_tree_report *report, const struct vt_screen *screen, struct vt_err *err)
{
	bool any = false;
	int r = 0;

	for (size_t i = 0; i < report->trees_room && !r; i++) {
		any |= vt_memory_tree_count(&report->trees[i]) != 0;
		r = print_device(report, screen, (uint32_t)i, err);
	}
	if (!any)
		vt_screen_text(screen, 0, "No block is live %s.", report->session->moment_word);
	return r ? r : vt_losses_print(screen, report->session->store, err);
}
