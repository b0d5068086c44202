/* place.c - see place.h. */
#include "analyze/views/place.h"

#include <stdio.h>
#include <string.h>

#include "schema/base/utf8.h"
#include "schema/event.h"

/* Deepest chain followed: ids come from outside. The agent cuts both kinds of stack far below. */
#define DEPTH_MAX 512
/* A function's name is cut here: it is a help beside the line, never the key. */
#define FUNCTION_MAX 60
#define BACKWARD "backward of "

static const char *find_within(const struct vt_symbols *symbols, uint32_t process, uint32_t node)
{
	struct vt_op_info info;

	for (int depth = 0; depth < DEPTH_MAX && vt_symbols_op(symbols, process, node, &info); depth++) {
		if (depth && (info.scope == VT_op_scope_USER || info.scope == VT_op_scope_NVTX ||
			      info.scope == VT_op_scope_BACKWARD))
			return info.name;
		node = info.parent;
	}
	return "";
}

void vt_place_find(const struct vt_symbols *symbols, uint32_t process, uint32_t op, uint32_t stack,
		   struct vt_place *ret)
{
	struct vt_op_info info;

	vt_symbols_op(symbols, process, op, &info);
	*ret = (struct vt_place){ .op = info.name, .within = find_within(symbols, process, op) };
	ret->has_frame = vt_symbols_user_frame(symbols, process, stack, &ret->frame);
}

void vt_place_of_backward(const struct vt_symbols *symbols, uint32_t process, uint32_t op, uint32_t forward_stack,
			  struct vt_place *ret)
{
	vt_place_find(symbols, process, op, forward_stack, ret);
	ret->backward = ret->has_frame;
}

int vt_place_compare(const struct vt_place *x, const struct vt_place *y)
{
	int order = strcmp(x->op, y->op);

	if (!order)
		order = (int)y->has_frame - (int)x->has_frame;
	if (!order)
		order = (int)x->backward - (int)y->backward;
	if (order)
		return order;
	/* Where there is a line it says enough: ranges that change from step to step must not tear it apart. */
	if (!x->has_frame)
		return strcmp(x->within, y->within);
	order = strcmp(x->frame.file, y->frame.file);
	if (!order)
		order = (x->frame.line > y->frame.line) - (x->frame.line < y->frame.line);
	return order ? order : strcmp(x->frame.function, y->frame.function);
}

const char *vt_place_op(const struct vt_place *place)
{
	return *place->op ? place->op : "(no op)";
}

/* The longest tail of whole path components within `columns`; at least the last one. */
static const char *file_tail(const char *file, size_t columns)
{
	const char *end = file + strlen(file), *best = strrchr(file, '/');

	if ((size_t)(end - file) <= columns || !best)
		return file;
	best++;
	for (const char *p = best - 1; p > file; p--)
		if (p[-1] == '/' && (size_t)(end - p) <= columns)
			best = p;
	return best;
}

/* At most VT_PLACE_MAX - 1 bytes, and `columns` of them where file name and line alone are not longer. */
static const char *frame_text(char out[VT_PLACE_MAX], const struct vt_frame_info *frame, size_t columns)
{
	size_t wanted = strlen(frame->function), used;
	const char *file, *function;
	char line[16] = "";

	if (frame->line)
		(void)snprintf(line, sizeof(line), ":%u", frame->line);
	wanted = (wanted < FUNCTION_MAX ? wanted : FUNCTION_MAX) + 1 + strlen(line);
	file = file_tail(frame->file, columns > wanted ? columns - wanted : 0);
	(void)snprintf(out, VT_PLACE_MAX, "%.200s%s", file, line);
	used = strlen(out);
	function = frame->function;
	/* Of "Net.Block.forward" the last part at least. */
	if (used + 1 + strlen(function) > columns && strrchr(function, '.'))
		function = strrchr(function, '.') + 1;
	if (*function && used + 1 + strlen(function) <= columns)
		(void)snprintf(out + used, VT_PLACE_MAX - used, " %.*s", FUNCTION_MAX, function);
	return out;
}

