/* oom_rules.c - see oom_rules.h. */
#include "analyze/views/oom_rules.h"

#include <inttypes.h>
#include <stdio.h>

#include "schema/base/bits.h"
#include "schema/base/format.h"

#define MIB (UINT64_C(1) << 20)
/* Less than this of other processes is the display server and the like: never the reason. */
#define OTHERS_WORTH (256 * MIB)
/* Without the driver's count of this process its own CUDA context is among "the others": contexts take up to about
 * this. */
#define CONTEXT_ALLOWANCE (1024 * MIB)

bool vt_oom_others(const struct vt_oom_facts *facts, uint64_t *ret_bytes)
{
	uint64_t used = facts->total_bytes - facts->free_bytes;

	if (!facts->total_bytes || !facts->process_bytes || used < facts->process_bytes)
		return false;
	*ret_bytes = used - facts->process_bytes;
	return true;
}

uint64_t vt_oom_unallocated(const struct vt_oom_facts *facts)
{
	return facts->reserved_bytes > facts->allocated_bytes ? facts->reserved_bytes - facts->allocated_bytes : 0;
}

/* The request is larger than the whole device. */
static bool is_too_large(const struct vt_oom_facts *facts)
{
	return facts->total_bytes && facts->tried_bytes > facts->total_bytes;
}

static void say_too_large(char *out, const struct vt_oom_facts *facts)
{
	char tried[VT_FORMAT_MAX], total[VT_FORMAT_MAX];

	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"The request alone (%s) is larger than the device (%s): no setting and no freeing makes it fit. Look "
		"at "
		"the shapes on the asking line, often a broadcast or an outer product that was not meant, or split the "
		"work.",
		vt_format_bytes(tried, facts->tried_bytes), vt_format_bytes(total, facts->total_bytes));
}

/* The driver refused nothing, and the device had room: PyTorch's own limit said no. */
static bool is_own_limit(const struct vt_oom_facts *facts)
{
	return facts->total_bytes && facts->has_driver && !facts->attempt.failures &&
	       facts->free_bytes >= facts->tried_bytes;
}

static void say_own_limit(char *out, const struct vt_oom_facts *facts)
{
	char free_text[VT_FORMAT_MAX];

	(void)snprintf(out, VT_OOM_TEXT_MAX,
		       "The device had %s free and no driver call failed: PyTorch's own limit refused. Raise or remove "
		       "torch.cuda.set_per_process_memory_fraction (or per_process_memory_fraction in "
		       "PYTORCH_CUDA_ALLOC_CONF).",
		       vt_format_bytes(free_text, facts->free_bytes));
}

/* Others hold enough that without them the request would have fit. */
static bool is_others(const struct vt_oom_facts *facts)
{
	uint64_t others;

	return vt_oom_others(facts, &others) && others >= OTHERS_WORTH && !is_own_limit(facts) &&
	       facts->free_bytes + others >= facts->tried_bytes;
}

static void say_others(char *out, const struct vt_oom_facts *facts)
{
	char text[VT_FORMAT_MAX];
	uint64_t others = 0;

	vt_oom_others(facts, &others);
	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"Other processes hold %s of this device (nvidia-smi names them). Without them the request would have "
		"fit: stop them, or choose another device with CUDA_VISIBLE_DEVICES.",
		vt_format_bytes(text, others));
}

static uint64_t outside_bytes(const struct vt_oom_facts *facts)
{
	uint64_t used = facts->total_bytes - facts->free_bytes;
	uint64_t own = facts->driver_bytes > facts->reserved_bytes ? facts->driver_bytes : facts->reserved_bytes;

	return used > own ? used - own : 0;
}

/* The same where the driver did not say what this process has in all: only when it is far more than a context. */
static bool is_outside(const struct vt_oom_facts *facts)
{
	return facts->total_bytes && !facts->process_bytes && !is_own_limit(facts) &&
	       outside_bytes(facts) >= CONTEXT_ALLOWANCE + OTHERS_WORTH &&
	       facts->free_bytes + outside_bytes(facts) - CONTEXT_ALLOWANCE >= facts->tried_bytes;
}

