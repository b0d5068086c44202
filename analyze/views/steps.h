/*
 * steps.h - what stayed allocated at the end of each optimizer step: a listener.
 *
 * A step ends where an op of user scope named "Optimizer.step#..." ends (torch.optim opens one around every step()).
 * Programs without an optimizer have no steps, and nothing is said about their growth.
 */
#ifndef VT_ANALYZE_STEPS_H
#define VT_ANALYZE_STEPS_H

#include "analyze/replay/replay.h"
#include "analyze/symbols/symbols.h"

struct vt_steps;

int vt_steps_new(struct vt_steps **ret, const struct vt_symbols *symbols, struct vt_err *err);
void vt_steps_free(struct vt_steps *steps); /* NULL is fine */
struct vt_listener vt_steps_listener(struct vt_steps *steps);

struct vt_growth {
	uint64_t steps;	     /* step ends seen so far */
	uint64_t last_ns;    /* of the latest; 0: none */
	uint64_t rising;     /* the latest steps, each of which ended with more allocated than the one before */
	uint64_t rise_bytes; /* over those */
};

/* Inside callbacks of later listeners and after the run. */
struct vt_growth vt_steps_growth(const struct vt_steps *steps, uint32_t device);

/* Optimizers create their state in the first step and libraries warm up in the next: fewer rises prove nothing. */
#define VT_GROWTH_STEPS 4
#define VT_GROWTH_SHARE 20 /* a rise of at least 1/20 of what is allocated */

/* Leak-like: many steps in a row, and by an amount that matters. */
static inline bool vt_growth_is_leak_like(const struct vt_growth *growth, uint64_t allocated_bytes)
{
	return growth->rising >= VT_GROWTH_STEPS && growth->rise_bytes >= allocated_bytes / VT_GROWTH_SHARE;
}

#endif
