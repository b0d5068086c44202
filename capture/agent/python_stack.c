/* python_stack.c - see python_stack.h. */
#include "capture/agent/python_stack.h"

#include "capture/agent/config.h"
#include "capture/agent/intern.h"
#include "capture/agent/python_guard.h"

/* Frames of these owners stand for C code between Python frames (cpython, enum _frameowner). */
#define OWNER_NOT_PYTHON 3u
/* Frames that are visited, those without Python code included, before a stack counts as damaged. */
#define VISITS_MAX (2u * VT_PYTHON_DEPTH_MAX)
/* Longer code does not exist; what is beyond is not an instruction of this code object. */
#define INSTRUCTION_MAX (INT64_C(1) << 28)

/* A longer name of a class is cut. */
#define CLASS_NAME_MAX 256u

/* Constant once `state` says so; the same in a child of a fork. */
static struct vt_python_layout layout;
static _Atomic uint32_t state; /* enum python_state */

enum python_state { UNKNOWN, ON, OFF };

static void note_off(struct vt_thread *thread, const char *why)
{
	atomic_store_explicit(&state, OFF, memory_order_release);
	vt_agent_note(thread, VT_note_code_PYTHON_STACKS_OFF, 0, why);
}

void vt_python_attach(struct vt_thread *thread)
{
	const char *text = NULL;
	const char *why;

	if (!vt_config.python) {
		note_off(thread, "switched off by VRAMTRACE_STACKS");
		return;
	}
	if (atomic_load_explicit(&state, memory_order_acquire) == UNKNOWN) {
		why = vt_python_layout(&layout, &text);
		if (why) {
			note_off(thread, why);
			return;
		}
		atomic_store_explicit(&state, ON, memory_order_release);
	}
	if (atomic_load_explicit(&state, memory_order_acquire) != ON)
		return;
	vt_agent_note(thread, VT_note_code_PYTHON_STACKS_ON, layout.version, text);
	if (layout.is_initialized() && !layout.is_finalizing())
		vt_python_guard_attach();
}

static bool is_pointer(const void *pointer)
{
	return pointer && ((uintptr_t)pointer & 7) == 0;
}

static const void *innermost_frame(const void *tstate)
{
	const void *frame = vt_py_pointer(tstate, layout.tstate_frame);

	if (!layout.has_cframe)
		return frame;
	return is_pointer(frame) ? vt_py_pointer(frame, layout.cframe_current) : NULL;
}

static const void *code_of(const void *frame)
{
	const char *code = vt_py_pointer(frame, layout.frame_code);

	return layout.tagged_code ? code - ((uintptr_t)code & 3) : code;
}

/* Byte offset of the instruction that a frame is at; 0 for a frame that has not begun. */
static int64_t instruction_of(const void *frame, const void *code)
{
	int64_t instruction;

	if (layout.instruction_scale)
		instruction = (int64_t)(int32_t)vt_py_u32(frame, layout.frame_instruction) * layout.instruction_scale;
	else
		instruction = (int64_t)vt_py_u64(frame, layout.frame_instruction) -
			      (int64_t)((uintptr_t)code + layout.code_instructions);
	return instruction < 0 || instruction > INSTRUCTION_MAX ? 0 : instruction;
}

/*
 * The module whose call a frame is. The frame owns its first argument, and that its class: both stay as long as the frame
 * does.
 */
static void find_module(const void *frame, struct vt_python_place *place)
{
	const char *word = vt_py_pointer(frame, layout.frame_locals);
	/* Python 3.14 marks pointers in their low bits; both of them set, it is a number. */
	const void *module = ((uintptr_t)word & 3) == 3 ? NULL : word - ((uintptr_t)word & 7);
	const void *class;

	if (!module)
		return;
	class = vt_py_pointer(module, VT_PY_TYPE);
	if (class == layout.cell_type) {
		module = vt_py_pointer(module, VT_PY_CELL_CONTENT);
		class = is_pointer(module) ? vt_py_pointer(module, VT_PY_TYPE) : NULL;
	}
	if (!is_pointer(class))
		return;
	place->module = module;
	place->class = class;
}

/* Notes the places of a frame and its callers, innermost first, without looking anything up. Their number. */
static uint32_t walk(const void *frame, struct vt_python_place *places)
{
	uint32_t n = 0;

	for (uint32_t visits = 0; is_pointer(frame) && n < VT_PYTHON_DEPTH_MAX && visits < VISITS_MAX; visits++) {
		const void *code = code_of(frame);
		bool python = !layout.frame_owner || ((const uint8_t *)frame)[layout.frame_owner] < OWNER_NOT_PYTHON;

		if (python && is_pointer(code) && vt_py_pointer(code, VT_PY_TYPE) == layout.code_type) {
			places[n].code = code;
			places[n].stamp = vt_python_code_stamp(&layout, code);
			places[n].instruction = instruction_of(frame, code);
			places[n].module = places[n].class = NULL;
			if (VT_UNLIKELY(vt_python_is_module_code(code, places[n].stamp)))
				find_module(frame, &places[n]);
			n++;
		}
		frame = vt_py_pointer(frame, layout.frame_previous);
	}
	return n;
}