static void say_outside(char *out, const struct vt_oom_facts *facts)
{
	char text[VT_FORMAT_MAX];

	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"%s of this device is in use outside the allocations of this process that were captured: by other "
		"processes, by its own CUDA context and kernels, or by libraries. nvidia-smi tells the processes "
		"apart.",
		vt_format_bytes(text, outside_bytes(facts)));
}

/* What PyTorch's own allocator has reserved and not allocated would do in one piece, and no piece of it does. */
static bool is_fragmented(const struct vt_oom_facts *facts)
{
	return !facts->from_driver && vt_oom_unallocated(facts) >= facts->requested_bytes &&
	       (!facts->has_segments || facts->space.largest_bytes < facts->requested_bytes);
}

static bool is_fragmented_plain(const struct vt_oom_facts *facts)
{
	return is_fragmented(facts) && !facts->expandable;
}

static void say_fragmented_plain(char *out, const struct vt_oom_facts *facts)
{
	char unallocated[VT_FORMAT_MAX], requested[VT_FORMAT_MAX], largest[VT_FORMAT_MAX];
	char pieces[2 * VT_FORMAT_MAX + 80] = "";

	if (facts->has_segments)
		(void)snprintf(pieces, sizeof(pieces), " in %" PRIu64 " pieces, of which the largest is %s",
			       facts->space.free_ranges, vt_format_bytes(largest, facts->space.largest_bytes));
	(void)snprintf(out, VT_OOM_TEXT_MAX,
		       "PyTorch has %s reserved but unallocated, more than the %s asked for, but not in one "
		       "piece%s. Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; where that is not possible, "
		       "max_split_size_mb keeps large segments from being split by small blocks.",
		       vt_format_bytes(unallocated, vt_oom_unallocated(facts)),
		       vt_format_bytes(requested, facts->requested_bytes), pieces);
}

static bool is_fragmented_expandable(const struct vt_oom_facts *facts)
{
	return is_fragmented(facts) && facts->expandable;
}

static void say_fragmented_expandable(char *out, const struct vt_oom_facts *facts)
{
	char unallocated[VT_FORMAT_MAX];

	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"PyTorch has %s reserved but unallocated although expandable_segments is on (its message suggests it "
		"all "
		"the same): small live blocks keep whole pages mapped. Fewer streams, and long-lived blocks allocated "
		"first, leave less of it.",
		vt_format_bytes(unallocated, vt_oom_unallocated(facts)));
}

/* A free range is large enough and was not taken: it is not one that this request may use. */
static bool is_out_of_reach(const struct vt_oom_facts *facts)
{
	return facts->has_segments && !facts->space.stray_blocks &&
	       facts->space.largest_bytes >= facts->requested_bytes;
}

static void say_out_of_reach(char *out, const struct vt_oom_facts *facts)
{
	char largest[VT_FORMAT_MAX];

	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"A range of %s is free in PyTorch's segments and did not serve the request. It belongs to another "
		"stream's or a private pool (CUDA graphs, MemPool), waits for an event of another stream "
		"(record_stream), or max_split_size_mb keeps it: the trace does not tell which.",
		vt_format_bytes(largest, facts->space.largest_bytes));
}

/* steps.h says when growth looks like a leak. */
static bool is_growing(const struct vt_oom_facts *facts)
{
	return vt_growth_is_leak_like(&facts->growth, facts->allocated_bytes);
}

static void say_growing(char *out, const struct vt_oom_facts *facts)
{
	char rise[VT_FORMAT_MAX], each[VT_FORMAT_MAX];

	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"What stays allocated rose at the end of each of the last %" PRIu64
		" optimizer steps, by %s in all (%s a "
		"step): like a leak. Look for tensors kept from step to step, above all losses or outputs that are "
		"collected without .detach() or .item().",
		facts->growth.rising, vt_format_bytes(rise, facts->growth.rise_bytes),
		vt_format_bytes(each, facts->growth.rise_bytes / (facts->growth.rising ? facts->growth.rising : 1)));
}

/* One place holds half of all, and more than was asked for. */
static bool is_one_holder(const struct vt_oom_facts *facts)
{
	return facts->top_bytes >= facts->allocated_bytes / 2 && facts->top_bytes >= facts->requested_bytes &&
	       facts->top_place[0];
}

