/* ops.c - see ops.h: the counting. */
#include "analyze/views/ops.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"
#include "analyze/views/ops_private.h"

int vt_ops_new(struct vt_ops **ret, const struct vt_symbols *symbols, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the ops");
	(*ret)->fold.symbols = symbols;
	return 0;
}

void vt_ops_free(struct vt_ops *ops)
{
	if (!ops)
		return;
	vt_ops_fold_done(&ops->fold);
	vt_idmap_done(&ops->call_map);
	vt_idmap_done(&ops->self_map);
	vt_idmap_done(&ops->thread_map);
	free(ops->calls);
	free(ops->self);
	free(ops->threads);
	free(ops);
}

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for the ops");
}

/* The op that runs on a thread after an event: what is still running when the trace ends. */
static int set_current(struct vt_ops *ops, struct vt_idmap_key thread, uint32_t node, uint32_t ended,
		       struct vt_err *err)
{
	uint32_t index = vt_idmap_add(&ops->thread_map, thread);

	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&ops->threads, &ops->threads_room, index, sizeof(*ops->threads)) < 0)
		return no_memory(err);
	ops->threads[index] = (struct vt_ops_thread){ .node = node, .ended = ended };
	return 0;
}

static int on_op(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_op *rec = (const struct vt_op *)(const void *)item->rec;
	struct vt_ops *ops = self;
	uint32_t index = vt_idmap_add(&ops->call_map, (struct vt_idmap_key){ item->process, rec->node, 0 });
	int r;

	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&ops->calls, &ops->calls_room, index, sizeof(*ops->calls)) < 0)
		return no_memory(err);
	ops->calls[index]++;
	r = vt_ops_fold_end(&ops->fold, replay, &(struct vt_idmap_key){ item->process, rec->thread, rec->node }, err);
	if (r < 0)
		return r;
	return set_current(ops, (struct vt_idmap_key){ item->process, rec->thread, 0 }, 0, rec->node, err);
}

/* Who did it: the innermost op of the thread that the event came from, which for a free need not be the allocator. */
static void actor(const struct vt_item *item, uint32_t *ret_op, uint32_t *ret_thread)
{
	*ret_op = 0;
	*ret_thread = 0;
	if (item->event->id == VT_EVENT_tensor) {
		const struct vt_tensor *rec = (const struct vt_tensor *)(const void *)item->rec;

		*ret_op = rec->op;
		*ret_thread = rec->thread;
	} else if (item->event->id == VT_EVENT_driver_memory) {
		const struct vt_driver_memory *rec = (const struct vt_driver_memory *)(const void *)item->rec;

		*ret_op = rec->op;
		*ret_thread = rec->thread;
	}
}

static int count(struct vt_ops *ops, const struct vt_item *item, uint32_t device, int64_t bytes, struct vt_err *err)
{
	uint32_t op, thread, index;
	int r;

	actor(item, &op, &thread);
	index = vt_idmap_add(&ops->self_map, (struct vt_idmap_key){ device, op, 0 });
	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&ops->self, &ops->self_room, index, sizeof(*ops->self)) < 0)
		return no_memory(err);
	ops->self[index] += bytes;
	r = vt_ops_fold_bytes(&ops->fold, &(struct vt_idmap_key){ item->process, thread, op }, device, bytes, err);
	if (r < 0)
		return r;
	return set_current(ops, (struct vt_idmap_key){ item->process, thread, 0 }, op, 0, err);
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	(void)replay;
	return count(self, item, block->device, (int64_t)block->size_bytes, err);
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	(void)replay;
	return count(self, item, block->device, -(int64_t)block->size_bytes, err);
}

struct vt_listener vt_ops_listener(struct vt_ops *ops)
{
	return (struct vt_listener){ .self = ops, .alloc = on_alloc, .free = on_free, .op = on_op };
}
