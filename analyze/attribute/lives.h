/* lives.h - what the attribution remembers of each live block: memory grows with the live set. */
#ifndef VT_ANALYZE_LIVES_H
#define VT_ANALYZE_LIVES_H

#include "analyze/replay/replay.h"
#include "schema/base/buf.h"
#include "schema/base/hash.h"

#define VT_LIFE_NONE UINT32_MAX

/* Whether the op that allocated a block made a node of the autograd graph: then its result depends on a parameter. */
enum vt_made_node { VT_NODE_UNKNOWN, VT_NODE_MADE, VT_NODE_NONE };

struct vt_life {
	struct vt_block block; /* serial 0: this place is free */
	uint32_t process;
	uint32_t scope_flags, frames_flags; /* scope.h, of the allocation */
	uint32_t top;			    /* the unit of work that allocated it; 0: none */
	uint32_t tops;			    /* units of work that had ended on the thread */
	uint32_t passes;		    /* backward passes that were over in the process */
	uint32_t optimizer_steps;	    /* that had ended in the process */
	uint32_t range_step;		    /* scope.h: profiler_step */
	uint64_t nodes;			    /* forward ops with a node that the process had run */
	int64_t sequence;      /* of the innermost op around the allocation that has one; -1: none, or not yet */
	uint32_t torch_thread; /* that sequence counts on */
	uint32_t forward_op,
		forward_stack;		  /* for memory of backward ops: the forward op they belong to; 0: not known */
	uint32_t site;			  /* number of (process, op, stack) */
	uint32_t module_line, apply_line; /* scope.h */
	uint8_t node;			  /* enum vt_made_node */
	bool pending;			  /* links.c: the ops around it have not all ended */
	uint32_t late;			  /* attribute.c: it has ended, and where it waits for them; 0: it has not */
	bool workspace;			  /* of a workspace's size, by one of the first matrix products of the thread */
};

/* Zero-initialised is empty; the holder calls vt_lives_done. */
struct vt_lives {
	struct vt_map by_serial;
	struct vt_buf list; /* struct vt_life */
	struct vt_buf free; /* uint32_t: free places in list */
};

/* A new life at *ret, all zero but for its block. 0 or -VT_E_NOMEM. */
int vt_lives_begin(struct vt_lives *lives, const struct vt_block *block, uint32_t *ret);
/* VT_LIFE_NONE: the block's allocation was not told. */
uint32_t vt_lives_find(const struct vt_lives *lives, uint64_t serial);
/* Valid until the next begin. NULL unless that place still holds this block. */
struct vt_life *vt_lives_get(const struct vt_lives *lives, uint32_t index, uint64_t serial);
/* Places in use, free ones among them: for going through all. */
uint32_t vt_lives_places(const struct vt_lives *lives);
struct vt_life *vt_lives_at(const struct vt_lives *lives, uint32_t index);
/* The block is gone; the place stays taken. */
void vt_lives_close(struct vt_lives *lives, uint32_t index);
int vt_lives_end(struct vt_lives *lives, uint32_t index);
void vt_lives_done(struct vt_lives *lives);

#endif
