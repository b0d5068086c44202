/* torch_allocator.c - see torch_allocator.h. */
#include "capture/agent/torch_allocator.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "capture/agent/config.h"
#include "capture/agent/loader.h"

#define CUDA_ALLOCATOR "_ZN3c104cuda20CUDACachingAllocator9allocatorE" /* std::atomic<CUDAAllocator *> */
#define GET_ALLOCATOR "_ZN3c1012GetAllocatorERKNS_10DeviceTypeE"
#define CURRENT_STREAM "_ZN3c104cuda20getCurrentCUDAStreamEa"

/* Two words, the offset to the top and the type, lie before the first entry. */
#define HEAD 2
#define ALLOCATE 2
/* CUDAAllocator had some forty entries in 2.0 and has some seventy in 2.14. */
#define ENTRIES_MAX 128

/* DataPtr allocate(size_t): the result's place is passed first, and returned. */
typedef void *allocate_fn(void *result, void *self, size_t bytes);
/* c10::cuda::CUDAStream: a device in the first word, the StreamId in the second; returned in two registers. */
struct stream {
	uint64_t device;
	int64_t id;
};
typedef struct stream current_stream_fn(int8_t device);

/* One allocator object. */
struct watch {
	allocate_fn *real;
	void *table[HEAD + ENTRIES_MAX];
};

/* Each written once, before the object's pointer makes it reachable. */
static struct watch cuda, host;
static current_stream_fn *_Atomic current_stream;

/* Bytes that the thread is asking for; 0: none. initial-exec: reached without a call. */
static __thread size_t wanted __attribute__((tls_model("initial-exec")));

static void *allocate(const struct watch *watch, void *result, void *self, size_t bytes)
{
	wanted = bytes;
	result = watch->real(result, self, bytes);
	wanted = 0;
	return result;
}

static void *allocate_cuda(void *result, void *self, size_t bytes)
{
	return allocate(&cuda, result, self, bytes);
}

static void *allocate_host(void *result, void *self, size_t bytes)
{
	return allocate(&host, result, self, bytes);
}

uint64_t vt_allocator_take_slack(uint64_t size_bytes)
{
	size_t bytes = wanted;

	wanted = 0;
	return bytes && bytes <= size_bytes ? size_bytes - bytes + 1 : 0;
}

uint64_t vt_allocator_stream(int16_t device)
{
	current_stream_fn *function = atomic_load_explicit(&current_stream, memory_order_relaxed);

	return function && device >= 0 && device <= INT8_MAX ? (uint64_t)function((int8_t)device).id + 1 : 0;
}

/* ------------------------------------------------------------------ where addresses lie */

struct place {
	uintptr_t address;
	uintptr_t end; /* of the segment */
	uint32_t flags;
	bool in_relro; /* read-only once the library is loaded */
	bool is_torch;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;
	bool found = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + header->p_vaddr;

		if (place->address < begin || place->address >= begin + header->p_memsz)
			continue;
		if (header->p_type == PT_LOAD) {
			found = true;
			place->end = begin + header->p_memsz;
			place->flags = header->p_flags;
			place->is_torch = !strncmp(base, "libc10", 6) || !strncmp(base, "libtorch", 8);
		} else if (header->p_type == PT_GNU_RELRO) {
			place->in_relro = true;
		}
	}
	return found;
}

static bool find_place(const void *address, struct place *ret)
{
	*ret = (struct place){ .address = (uintptr_t)address };
	return dl_iterate_phdr(look, ret) != 0;
}

/* ------------------------------------------------------------------ attaching */

static const char *put_watch(void *object, struct watch *watch, allocate_fn *own)
{
	struct place at, table, code;
	void **entries;
	size_t count;

	if (!object)
		return "there is no allocator";
	if (!find_place(object, &at) || !(at.flags & PF_W) || at.in_relro)
		return "the allocator is not where it can be watched";
	memcpy(&entries, object, sizeof(entries));
	if (!find_place(entries - HEAD, &table) || !table.is_torch)
		return "the allocator's functions are not PyTorch's";
	if (!find_place(entries[ALLOCATE], &code) || !(code.flags & PF_X) || !code.is_torch)
		return "the allocator's functions are not where they were";
	count = (table.end - (uintptr_t)(entries - HEAD)) / sizeof(*entries);
	memcpy(watch->table, entries - HEAD,
	       (count < HEAD + ENTRIES_MAX ? count : HEAD + ENTRIES_MAX) * sizeof(*entries));
	memcpy(&watch->real, &entries[ALLOCATE], sizeof(watch->real));
	memcpy(&watch->table[HEAD + ALLOCATE], &own, sizeof(own));
	entries = watch->table + HEAD;
	/* One aligned word: a thread that calls now sees the old table or the new one. */
	__atomic_store(__extension__(void ***) object, &entries, __ATOMIC_RELEASE);
	return NULL;
}

static const char *watch_cuda(void)
{
	void *library = vt_loader_find("libc10_cuda.so");
	void *pointer = library ? dlsym(library, CUDA_ALLOCATOR) : NULL;
	void *object;
	void *function;

	if (!library)
		return NULL; /* a PyTorch without CUDA */
	function = dlsym(library, CURRENT_STREAM);
	if (function) {
		current_stream_fn *typed;

		memcpy(&typed, &function, sizeof(typed));
		atomic_store_explicit(&current_stream, typed, memory_order_relaxed);
	}
	if (!pointer)
		return "libc10_cuda has no " CUDA_ALLOCATOR;
	__atomic_load(__extension__(void **) pointer, &object, __ATOMIC_ACQUIRE);
	return put_watch(object, &cuda, allocate_cuda);
}

static const char *watch_host(void)
{
	void *library = vt_loader_find("libc10.so");
	void *function = library ? dlsym(library, GET_ALLOCATOR) : NULL;
	const int8_t type = VT_device_type_HOST;
	void *(*get)(const int8_t *);

	if (!function)
		return "libc10 has no " GET_ALLOCATOR;
	memcpy(&get, &function, sizeof(get));
	return put_watch(get(&type), &host, allocate_host);
}

void vt_allocator_attach(struct vt_thread *thread)
{
	const char *setting = secure_getenv(VT_ENV_REQUESTED);
	const char *why = NULL;

#ifdef __x86_64__
	if (setting && !strcmp(setting, "0"))
		why = "switched off by " VT_ENV_REQUESTED "=0";
	if (!why)
		why = watch_cuda();
	if (!why && vt_config.host)
		why = watch_host();
#else
	(void)setting;
	why = "not possible on this processor";
#endif
	if (why)
		vt_agent_note(thread, VT_note_code_REQUESTED_OFF, 0, why);
}
