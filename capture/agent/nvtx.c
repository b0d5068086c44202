/*
 * nvtx.c - NVTX without CUPTI: the tool that each copy of NVTX v3 in the process calls.
 *
 * Pushed ranges go on the thread's op stack, so that what is allocated inside them names them, and become op events when
 * they end. Ranges with an id belong to no thread: they become mark events, as marks do.
 *
 * A program that never calls NVTX never comes here. One that is not captured is told that there is no tool, and its
 * NVTX calls cost it what they cost without us.
 */
#include <stdatomic.h>
#include <string.h>

#include "capture/agent/config.h"
#include "capture/agent/mark.h"
#include "capture/agent/state.h"

/* Ranges with an id that are open at one time; one that finds its slot taken is not followed. */
#define SLOTS 1024u
/* A slot's id while its other fields are written or read. */
#define BUSY UINT64_MAX

VT_EXPORT int InitializeInjectionNvtx2(vt_nvtx_get_table_fn *get_table);

static struct slot {
	_Atomic uint64_t id; /* 0: free */
	uint64_t start_ns;
	uint32_t name;
	uint32_t generation; /* of struct vt_agent: string ids mean nothing to a child */
} slots[SLOTS];
static _Atomic uint64_t last_id;

/* ------------------------------------------------------------------ what the calls come to */

static void mark(const struct vt_nvtx_text *text)
{
	struct vt_thread *thread = vt_agent_enter();
	struct vt_mark_facts facts = { .kind = VT_mark_kind_MARK };

	if (!thread)
		return;
	facts.name = vt_intern_string(thread, text->bytes, (uint32_t)text->length);
	vt_mark_write(thread, &facts);
	vt_agent_leave(thread);
}

static int push(const struct vt_nvtx_domain *domain, const struct vt_nvtx_text *text)
{
	struct vt_thread *thread = vt_agent_enter();
	int level;

	if (!thread)
		return VT_NVTX_NO_LEVEL;
	level = vt_range_push(thread, domain, text);
	vt_agent_leave(thread);
	return level;
}

static int pop(const struct vt_nvtx_domain *domain)
{
	struct vt_thread *thread = vt_agent_enter_live();
	int level;

	if (!thread)
		return VT_NVTX_NO_LEVEL;
	level = vt_range_pop(thread, domain);
	vt_agent_leave(thread);
	return level;
}

static uint64_t start(const struct vt_nvtx_text *text)
{
	uint64_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1, free = 0;
	struct slot *slot = &slots[id % SLOTS];
	struct vt_thread *thread = vt_agent_enter();

	if (!thread)
		return id;
	if (atomic_compare_exchange_strong_explicit(&slot->id, &free, BUSY, memory_order_acquire, /* N1 */
						    memory_order_relaxed)) {
		slot->name = vt_intern_string(thread, text->bytes, (uint32_t)text->length);
		slot->start_ns = vt_agent_now(thread);
		slot->generation = thread->generation;
		atomic_store_explicit(&slot->id, id, memory_order_release); /* N1 */
	}
	vt_agent_leave(thread);
	return id;
}

static void end(uint64_t id)
{
	struct slot *slot = &slots[id % SLOTS];
	struct vt_mark_facts facts = { .kind = VT_mark_kind_RANGE };
	struct vt_thread *thread;
	uint32_t generation;

	if (id == 0 || id == BUSY ||
	    !atomic_compare_exchange_strong_explicit(&slot->id, &id, BUSY, memory_order_acquire, memory_order_relaxed))
		return;
	facts.name = slot->name;
	facts.start_ns = slot->start_ns;
	generation = slot->generation;
	atomic_store_explicit(&slot->id, 0, memory_order_release); /* N1 */
	thread = vt_agent_enter_live();
	if (!thread)
		return;
	if (generation == thread->generation)
		vt_mark_write(thread, &facts);
	vt_agent_leave(thread);
}

/* ------------------------------------------------------------------ as NVTX calls us */

static void mark_ex(const struct vt_nvtx_attributes *attributes)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_of(&text, vt_nvtx_domain_check(NULL), attributes);
	mark(&text);
}

static void mark_a(const char *message)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_plain(&text, vt_nvtx_domain_check(NULL), message);
	mark(&text);
}

static void mark_w(const wchar_t *message)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_wide(&text, vt_nvtx_domain_check(NULL), message);
	mark(&text);
}

static uint64_t start_ex(const struct vt_nvtx_attributes *attributes)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_of(&text, vt_nvtx_domain_check(NULL), attributes);
	return start(&text);
}

static uint64_t start_a(const char *message)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_plain(&text, vt_nvtx_domain_check(NULL), message);
	return start(&text);
}

static uint64_t start_w(const wchar_t *message)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_wide(&text, vt_nvtx_domain_check(NULL), message);
	return start(&text);
}

static int push_ex(const struct vt_nvtx_attributes *attributes)
{
	const struct vt_nvtx_domain *domain = vt_nvtx_domain_check(NULL);
	struct vt_nvtx_text text;

	vt_nvtx_text_of(&text, domain, attributes);
	return push(domain, &text);
}

static int push_a(const char *message)
{
	const struct vt_nvtx_domain *domain = vt_nvtx_domain_check(NULL);
	struct vt_nvtx_text text;

	vt_nvtx_text_plain(&text, domain, message);
	return push(domain, &text);
}