const char *vt_place_where(char out[VT_PLACE_MAX], const struct vt_place *place, size_t columns)
{
	char frame[VT_PLACE_MAX];

	if (place->backward) {
		columns = columns > strlen(BACKWARD) ? columns - strlen(BACKWARD) : 0;
		(void)snprintf(out, VT_PLACE_MAX, BACKWARD "%.300s", frame_text(frame, &place->frame, columns));
		return out;
	}
	if (place->has_frame)
		return frame_text(out, &place->frame, columns);
	(void)snprintf(out, VT_PLACE_MAX, "%s%.200s", *place->within ? "in " : "", place->within);
	return out;
}

const char *vt_place_clip(char out[VT_PLACE_MAX], const char *text, size_t columns)
{
	size_t bytes = strlen(text), head = 0, tail = 0, used = 0, left = vt_utf8_columns(text, bytes), length;
	uint32_t codepoint;

	if (left <= columns || columns < 8) {
		(void)snprintf(out, VT_PLACE_MAX, "%.*s", VT_PLACE_MAX - 1, text);
		return out;
	}
	while (head < bytes && used < (columns - 3) / 2) {
		head += vt_utf8_decode(text + head, bytes - head, &codepoint);
		used += (size_t)vt_utf8_width(codepoint);
	}
	while (tail < bytes && left > columns - 3 - used) {
		length = vt_utf8_decode(text + tail, bytes - tail, &codepoint);
		left -= (size_t)vt_utf8_width(codepoint);
		tail += length;
	}
	(void)snprintf(out, VT_PLACE_MAX, "%.*s...%s", (int)(head < 128 ? head : 128), text, text + tail);
	return out;
}

const char *vt_place_sentence(char out[VT_PLACE_MAX], const struct vt_place *place)
{
	char where[VT_PLACE_MAX];
	const char *op = *place->op ? place->op : "no op";

	if (place->has_frame)
		(void)snprintf(out, VT_PLACE_MAX, "%.80s %s %.200s", op, place->backward ? "in the backward of" : "at",
			       frame_text(where, &place->frame, 0));
	else
		(void)snprintf(out, VT_PLACE_MAX, "%.80s%s%.200s", op, *place->within ? " in " : "", place->within);
	return out;
}

const char *vt_place_module(char out[VT_PLACE_MAX], const struct vt_frame_info *frame)
{
	if (frame->module_count > 1)
		(void)snprintf(out, VT_PLACE_MAX, "%.280s[%u]", frame->module, frame->module_index);
	else
		(void)snprintf(out, VT_PLACE_MAX, "%.280s", frame->module);
	return out;
}

void vt_place_json(struct vt_json *json, const struct vt_symbols *symbols, uint32_t process, uint32_t op,
		   uint32_t stack)
{
	struct vt_op_info info;
	struct vt_frame_info frame;
	char module[VT_PLACE_MAX];

	vt_symbols_op(symbols, process, op, &info);
	vt_json_put_string(json, "op", info.name);
	vt_json_put_array(json, "op_stack");
	for (int depth = 0; depth < DEPTH_MAX && vt_symbols_op(symbols, process, op, &info); depth++, op = info.parent)
		vt_json_string(json, info.name);
	vt_json_array_end(json);
	vt_json_put_array(json, "stack");
	for (int depth = 0; depth < DEPTH_MAX && vt_symbols_frame(symbols, process, stack, &frame);
	     depth++, stack = frame.parent) {
		vt_json_object(json);
		vt_json_put_string(json, "function", frame.function);
		vt_json_put_string(json, "file", frame.file);
		vt_json_put_u64(json, "line", frame.line);
		if (frame.generated)
			vt_json_put_string(json, "generated", frame.generated);
		if (frame.module)
			vt_json_put_string(json, "module", vt_place_module(module, &frame));
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}
