/* scope.c - see scope.h. */
#include "analyze/attribute/scope.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/base/err.h"
#include "schema/event.h"

/* Deepest chain followed. The agent cuts both kinds of stack far below. */
#define DEPTH_MAX 512

/* The engine's range around a node of the graph: "...: MmBackward0". */
#define ENGINE "autograd::engine::evaluate_function"

struct word {
	const char *text;
	uint32_t flag;
};

/* Beginnings of names. The engine's ranges and torch.optim's are the same in PyTorch 1.13 to 2.14. */
static const struct word beginnings[] = {
	{ ENGINE, VT_SCOPE_BACKWARD },
	{ "torch::autograd::AccumulateGrad", VT_SCOPE_BACKWARD | VT_SCOPE_ACCUMULATE },
	{ "Optimizer.step#", VT_SCOPE_OPTIMIZER },
	{ "Optimizer.zero_grad#", VT_SCOPE_ZERO_GRAD },
	{ "enumerate(DataLoader)", VT_SCOPE_DATA },
	{ "nccl:", VT_SCOPE_COMMUNICATION },
	{ "gloo:", VT_SCOPE_COMMUNICATION },
	{ "c10d::", VT_SCOPE_COMMUNICATION },
	{ "_c10d_functional::", VT_SCOPE_COMMUNICATION },
	{ "record_param_comms", VT_SCOPE_COMMUNICATION },
	{ "FSDP::", VT_SCOPE_COMMUNICATION },
	{ "torch.distributed.", VT_SCOPE_COMMUNICATION },
};

/* Ops that take a workspace of cuBLAS or cuDNN on their first call. */
static const char *const matmuls[] = {
	"aten::mm",	    "aten::addmm",
	"aten::bmm",	    "aten::baddbmm",
	"aten::dot",	    "aten::addmv_",
	"aten::_scaled_mm", "aten::_addmm_activation",
	"aten::_int_mm",    "aten::cudnn_convolution",
};

