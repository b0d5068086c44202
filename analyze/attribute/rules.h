/*
 * rules.h - what a block was for, judged by the scope of its allocation and by its later life.
 *
 * There is no data flow in a trace, so this is an estimate, and every verdict has a confidence. The rules, each with its
 * reason, are in rules.c; tests/e2e/categories.py measures them against torch.profiler's own categories.
 */
#ifndef VT_ANALYZE_RULES_H
#define VT_ANALYZE_RULES_H

#include "analyze/attribute/links.h"

enum vt_category {
	VT_CATEGORY_UNKNOWN,
	VT_CATEGORY_PARAMETER,
	VT_CATEGORY_BUFFER,
	VT_CATEGORY_GRADIENT,
	VT_CATEGORY_OPTIMIZER_STATE,
	VT_CATEGORY_ACTIVATION,
	VT_CATEGORY_RECOMPUTED, /* activations computed again for the backward */
	VT_CATEGORY_TEMPORARY,
	VT_CATEGORY_WORKSPACE,
	VT_CATEGORY_COMMUNICATION,
	VT_CATEGORY_INPUT,
	VT_CATEGORY_KV_CACHE,
	VT_CATEGORIES
};

enum vt_confidence { VT_CONFIDENCE_LOW, VT_CONFIDENCE_MEDIUM, VT_CONFIDENCE_HIGH };

enum vt_phase { VT_PHASE_OTHER, VT_PHASE_FORWARD, VT_PHASE_BACKWARD, VT_PHASE_OPTIMIZER, VT_PHASE_DATA, VT_PHASES };

/* The end of a life: a free, or the end of the trace. */
struct vt_ending {
	bool dead;	    /* freed */
	bool in_backward;   /* by a thread that was at backward work */
	bool same_unit;	    /* inside the unit of work that allocated the block */
	bool backward_open; /* live, and the process's last op was a backward one: the pass may not be over */
	uint64_t nodes;	    /* counters of the process at that time: links.h */
	uint32_t passes, optimizer_steps;
};

struct vt_verdict {
	uint8_t category, confidence;
};

/* What earlier verdicts tell of later ones. Zero-initialised is empty; the holder calls vt_rules_done. */
struct vt_rules {
	struct vt_map gradient_sizes; /* process and bytes -> 0 */
	struct vt_map initial_sizes;  /* the same of blocks older than the first forward op */
	struct vt_map module_lines;   /* process and line -> 0: lines in torch.nn that make parameters */
	struct vt_site_counts *sites; /* by vt_life.site */
	size_t sites_room;
	bool gradients; /* some were seen */
};

/* process: as it is at the life's end. */
struct vt_verdict vt_rules_decide(const struct vt_rules *rules, const struct vt_life *life,
				  const struct vt_ending *ending, const struct vt_link_process *process);
/* 0 or -VT_E_NOMEM. */
int vt_rules_learn(struct vt_rules *rules, const struct vt_life *life, struct vt_verdict verdict);
/* Before the verdicts over what is live at the end: the sizes of what is there for good. */
int vt_rules_learn_initial(struct vt_rules *rules, const struct vt_life *life);
/*
 * The order in which verdicts over what is live at the end are to be given, from 0 below VT_RULES_TURNS: gradients tell
 * parameters, and parameters tell the lines of torch.nn that make parameters. To be asked anew for each turn.
 */
#define VT_RULES_TURNS 3
unsigned vt_rules_turn(const struct vt_rules *rules, const struct vt_life *life);
void vt_rules_done(struct vt_rules *rules);

/* The phase in which a block was allocated. */
enum vt_phase vt_life_phase(const struct vt_life *life);

/* "activation"; for JSON too. */
const char *vt_category_name(enum vt_category category);
/* "activations", "optimizer state" */
const char *vt_category_plural(enum vt_category category);
const char *vt_phase_name(enum vt_phase phase);
const char *vt_confidence_name(enum vt_confidence confidence);

#endif
