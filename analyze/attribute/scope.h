/*
 * scope.h - what an op stack and a Python stack say about the work that was under way: backward, an optimizer's step,
 * loading of data, building of a module. Found once for each node of either tree.
 *
 * Names are matched, so all of this is evidence and no proof: what is made of it is called an estimate.
 */
#ifndef VT_ANALYZE_SCOPE_H
#define VT_ANALYZE_SCOPE_H

#include "analyze/symbols/symbols.h"
#include "analyze/views/idmap.h"

/* Of an op stack: the op itself or one of its callers is ... */
enum {
	VT_SCOPE_BACKWARD = 1 << 0,	 /* ... a node of the autograd graph, or the engine that runs one */
	VT_SCOPE_ACCUMULATE = 1 << 1,	 /* ... the node that adds a gradient to .grad */
	VT_SCOPE_OPTIMIZER = 1 << 2,	 /* ... an optimizer's step */
	VT_SCOPE_ZERO_GRAD = 1 << 3,	 /* ... an optimizer's zero_grad */
	VT_SCOPE_DATA = 1 << 4,		 /* ... a DataLoader's next */
	VT_SCOPE_COMMUNICATION = 1 << 5, /* ... a collective */
	VT_SCOPE_MATMUL = 1 << 6,	 /* ... an op that cuBLAS or cuDNN does */
	/* Of the op itself. */
	VT_SCOPE_IS_STEP = 1 << 7,	    /* a range "Optimizer.step#..." */
	VT_SCOPE_IS_PROFILER_STEP = 1 << 8, /* a range "ProfilerStep#N" */
	VT_SCOPE_OUTERMOST = 1 << 9,	    /* no range, and only ranges are around it */
	VT_SCOPE_ENGINE = 1 << 10,	    /* in the autograd engine, outside of the node that it runs */
	VT_SCOPE_IS_ENGINE = 1 << 11,	    /* the engine's range around a node */
	VT_SCOPE_RANGE = 1 << 12,	    /* a range, and only ranges are around it */
};

struct vt_scope {
	uint32_t flags;
	/*
	 * The outermost op that is one unit of work: torch.profiler's "flow node". Not user ranges, the engine, or Python
	 * functions, which contain whole passes. 0: none.
	 */
	uint32_t top;
	uint32_t profiler_step; /* N of the innermost "ProfilerStep#N"; UINT32_MAX: none */
};

/* Of a Python stack: one of its frames is ... */
enum {
	VT_FRAMES_FORWARD = 1 << 0, /* ... a forward(), or the call of a module */
	VT_FRAMES_BUILD = 1 << 1,   /* ... where torch.nn makes or moves the tensors of a module */
	VT_FRAMES_OPTIMIZER =
		1 << 2,		 /* ... of torch.optim, but not step() alone: its construction or load_state_dict */
	VT_FRAMES_DATA = 1 << 3, /* ... of torch.utils.data */
	VT_FRAMES_RECOMPUTE = 1 << 4, /* ... where torch.utils.checkpoint runs a forward again */
	VT_FRAMES_CACHE = 1 << 5,     /* ... a method of a class called ...Cache */
	VT_FRAMES_IN_INIT = 1 << 6,   /* the innermost frame is an __init__ of torch.nn: it makes the tensor itself */
	VT_FRAMES_ANY = 1 << 7,	      /* there are frames */
};

struct vt_frames {
	uint32_t flags;
	uint32_t apply_line;  /* line in the innermost Module._apply, which moves parameters before buffers; 0: none */
	uint32_t module_line; /* text key of the innermost frame in torch/nn/modules: file and line; 0: none */
};

/* Zero-initialised, then symbols set; the holder calls vt_scopes_done. */
struct vt_scopes {
	const struct vt_symbols *symbols;
	struct vt_idmap op_map; /* process, node */
	struct vt_scope *ops;
	size_t ops_room;
	struct vt_idmap stack_map; /* process, stack */
	struct vt_frames *stacks;
	size_t stacks_room;
};

/* Unknown and 0 ids have no facts. -VT_E_NOMEM where there is no memory for them. */
int vt_scopes_op(struct vt_scopes *scopes, uint32_t process, uint32_t node, struct vt_scope *ret);
int vt_scopes_stack(struct vt_scopes *scopes, uint32_t process, uint32_t stack, struct vt_frames *ret);
void vt_scopes_done(struct vt_scopes *scopes);

#endif
