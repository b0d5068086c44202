/* ops_lines.c - see ops_lines.h. */
#include "analyze/views/ops_lines.h"

#include <stdlib.h>

/* NULL: no memory. */
static struct vt_ops_line *line_of(struct vt_ops_lines *lines, const struct vt_attributed *block)
{
	uint32_t where = vt_idmap_add(&lines->where, (struct vt_idmap_key){ block->device, block->op, block->stack });
	uint32_t before = lines->lines.count, index;

	if (where == VT_IDMAP_NONE)
		return NULL;
	index = vt_idmap_add(&lines->lines, (struct vt_idmap_key){ where, block->forward_stack, 0 });
	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&lines->list, &lines->room, index, sizeof(*lines->list)) < 0)
		return NULL;
	if (index == before)
		lines->list[index] = (struct vt_ops_line){ .device = block->device,
							   .op = block->op,
							   .stack = block->stack,
							   .forward_stack = block->forward_stack };
	return &lines->list[index];
}

int vt_ops_lines_add(void *self, const struct vt_attributed *block, struct vt_err *err)
{
	struct vt_ops_line *line = line_of(self, block);

	if (!line)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the lines of ops");
	line->allocs++;
	line->allocated_bytes += block->size_bytes;
	if (block->free_ns == UINT64_MAX) {
		line->now_bytes += block->size_bytes;
		line->now_blocks++;
	} else {
		line->frees++;
		line->lifetime_ns += block->free_ns - block->alloc_ns;
	}
	return 0;
}

int vt_ops_lines_peak(struct vt_ops_lines *lines, struct vt_attributed_list blocks, struct vt_err *err)
{
	for (size_t i = 0; i < blocks.count; i++) {
		struct vt_ops_line *line = line_of(lines, &blocks.list[i]);

		if (!line)
			return vt_err_set(err, VT_E_NOMEM, "no memory for the lines of ops");
		line->peak_bytes += blocks.list[i].size_bytes;
		line->peak_blocks++;
	}
	return 0;
}

void vt_ops_lines_done(struct vt_ops_lines *lines)
{
	vt_idmap_done(&lines->where);
	vt_idmap_done(&lines->lines);
	free(lines->list);
	*lines = (struct vt_ops_lines){ .list = NULL };
}