static void say_one_holder(char *out, const struct vt_oom_facts *facts)
{
	char text[VT_FORMAT_MAX];

	(void)snprintf(out, VT_OOM_TEXT_MAX,
		       "%s, %.0f%% of what PyTorch has allocated, comes from one place: %.300s. Begin there.",
		       vt_format_bytes(text, facts->top_bytes),
		       facts->allocated_bytes ? 100.0 * (double)facts->top_bytes / (double)facts->allocated_bytes : 0.0,
		       facts->top_place);
}

/*
 * Blocks allocated since the last optimizer step ended are this step's activations, gradients and temporaries; those
 * from before are parameters, optimizer state and whatever else lives on. Needs one whole step.
 */
static bool is_step_memory(const struct vt_oom_facts *facts)
{
	return facts->growth.steps && facts->survived_bytes <= facts->allocated_bytes / 2;
}

static void say_step_memory(char *out, const struct vt_oom_facts *facts)
{
	char now[VT_FORMAT_MAX], before[VT_FORMAT_MAX];

	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"%s was allocated in the step that failed (activations, gradients, temporaries), %s before it. A "
		"smaller "
		"batch with gradient accumulation, torch.utils.checkpoint on the blocks that hold most, or autocast to "
		"bfloat16 cut the larger part.",
		vt_format_bytes(now, facts->allocated_bytes - facts->survived_bytes),
		vt_format_bytes(before, facts->survived_bytes));
}

static bool is_model_state(const struct vt_oom_facts *facts)
{
	return facts->growth.steps && facts->survived_bytes > facts->allocated_bytes / 2 &&
	       facts->survived_bytes <= facts->allocated_bytes && !is_growing(facts);
}

static void say_model_state(char *out, const struct vt_oom_facts *facts)
{
	char now[VT_FORMAT_MAX], before[VT_FORMAT_MAX];

	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"%s was there before the step that failed (parameters, optimizer state and what else lives on), %s is "
		"of "
		"that step. A smaller batch alone will not help much: shard the state (FSDP, ZeRO), use an optimizer "
		"with less state or 8-bit state, or keep it in lower precision.",
		vt_format_bytes(before, facts->survived_bytes),
		vt_format_bytes(now, facts->allocated_bytes - facts->survived_bytes));
}

/* The plain shortfall, where there is one. */
static bool is_short(const struct vt_oom_facts *facts)
{
	return facts->total_bytes && facts->tried_bytes > facts->free_bytes && facts->tried_bytes <= facts->total_bytes;
}

static void say_short(char *out, const struct vt_oom_facts *facts)
{
	char text[VT_FORMAT_MAX], tried[VT_FORMAT_MAX], free_text[VT_FORMAT_MAX];

	(void)snprintf(
		out, VT_OOM_TEXT_MAX,
		"It was short by %s (%s needed, %s free on the device). Look among the holders above for what is "
		"not needed at this point.",
		vt_format_bytes(text, facts->tried_bytes - facts->free_bytes),
		vt_format_bytes(tried, facts->tried_bytes), vt_format_bytes(free_text, facts->free_bytes));
}

const struct vt_oom_rule vt_oom_rules[] = {
	{ "request_exceeds_device", "The request is larger than the device", is_too_large, say_too_large },
	{ "own_limit", "PyTorch's own limit refused", is_own_limit, say_own_limit },
	{ "other_processes", "Other processes use the device", is_others, say_others },
	{ "outside_process", "Memory outside this process's allocations", is_outside, say_outside },
	{ "fragmentation", "Fragmentation", is_fragmented_plain, say_fragmented_plain },
	{ "fragmentation_expandable", "Fragmentation in spite of expandable segments", is_fragmented_expandable,
	  say_fragmented_expandable },
	{ "free_range_out_of_reach", "Free memory that this request may not use", is_out_of_reach, say_out_of_reach },
	{ "growth", "Memory grows from step to step", is_growing, say_growing },
	{ "one_holder", "One place holds most", is_one_holder, say_one_holder },
	{ "step_memory", "The step itself is too large", is_step_memory, say_step_memory },
	{ "model_state", "What lives on from step to step is too large", is_model_state, say_model_state },
	{ "shortfall", "How much was missing", is_short, say_short },
};
const unsigned vt_oom_nrules = VT_ARRAY_SIZE(vt_oom_rules);
