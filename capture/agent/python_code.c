/* python_code.c - see python_code.h. Reads strings as they lie in memory: no reference counts, no calls. */
#include "capture/agent/python_code.h"

#include "capture/agent/intern.h"
#include "capture/agent/state.h"

/*
 * A str's flags: kind (bytes per character), compact, ascii. Below them in their word lies "interned", two bits wide,
 * but 16 in some releases of 3.14; a string that is not compact under the one reading is read the other way.
 */
#define FLAG_KIND 7u
#define FLAG_COMPACT 8u
#define FLAG_ASCII 16u
#define INTERNED_BITS 2u
#define INTERNED_BITS_WIDE 16u

struct vt_python_module_code vt_python_module_codes[VT_PYTHON_MODULE_CODES];

static bool is_a(const void *object, const void *type)
{
	return object && ((uintptr_t)object & 7) == 0 && vt_py_pointer(object, VT_PY_TYPE) == type;
}

/* One character as UTF-8; the byte behind it. Lone surrogates that stand for undecodable bytes become those bytes. */
static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80 || (c >= 0xdc80 && c <= 0xdcff)) {
		*to++ = (char)(c & 0xff);
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c >= 0xd800 && c <= 0xdfff) {
		*to++ = '?';
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | (c >> 18 & 7));
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

static uint32_t read_character(const uint8_t *data, uint64_t index, uint32_t kind)
{
	uint32_t c = 0;

	memcpy(&c, data + index * kind, kind);
	return c;
}

static uint32_t str_flags(const void *str)
{
	uint32_t word = vt_py_u32(str, VT_PY_STR_FLAGS);

	return word >> (word >> INTERNED_BITS & FLAG_COMPACT ? INTERNED_BITS : INTERNED_BITS_WIDE);
}

static uint32_t intern_str(struct vt_thread *thread, const struct vt_python_layout *layout, const void *str,
			   char *scratch)
{
	static const char unreadable[] = "?";
	const uint8_t *data;
	uint32_t flags, kind;
	uint64_t size;
	char *to = scratch;

	if (!is_a(str, layout->str_type))
		return vt_intern_string(thread, unreadable, 1);
	flags = str_flags(str);
	size = vt_py_u64(str, VT_PY_SIZE);
	kind = flags & FLAG_KIND;
	if (!(flags & FLAG_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return vt_intern_string(thread, unreadable, 1);
	if (flags & FLAG_ASCII)
		return vt_intern_string(thread, (const char *)str + layout->str_ascii,
					size < VT_PYTHON_NAME_BYTES ? (uint32_t)size : VT_PYTHON_NAME_BYTES);
	data = (const uint8_t *)str + layout->str_compact;
	for (uint64_t i = 0; i < size && to + 4 <= scratch + VT_PYTHON_NAME_BYTES; i++)
		to = put_utf8(to, read_character(data, i, kind));
	return vt_intern_string(thread, scratch, (uint32_t)(to - scratch));
}

static uint32_t intern_bytes(struct vt_thread *thread, const struct vt_python_layout *layout, const void *bytes)
{
	uint64_t size;

	if (!is_a(bytes, layout->bytes_type))
		return vt_intern_string(thread, "", 0);
	size = vt_py_u64(bytes, VT_PY_SIZE);
	return vt_intern_string(thread, (const char *)bytes + VT_PY_BYTES_DATA,
				size < VT_STRING_BYTES_MAX ? (uint32_t)size : VT_STRING_BYTES_MAX);
}

/* Whether a str is plain ASCII and ends in that. */
static bool ends_in(const struct vt_python_layout *layout, const void *str, const char *text)
{
	uint64_t size, length = strlen(text);

	if (!is_a(str, layout->str_type) || !(str_flags(str) & FLAG_ASCII) || !(str_flags(str) & FLAG_COMPACT))
		return false;
	size = vt_py_u64(str, VT_PY_SIZE);
	return size >= length && !memcmp((const char *)str + layout->str_ascii + size - length, text, length);
}

/* Remembers it if it is one that calls modules. */
static void note_module_code(const struct vt_python_layout *layout, const void *code, uint64_t stamp)
{
	static _Atomic uint32_t claimed;
	const void *name = vt_py_pointer(code, layout->code_qualname);
	uint32_t n;

	if ((!ends_in(layout, name, "_wrapped_call_impl") && !ends_in(layout, name, "_call_impl") &&
	     !ends_in(layout, name, "_apply")) ||
	    !ends_in(layout, vt_py_pointer(code, layout->code_filename), "torch/nn/modules/module.py") ||
	    vt_python_is_module_code(code, stamp))
		return;
	n = atomic_fetch_add_explicit(&claimed, 1, memory_order_relaxed);
	if (n >= VT_PYTHON_MODULE_CODES) {
		atomic_store_explicit(&claimed, VT_PYTHON_MODULE_CODES, memory_order_relaxed);
		return;
	}
	vt_python_module_codes[n].stamp = stamp;
	atomic_store_explicit(&vt_python_module_codes[n].code, code, memory_order_release);
}

static uint32_t define_content(struct vt_thread *thread, const struct vt_python_layout *layout, const void *code,
			       char *scratch)
{
	struct vt_code_text text = {
		.first_line = vt_py_u32(code, layout->code_first_line),
		.python = layout->version,
	};

	text.filename = intern_str(thread, layout, vt_py_pointer(code, layout->code_filename), scratch);
	text.qualname = intern_str(thread, layout, vt_py_pointer(code, layout->code_qualname), scratch);
	text.linetable = intern_bytes(thread, layout, vt_py_pointer(code, layout->code_linetable));
	if (!text.filename || !text.qualname || !text.linetable)
		return 0;
	return vt_intern_code(thread, &text);
}

uint32_t vt_python_code(struct vt_thread *thread, const struct vt_python_layout *layout, const void *code,
			uint64_t stamp, char *scratch)
{
	struct vt_table_slot *slot = NULL;
	uint32_t id = 0;
	uint64_t key = vt_hash_words((uintptr_t)code, stamp);
	enum vt_table_result result = vt_table_find(&vt_agent_get()->code_identities, key, &id, &slot);

	if (VT_LIKELY(result == VT_TABLE_FOUND))
		return id;
	note_module_code(layout, code, stamp);
	id = define_content(thread, layout, code, scratch);
	if (slot && id)
		vt_table_publish(slot, id);
	else if (slot)
		vt_table_vacate(slot);
	return id;
}
