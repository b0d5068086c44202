/* paths.c - see paths.h. */
#include "analyze/views/paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/commands/suggest.h"
#include "analyze/views/place.h"
#include "schema/base/bits.h"

#define DEPTH_MAX 512
/* Bytes of a label; names come from outside. */
#define LABEL_MAX 400
#define ENGINE "autograd::engine::evaluate_function"

struct maker {
	struct vt_path *path;
	struct vt_texts *labels;
	const struct vt_symbols *symbols;
	const struct vt_session *session;
	const struct vt_attributed *block;
	bool whole_paths;
};

static int add(const struct maker *maker, const char *text)
{
	struct vt_path *path = maker->path;

	if (path->count == VT_PATH_MAX)
		return 0;
	return vt_texts_add(maker->labels, text, strnlen(text, LABEL_MAX), &path->labels[path->count++]);
}

static void reverse(struct vt_path *path, unsigned from)
{
	for (unsigned low = from, high = path->count; low + 1 < high; low++) {
		uint32_t label = path->labels[low];

		path->labels[low] = path->labels[--high];
		path->labels[high] = label;
	}
}

static const char *file_name(const struct maker *maker, const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash && slash[1] && !maker->whole_paths ? slash + 1 : file;
}

static const char *frame_label(const struct maker *maker, char out[LABEL_MAX], const struct vt_frame_info *frame)
{
	const char *what = frame->generated ? frame->generated : frame->function;

	(void)snprintf(out, LABEL_MAX, "%.150s  %.60s:%" PRIu32, what, file_name(maker, frame->file), frame->line);
	if (maker->whole_paths)
		(void)snprintf(out, LABEL_MAX, "%.150s  %.220s:%" PRIu32, what, frame->file, frame->line);
	return out;
}

/* The op's own name and, above it, what it ran for. */
static int add_leaf(const struct maker *maker, bool with_node)
{
	const struct vt_attributed *block = maker->block;
	struct vt_op_info info, above;
	uint32_t node = block->op;
	const char *around = NULL;
	int r = 0;

	if (!vt_symbols_op(maker->symbols, block->process, node, &info))
		return add(maker, "(no op)");
	above = info;
	for (int depth = 0; with_node && !around && depth < DEPTH_MAX; depth++) {
		if (!vt_symbols_op(maker->symbols, block->process, above.parent, &above))
			break;
		if (above.scope == VT_op_scope_BACKWARD)
			around = above.name;
	}
	if (around)
		r = add(maker, around);
	return r ? r : add(maker, info.name);
}

/* Where code that torch.compile made allocates: what for. */
static int add_generated(const struct maker *maker, bool with_line)
{
	struct vt_frame_info frame;
	char label[LABEL_MAX];

	if (!vt_symbols_frame(maker->symbols, maker->block->process, maker->block->stack, &frame) || !frame.generated)
		return 0;
	return add(maker, with_line ? frame_label(maker, label, &frame) : frame.generated);
}

/* Backward memory is shown at the forward line it belongs to. */
static int by_stack(const struct maker *maker)
{
	const struct vt_attributed *block = maker->block;
	uint32_t stack = block->forward_stack ? block->forward_stack : block->stack;
	bool stack_differs = stack != block->stack;
	unsigned from = maker->path->count;
	struct vt_frame_info frame;
	char label[LABEL_MAX];
	int r = 0;

	for (int depth = 0; depth < DEPTH_MAX && !r; depth++, stack = frame.parent) {
		if (!vt_symbols_frame(maker->symbols, block->process, stack, &frame))
			break;
		r = add(maker, frame_label(maker, label, &frame));
	}
	reverse(maker->path, from);
	if (!r && from == maker->path->count)
		r = add(maker, "(no Python line)");
	if (!r && stack_differs)
		r = add_generated(maker, true);
	return r ? r : add_leaf(maker, true);
}

/* Where modules themselves were not captured, the classes whose forward() was running: "Net.Block.forward" -> "Net.Block". */
static int by_class(const struct maker *maker, uint32_t stack)
{
	const struct vt_attributed *block = maker->block;
	struct vt_frame_info frame;
	char label[LABEL_MAX];
	int r = 0;

	for (int depth = 0; depth < DEPTH_MAX && !r; depth++, stack = frame.parent) {
		const char *dot;

		if (!vt_symbols_frame(maker->symbols, block->process, stack, &frame))
			break;
		dot = strrchr(frame.function, '.');
		if (!dot || strcmp(dot, ".forward") != 0)
			continue;
		(void)snprintf(label, sizeof(label), "%.*s", (int)(dot - frame.function), frame.function);
		r = add(maker, label);
	}
	return r;
}

static int by_module(const struct maker *maker)
{
	const struct vt_attributed *block = maker->block;
	uint32_t first = block->forward_stack ? block->forward_stack : block->stack, stack = first;
	unsigned from = maker->path->count;
	struct vt_frame_info frame;
	char label[VT_PLACE_MAX];
	int r = 0;

	for (int depth = 0; depth < DEPTH_MAX && !r; depth++) {
		if (!vt_symbols_frame(maker->symbols, block->process, stack, &frame))
			break;
		if (frame.module)
			r = add(maker, vt_place_module(label, &frame));
		stack = frame.module ? frame.module_parent : frame.parent;
	}
	if (!r && from == maker->path->count)
		r = by_class(maker, first);
	reverse(maker->path, from);
	return !r && from == maker->path->count ? add(maker, "(outside of modules)") : r;
}

