/* native.c - see native.h. */
#include "capture/agent/native.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define PATH_BYTES 1024

/* As in glibc's <dlfcn.h> from 2.35 on; declared here so that older headers do. The tail is glibc's to grow into. */
struct found_object {
	unsigned long long flags;
	void *begin, *end;
	struct link_map *map;
	void *eh_frame;
	unsigned long long reserved[16];
};

/* Constant once `ready` is set. */
static struct {
	_Unwind_Reason_Code (*walk)(_Unwind_Trace_Fn, void *);
	_Unwind_Ptr (*get_ip)(struct _Unwind_Context *);
	int (*find_object)(void *, struct found_object *);
	struct link_map *own;	  /* the agent */
	char program[PATH_BYTES]; /* the loader has no name for it */
	_Atomic bool ready;
} native;

struct walk {
	const char *path;
	uint32_t frames;
};

/* Whose frames lie between a call and our callback. Statically linked runtimes are part of their library. */
static bool is_passed_over(const char *path)
{
	static const char *const names[] = { "libcupti.so", "libcuda.so", "libcudart.so", "libcudadebugger.so" };
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < VT_ARRAY_SIZE(names); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *arg)
{
	struct found_object object = { .flags = 0 };
	struct walk *walk = arg;
	/* A return address may be the first byte behind its function; the call itself lies before it. */
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the unwinder gives numbers */
	char *ip = (char *)native.get_ip(context) - 1;

	if (++walk->frames > VT_NATIVE_FRAMES_MAX)
		return _URC_END_OF_STACK;
	/* Generated code belongs to no library: its caller does. */
	if (native.find_object(ip, &object) != 0 || !object.map || object.map == native.own)
		return _URC_NO_REASON;
	walk->path = object.map->l_name && object.map->l_name[0] ? object.map->l_name : native.program;
	if (!is_passed_over(walk->path))
		return _URC_END_OF_STACK;
	walk->path = NULL;
	return _URC_NO_REASON;
}

uint32_t vt_native_caller(struct vt_thread *thread)
{
	struct walk walk = { .path = NULL };

	if (!atomic_load_explicit(&native.ready, memory_order_acquire))
		return 0;
	(void)native.walk(look, &walk);
	return walk.path ? vt_intern_string(thread, walk.path, (uint32_t)strnlen(walk.path, PATH_BYTES)) : 0;
}

/* Whether this libgcc was built to ask _dl_find_object: its dynamic strings name what it imports. */
static bool is_lock_free(void *libgcc)
{
	static const char wanted[] = "_dl_find_object";
	struct link_map *map = NULL;
	const char *strings = NULL;
	size_t bytes = 0;

	if (dlinfo(libgcc, RTLD_DI_LINKMAP, &map) != 0 || !map)
		return false;
	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader has put the address there */
		strings = entry->d_tag == DT_STRTAB ? (const char *)entry->d_un.d_ptr : strings;
		bytes = entry->d_tag == DT_STRSZ ? entry->d_un.d_val : bytes;
	}
	return strings && memmem(strings, bytes, wanted, sizeof(wanted)) != NULL;
}

/* dlsym gives an object pointer for what is a function: POSIX has them alike. */
static bool find(void *library, const char *name, void *ret_function)
{
	void *found = dlsym(library, name);

	memcpy(ret_function, &found, sizeof(found));
	return found != NULL;
}

static const char *prepare(void)
{
	struct found_object own = { .flags = 0 };
	void (*here)(struct vt_thread *) = vt_native_attach;
	void *address;
	/* Loaded in any program with C++ or threads that were cancelled; here at the latest, and kept. */
	void *libgcc = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
	ssize_t n;

	if (!libgcc)
		return "there is no libgcc_s.so.1";
	if (!find(RTLD_DEFAULT, "_dl_find_object", &native.find_object))
		return "glibc is older than 2.35: walking a stack could wait for the loader";
	if (!is_lock_free(libgcc))
		return "libgcc_s is older than 12: walking a stack could wait for the loader";
	if (!find(libgcc, "_Unwind_Backtrace", &native.walk) || !find(libgcc, "_Unwind_GetIP", &native.get_ip))
		return "libgcc_s has no unwinder";
	memcpy(&address, &here, sizeof(address));
	if (native.find_object(address, &own) != 0)
		return "the agent's own code is not found";
	native.own = own.map;
	n = readlink("/proc/self/exe", native.program, sizeof(native.program) - 1);
	if (n <= 0)
		memcpy(native.program, "the program", sizeof("the program"));
	return NULL;
}

void vt_native_attach(struct vt_thread *thread)
{
	const char *why = prepare();

	if (why)
		vt_agent_note(thread, VT_note_code_NATIVE_CALLERS_OFF, 0, why);
	else
		atomic_store_explicit(&native.ready, true, memory_order_release);
}
