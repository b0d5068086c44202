/*
 * hooks.c - the doors: functions of libc10 that we stand in for, and the CUDA driver's injection entry.
 *
 * PyTorch's allocators call c10's two report functions for every block they hand out or take back and for every OOM,
 * profiler or not, through the PLT; a preloaded library that defines them is called first. Names and signatures
 * (pytorch, c10/core/Allocator.h): up to 1.13 the totals were int64_t ("lll"), since 2.0 they are size_t ("lmm").
 * c10::Device is two int8_t, type and index, passed in one register. We always call the real function on.
 *
 * CUDA's allocator calls us under its mutex: nothing here takes the GIL, waits, or calls torch but to forward.
 */
#include <dlfcn.h>

#include "capture/agent/agent.h"
#include "capture/agent/config.h"
#include "capture/agent/loader.h"
#include "capture/agent/oom.h"
#include "capture/agent/state.h"
#include "capture/agent/torch_allocator.h"

typedef void report_fn(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device);
typedef void oom_fn(int64_t size, size_t allocated, size_t reserved, uint16_t device);
typedef bool enabled_fn(void);

#define REPORT _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define REPORT_OLD _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE
#define OOM _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
#define OOM_OLD _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE
#define ENABLED _ZN3c1022memoryProfilingEnabledEv
#define NAME_OF_(symbol) #symbol
#define NAME_OF(symbol) NAME_OF_(symbol)

VT_EXPORT report_fn REPORT;
VT_EXPORT report_fn REPORT_OLD;
VT_EXPORT oom_fn OOM;
VT_EXPORT oom_fn OOM_OLD;
VT_EXPORT enabled_fn ENABLED;
VT_EXPORT int InitializeInjection(void);

/* What is called on where the real function is not found. */
static void no_report(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	(void)address, (void)size, (void)allocated, (void)reserved, (void)device;
}

static void no_oom(int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	(void)size, (void)allocated, (void)reserved, (void)device;
}

static bool no_enabled(void)
{
	return false;
}

/* The real functions; NULL until looked up, which threads may do twice with one result. */
static report_fn *_Atomic real_report, *_Atomic real_report_old;
static oom_fn *_Atomic real_oom, *_Atomic real_oom_old;
static enabled_fn *_Atomic real_enabled;

/*
 * The next definition behind ours. In a program linked with torch it is in the global scope; Python loads torch with
 * RTLD_LOCAL, where only a handle of the library finds it.
 */
static void *find_real(const char *name, const void *own)
{
	void *found = dlsym(RTLD_NEXT, name);
	void *library;

	if (!found) {
		library = vt_loader_find("libc10.so");
		found = library ? dlsym(library, name) : NULL;
	}
	return found == own ? NULL : found;
}

#define REAL(pointer, symbol, none)                                                                                    \
	do {                                                                                                           \
		void *found_ = find_real(NAME_OF(symbol), (const void *)(symbol));                                     \
		atomic_store_explicit(&(pointer), found_ ? (__typeof__(none) *)found_ : (none), memory_order_release); \
	} while (0)

/* All at once, on the first call of any door: the earliest is from a plain CPU allocation, outside of CUDA's mutex. */
static void __attribute__((cold, noinline)) resolve(void)
{
	REAL(real_report, REPORT, no_report);
	REAL(real_report_old, REPORT_OLD, no_report);
	REAL(real_oom, OOM, no_oom);
	REAL(real_oom_old, OOM_OLD, no_oom);
	REAL(real_enabled, ENABLED, no_enabled); /* last: it is what the doors look at */
}

static inline void ensure_resolved(void)
{
	if (VT_UNLIKELY(!atomic_load_explicit(&real_enabled, memory_order_acquire)))
		resolve();
}

static inline unsigned device_type(uint16_t device)
{
	return device & 0xffu;
}

static inline int16_t device_index(uint16_t device)
{
	return (int8_t)(device >> 8);
}

static inline bool is_recorded(uint16_t device)
{
	return vt_config.wanted && (device_type(device) != VT_device_type_HOST || vt_config.host);
}

static void record_tensor(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	struct vt_thread *thread = vt_agent_enter();
	struct vt_context context = { 0 };
	struct vt_tensor *record;

	if (!thread)
		return;
	if (VT_UNLIKELY(!vt_torch_is_done()))
		vt_torch_attach(thread);
	if (size > 0)
		context = vt_agent_context(thread);
	else
		context.op = vt_thread_op(thread);
	record = vt_ring_reserve(&thread->writer, VT_EVENT_tensor, sizeof(*record));
	if (VT_LIKELY(record != NULL)) {
		record->time_ns = vt_agent_now(thread);
		record->address = (uintptr_t)address;
		record->size_bytes = size;
		record->slack_bytes = size > 0 ? vt_allocator_take_slack((uint64_t)size) : 0;
		record->stream =
			device_type(device) == VT_device_type_CUDA ? vt_allocator_stream(device_index(device)) : 0;
		record->allocated_bytes = allocated;
		record->reserved_bytes = reserved;
		record->thread = thread->tid;
		record->op = context.op;
		record->stack = context.stack;
		record->device = device_index(device);
		record->device_type = (uint16_t)device_type(device);
		vt_ring_commit(&thread->writer, sizeof(*record));
	}
	vt_agent_leave(thread);
}

static void record_oom(int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	struct vt_oom_facts facts = { .requested_bytes = (uint64_t)size,
				      .allocated_bytes = allocated,
				      .reserved_bytes = reserved,
				      .device_type = (uint16_t)device_type(device),
				      .device = device_index(device) };
	struct vt_thread *thread = vt_agent_enter();

	if (!thread)
		return;
	/* The request ends here, by an exception. */
	(void)vt_allocator_take_slack(0);
	facts.context = vt_agent_context(thread);
	vt_oom_write(thread, &facts);
	vt_agent_leave(thread);
}

void REPORT(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	ensure_resolved();
	if (is_recorded(device))
		record_tensor(address, size, allocated, reserved, device);
	atomic_load_explicit(&real_report, memory_order_relaxed)(address, size, allocated, reserved, device);
}

void REPORT_OLD(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	ensure_resolved();
	if (is_recorded(device))
		record_tensor(address, size, allocated, reserved, device);
	atomic_load_explicit(&real_report_old, memory_order_relaxed)(address, size, allocated, reserved, device);
}

void OOM(int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	ensure_resolved();
	if (is_recorded(device))
		record_oom(size, allocated, reserved, device);
	atomic_load_explicit(&real_oom, memory_order_relaxed)(size, allocated, reserved, device);
}

void OOM_OLD(int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	ensure_resolved();
	if (is_recorded(device))
		record_oom(size, allocated, reserved, device);
	atomic_load_explicit(&real_oom_old, memory_order_relaxed)(size, allocated, reserved, device);
}

/* "Yes" makes c10 report CPU tensors, which it does only for a profiler. */
bool ENABLED(void)
{
	ensure_resolved();
	if (vt_config.wanted && vt_config.host)
		return true;
	return atomic_load_explicit(&real_enabled, memory_order_relaxed)();
}

/* The CUDA driver calls this at cuInit in the library that CUDA_INJECTION64_PATH names. */
int InitializeInjection(void)
{
	struct vt_thread *thread = vt_config.wanted ? vt_agent_enter_paused() : NULL;

	if (thread) {
		vt_torch_attach(thread);
		vt_cupti_attach(thread);
		vt_agent_leave(thread);
	}
	return 1;
}
