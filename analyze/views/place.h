/* place.h - where an allocation comes from, in words: the op, what it ran for, and the line a user would call mine. */
#ifndef VT_ANALYZE_PLACE_H
#define VT_ANALYZE_PLACE_H

#include "analyze/symbols/symbols.h"
#include "schema/base/json.h"

/* Longest text that the functions below write, with its NUL. */
#define VT_PLACE_MAX 320

struct vt_place {
	const char *op;	    /* "" where no op was running */
	const char *within; /* the nearest user range or autograd node above the op; "" where there is none */
	bool has_frame;	    /* frame is the user's line */
	struct vt_frame_info frame;
	bool backward; /* frame is the line of the forward op that this backward memory belongs to */
};

/* Pointers live as long as symbols. */
void vt_place_find(const struct vt_symbols *symbols, uint32_t process, uint32_t op, uint32_t stack,
		   struct vt_place *ret);
/* The same for memory of a backward op whose forward op is known: with the forward line. */
void vt_place_of_backward(const struct vt_symbols *symbols, uint32_t process, uint32_t op, uint32_t forward_stack,
			  struct vt_place *ret);
/* Orders by op, then by where: 0 for places that read the same. */
int vt_place_compare(const struct vt_place *x, const struct vt_place *y);

/* "aten::mm", or "(no op)". */
const char *vt_place_op(const struct vt_place *place);
/*
 * "gpt/model.py:88 Block.forward", "backward of model.py:88 Block.forward", else "in MmBackward0", else "", in `columns`: directories go first, from the left,
 * then the function; the file's own name and the line are always whole.
 */
const char *vt_place_where(char out[VT_PLACE_MAX], const struct vt_place *place, size_t columns);
/* At most `columns` terminal columns of a text, with "..." in the place of what was cut from its middle. */
const char *vt_place_clip(char out[VT_PLACE_MAX], const char *text, size_t columns);
/* As part of a sentence: "aten::mm at model.py:88", "aten::mm in the backward of model.py:88", "aten::mm in MmBackward0", "no op". */
const char *vt_place_sentence(char out[VT_PLACE_MAX], const struct vt_place *place);

/* "GPT2Block[3]", of one that has no siblings "GPT2Model": the module whose call a frame begins (frame->module). */
const char *vt_place_module(char out[VT_PLACE_MAX], const struct vt_frame_info *frame);

/* "op", "op_stack": [names, innermost first] and "stack": [{"function", "file", "line"}, innermost first], with
 * "module" where a frame begins a module's call. */
void vt_place_json(struct vt_json *json, const struct vt_symbols *symbols, uint32_t process, uint32_t op,
		   uint32_t stack);

#endif
