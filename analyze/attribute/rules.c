/* rules.c - see rules.h. The order of the rules matters: the first that applies decides. */
#include "analyze/attribute/rules.h"

#include <stdlib.h>

#include "schema/base/bits.h"
#include "schema/base/err.h"

/* More sizes than any model has: dynamic shapes must not fill the memory. */
#define SIZES_MAX 65536u

struct vt_site_counts {
	uint32_t of[VT_CATEGORIES];
};

#define VERDICT(category, confidence) ((struct vt_verdict){ VT_CATEGORY_##category, VT_CONFIDENCE_##confidence })

static uint64_t key(uint32_t process, uint64_t value)
{
	return vt_mix64((uint64_t)process << 32 ^ vt_mix64(value));
}

static bool has(const struct vt_map *map, uint32_t process, uint64_t value)
{
	return vt_map_find(map, key(process, value)) != VT_MAP_NONE;
}

static int put(struct vt_map *map, uint32_t process, uint64_t value)
{
	return map->used < SIZES_MAX ? vt_map_put(map, key(process, value), 0) : 0;
}

/* What most blocks of the same op at the same line turned out to be. */
static enum vt_category usual(const struct vt_rules *rules, const struct vt_life *life)
{
	const struct vt_site_counts *counts;
	enum vt_category best = VT_CATEGORY_UNKNOWN;

	if (life->site >= rules->sites_room)
		return VT_CATEGORY_UNKNOWN;
	counts = &rules->sites[life->site];
	for (unsigned i = 0; i < VT_CATEGORIES; i++)
		if (counts->of[i] > counts->of[best])
			best = (enum vt_category)i;
	return best;
}

/* The trace ended before the block's life did: others like it tell, else what its kind mostly is. */
static struct vt_verdict unfinished(const struct vt_rules *rules, const struct vt_life *life,
				    enum vt_category otherwise)
{
	enum vt_category category = usual(rules, life);

	if (category != VT_CATEGORY_UNKNOWN)
		return (struct vt_verdict){ (uint8_t)category, VT_CONFIDENCE_MEDIUM };
	return (struct vt_verdict){ (uint8_t)otherwise, VT_CONFIDENCE_LOW };
}

/*
 * Optimizer: torch.optim allocates its state in the first step() and keeps it; everything else that step() makes is
 * gone when it returns.
 */
static struct vt_verdict in_optimizer(const struct vt_rules *rules, const struct vt_life *life,
				      const struct vt_ending *ending)
{
	bool over = ending->optimizer_steps != life->optimizer_steps;

	if (ending->dead && !over)
		return VERDICT(TEMPORARY, HIGH);
	if (!over)
		return unfinished(rules, life, VT_CATEGORY_OPTIMIZER_STATE);
	return VERDICT(OPTIMIZER_STATE, HIGH);
}

/*
 * Backward: what is freed in the pass that made it was between two nodes of the graph; what outlives the pass was put
 * into somebody's .grad, for the engine itself keeps nothing.
 */
static struct vt_verdict in_backward(const struct vt_rules *rules, const struct vt_life *life,
				     const struct vt_ending *ending)
{
	bool same_pass = ending->passes == life->passes;

	if (life->frames_flags & VT_FRAMES_RECOMPUTE)
		/* torch.utils.checkpoint runs a forward here. */
		return VERDICT(RECOMPUTED, HIGH);
	if (life->workspace && (!ending->dead || ending->passes > life->passes + 1))
		return VERDICT(WORKSPACE, MEDIUM);
	if (ending->dead)
		return ending->in_backward && same_pass ? VERDICT(TEMPORARY, HIGH) : VERDICT(GRADIENT, HIGH);
	if (!same_pass || !ending->backward_open)
		return VERDICT(GRADIENT, MEDIUM);
	/* The pass is not over. Gradients have the size of their parameters, which were there before it. */
	return unfinished(rules, life,
			  has(&rules->initial_sizes, life->process, life->block.size_bytes) ? VT_CATEGORY_GRADIENT
											    : VT_CATEGORY_TEMPORARY);
}

/*
 * There before the first forward work, and outliving some of it. A gradient has the size of its parameter, and
 * Module._apply (to(), cuda(), half()) moves parameters on a line above the one for buffers.
 */
