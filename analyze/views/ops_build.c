/* ops_build.c - see ops.h: from counters to rows. */
#include <stdlib.h>

#include "analyze/views/ops.h"
#include "analyze/views/ops_private.h"
#include "schema/base/cleanup.h"

#define DEPTH_MAX 512 /* as in place.c: op chains come from outside */

struct build {
	struct vt_ops_table *table;
	struct vt_idmap map; /* from the key of an op's name to its row */
	const struct vt_lens *lens;
	uint32_t process;
	struct vt_err *err;
};

static bool op_info(const struct build *build, uint32_t node, struct vt_op_info *ret)
{
	return vt_symbols_op(build->lens->symbols, build->process, node, ret);
}

/* The row of the op's name; NULL: no memory. */
static struct vt_ops_row *row_of(struct build *build, uint32_t node)
{
	struct vt_idmap_key key = { vt_symbols_op_name_key(build->lens->symbols, build->process, node), 0, 0 };
	uint32_t before = build->map.count, index = vt_idmap_add(&build->map, key);
	struct vt_ops_table *table = build->table;
	struct vt_op_info info;

	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&table->rows, &table->room, index, sizeof(*table->rows)) < 0) {
		vt_err_set(build->err, VT_E_NOMEM, "no memory for the table of ops");
		return NULL;
	}
	if (index == before) {
		op_info(build, node, &info);
		table->rows[index] = (struct vt_ops_row){ .place = { .op = info.name, .within = "" } };
		table->count = index + 1;
	}
	return &table->rows[index];
}

static int add_calls(struct build *build, const struct vt_ops *ops)
{
	for (uint32_t i = 0; i < ops->call_map.count; i++) {
		struct vt_ops_row *row;

		if (ops->call_map.keys[i].a != build->process)
			continue;
		row = row_of(build, ops->call_map.keys[i].b);
		if (!row)
			return -VT_E_NOMEM;
		row->calls += ops->calls[i];
		row->calls -= vt_ops_fold_calls(&ops->fold, build->process, ops->call_map.keys[i].b);
	}
	return 0;
}

static int add_open(struct build *build, const struct vt_ops *ops)
{
	for (uint32_t i = 0; i < ops->thread_map.count; i++) {
		struct vt_op_info info;
		uint32_t node = ops->threads[i].node;

		if (ops->thread_map.keys[i].a != build->process)
			continue;
		if (!node && op_info(build, ops->threads[i].ended, &info))
			node = info.parent;
		for (int depth = 0; depth < DEPTH_MAX && op_info(build, node, &info); depth++, node = info.parent) {
			struct vt_ops_row *row = row_of(build, node);

			if (!row)
				return -VT_E_NOMEM;
			row->calls++;
			row->open_calls++;
		}
	}
	return 0;
}

/* An op's own bytes go to itself and, as total, to it and each of its callers. */
static int add_self(struct build *build, const struct vt_ops *ops)
{
	for (uint32_t i = 0; i < ops->self_map.count; i++) {
		uint32_t node = ops->self_map.keys[i].b;
		struct vt_ops_row *row;
		struct vt_op_info info;

		if (ops->self_map.keys[i].a != build->lens->device)
			continue;
		row = row_of(build, node);
		if (!row)
			return -VT_E_NOMEM;
		row->self_bytes += ops->self[i];
		if (!op_info(build, node, &info)) {
			row->total_bytes += ops->self[i];
			continue;
		}
		for (int depth = 0; depth < DEPTH_MAX && op_info(build, node, &info); depth++, node = info.parent) {
			row = row_of(build, node);
			if (!row)
				return -VT_E_NOMEM;
			row->total_bytes += ops->self[i];
		}
	}
	return 0;
}

/* What was counted for both of a pair that is one op. */
static int take_folded(struct build *build, const struct vt_ops *ops)
{
	for (uint32_t i = 0; i < ops->fold.folded_map.count; i++) {
		struct vt_ops_row *row;

		if (ops->fold.folded_map.keys[i].a != build->lens->device)
			continue;
		row = row_of(build, ops->fold.folded_map.keys[i].b);
		if (!row)
			return -VT_E_NOMEM;
		row->total_bytes -= ops->fold.folded_bytes[i];
	}
	return 0;
}

static void add_group(struct vt_ops_row *row, const struct vt_group *group, enum vt_moment moment)
{
	bool peak = moment == VT_MOMENT_PEAK;

	row->allocs += group->allocs;
	row->allocated_bytes += group->allocated_bytes;
	row->live_bytes += peak ? group->peak_bytes : group->live_bytes;
	row->live_blocks += peak ? group->peak_blocks : group->live_blocks;
	row->frees += group->frees;
	row->lifetime_ns += group->lifetime_ns;
}

