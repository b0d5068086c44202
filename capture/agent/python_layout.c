/* python_layout.c - see python_layout.h. */
#include "capture/agent/python_layout.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "capture/agent/loader.h"

/* clang-format off */
/* The fields of struct vt_python_layout that depend on the version; checked against offsetof of each version's own headers. */
static const struct vt_python_layout layouts[] = {
	{ .version = 0x0309, .tstate_frame = 24, .frame_previous = 24, .frame_code = 32, .frame_instruction = 104, .frame_locals = 360,
	  .instruction_scale = 1, .code_first_line = 40, .code_filename = 104, .code_qualname = 112,
	  .code_linetable = 120, .str_ascii = 48, .str_compact = 72 },
	{ .version = 0x030a, .tstate_frame = 24, .frame_previous = 24, .frame_code = 32, .frame_instruction = 96, .frame_locals = 352,
	  .instruction_scale = 2, .code_first_line = 40, .code_filename = 104, .code_qualname = 112,
	  .code_linetable = 120, .str_ascii = 48, .str_compact = 72 },
	{ .version = 0x030b, .tstate_frame = 56, .has_cframe = true, .cframe_current = 8, .frame_code = 32,
	  .frame_previous = 48, .frame_instruction = 56, .frame_owner = 69, .frame_locals = 72, .code_first_line = 72,
	  .code_filename = 112, .code_qualname = 128, .code_linetable = 136, .code_instructions = 184,
	  .str_ascii = 48, .str_compact = 72 },
	{ .version = 0x030c, .tstate_frame = 56, .has_cframe = true, .cframe_current = 0, .frame_code = 0,
	  .frame_previous = 8, .frame_instruction = 56, .frame_owner = 70, .frame_locals = 72, .code_first_line = 68,
	  .code_filename = 112, .code_qualname = 128, .code_linetable = 136, .code_instructions = 192,
	  .code_version = 92, .str_ascii = 40, .str_compact = 56 },
	{ .version = 0x030d, .tstate_frame = 72, .frame_code = 0, .frame_previous = 8, .frame_instruction = 56,
	  .frame_owner = 70, .frame_locals = 72, .code_first_line = 68, .code_filename = 112, .code_qualname = 128,
	  .code_linetable = 136, .code_instructions = 200, .code_version = 92, .str_ascii = 40, .str_compact = 56 },
	{ .version = 0x030e, .tstate_frame = 72, .frame_code = 0, .frame_previous = 8, .frame_instruction = 56,
	  .frame_owner = 74, .frame_locals = 80, .tagged_code = true, .code_first_line = 68, .code_filename = 112, .code_qualname = 128,
	  .code_linetable = 136, .code_instructions = 208, .code_version = 92, .str_ascii = 40, .str_compact = 56 },
};
/* clang-format on */

/*
 * Word numbers in struct _Py_DebugOffsets (cpython, Include/internal/pycore_runtime.h, since 3.14
 * pycore_debug_offsets.h): the cookie is word 0, the version 1, the free-threading flag 2.
 */
struct debug_words {
	uint8_t current_frame;
	uint8_t previous, executable, instruction, locals, owner;
	uint8_t filename, qualname, linetable, first_line, instructions;
};
static const struct debug_words words_3_13 = { 23, 29, 30, 31, 32, 33, 35, 37, 38, 39, 43 };
static const struct debug_words words_3_14 = { 26, 32, 33, 34, 35, 36, 40, 42, 43, 44, 48 };

static const char debug_cookie[8] = { 'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y' };
/* No field we read lies farther from the start of its structure. */
#define OFFSET_MAX 1024u

/* One offset as the interpreter has it; false where it cannot be one. */
static bool take_word(const void *words, uint8_t number, uint16_t *offset)
{
	uint64_t value = vt_py_u64(words, (size_t)number * 8);

	if (value > OFFSET_MAX)
		return false;
	*offset = (uint16_t)value;
	return true;
}

