/* intern.c - see intern.h. */
#include "capture/agent/intern.h"

#include <stddef.h>
#include <string.h>

#include "capture/agent/state.h"

/* Odd, with half of their bits set: fractional parts of the square roots of 2, 3 and 5. */
#define MUL_A UINT64_C(0x6a09e667f3bcc909)
#define MUL_B UINT64_C(0xbb67ae8584caa73b)
#define MUL_C UINT64_C(0x3c6ef372fe94f82b)

/* The two halves of the 128-bit product: every bit of either factor moves about half of the result's. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load_tail(const char *bytes, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, bytes, size);
	return word;
}

uint64_t vt_hash_bytes(const char *bytes, size_t size)
{
	uint64_t hash = MUL_A ^ size;
	uint64_t word;

	for (; size >= 8; bytes += 8, size -= 8) {
		memcpy(&word, bytes, 8);
		hash = fold(hash ^ word, MUL_B) + MUL_C;
	}
	hash = vt_mix64(fold(hash ^ load_tail(bytes, size), MUL_B));
	return hash ? hash : 1;
}

uint64_t vt_hash_words(uint64_t a, uint64_t b)
{
	uint64_t hash = vt_mix64(fold(a ^ MUL_A, MUL_B) ^ b);

	return hash ? hash : 1;
}

/* Two ids as one key: vt_mix64 is a bijection, so these keys never collide. The first id is never 0. */
static uint64_t pair_key(uint32_t first, uint32_t second)
{
	return vt_mix64((uint64_t)first << 32 | second);
}

/*
 * The common course of all kinds. `define` writes the definition under the id to the thread's ring and says whether it
 * could; it is called at most once.
 */
static uint32_t intern(struct vt_thread *thread, struct vt_table *table, uint64_t key,
		       bool (*define)(struct vt_thread *thread, uint32_t id, const void *content), const void *content)
{
	struct vt_table_slot *slot = NULL;
	uint32_t id = 0;
	enum vt_table_result result = vt_table_find(table, key, &id, &slot);

	if (VT_LIKELY(result == VT_TABLE_FOUND))
		return id;
	if (result != VT_TABLE_FULL)
		id = vt_table_new_id(table);
	if (id == 0 || !define(thread, id, content)) {
		if (slot)
			vt_table_vacate(slot);
		vt_ring_lose(thread->writer.ring, VT_loss_DEFINITION);
		return 0;
	}
	if (slot)
		vt_table_publish(slot, id);
	return id;
}

struct text {
	const char *bytes;
	uint32_t size_bytes;
};

/* The BLOB events with an id and bytes; their records are alike. */
static bool define_bytes(struct vt_thread *thread, uint16_t event, uint32_t id, const struct text *text)
{
	uint32_t bytes = (uint32_t)vt_align_up(sizeof(struct vt_string) + text->size_bytes, 8);
	struct vt_string *record = vt_ring_reserve(&thread->writer, event, bytes);

	if (!record)
		return false;
	record->id = id;
	record->size_bytes = text->size_bytes;
	memcpy(record + 1, text->bytes, text->size_bytes);
	memset((char *)(record + 1) + text->size_bytes, 0, bytes - sizeof(*record) - text->size_bytes);
	vt_ring_commit(&thread->writer, bytes);
	return true;
}
_Static_assert(sizeof(struct vt_touch) == sizeof(struct vt_string) &&
		       offsetof(struct vt_touch, id) == offsetof(struct vt_string, id) &&
		       offsetof(struct vt_touch, size_bytes) == offsetof(struct vt_string, size_bytes),
	       "define_bytes writes both");

static bool define_string(struct vt_thread *thread, uint32_t id, const void *content)
{
	return define_bytes(thread, VT_EVENT_string, id, content);
}

static bool define_touch(struct vt_thread *thread, uint32_t id, const void *content)
{
	return define_bytes(thread, VT_EVENT_touch, id, content);
}

uint32_t vt_intern_string_hashed(struct vt_thread *thread, uint64_t hash, const char *bytes, uint32_t size_bytes)
{
	struct text text = { bytes, size_bytes };

	return intern(thread, &vt_agent_get()->strings, hash, define_string, &text);
}

uint32_t vt_intern_string(struct vt_thread *thread, const char *bytes, uint32_t size_bytes)
{
	if (size_bytes > VT_STRING_BYTES_MAX)
		size_bytes = VT_STRING_BYTES_MAX;
	return vt_intern_string_hashed(thread, vt_hash_bytes(bytes, size_bytes), bytes, size_bytes);
}

static bool define_op_node(struct vt_thread *thread, uint32_t id, const void *content)
{
	const struct vt_op_node *node = content;
	struct vt_op_node *record = vt_ring_reserve(&thread->writer, VT_EVENT_op_node, sizeof(*record));

	if (!record)
		return false;
	record->id = id;
	record->parent = node->parent;
	record->name = node->name;
	record->scope = node->scope;
	vt_ring_commit(&thread->writer, sizeof(*record));
	return true;
}

uint32_t vt_intern_op_node(struct vt_thread *thread, uint32_t parent, uint32_t name, uint32_t scope)
{
	struct vt_op_node node = { .parent = parent, .name = name, .scope = scope };
	uint64_t key = vt_hash_words(vt_hash_words(parent, name), scope);

	return intern(thread, &vt_agent_get()->op_nodes, key, define_op_node, &node);
}

