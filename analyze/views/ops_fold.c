/* ops_fold.c - see ops_fold.h. */
#include "analyze/views/ops_fold.h"

#include <stdlib.h>

#define DEPTH_MAX 512 /* as in place.c: op chains come from outside */

void vt_ops_fold_done(struct vt_ops_fold *fold)
{
	vt_idmap_done(&fold->node_map);
	vt_idmap_done(&fold->running_map);
	vt_idmap_done(&fold->byte_map);
	vt_idmap_done(&fold->folded_map);
	free(fold->nodes);
	free(fold->running);
	free(fold->bytes);
	free(fold->folded_bytes);
	*fold = (struct vt_ops_fold){ .symbols = NULL };
}

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for the calls of ops");
}

/* The number of a key, with its element of the array there. VT_IDMAP_NONE: no memory. */
static uint32_t reach(struct vt_idmap *map, struct vt_idmap_key key, void **array, size_t *room, size_t size)
{
	uint32_t index = vt_idmap_add(map, key);

	return index != VT_IDMAP_NONE && !vt_array_reach(array, room, index, size) ? index : VT_IDMAP_NONE;
}

/* NULL: no memory. */
static struct vt_ops_fold_node *find_node(struct vt_ops_fold *fold, uint32_t process, uint32_t id)
{
	uint32_t index = reach(&fold->node_map, (struct vt_idmap_key){ process, id, 0 }, (void **)&fold->nodes,
			       &fold->nodes_room, sizeof(*fold->nodes));
	struct vt_ops_fold_node *node;
	struct vt_op_info info;

	if (index == VT_IDMAP_NONE)
		return NULL;
	node = &fold->nodes[index];
	if (!node->known) {
		node->known = true;
		vt_symbols_op(fold->symbols, process, id, &info);
		node->parent = info.parent;
		node->same = info.parent && vt_symbols_op_name_key(fold->symbols, process, id) ==
						    vt_symbols_op_name_key(fold->symbols, process, info.parent);
	}
	return node;
}

static uint32_t find_running(struct vt_ops_fold *fold, struct vt_idmap_key call)
{
	return reach(&fold->running_map, call, (void **)&fold->running, &fold->running_room, sizeof(*fold->running));
}

static int add_folded_bytes(struct vt_ops_fold *fold, uint32_t device, uint32_t node, int64_t bytes, struct vt_err *err)
{
	uint32_t index = reach(&fold->folded_map, (struct vt_idmap_key){ device, node, 0 },
			       (void **)&fold->folded_bytes, &fold->folded_room, sizeof(*fold->folded_bytes));

	if (index == VT_IDMAP_NONE)
		return no_memory(err);
	fold->folded_bytes[index] += bytes;
	return 0;
}

/* The caller's call has ended in which this callee of its name ran: folded, or not. Its bytes start anew. */
static int end_same(struct vt_ops_fold *fold, const struct vt_replay *replay, struct vt_idmap_key callee, bool folded,
		    struct vt_err *err)
{
	uint32_t running = vt_idmap_find(&fold->running_map, callee);
	uint32_t node = vt_idmap_find(&fold->node_map, (struct vt_idmap_key){ callee.a, callee.c, 0 });
	int r = 0;

	if (node != VT_IDMAP_NONE && folded)
		fold->nodes[node].folded++;
	for (uint32_t device = 0; device < vt_replay_device_count(replay) && !r && running != VT_IDMAP_NONE; device++) {
		uint32_t bytes = vt_idmap_find(&fold->byte_map, (struct vt_idmap_key){ running, device, 0 });

		if (bytes == VT_IDMAP_NONE)
			continue;
		if (folded)
			r = add_folded_bytes(fold, device, callee.c, fold->bytes[bytes], err);
		fold->bytes[bytes] = 0;
	}
	return r;
}

int vt_ops_fold_end(struct vt_ops_fold *fold, const struct vt_replay *replay, const struct vt_idmap_key *call,
		    struct vt_err *err)
{
	uint32_t own = find_running(fold, *call), caller;
	const struct vt_ops_fold_node *node;
	struct vt_ops_fold_running ended;
	int r = 0;

	if (own == VT_IDMAP_NONE)
		return no_memory(err);
	ended = fold->running[own];
	fold->running[own] = (struct vt_ops_fold_running){ .callees = 0 };
	if (ended.same)
		r = end_same(fold, replay, (struct vt_idmap_key){ call->a, call->b, ended.same }, ended.callees == 1,
			     err);
	if (r < 0)
		return r;
	node = find_node(fold, call->a, call->c);
	if (!node)
		return no_memory(err);
	if (!node->parent)
		return 0;
	caller = find_running(fold, (struct vt_idmap_key){ call->a, call->b, node->parent });
	if (caller == VT_IDMAP_NONE)
		return no_memory(err);
	fold->running[caller].callees++;
	if (node->same)
		fold->running[caller].same = call->c;
	return 0;
}

int vt_ops_fold_bytes(struct vt_ops_fold *fold, const struct vt_idmap_key *call, uint32_t device, int64_t bytes,
		      struct vt_err *err)
{
	struct vt_idmap_key at = *call;

	for (int depth = 0; depth < DEPTH_MAX && at.c; depth++) {
		const struct vt_ops_fold_node *node = find_node(fold, at.a, at.c);
		uint32_t parent, running, index;

		if (!node)
			return no_memory(err);
		parent = node->parent;
		if (node->same) {
			running = find_running(fold, at);
			if (running == VT_IDMAP_NONE)
				return no_memory(err);
			index = reach(&fold->byte_map, (struct vt_idmap_key){ running, device, 0 },
				      (void **)&fold->bytes, &fold->bytes_room, sizeof(*fold->bytes));
			if (index == VT_IDMAP_NONE)
				return no_memory(err);
			fold->bytes[index] += bytes;
		}
		at.c = parent;
	}
	return 0;
}

uint64_t vt_ops_fold_calls(const struct vt_ops_fold *fold, uint32_t process, uint32_t node)
{
	uint32_t index = vt_idmap_find(&fold->node_map, (struct vt_idmap_key){ process, node, 0 });

	return index == VT_IDMAP_NONE ? 0 : fold->nodes[index].folded;
}
