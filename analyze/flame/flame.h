/*
 * flame.h - memory by call stack, as flame graphs show it: what is live at a moment, what the run allocated, and what of
 * that was temporary.
 *
 * A stack is the Python frames from the outermost, then the ops from the outermost. Memory of a backward op whose forward
 * op is known stands below the forward line, then the node of the autograd graph, then the ops in it. The engine's own
 * ranges and "ProfilerStep#N", which would make a tree for each step, are left out. Stacks that read the same are one.
 */
#ifndef VT_ANALYZE_FLAME_H
#define VT_ANALYZE_FLAME_H

#include <stdio.h>

#include "analyze/attribute/attribute.h"
#include "analyze/symbols/text.h"
#include "analyze/views/session.h"

enum vt_flame_weight {
	VT_FLAME_LIVE,	    /* at the session's moment */
	VT_FLAME_TOTAL,	    /* all that was allocated */
	VT_FLAME_TEMPORARY, /* of that, blocks of the category temporary: an estimate (rules.h) */
	VT_FLAME_WEIGHTS
};

/* What ends in a node itself. */
struct vt_flame_sums {
	uint64_t bytes[VT_FLAME_WEIGHTS], blocks[VT_FLAME_WEIGHTS];
};

/* Zero-initialised, then session set; the holder calls vt_flame_done. */
struct vt_flame {
	struct vt_session *session;
	struct vt_texts texts;
	struct vt_idmap frames; /* keys: function and file (texts), line; a device's root has no frame here */
	struct vt_idmap nodes;	/* keys: parent node and frame; of a root: VT_IDMAP_NONE and the device */
	struct vt_flame_sums *sums;
	size_t sums_room;
	struct vt_idmap known[3]; /* from a block's fields to its leaf */
	struct vt_buf leaves;	  /* uint32_t: node + 1 by the last of known */
};

/* Runs the session's pass to its end; session is borrowed. */
int vt_flame_run(struct vt_flame *flame, struct vt_session *session, bool quiet, struct vt_err *err);
/* Adds one block; for passes that are others' as well. */
int vt_flame_add(struct vt_flame *flame, const struct vt_attributed *block, enum vt_flame_weight weight,
		 struct vt_err *err);
/* After the run: what was live at the session's moment; mark: of that moment, where it is not the peak. */
int vt_flame_add_live(struct vt_flame *flame, const struct vt_attribution *attribution, uint32_t mark,
		      struct vt_err *err);
/* Each block as the attribution tells it: to both weights of the run. */
int vt_flame_add_run(struct vt_flame *flame, const struct vt_attributed *block, struct vt_err *err);
void vt_flame_done(struct vt_flame *flame);

/* "live", "total", "temporary": 0 or -VT_E_USAGE. */
int vt_flame_weight_parse(const char *text, enum vt_flame_weight *ret, struct vt_err *err);
const char *vt_flame_weight_name(enum vt_flame_weight weight);
/* "live at the peak", "allocated over the run", "temporary, over the run (estimated)" */
const char *vt_flame_weight_text(const struct vt_flame *flame, char out[80], enum vt_flame_weight weight);

/* The nodes in the order of a walk from each root down, siblings by first sight. Free with free(); NULL: no memory. */
uint32_t *vt_flame_order(const struct vt_flame *flame);
static inline bool vt_flame_is_root(const struct vt_flame *flame, uint32_t node)
{
	return flame->nodes.keys[node].a == VT_IDMAP_NONE;
}
/* The root above a node; the node itself if it is one. */
uint32_t vt_flame_root(const struct vt_flame *flame, uint32_t node);
/* "cuda:0", with the process where the file has several. */
const char *vt_flame_root_label(const struct vt_flame *flame, char out[96], uint32_t root);
struct vt_flame_frame {
	const char *function, *file; /* file "": an op */
	uint32_t line;
};
struct vt_flame_frame vt_flame_frame(const struct vt_flame *flame, uint32_t frame);

/* -------- formats */

/* Brendan Gregg's folded stacks: "frame;frame;frame bytes", one stack a line; a frame for the device where there are several. */
int vt_flame_folded(const struct vt_flame *flame, FILE *out, enum vt_flame_weight weight, struct vt_err *err);
/* speedscope's JSON: a profile for each device and weight, the one asked for in front. */
int vt_flame_speedscope(const struct vt_flame *flame, FILE *out, enum vt_flame_weight weight, struct vt_err *err);
/* pprof's protocol buffer, in gzip: all weights as sample types of each stack, the one asked for as the default. */
int vt_flame_pprof(const struct vt_flame *flame, FILE *out, enum vt_flame_weight weight, struct vt_err *err);

#endif