static struct vt_verdict initial(const struct vt_rules *rules, const struct vt_life *life,
				 const struct vt_link_process *process)
{
	bool build = life->frames_flags & VT_FRAMES_BUILD;

	if (life->apply_line)
		return life->apply_line == process->apply_line ? VERDICT(PARAMETER, HIGH) : VERDICT(BUFFER, HIGH);
	if (has(&rules->gradient_sizes, life->process, life->block.size_bytes))
		return VERDICT(PARAMETER, HIGH);
	/* Frozen ones have no gradient; the line that made them also made others that have. */
	if (life->module_line && has(&rules->module_lines, life->process, life->module_line))
		return VERDICT(PARAMETER, MEDIUM);
	if (build && rules->gradients)
		return VERDICT(BUFFER, MEDIUM);
	/* No backward in the trace: nothing tells parameters from buffers, and there are more of the first. */
	if (build)
		return VERDICT(PARAMETER, MEDIUM);
	/* The program's own line made it, and no gradient belongs to it: data that is held all the time. */
	return rules->gradients && (life->frames_flags & VT_FRAMES_ANY) ? VERDICT(INPUT, LOW) : VERDICT(UNKNOWN, LOW);
}

/* Not differentiated: neither made by an op with a node nor in a backward pass or an optimizer. */
static struct vt_verdict plain(const struct vt_rules *rules, const struct vt_life *life, const struct vt_ending *ending,
			       const struct vt_link_process *process)
{
	bool forward = life->frames_flags & VT_FRAMES_FORWARD;
	bool outlived_forward = ending->nodes != life->nodes;

	if ((life->frames_flags & VT_FRAMES_BUILD) &&
	    (life->frames_flags & VT_FRAMES_IN_INIT || !ending->dead || outlived_forward))
		/* Even if it is moved to a device before any work: that is what it is. */
		return initial(rules, life, process);
	if (!forward && !life->nodes && (!ending->dead || (outlived_forward && ending->passes > life->passes + 1)))
		return initial(rules, life, process);
	if (forward && life->node == VT_NODE_UNKNOWN && ending->dead && ending->in_backward)
		/* No sequence numbers were captured; that a backward op let go of it tells the same. */
		return VERDICT(ACTIVATION, MEDIUM);
	if (outlived_forward)
		/* Something differentiated may have used it, and depends on no parameter itself: what the model is fed
		 * with. In a forward(): masks, positions. */
		return forward ? VERDICT(INPUT, LOW) : VERDICT(INPUT, MEDIUM);
	if (forward && life->node != VT_NODE_NONE)
		/* Forward work with autograd off: it goes from module to module. */
		return VERDICT(ACTIVATION, LOW);
	if (ending->dead)
		return VERDICT(TEMPORARY, MEDIUM);
	return unfinished(rules, life, VT_CATEGORY_UNKNOWN);
}

struct vt_verdict vt_rules_decide(const struct vt_rules *rules, const struct vt_life *life,
				  const struct vt_ending *ending, const struct vt_link_process *process)
{
	uint32_t scope = life->scope_flags, frames = life->frames_flags;

	/* torch.profiler's own definition: made and freed within one unit of work. */
	if (ending->same_unit)
		return VERDICT(TEMPORARY, HIGH);
	/* Collectives and FSDP's gathering of shards run in ranges of their own. */
	if (scope & VT_SCOPE_COMMUNICATION)
		return VERDICT(COMMUNICATION, MEDIUM);
	if (scope & VT_SCOPE_OPTIMIZER)
		return in_optimizer(rules, life, ending);
	/* Master copies are made by the optimizer's constructor, loaded state by load_state_dict. */
	if (frames & VT_FRAMES_OPTIMIZER)
		return VERDICT(OPTIMIZER_STATE, MEDIUM);
	if (scope & VT_SCOPE_BACKWARD)
		return in_backward(rules, life, ending);
	/* One a thread and stream, made by the first matrix product and kept for good. */
	if (life->workspace && (!ending->dead || ending->passes > life->passes + 1))
		return VERDICT(WORKSPACE, HIGH);
	if (frames & VT_FRAMES_CACHE)
		return VERDICT(KV_CACHE, MEDIUM);
	if ((scope & VT_SCOPE_DATA) || (frames & VT_FRAMES_DATA))
		return VERDICT(INPUT, HIGH);
	if (life->node == VT_NODE_MADE)
		/* The graph depends on it; freed by the backward pass if it was saved for that alone. */
		return ending->dead && ending->in_backward ? VERDICT(ACTIVATION, HIGH) : VERDICT(ACTIVATION, MEDIUM);
	if (life->node == VT_NODE_UNKNOWN && life->sequence >= 0 && !ending->dead && ending->nodes == life->nodes)
		/* The last op with autograd on before the trace ended. */
		return unfinished(rules, life, VT_CATEGORY_ACTIVATION);
	return plain(rules, life, ending, process);
}