static bool is_same(const struct vt_python_place *a, const struct vt_python_place *b)
{
	return a->code == b->code && a->instruction == b->instruction && a->stamp == b->stamp &&
	       a->module == b->module && a->class == b->class;
}

static uint32_t intern_module(struct vt_thread *thread, const struct vt_python_place *place)
{
	const char *name = vt_py_pointer(place->class, VT_PY_CLASS_NAME);
	uint32_t id = name ? vt_intern_string(thread, name, (uint32_t)strnlen(name, CLASS_NAME_MAX)) : 0;

	return id ? vt_intern_module(thread, place->module, place->class, id) : 0;
}

/* The node of a frame below its callers, defined on first sight; 0 where that is not possible. */
static uint32_t find_stack(struct vt_thread *thread, const struct vt_python_place *place, uint32_t parent,
			   uint32_t depth)
{
	uint32_t code = vt_python_code(thread, &layout, place->code, place->stamp, thread->stacks->scratch);
	struct vt_stack stack = { .parent = parent, .depth = depth };

	stack.frame = code ? vt_intern_frame(thread, code, (uint32_t)place->instruction) : 0;
	/* A module without a definition is no reason to do without the line. */
	stack.module = place->module ? intern_module(thread, place) : 0;
	return stack.frame ? vt_intern_stack(thread, &stack) : 0;
}

/* The stack that ends in a frame. What of the last walk still holds is taken from there. */
static uint32_t walk_once(struct vt_thread *thread, const void *frame)
{
	struct vt_stack_cache *cache = thread->stacks;
	uint32_t n = walk(frame, cache->walk), same = 0, stack = 0;

	while (same < n && same < cache->depth && is_same(&cache->known[same].place, &cache->walk[n - 1 - same]))
		same++;
	if (same > 0)
		stack = cache->known[same - 1].stack;
	/* What lies deeper stays known for the next walk, unless this one leaves the path. */
	if (same < n)
		cache->depth = same;
	for (uint32_t i = same; i < n; i++) {
		stack = find_stack(thread, &cache->walk[n - 1 - i], stack, i + 1);
		if (!stack)
			return 0; /* a stack that ends too early would name a wrong line */
		cache->known[i].place = cache->walk[n - 1 - i];
		cache->known[i].stack = stack;
		cache->depth = i + 1;
	}
	return stack;
}

static uint32_t walk_stack(struct vt_thread *thread, const void *frame)
{
	uint32_t before = vt_python_module_code_count(), stack = walk_once(thread, frame);

	/* The functions that call modules were met for the first time: walk again, with an eye on the modules. */
	return VT_LIKELY(before == vt_python_module_code_count()) ? stack : walk_once(thread, frame);
}

/* Not looked into: only ever compared. */
static uint64_t raw_instruction(const void *frame)
{
	return layout.instruction_scale ? vt_py_u32(frame, layout.frame_instruction)
					: vt_py_u64(frame, layout.frame_instruction);
}

/* The guard is open. */
static struct vt_python_here look_here(struct vt_thread *thread)
{
	const struct vt_python_here op = vt_thread_here(thread), nowhere = { .frame = NULL };
	struct vt_python_here here;
	const void *tstate;

	if (!layout.is_initialized() || layout.is_finalizing())
		return nowhere;
	tstate = layout.this_thread();
	here.frame = is_pointer(tstate) ? innermost_frame(tstate) : NULL;
	if (!is_pointer(here.frame))
		return nowhere;
	here.instruction = raw_instruction(here.frame);
	here.stack = op.stack;
	if (here.frame != op.frame || here.instruction != op.instruction || !op.stack)
		here.stack = walk_stack(thread, here.frame);
	return here;
}

struct vt_python_here vt_python_here(struct vt_thread *thread)
{
	struct vt_python_here here = { .frame = NULL };
	enum vt_guarded guarded;

	if (atomic_load_explicit(&state, memory_order_acquire) != ON)
		return here;
	guarded = vt_python_guard_enter(thread);
	if (VT_LIKELY(guarded != VT_GUARD_SHUT))
		here = look_here(thread);
	vt_python_guard_leave(guarded);
	return here;
}
