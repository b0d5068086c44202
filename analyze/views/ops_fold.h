/*
 * ops_fold.h - calls of ops that are one with their caller, counted as the events come.
 *
 * Many ops call themselves once, with other dispatch keys: aten::mean inside aten::mean. key_averages() takes such a
 * pair as one op: a call is folded into its caller where both have the same name and the caller called nothing else.
 * Ends come in post-order on a thread, and of one node at most one call is under way on a thread; so it is enough to
 * count, by (thread, node), the callees that ended since the node's own last end.
 */
#ifndef VT_ANALYZE_OPS_FOLD_H
#define VT_ANALYZE_OPS_FOLD_H

#include "analyze/replay/replay.h"
#include "analyze/symbols/symbols.h"
#include "analyze/views/idmap.h"

struct vt_ops_fold {
	const struct vt_symbols *symbols;
	struct vt_idmap node_map; /* process, node */
	struct vt_ops_fold_node {
		uint32_t parent;
		bool known;	 /* parent and same are set */
		bool same;	 /* has its caller's name */
		uint64_t folded; /* calls */
	} * nodes;
	size_t nodes_room;
	struct vt_idmap running_map; /* process, thread, node */
	struct vt_ops_fold_running {
		uint32_t callees; /* that ended since the node's last end */
		uint32_t same;	  /* the node among them that has this one's name; 0: none */
	} * running;
	size_t running_room;
	struct vt_idmap byte_map; /* number in running_map, device */
	int64_t *bytes;		  /* allocated less freed during the node's calls since its caller's last end */
	size_t bytes_room;
	struct vt_idmap folded_map; /* device, node */
	int64_t *folded_bytes;
	size_t folded_room;
};

void vt_ops_fold_done(struct vt_ops_fold *fold);
/* A call of the node ended. */
int vt_ops_fold_end(struct vt_ops_fold *fold, const struct vt_replay *replay, const struct vt_idmap_key *call,
		    struct vt_err *err);
/* Bytes came or (negative) went while the node was the innermost op. */
int vt_ops_fold_bytes(struct vt_ops_fold *fold, const struct vt_idmap_key *call, uint32_t device, int64_t bytes,
		      struct vt_err *err);
/* In both, call is { process, thread, node }. */

/* Calls of the node that were folded; what was allocated less freed in them is in folded_bytes. */
uint64_t vt_ops_fold_calls(const struct vt_ops_fold *fold, uint32_t process, uint32_t node);

#endif
