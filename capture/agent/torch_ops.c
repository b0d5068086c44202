/*
 * torch_ops.c - follows PyTorch's ops: a global at::RecordFunction callback keeps each thread's stack of open ops and
 * writes an op event as each ends.
 *
 * Called from C: at::RecordFunctionCallback is 40 bytes, trivially copyable and passed by value, as a C struct is. Its
 * start function returns a std::unique_ptr<ObserverContext>: on x86-64 the caller passes the address of the result as a
 * hidden first argument and gets it back. An empty unique_ptr is one zero word.
 *
 * Registration takes a lock inside torch and is seen by each thread at its next op. It stays for the process's life,
 * across a fork too: in a child that records nothing the callbacks return after one comparison.
 */
#include <dlfcn.h>

#include "capture/agent/config.h"
#include "capture/agent/intern.h"
#include "capture/agent/loader.h"
#include "capture/agent/op_stack.h"
#include "capture/agent/proc.h"
#include "capture/agent/python_stack.h"
#include "capture/agent/record_function.h"
#include "capture/agent/state.h"
#include "capture/agent/torch_allocator.h"

/* How often torch is looked for by events that need it before it counts as absent. */
#define TRIES_MAX 8u
/* at::RecordScope has 10 values in PyTorch 1.13 to 2.14. */
#define SCOPES 10
/* Async ends that a thread may miss before it looks again. */
#define ASYNC_SLOTS 64u

struct callback {
	void *(*start)(void **ret_context, const void *function);
	void (*end)(const void *function, void *context);
	double sampling_probability;
	uint8_t scopes[SCOPES];
	uint8_t needs_inputs;
	uint8_t needs_outputs;
	uint8_t needs_ids;
};
_Static_assert(sizeof(struct callback) == 40, "at::RecordFunctionCallback");

/* Constant once the callback is registered. Survives fork, as the registration does. */
static struct vt_rf_layout layout;
static const char *(*function_name)(const void *function);
static uint64_t (*torch_thread_id)(void);
static _Atomic uint32_t registration; /* enum registration */

enum registration { UNTRIED, STARTED, REGISTERED, REFUSED };

/* RecordFunctions that ended on a thread other than the one they began on, the last few. */
static const void *_Atomic async_ended[ASYNC_SLOTS];
static _Atomic uint32_t async_count;

/* Takes ops off the thread's stack that another thread has ended meanwhile. */
static void drop_async_ended(struct vt_thread *thread, uint32_t count)
{
	for (unsigned i = 0; i < ASYNC_SLOTS; i++) {
		const void *function = atomic_load_explicit(&async_ended[i], memory_order_relaxed);
		uint32_t at = function ? vt_op_stack_find(thread, function) : thread->depth;

		if (at < thread->depth && thread->depth <= VT_OP_DEPTH_MAX)
			vt_op_stack_remove(thread, at);
	}
	thread->async_seen = count;
}

static void begin(struct vt_thread *thread, const void *function)
{
	uint32_t count = atomic_load_explicit(&async_count, memory_order_acquire);
	const char *name = function_name(function);
	struct vt_open_op *op;

	if (VT_UNLIKELY(thread->async_seen != count))
		drop_async_ended(thread, count);
	if (VT_UNLIKELY(thread->torch_thread == 0))
		thread->torch_thread = (uint32_t)torch_thread_id();
	op = vt_op_stack_push(thread);
	if (VT_UNLIKELY(!op))
		return;
	op->function = function;
	op->sequence = (int64_t)vt_rf_u64(function, layout.sequence);
	op->forward_thread = (uint32_t)vt_rf_u64(function, layout.forward_thread);
	op->here = op->sequence >= 0 ? vt_python_here(thread) : vt_thread_here(thread);
	op->is_range = false;
	op->node =
		vt_op_stack_node(thread, name, strnlen(name, VT_OP_NAME_BYTES_MAX), vt_rf_u8(function, layout.scope));
	op->start_ns = vt_agent_now(thread);
	thread->depth++;
}

/*
 * Ends come in the reverse order of begins, but for what began before the callback was there (not on the stack), what
 * is deeper than the stack, and what another thread ends (async).
 */
static void end(struct vt_thread *thread, const void *function)
{
	uint32_t at = vt_op_stack_find(thread, function);

	if (VT_UNLIKELY(at == thread->depth)) {
		if (thread->depth > VT_OP_DEPTH_MAX + thread->deep_ranges) {
			thread->depth--;
		} else if (vt_rf_u8(function, layout.is_async)) {
			uint32_t n = atomic_load_explicit(&async_count, memory_order_relaxed);

			atomic_store_explicit(&async_ended[n % ASYNC_SLOTS], function, memory_order_relaxed);
			atomic_fetch_add_explicit(&async_count, 1, memory_order_release);
		}
		return;
	}
	vt_op_stack_write(thread, &thread->ops[at]);
	vt_op_stack_end(thread, at);
}

static void *on_start(void **ret_context, const void *function)
{
	struct vt_thread *thread = vt_agent_enter_live();

	*ret_context = NULL;
	if (thread) {
		begin(thread, function);
		vt_agent_leave(thread);
	}
	return (void *)ret_context;
}