static bool define_code(struct vt_thread *thread, uint32_t id, const void *content)
{
	const struct vt_code_text *text = content;
	struct vt_code *record = vt_ring_reserve(&thread->writer, VT_EVENT_code, sizeof(*record));

	if (!record)
		return false;
	record->id = id;
	record->filename = text->filename;
	record->qualname = text->qualname;
	record->linetable = text->linetable;
	record->first_line = text->first_line;
	record->python = text->python;
	vt_ring_commit(&thread->writer, sizeof(*record));
	return true;
}

uint32_t vt_intern_code(struct vt_thread *thread, const struct vt_code_text *text)
{
	uint64_t key = vt_hash_words(text->filename, text->qualname);

	key = vt_hash_words(key, text->linetable);
	key = vt_hash_words(key, text->first_line);
	return intern(thread, &vt_agent_get()->codes, key, define_code, text);
}

static bool define_frame(struct vt_thread *thread, uint32_t id, const void *content)
{
	const struct vt_frame *frame = content;
	struct vt_frame *record = vt_ring_reserve(&thread->writer, VT_EVENT_frame, sizeof(*record));

	if (!record)
		return false;
	record->id = id;
	record->code = frame->code;
	record->instruction = frame->instruction;
	record->fill = 0;
	vt_ring_commit(&thread->writer, sizeof(*record));
	return true;
}

uint32_t vt_intern_frame(struct vt_thread *thread, uint32_t code, uint32_t instruction)
{
	struct vt_frame frame = { .code = code, .instruction = instruction };

	return intern(thread, &vt_agent_get()->frames, pair_key(code, instruction), define_frame, &frame);
}

static bool define_stack(struct vt_thread *thread, uint32_t id, const void *content)
{
	const struct vt_stack *stack = content;
	struct vt_stack *record = vt_ring_reserve(&thread->writer, VT_EVENT_stack, sizeof(*record));

	if (!record)
		return false;
	record->id = id;
	record->parent = stack->parent;
	record->frame = stack->frame;
	record->depth = stack->depth;
	record->module = stack->module;
	record->fill = 0;
	vt_ring_commit(&thread->writer, sizeof(*record));
	return true;
}

uint32_t vt_intern_stack(struct vt_thread *thread, const struct vt_stack *stack)
{
	uint64_t key = pair_key(stack->frame, stack->parent);

	if (stack->module)
		key = vt_hash_words(key, stack->module);
	return intern(thread, &vt_agent_get()->stacks, key, define_stack, stack);
}

static bool define_module(struct vt_thread *thread, uint32_t id, const void *content)
{
	const struct vt_module *module = content;
	struct vt_module *record = vt_ring_reserve(&thread->writer, VT_EVENT_module, sizeof(*record));

	if (!record)
		return false;
	record->id = id;
	record->class = module->class;
	record->address = module->address;
	vt_ring_commit(&thread->writer, sizeof(*record));
	return true;
}

uint32_t vt_intern_module(struct vt_thread *thread, const void *module, const void *class, uint32_t class_name)
{
	struct vt_module content = { .class = class_name, .address = (uintptr_t)module };
	uint64_t key = vt_hash_words(vt_hash_words((uintptr_t)module, (uintptr_t) class), class_name);

	struct vt_table *table = &vt_agent_get()->modules;

	if (VT_UNLIKELY(atomic_load_explicit(&table->next_id, memory_order_relaxed) >= VT_MODULES_MAX)) {
		struct vt_table_slot *slot = NULL;
		uint32_t id = 0;

		if (vt_table_find(table, key, &id, &slot) != VT_TABLE_FOUND)
			id = 0;
		if (slot)
			vt_table_vacate(slot);
		return id;
	}
	return intern(thread, table, key, define_module, &content);
}

static bool define_kernel_config(struct vt_thread *thread, uint32_t id, const void *content)
{
	struct vt_kernel_config *record = vt_ring_reserve(&thread->writer, VT_EVENT_kernel_config, sizeof(*record));
	struct vt_rec rec;

	if (!record)
		return false;
	rec = record->rec;
	memcpy(record, content, sizeof(*record));
	record->rec = rec;
	record->id = id;
	vt_ring_commit(&thread->writer, sizeof(*record));
	return true;
}

uint32_t vt_intern_kernel_config(struct vt_thread *thread, const struct vt_kernel_config *config)
{
	struct vt_kernel_config content = *config;

	/* The key is everything but the header and the id. */
	memset(&content.rec, 0, sizeof(content.rec));
	content.id = 0;
	content.fill = 0;
	return intern(thread, &vt_agent_get()->kernel_configs, vt_hash_bytes((const char *)&content, sizeof(content)),
		      define_kernel_config, &content);
}

uint32_t vt_intern_touch(struct vt_thread *thread, const uint64_t *addresses, uint32_t count)
{
	struct text text = { (const char *)addresses, count * (uint32_t)sizeof(*addresses) };

	return intern(thread, &vt_agent_get()->touches, vt_hash_bytes(text.bytes, text.size_bytes), define_touch,
		      &text);
}
