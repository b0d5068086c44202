/* python_code.h - turns a live Python code object into an interned one. */
#ifndef VT_AGENT_PYTHON_CODE_H
#define VT_AGENT_PYTHON_CODE_H

#include "capture/agent/agent.h"
#include "capture/agent/python_layout.h"

/* Room for a name that is not plain ASCII, as UTF-8; a longer one is cut. */
#define VT_PYTHON_NAME_BYTES 4096u

/*
 * What tells a code object from another that lay at the same address before: where its parts are, and in Python 3.12
 * and later its number. (Earlier, code made again and again by exec() can be taken for its predecessor if all its parts
 * came to lie where that one's were.)
 */
static inline uint64_t vt_python_code_stamp(const struct vt_python_layout *layout, const void *code)
{
	uint64_t stamp = vt_py_u64(code, layout->code_filename) * UINT64_C(0x9e3779b97f4a7c15);

	stamp ^= vt_py_u64(code, layout->code_linetable) << 1;
	stamp += vt_py_u64(code, layout->code_qualname) << 24;
	stamp ^= vt_py_u32(code, layout->code_first_line);
	if (layout->code_version)
		stamp ^= (uint64_t)vt_py_u32(code, layout->code_version) << 32;
	return stamp;
}

/* The id of a code object's content, defined on first sight; 0 where it cannot be. scratch: VT_PYTHON_NAME_BYTES. */
uint32_t vt_python_code(struct vt_thread *thread, const struct vt_python_layout *layout, const void *code,
			uint64_t stamp, char *scratch);

/*
 * The functions of torch.nn.Module that every call of a module passes, and the one by which a module is moved or cast
 * (torch/nn/modules/module.py: _wrapped_call_impl, _call_impl, _apply), as they come to be defined: the first local
 * variable of their frames is the module.
 */
#define VT_PYTHON_MODULE_CODES 6u
struct vt_python_module_code {
	const void *_Atomic code; /* NULL: no more of them */
	uint64_t stamp;		  /* constant once code is there */
};
extern struct vt_python_module_code vt_python_module_codes[VT_PYTHON_MODULE_CODES];

/* How many there are; it only rises. */
static inline uint32_t vt_python_module_code_count(void)
{
	uint32_t n = 0;

	while (n < VT_PYTHON_MODULE_CODES &&
	       atomic_load_explicit(&vt_python_module_codes[n].code, memory_order_relaxed))
		n++;
	return n;
}

static inline bool vt_python_is_module_code(const void *code, uint64_t stamp)
{
	for (unsigned i = 0; i < VT_PYTHON_MODULE_CODES; i++) {
		const void *known = atomic_load_explicit(&vt_python_module_codes[i].code, memory_order_acquire);

		if (!known)
			return false;
		if (known == code && vt_python_module_codes[i].stamp == stamp)
			return true;
	}
	return false;
}

#endif