static int add_groups(struct build *build)
{
	for (uint32_t i = 0; i < vt_groups_count(build->lens->groups); i++) {
		struct vt_group group = vt_groups_get(build->lens->groups, i);
		struct vt_ops_row *row;

		if (group.device != build->lens->device)
			continue;
		row = row_of(build, group.op);
		if (!row)
			return -VT_E_NOMEM;
		add_group(row, &group, build->lens->moment);
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return vt_place_compare(&((const struct vt_ops_row *)a)->place, &((const struct vt_ops_row *)b)->place);
}

static void fold(struct vt_ops_row *into, const struct vt_ops_row *from)
{
	into->self_bytes += from->self_bytes;
	into->total_bytes += from->total_bytes;
	into->allocs += from->allocs;
	into->allocated_bytes += from->allocated_bytes;
	into->live_bytes += from->live_bytes;
	into->live_blocks += from->live_blocks;
	into->frees += from->frees;
	into->lifetime_ns += from->lifetime_ns;
}

static void add_line(struct vt_ops_row *row, const struct vt_ops_line *line, enum vt_moment moment)
{
	bool peak = moment == VT_MOMENT_PEAK;

	row->allocs = line->allocs;
	row->allocated_bytes = line->allocated_bytes;
	row->live_bytes = peak ? line->peak_bytes : line->now_bytes;
	row->live_blocks = peak ? line->peak_blocks : line->now_blocks;
	row->frees = line->frees;
	row->lifetime_ns = line->lifetime_ns;
	/* What is live now is what was allocated and not freed. */
	row->self_bytes = row->total_bytes = (int64_t)line->now_bytes;
}

static void sum_live(struct vt_ops_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		table->live_bytes += table->rows[i].live_bytes;
}

/* One row a line, sorted, equal places folded. */
int vt_ops_build_lines(struct vt_ops_table *ret, const struct vt_ops_lines *lines, const struct vt_lens *lens,
		       struct vt_err *err)
{
	uint32_t process = vt_replay_device(lens->replay, lens->device)->process;
	size_t last = 0;

	*ret = (struct vt_ops_table){ .count = 0 };
	for (uint32_t i = 0; i < lines->lines.count; i++) {
		const struct vt_ops_line *line = &lines->list[i];
		struct vt_ops_row *row;

		if (line->device != lens->device)
			continue;
		if (vt_array_reach((void **)&ret->rows, &ret->room, ret->count, sizeof(*ret->rows)) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for the table of stacks");
		row = &ret->rows[ret->count++];
		*row = (struct vt_ops_row){ .calls = 0 };
		if (line->forward_stack)
			vt_place_of_backward(lens->symbols, process, line->op, line->forward_stack, &row->place);
		if (!row->place.backward)
			vt_place_find(lens->symbols, process, line->op, line->stack, &row->place);
		add_line(row, line, lens->moment);
	}
	if (!ret->count)
		return 0;
	qsort(ret->rows, ret->count, sizeof(*ret->rows), by_name);
	for (size_t i = 1; i < ret->count; i++) {
		if (by_name(&ret->rows[last], &ret->rows[i]))
			ret->rows[++last] = ret->rows[i];
		else
			fold(&ret->rows[last], &ret->rows[i]);
	}
	ret->count = last + 1;
	sum_live(ret);
	return 0;
}

static void build_done(struct build *build)
{
	vt_idmap_done(&build->map);
}

int vt_ops_build(struct vt_ops_table *ret, const struct vt_ops *ops, const struct vt_lens *lens, struct vt_err *err)
{
	VT_CLEANUP(build_done) struct build build = { .table = ret, .lens = lens, .err = err };
	int r;

	*ret = (struct vt_ops_table){ .count = 0 };
	build.process = vt_replay_device(lens->replay, lens->device)->process;
	r = add_calls(&build, ops);
	if (!r)
		r = add_open(&build, ops);
	if (!r)
		r = add_self(&build, ops);
	if (!r)
		r = take_folded(&build, ops);
	if (!r)
		r = add_groups(&build);
	if (!r && ret->count)
		qsort(ret->rows, ret->count, sizeof(*ret->rows), by_name);
	sum_live(ret);
	return r;
}

void vt_ops_table_done(struct vt_ops_table *table)
{
	free(table->rows);
	*table = (struct vt_ops_table){ .count = 0 };
}