static void on_end(const void *function, void *context)
{
	struct vt_thread *thread = vt_agent_enter_live();

	(void)context;
	if (thread) {
		end(thread, function);
		vt_agent_leave(thread);
	}
}

/* Looks the five functions up, measures and registers; NULL or why not. */
static const char *do_register(void *library)
{
	uint64_t (*add)(struct callback) =
		(uint64_t(*)(struct callback))dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
	void *constructor = dlsym(library, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE");
	void *destructor = dlsym(library, "_ZN2at14RecordFunctionD1Ev");
	struct callback callback = { .start = on_start, .end = on_end, .sampling_probability = 1.0 };
	const char *why;

	function_name = (const char *(*)(const void *))dlsym(library, "_ZNK2at14RecordFunction4nameEv");
	torch_thread_id = (uint64_t(*)(void))dlsym(library, "_ZN2at14RecordFunction15currentThreadIdEv");
	if (!add || !constructor || !destructor || !function_name || !torch_thread_id)
		return "this PyTorch has no at::RecordFunction";
	why = vt_rf_calibrate(constructor, destructor, &layout);
	if (why)
		return why;
	callback.scopes[VT_op_scope_FUNCTION] = 1;
	callback.scopes[VT_op_scope_BACKWARD] = 1;
	callback.scopes[VT_op_scope_TORCHSCRIPT] = 1;
	callback.scopes[VT_op_scope_USER] = 1;
	(void)add(callback);
	return NULL;
}

/* Registers once in the life of this memory image; a child of a fork has what its parent had. */
static const char *ensure_registered(void *library)
{
	uint32_t before = UNTRIED;
	const char *why = NULL;

#ifndef __x86_64__
	return "the start callback's hidden argument is known for x86-64 alone";
#endif
	if (atomic_compare_exchange_strong_explicit(&registration, &before, STARTED, memory_order_acq_rel,
						    memory_order_acquire)) {
		why = do_register(library);
		atomic_store_explicit(&registration, why ? REFUSED : REGISTERED, memory_order_release);
		return why;
	}
	return before == REGISTERED ? NULL : "the process that this one was forked from could not follow ops";
}

/* The version that version.py says, which lies beside a library's directory; NULL where there is none. */
static const char *read_version(const char *library, char *text, size_t size)
{
	static const char file[] = "/../version.py", mark[] = "__version__ = '";
	const char *slash = strrchr(library, '/');
	size_t length = slash ? (size_t)(slash - library) : 0;
	char path[4096], *version, *end;

	if (!slash || length + sizeof(file) > sizeof(path))
		return NULL;
	memcpy(path, library, length);
	memcpy(path + length, file, sizeof(file));
	text[vt_proc_read(path, text, size - 1)] = '\0';
	version = strstr(text, mark);
	version = version ? version + sizeof(mark) - 1 : NULL;
	end = version ? strchr(version, '\'') : NULL;
	if (!end)
		return NULL;
	*end = '\0';
	return version;
}

/* The note that torch is there, with its version, or else the path of the library that the address lies in. */
static void note_torch(struct vt_thread *thread, const void *address)
{
	char text[2048];
	const char *version;
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname)
		return;
	version = read_version(info.dli_fname, text, sizeof(text));
	vt_agent_note(thread, VT_note_code_TORCH_FOUND, 0, version ? version : info.dli_fname);
}

/* Where torch's symbols are: the global scope, or a handle of the library. NULL: torch is not loaded. */
static void *find_torch(void **ret_library)
{
	static const char name[] = "_ZNK2at14RecordFunction4nameEv";
	void *symbol = dlsym(RTLD_DEFAULT, name);

	*ret_library = RTLD_DEFAULT;
	if (symbol)
		return symbol;
	*ret_library = vt_loader_find("libtorch_cpu.so");
	return *ret_library ? dlsym(*ret_library, name) : NULL;
}

void vt_torch_attach(struct vt_thread *thread)
{
	struct vt_agent *agent = vt_agent_get();
	uint32_t tries = atomic_load_explicit(&agent->torch_tries, memory_order_relaxed);
	void *library, *symbol;
	const char *why;

	/* One thread tries at a time: who cannot raise the count has been overtaken. */
	if (tries == VT_TORCH_DONE ||
	    !atomic_compare_exchange_strong_explicit(&agent->torch_tries, &tries, VT_TORCH_DONE, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	symbol = find_torch(&library);
	if (!symbol) {
		if (tries + 1 < TRIES_MAX)
			atomic_store_explicit(&agent->torch_tries, tries + 1, memory_order_relaxed);
		else
			vt_agent_note(thread, VT_note_code_TORCH_OPS_OFF, 0, "PyTorch's op library is not loaded");
		return;
	}
	note_torch(thread, symbol);
	vt_allocator_attach(thread);
	why = vt_config.ops ? ensure_registered(library) : "switched off by VRAMTRACE_OPS=0";
	if (why)
		vt_agent_note(thread, VT_note_code_TORCH_OPS_OFF, 0, why);
	else
		vt_agent_note(thread, VT_note_code_TORCH_OPS_ON, 0, NULL);
}