static bool begins_with(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

/* What the op's own name says. */
static uint32_t own_flags(const struct vt_op_info *info)
{
	uint32_t flags = info->scope == VT_op_scope_BACKWARD ? VT_SCOPE_BACKWARD : 0;

	for (size_t i = 0; i < VT_ARRAY_SIZE(beginnings); i++)
		if (begins_with(info->name, beginnings[i].text))
			flags |= beginnings[i].flag;
	for (size_t i = 0; i < VT_ARRAY_SIZE(matmuls); i++)
		if (!strcmp(info->name, matmuls[i]))
			flags |= VT_SCOPE_MATMUL;
	return flags;
}

static bool is_unit(const struct vt_op_info *info)
{
	if (info->scope == VT_op_scope_USER || begins_with(info->name, ENGINE))
		return false;
	return info->scope == VT_op_scope_BACKWARD || strstr(info->name, "::");
}

static void find_op(const struct vt_symbols *symbols, uint32_t process, uint32_t node, struct vt_scope *ret)
{
	struct vt_op_info info;
	bool range = true, ranges_around = true, in_node = false;

	*ret = (struct vt_scope){ .profiler_step = UINT32_MAX };
	for (int depth = 0; depth < DEPTH_MAX && vt_symbols_op(symbols, process, node, &info); depth++) {
		bool user = info.scope == VT_op_scope_USER;
		bool profiler = user && begins_with(info.name, "ProfilerStep#");

		bool engine = begins_with(info.name, ENGINE);

		in_node |= info.scope == VT_op_scope_BACKWARD;
		if (engine)
			ret->flags |= (in_node ? 0 : VT_SCOPE_ENGINE) | (depth ? 0 : VT_SCOPE_IS_ENGINE);
		range &= depth || user;
		ranges_around &= !depth || user;
		ret->flags |= own_flags(&info);
		if (is_unit(&info))
			ret->top = node;
		if (profiler && ret->profiler_step == UINT32_MAX)
			ret->profiler_step = (uint32_t)strtoul(strchr(info.name, '#') + 1, NULL, 10) & INT32_MAX;
		if (!depth && profiler)
			ret->flags |= VT_SCOPE_IS_PROFILER_STEP;
		if (!depth && user && (ret->flags & VT_SCOPE_OPTIMIZER))
			ret->flags |= VT_SCOPE_IS_STEP;
		node = info.parent;
	}
	if (ranges_around)
		ret->flags |= range ? VT_SCOPE_RANGE : VT_SCOPE_OUTERMOST;
}

/* The part behind the last dot: "forward" of "Net.Block.forward". */
static const char *method(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot ? dot + 1 : function;
}

/* "DynamicCache.update": a class whose name ends in Cache. */
static bool is_cache(const char *function)
{
	const char *found = strstr(function, "Cache.");

	return found && (!strcmp(method(function), "update") || !strcmp(method(function), "__init__") ||
			 !strcmp(method(function), "lazy_initialization"));
}

static bool is_module_file(const char *file)
{
	return strstr(file, "/torch/nn/") != NULL;
}

static uint32_t frame_flags(const struct vt_frame_info *frame, bool innermost)
{
	const char *name = method(frame->function);
	uint32_t flags = VT_FRAMES_ANY;

	if (!strcmp(name, "forward") || !strcmp(name, "_call_impl"))
		flags |= VT_FRAMES_FORWARD;
	if (is_module_file(frame->file) &&
	    (!strcmp(name, "__init__") || !strcmp(name, "_apply") || !strcmp(name, "reset_parameters")))
		flags |= VT_FRAMES_BUILD | (innermost && !strcmp(name, "__init__") ? VT_FRAMES_IN_INIT : 0);
	if (strstr(frame->file, "/torch/optim/") && (!strcmp(name, "__init__") || strstr(name, "load_state_dict")))
		flags |= VT_FRAMES_OPTIMIZER;
	if (strstr(frame->file, "/torch/utils/data/"))
		flags |= VT_FRAMES_DATA;
	/* Reentrant; since PyTorch 2.1; before. Up to Python 3.10 a function has no class in its name. */
	if (strstr(frame->file, "/torch/utils/checkpoint.py") &&
	    (!strcmp(name, "backward") || strstr(name, "recompute") || !strcmp(name, "unpack")))
		flags |= VT_FRAMES_RECOMPUTE;
	if (is_cache(frame->function))
		flags |= VT_FRAMES_CACHE;
	return flags;
}

/* Where Python starts the autograd engine: what is further out is what the pass was started for. */
static bool is_engine_call(const struct vt_frame_info *frame)
{
	return !strcmp(frame->function, "_engine_run_backward") ||
	       (strstr(frame->file, "/torch/autograd/__init__.py") &&
		(!strcmp(frame->function, "backward") || !strcmp(frame->function, "grad")));
}

static void find_stack(const struct vt_symbols *symbols, uint32_t process, uint32_t stack, struct vt_frames *ret)
{
	uint32_t not_wanted = 0;
	struct vt_frame_info frame;

	*ret = (struct vt_frames){ .flags = 0 };
	for (int depth = 0; depth < DEPTH_MAX && vt_symbols_frame(symbols, process, stack, &frame); depth++) {
		/* A checkpoint's backward computes its forward again, and then starts an engine of its own. */
		if (is_engine_call(&frame))
			not_wanted = VT_FRAMES_RECOMPUTE;
		ret->flags |= frame_flags(&frame, !depth) & ~not_wanted;
		if (!ret->apply_line && strstr(frame.file, "/torch/nn/modules/module.py") &&
		    !strcmp(method(frame.function), "_apply"))
			ret->apply_line = frame.line;
		/* Equal texts are one text in symbols: its address will do for the file. */
		if (!ret->module_line && strstr(frame.file, "/torch/nn/modules/"))
			ret->module_line = (uint32_t)vt_mix64((uint64_t)(uintptr_t)frame.file << 20 ^ frame.line) | 1;
		stack = frame.parent;
	}
}

int vt_scopes_op(struct vt_scopes *scopes, uint32_t process, uint32_t node, struct vt_scope *ret)
{
	uint32_t known = scopes->op_map.count, index;

	*ret = (struct vt_scope){ .profiler_step = UINT32_MAX };
	if (!node)
		return 0;
	index = vt_idmap_add(&scopes->op_map, (struct vt_idmap_key){ process, node, 0 });
	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&scopes->ops, &scopes->ops_room, index, sizeof(*scopes->ops)) < 0)
		return -VT_E_NOMEM;
	if (index == known)
		find_op(scopes->symbols, process, node, &scopes->ops[index]);
	*ret = scopes->ops[index];
	return 0;
}

int vt_scopes_stack(struct vt_scopes *scopes, uint32_t process, uint32_t stack, struct vt_frames *ret)
{
	uint32_t known = scopes->stack_map.count, index;

	*ret = (struct vt_frames){ .flags = 0 };
	if (!stack)
		return 0;
	index = vt_idmap_add(&scopes->stack_map, (struct vt_idmap_key){ process, stack, 0 });
	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&scopes->stacks, &scopes->stacks_room, index, sizeof(*scopes->stacks)) < 0)
		return -VT_E_NOMEM;
	if (index == known)
		find_stack(scopes->symbols, process, stack, &scopes->stacks[index]);
	*ret = scopes->stacks[index];
	return 0;
}

void vt_scopes_done(struct vt_scopes *scopes)
{
	vt_idmap_done(&scopes->op_map);
	vt_idmap_done(&scopes->stack_map);
	free(scopes->ops);
	free(scopes->stacks);
	*scopes = (struct vt_scopes){ .symbols = NULL };
}
