/*
 * python_layout.h - where CPython keeps what a stack walk reads: byte offsets per version, 3.9 to 3.14.
 *
 * Up to 3.12 they are a table (these structures are frozen with a minor version's release); from 3.13 on CPython
 * publishes its own in _PyRuntime (struct _Py_DebugOffsets), and those are used.
 */
#ifndef VT_AGENT_PYTHON_LAYOUT_H
#define VT_AGENT_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Offsets are in bytes; 0 means "there is no such field" where the comment allows it. */
struct vt_python_layout {
	uint32_t version; /* PY_VERSION_HEX >> 16 */
	/* PyThreadState: the innermost frame; up to 3.12 by way of a second structure */
	uint16_t tstate_frame;
	uint16_t cframe_current;
	bool has_cframe;
	/* frame */
	uint16_t frame_code;
	uint16_t frame_previous;
	uint16_t frame_instruction; /* pointer into the code, or with instruction_scale an int index */
	uint16_t frame_owner;	    /* byte; 3 and above: no Python code of its own. 0: no such field */
	uint16_t frame_locals;	    /* the first of its local variables */
	uint8_t instruction_scale;  /* 3.9: 1, 3.10: 2 (f_lasti counts bytes, then code units); 0: a pointer */
	bool tagged_code;	    /* the code pointer's low two bits are not part of it */
	/* code object */
	uint16_t code_filename;
	uint16_t code_qualname; /* co_name before 3.11 */
	uint16_t code_linetable;
	uint16_t code_first_line;
	uint16_t code_instructions; /* 0: not needed */
	uint16_t code_version;	    /* uint32_t, unique per code object; 0: no such field */
	/* str: the characters of ASCII and of other compact strings */
	uint16_t str_ascii;
	uint16_t str_compact;
	/* the interpreter's types, for comparison alone */
	const void *code_type;
	const void *str_type;
	const void *bytes_type;
	const void *cell_type;
	/* the interpreter's functions, callable without the GIL */
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	int (*is_initialized)(void);
	int (*is_finalizing)(void);
};

/* The same in all versions (64-bit builds). */
#define VT_PY_TYPE 8u
#define VT_PY_SIZE 16u
#define VT_PY_STR_FLAGS 32u
#define VT_PY_BYTES_DATA 32u
/* A variable that an inner function uses too lies in a cell. */
#define VT_PY_CELL_CONTENT 16u
/* const char *tp_name of a class */
#define VT_PY_CLASS_NAME 24u

/*
 * Fills the layout in for the interpreter in this process. NULL, or why its stacks cannot be read; *ret_text is the
 * interpreter's version text, NULL where there is no Python. Takes the loader's lock.
 */
const char *vt_python_layout(struct vt_python_layout *ret, const char **ret_text);

static inline uint64_t vt_py_u64(const void *object, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)object + offset, sizeof(value));
	return value;
}

static inline uint32_t vt_py_u32(const void *object, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)object + offset, sizeof(value));
	return value;
}

static inline const void *vt_py_pointer(const void *object, size_t offset)
{
	const void *pointer;

	memcpy(&pointer, (const char *)object + offset, sizeof(pointer));
	return pointer;
}

#endif