int vt_rules_learn(struct vt_rules *rules, const struct vt_life *life, struct vt_verdict verdict)
{
	int r = 0;

	if (vt_array_reach((void **)&rules->sites, &rules->sites_room, life->site, sizeof(*rules->sites)) < 0)
		return -VT_E_NOMEM;
	rules->sites[life->site].of[verdict.category]++;
	if (verdict.category == VT_CATEGORY_GRADIENT) {
		rules->gradients = true;
		r = put(&rules->gradient_sizes, life->process, life->block.size_bytes);
	}
	if (verdict.category == VT_CATEGORY_PARAMETER && life->module_line && !r &&
	    has(&rules->gradient_sizes, life->process, life->block.size_bytes))
		r = put(&rules->module_lines, life->process, life->module_line);
	return r;
}

int vt_rules_learn_initial(struct vt_rules *rules, const struct vt_life *life)
{
	if (life->nodes || (life->scope_flags & (VT_SCOPE_BACKWARD | VT_SCOPE_OPTIMIZER)))
		return 0;
	return put(&rules->initial_sizes, life->process, life->block.size_bytes);
}

unsigned vt_rules_turn(const struct vt_rules *rules, const struct vt_life *life)
{
	if (life->scope_flags & (VT_SCOPE_BACKWARD | VT_SCOPE_OPTIMIZER))
		return 0;
	return has(&rules->gradient_sizes, life->process, life->block.size_bytes) ? 1 : 2;
}

void vt_rules_done(struct vt_rules *rules)
{
	vt_map_done(&rules->gradient_sizes);
	vt_map_done(&rules->initial_sizes);
	vt_map_done(&rules->module_lines);
	free(rules->sites);
	*rules = (struct vt_rules){ .sites = NULL };
}

enum vt_phase vt_life_phase(const struct vt_life *life)
{
	if (life->scope_flags & VT_SCOPE_BACKWARD)
		return VT_PHASE_BACKWARD;
	if (life->scope_flags & (VT_SCOPE_OPTIMIZER | VT_SCOPE_ZERO_GRAD))
		return VT_PHASE_OPTIMIZER;
	if ((life->scope_flags & VT_SCOPE_DATA) || (life->frames_flags & VT_FRAMES_DATA))
		return VT_PHASE_DATA;
	if ((life->frames_flags & VT_FRAMES_FORWARD) || life->node == VT_NODE_MADE)
		return VT_PHASE_FORWARD;
	return VT_PHASE_OTHER;
}

const char *vt_category_name(enum vt_category category)
{
	static const char *const names[] = {
		[VT_CATEGORY_UNKNOWN] = "unknown",
		[VT_CATEGORY_PARAMETER] = "parameter",
		[VT_CATEGORY_BUFFER] = "buffer",
		[VT_CATEGORY_GRADIENT] = "gradient",
		[VT_CATEGORY_OPTIMIZER_STATE] = "optimizer_state",
		[VT_CATEGORY_ACTIVATION] = "activation",
		[VT_CATEGORY_RECOMPUTED] = "recomputed_activation",
		[VT_CATEGORY_TEMPORARY] = "temporary",
		[VT_CATEGORY_WORKSPACE] = "workspace",
		[VT_CATEGORY_COMMUNICATION] = "communication",
		[VT_CATEGORY_INPUT] = "input",
		[VT_CATEGORY_KV_CACHE] = "kv_cache",
	};

	return names[category];
}

const char *vt_category_plural(enum vt_category category)
{
	static const char *const names[] = {
		[VT_CATEGORY_UNKNOWN] = "of unknown use",
		[VT_CATEGORY_PARAMETER] = "parameters",
		[VT_CATEGORY_BUFFER] = "buffers",
		[VT_CATEGORY_GRADIENT] = "gradients",
		[VT_CATEGORY_OPTIMIZER_STATE] = "optimizer state",
		[VT_CATEGORY_ACTIVATION] = "activations",
		[VT_CATEGORY_RECOMPUTED] = "recomputed activations",
		[VT_CATEGORY_TEMPORARY] = "temporary",
		[VT_CATEGORY_WORKSPACE] = "workspaces",
		[VT_CATEGORY_COMMUNICATION] = "for communication",
		[VT_CATEGORY_INPUT] = "inputs",
		[VT_CATEGORY_KV_CACHE] = "key-value cache",
	};

	return names[category];
}

const char *vt_phase_name(enum vt_phase phase)
{
	static const char *const names[] = {
		[VT_PHASE_OTHER] = "other",	    [VT_PHASE_FORWARD] = "forward", [VT_PHASE_BACKWARD] = "backward",
		[VT_PHASE_OPTIMIZER] = "optimizer", [VT_PHASE_DATA] = "data",
	};

	return names[phase];
}

const char *vt_confidence_name(enum vt_confidence confidence)
{
	static const char *const names[] = { "low", "medium", "high" };

	return names[confidence];
}
