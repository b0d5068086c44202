/*
 * forwards.h - the forward ops of one thread, by the autograd sequence number that they began with: a table of the
 * current and the last pass.
 */
#ifndef VT_ANALYZE_FORWARDS_H
#define VT_ANALYZE_FORWARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ops that are kept at most; then later ones take the places of earlier ones. */
#define VT_FORWARDS_MAX (1u << 18)

struct vt_forward {
	int64_t sequence;
	uint64_t start_ns;
	uint32_t node; /* 0: nothing here */
	uint32_t stack;
	uint32_t pass; /* number of the backward pass that follows */
};

/* Zero-initialised is empty; the holder calls vt_forwards_done. */
struct vt_forwards {
	struct vt_forward *ops; /* direct-mapped by sequence */
	size_t room;		/* a power of two, or 0 */
	bool has_gap;		/* a time in which nothing was recorded */
	int64_t gap;		/* the highest sequence before it */
};

/*
 * An op ended. Of several with one number the last one that began counts: the innermost of those that made the node, or
 * one after others that made none. 0 or -VT_E_NOMEM.
 */
int vt_forwards_enter(struct vt_forwards *forwards, const struct vt_forward *op);
/* The op of exactly that number; NULL: it is not kept. Valid until the next enter. */
struct vt_forward *vt_forwards_exact(const struct vt_forwards *forwards, int64_t sequence);
/*
 * The op that made the node of that number: the one that began with it or, of ops that make several nodes, with one
 * before. NULL: not known.
 */
const struct vt_forward *vt_forwards_find(const struct vt_forwards *forwards, int64_t sequence);
/* For a time nothing was recorded; current: the highest number before. */
void vt_forwards_gap(struct vt_forwards *forwards, int64_t current);
void vt_forwards_done(struct vt_forwards *forwards);

#endif