static int push_w(const wchar_t *message)
{
	const struct vt_nvtx_domain *domain = vt_nvtx_domain_check(NULL);
	struct vt_nvtx_text text;

	vt_nvtx_text_wide(&text, domain, message);
	return push(domain, &text);
}

static int pop_default(void)
{
	return pop(vt_nvtx_domain_check(NULL));
}

static void name_thread(uint32_t tid, const char *name)
{
	struct vt_thread *thread = vt_agent_enter_paused();

	if (!thread)
		return;
	vt_agent_note(thread, VT_note_code_THREAD_NAME, tid, name);
	vt_agent_leave(thread);
}

static void domain_mark_ex(const void *handle, const struct vt_nvtx_attributes *attributes)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_of(&text, vt_nvtx_domain_check(handle), attributes);
	mark(&text);
}

static uint64_t domain_start_ex(const void *handle, const struct vt_nvtx_attributes *attributes)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_of(&text, vt_nvtx_domain_check(handle), attributes);
	return start(&text);
}

static void domain_end(const void *handle, uint64_t id)
{
	(void)handle;
	end(id);
}

static int domain_push_ex(const void *handle, const struct vt_nvtx_attributes *attributes)
{
	const struct vt_nvtx_domain *domain = vt_nvtx_domain_check(handle);
	struct vt_nvtx_text text;

	vt_nvtx_text_of(&text, domain, attributes);
	return push(domain, &text);
}

static int domain_pop(const void *handle)
{
	return pop(vt_nvtx_domain_check(handle));
}

static const void *register_a(const void *handle, const char *text)
{
	(void)handle;
	return vt_nvtx_string_register(text);
}

static const void *register_w(const void *handle, const wchar_t *text)
{
	(void)handle;
	return vt_nvtx_string_register_wide(text);
}

/* Others may use the name again. */
static void domain_destroy(const void *handle)
{
	(void)handle;
}

/* ------------------------------------------------------------------ the door */

struct entry {
	unsigned id;
	vt_nvtx_function *function;
};

#define ENTRY(id, function)                                                                                            \
	{                                                                                                              \
		(id), (vt_nvtx_function *)(function)                                                                   \
	}

static const struct entry core[] = {
	ENTRY(VT_NVTX_MARK_EX, mark_ex),       ENTRY(VT_NVTX_MARK_A, mark_a),
	ENTRY(VT_NVTX_MARK_W, mark_w),	       ENTRY(VT_NVTX_RANGE_START_EX, start_ex),
	ENTRY(VT_NVTX_RANGE_START_A, start_a), ENTRY(VT_NVTX_RANGE_START_W, start_w),
	ENTRY(VT_NVTX_RANGE_END, end),	       ENTRY(VT_NVTX_RANGE_PUSH_EX, push_ex),
	ENTRY(VT_NVTX_RANGE_PUSH_A, push_a),   ENTRY(VT_NVTX_RANGE_PUSH_W, push_w),
	ENTRY(VT_NVTX_RANGE_POP, pop_default), ENTRY(VT_NVTX_NAME_OS_THREAD_A, name_thread),
};

static const struct entry core2[] = {
	ENTRY(VT_NVTX_DOMAIN_MARK_EX, domain_mark_ex),
	ENTRY(VT_NVTX_DOMAIN_RANGE_START_EX, domain_start_ex),
	ENTRY(VT_NVTX_DOMAIN_RANGE_END, domain_end),
	ENTRY(VT_NVTX_DOMAIN_RANGE_PUSH_EX, domain_push_ex),
	ENTRY(VT_NVTX_DOMAIN_RANGE_POP, domain_pop),
	ENTRY(VT_NVTX_DOMAIN_REGISTER_STRING_A, register_a),
	ENTRY(VT_NVTX_DOMAIN_REGISTER_STRING_W, register_w),
	ENTRY(VT_NVTX_DOMAIN_CREATE_A, vt_nvtx_domain_create),
	ENTRY(VT_NVTX_DOMAIN_CREATE_W, vt_nvtx_domain_create_wide),
	ENTRY(VT_NVTX_DOMAIN_DESTROY, domain_destroy),
};

/* Puts our functions where the program's copy of NVTX has a place for them. */
static void fill(const struct vt_nvtx_callbacks *callbacks, int module, const struct entry *entries, size_t count)
{
	vt_nvtx_function ***table = NULL;
	unsigned size = 0;

	if (!callbacks->get_table(module, &table, &size) || !table)
		return;
	for (size_t i = 0; i < count; i++)
		if (entries[i].id < size && table[entries[i].id])
			*table[entries[i].id] = entries[i].function;
}

int InitializeInjectionNvtx2(vt_nvtx_get_table_fn *get_table)
{
	const struct vt_nvtx_callbacks *callbacks =
		vt_config.wanted && get_table ? get_table(VT_NVTX_TABLE_CALLBACKS) : NULL;

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || !callbacks->get_table)
		return 0;
	fill(callbacks, VT_NVTX_MODULE_CORE, core, VT_ARRAY_SIZE(core));
	fill(callbacks, VT_NVTX_MODULE_CORE2, core2, VT_ARRAY_SIZE(core2));
	return 1;
}