static int by_op(const struct maker *maker)
{
	const struct vt_attributed *block = maker->block;
	unsigned from = maker->path->count;
	uint32_t node = block->op;
	struct vt_op_info info;
	int r = 0;

	for (int depth = 0; depth < DEPTH_MAX && !r; depth++, node = info.parent) {
		if (!vt_symbols_op(maker->symbols, block->process, node, &info))
			break;
		if (strncmp(info.name, ENGINE, strlen(ENGINE)) != 0)
			r = add(maker, info.name);
	}
	reverse(maker->path, from);
	if (!r)
		r = add_generated(maker, false);
	return !r && from == maker->path->count ? add(maker, "(no op)") : r;
}

static int by_line(const struct maker *maker, bool line)
{
	const struct vt_attributed *block = maker->block;
	uint32_t stack = block->forward_stack ? block->forward_stack : block->stack;
	struct vt_frame_info frame;
	char label[LABEL_MAX];

	if (!vt_symbols_user_frame(maker->symbols, block->process, stack, &frame))
		return add(maker, "(no Python line)");
	if (!line)
		return add(maker, file_name(maker, frame.file));
	return add(maker, frame_label(maker, label, &frame));
}

static int by_rank(const struct maker *maker)
{
	const struct vt_process_row *row = vt_session_process(maker->session, maker->block->process);
	char label[LABEL_MAX];

	if (row && row->rank >= 0)
		(void)snprintf(label, sizeof(label), "rank %" PRId32, row->rank);
	else
		(void)snprintf(label, sizeof(label), "process %" PRIu32, maker->block->process);
	return add(maker, label);
}

static int by_number(const struct maker *maker, enum vt_dimension dimension)
{
	const struct vt_attributed *block = maker->block;
	char label[LABEL_MAX];

	if (dimension == VT_BY_THREAD)
		(void)snprintf(label, sizeof(label), "thread %" PRIu32, block->thread);
	else if (dimension == VT_BY_BLOCK)
		(void)snprintf(label, sizeof(label), "0x%" PRIx64 " +%" PRIu64 " B, block %" PRIu64, block->address,
			       block->size_bytes, block->serial);
	else if (block->step == VT_STEP_UNKNOWN)
		(void)snprintf(label, sizeof(label), "(no step known)");
	else if (!block->step && !block->range_step)
		(void)snprintf(label, sizeof(label), "before the first step");
	else
		(void)snprintf(label, sizeof(label), "step %" PRIu32, block->step);
	return add(maker, label);
}

static int by_dimension(const struct maker *maker, enum vt_dimension dimension)
{
	switch (dimension) {
	case VT_BY_STACK:
		return by_stack(maker);
	case VT_BY_MODULE:
		return by_module(maker);
	case VT_BY_OP:
		return by_op(maker);
	case VT_BY_LINE:
	case VT_BY_FILE:
		return by_line(maker, dimension == VT_BY_LINE);
	case VT_BY_CATEGORY:
		return add(maker, vt_category_name(maker->block->category));
	case VT_BY_PHASE:
		return add(maker, vt_phase_name(maker->block->phase));
	case VT_BY_RANK:
		return by_rank(maker);
	case VT_BY_STEP:
	case VT_BY_THREAD:
	case VT_BY_BLOCK:
	case VT_DIMENSIONS:
		break;
	}
	return by_number(maker, dimension);
}

int vt_path_find(struct vt_path *ret, struct vt_texts *labels, const struct vt_session *session,
		 const struct vt_path_by *by, const struct vt_attributed *block)
{
	const struct maker maker = { ret, labels, session->symbols, session, block, by->whole_paths };
	int r = 0;

	ret->count = 0;
	for (unsigned i = 0; i < by->count && !r; i++)
		r = by_dimension(&maker, by->list[i]);
	return r;
}

static const char *const names[VT_DIMENSIONS] = {
	[VT_BY_STACK] = "stack",   [VT_BY_MODULE] = "module",	  [VT_BY_OP] = "op",	   [VT_BY_LINE] = "line",
	[VT_BY_FILE] = "file",	   [VT_BY_CATEGORY] = "category", [VT_BY_STEP] = "step",   [VT_BY_PHASE] = "phase",
	[VT_BY_THREAD] = "thread", [VT_BY_RANK] = "rank",	  [VT_BY_BLOCK] = "block",
};

static int parse_one(const char *word, size_t length, struct vt_path_by *by, struct vt_err *err)
{
	char text[32];
	const char *near;

	if (by->count == VT_PATH_DIMENSIONS_MAX)
		return vt_err_set(err, VT_E_USAGE, "--by takes at most %d words", VT_PATH_DIMENSIONS_MAX);
	for (unsigned i = 0; i < VT_DIMENSIONS; i++)
		if (strlen(names[i]) == length && !memcmp(names[i], word, length)) {
			by->list[by->count++] = (enum vt_dimension)i;
			return 0;
		}
	(void)snprintf(text, sizeof(text), "%.*s", (int)(length < 30 ? length : 30), word);
	near = vt_suggest(text, names, VT_ARRAY_SIZE(names));
	return vt_err_set(err, VT_E_USAGE,
			  "--by: no '%s'%s%s%s; it takes stack, module, op, line, file, category, step, phase, thread, "
			  "rank and block, with commas between",
			  text, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

int vt_path_by_parse(const char *text, struct vt_path_by *ret, struct vt_err *err)
{
	int r = 0;

	ret->count = 0;
	for (const char *comma; !r && text; text = comma ? comma + 1 : NULL) {
		comma = strchr(text, ',');
		r = parse_one(text, comma ? (size_t)(comma - text) : strlen(text), ret, err);
	}
	return r;
}