/* Replaces the table's offsets by the interpreter's own; NULL or why not. */
static const char *take_debug_offsets(const void *words, struct vt_python_layout *layout)
{
	const struct debug_words *w = layout->version == 0x030d ? &words_3_13 : &words_3_14;

	if (memcmp(words, debug_cookie, sizeof(debug_cookie)) != 0)
		return "this Python does not say how it is laid out";
	if (vt_py_u64(words, 8) >> 16 != layout->version)
		return "this Python's layout is of another version than itself";
	if (vt_py_u64(words, 16) != 0)
		return "free-threaded Python is not supported";
	if (take_word(words, w->current_frame, &layout->tstate_frame) &&
	    take_word(words, w->previous, &layout->frame_previous) &&
	    take_word(words, w->executable, &layout->frame_code) &&
	    take_word(words, w->instruction, &layout->frame_instruction) &&
	    take_word(words, w->locals, &layout->frame_locals) && take_word(words, w->owner, &layout->frame_owner) &&
	    take_word(words, w->filename, &layout->code_filename) &&
	    take_word(words, w->qualname, &layout->code_qualname) &&
	    take_word(words, w->linetable, &layout->code_linetable) &&
	    take_word(words, w->first_line, &layout->code_first_line) &&
	    take_word(words, w->instructions, &layout->code_instructions))
		return NULL;
	return "this Python's layout is not one that this build knows";
}

/* Functions and types by name, in the global scope or in a libpython that was opened privately. */
static void *find_symbol(const char *name, void *library)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	return symbol || !library ? symbol : dlsym(library, name);
}

static const char *find_symbols(struct vt_python_layout *layout, void *library)
{
	void *finalizing = find_symbol("Py_IsFinalizing", library);

	if (!finalizing)
		finalizing = find_symbol("_Py_IsFinalizing", library);
	layout->code_type = find_symbol("PyCode_Type", library);
	layout->str_type = find_symbol("PyUnicode_Type", library);
	layout->bytes_type = find_symbol("PyBytes_Type", library);
	layout->cell_type = find_symbol("PyCell_Type", library);
	layout->this_thread = (void *(*)(void))find_symbol("PyGILState_GetThisThreadState", library);
	layout->is_initialized = (int (*)(void))find_symbol("Py_IsInitialized", library);
	layout->is_finalizing = (int (*)(void))finalizing;
	if (!layout->code_type || !layout->str_type || !layout->bytes_type || !layout->cell_type ||
	    !layout->this_thread || !layout->is_initialized || !layout->is_finalizing)
		return "this Python hides functions that a stack walk needs";
	return NULL;
}

/* "3.11.7 (main, ...)" -> 0x030b; 0 where it is not like that. */
static uint32_t parse_version(const char *text)
{
	char *end = NULL;
	unsigned long major = strtoul(text, &end, 10);
	unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

	return major < 256 && minor < 256 ? (uint32_t)(major << 8 | minor) : 0;
}

const char *vt_python_layout(struct vt_python_layout *ret, const char **ret_text)
{
	void *library = dlsym(RTLD_DEFAULT, "Py_GetVersion") ? NULL : vt_loader_find("libpython3");
	const char *(*get_version)(void) = (const char *(*)(void))find_symbol("Py_GetVersion", library);
	const struct vt_python_layout *known = NULL;
	struct vt_python_layout layout;
	const void *debug;
	const char *why;
	uint32_t version;

	*ret_text = get_version ? get_version() : NULL;
	if (!*ret_text)
		return "there is no Python in this process";
	version = parse_version(*ret_text);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			known = &layouts[i];
	if (!known)
		return "this version of Python is not known";
	layout = *known;
	debug = find_symbol("_PyRuntime", library);
	if (version >= 0x030d) {
		why = debug ? take_debug_offsets(debug, &layout) : "this Python hides its layout";
		if (why)
			return why;
	}
	why = find_symbols(&layout, library);
	if (why)
		return why;
	*ret = layout;
	return NULL;
}
