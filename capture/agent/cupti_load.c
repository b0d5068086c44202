/* cupti_load.c - see cupti_load.h. */
#include "capture/agent/cupti_load.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"

static struct vt_cupti_library library; /* constant once `settled` */
static _Atomic bool settled;
/* Of threads that find a library at once, the first settles. Nothing is called under it: the loader's lock is taken by
 * programs that hold it already when they come here from a library's constructor. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct mapped {
	const char *name; /* how the file's name begins: "libcupti.so" */
	char path[PATH_MAX];
	bool found;
};

static int look_at(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct mapped *mapped = arg;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const char *base = slash ? slash + 1 : info->dlpi_name;

	(void)bytes;
	if (!base || strncmp(base, mapped->name, strlen(mapped->name)) != 0 || strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	memcpy(mapped->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	mapped->found = true;
	return 1;
}

static bool find_mapped(struct mapped *mapped, const char *name)
{
	mapped->name = name;
	mapped->found = false;
	(void)dl_iterate_phdr(look_at, mapped);
	return mapped->found;
}

/* The number behind `prefix` in text, 0 where there is none. */
static unsigned number_behind(const char *text, const char *prefix)
{
	const char *at = strstr(text, prefix);

	return at ? (unsigned)strtoul(at + strlen(prefix), NULL, 10) : 0;
}

/*
 * Major version of CUPTI that fits the process: that of the mapped CUDA runtime, else the newest that the driver can
 * serve. A libcupti newer than the driver refuses to work.
 */
static unsigned fitting_major(void)
{
	struct mapped mapped;
	char real[PATH_MAX];
	unsigned driver;

	if (find_mapped(&mapped, "libcudart.so.") && number_behind(mapped.path, "libcudart.so."))
		return number_behind(mapped.path, "libcudart.so.");
	/* libcuda.so.1 links to libcuda.so.<driver version>. Release notes: r580 brought CUDA 13, r525 CUDA 12. */
	if (!find_mapped(&mapped, "libcuda.so.") || !realpath(mapped.path, real))
		return 0;
	driver = number_behind(real, "libcuda.so.");
	return driver >= 580 ? 13 : driver >= 525 ? 12 : driver >= 450 ? 11 : 0;
}

/* True when every function that must be there is. */
static bool bind_functions(void *handle, struct vt_cupti_library *into)
{
	struct link_map *map = NULL;
	bool complete = true;

	enum { MAY, MUST };
#define FN(name, need, parameters)                                                                                     \
	into->name = (int32_t(*) parameters)dlsym(handle, #name);                                                      \
	complete = complete && (into->name || (need) == MAY);
#include "capture/agent/cupti_functions.def"
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name)
		(void)snprintf(into->path, sizeof(into->path), "%s", map->l_name);
	return complete;
}

/* Tries to open one path or soname with dlopen's flags and to settle on it; says why not. */
static bool settle_on(const char *path, int flags, char *ret_why, size_t why_bytes)
{
	struct vt_cupti_library candidate = { 0 };
	void *handle = dlopen(path, flags);

	if (!handle) {
		const char *error = dlerror();

		(void)snprintf(ret_why, why_bytes, "%s", error ? error : path);
		return false;
	}
	if (!bind_functions(handle, &candidate)) {
		(void)snprintf(ret_why, why_bytes, "%s lacks functions of libcupti", path);
		(void)dlclose(handle);
		return false;
	}
	/* The handle is never closed: we call into the library until the process ends. */
	(void)pthread_mutex_lock(&lock);
	if (!atomic_load_explicit(&settled, memory_order_relaxed))
		library = candidate;
	atomic_store_explicit(&settled, true, memory_order_release);
	(void)pthread_mutex_unlock(&lock);
	return true;
}

static bool settle_on_mapped(char *ret_why, size_t why_bytes)
{
	struct mapped mapped;

	return find_mapped(&mapped, "libcupti.so") &&
	       settle_on(mapped.path, RTLD_NOLOAD | RTLD_LAZY, ret_why, why_bytes);
}

/* One place on disk: a directory, a relative path below it, and the version behind "libcupti.so.". */
static bool settle_on_file(const char *directory, const char *below, unsigned major)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s/libcupti.so.%u", directory, below, major);
	char ignored[8];

	/* A stub library, for linking only, answers every call with an error. */
	if (n < 0 || (size_t)n >= sizeof(path) || strstr(path, "/stubs/"))
		return false;
	return settle_on(path, RTLD_NOW | RTLD_LOCAL, ignored, sizeof(ignored));
}

static bool settle_near_runtime(unsigned major)
{
	static const char *const below[] = { ".", "../../cuda_cupti/lib", "../extras/CUPTI/lib64" };
	struct mapped mapped;

	if (!find_mapped(&mapped, "libcudart.so") || !strrchr(mapped.path, '/'))
		return false;
	*strrchr(mapped.path, '/') = '\0';
	for (size_t i = 0; i < VT_ARRAY_SIZE(below); i++)
		if (settle_on_file(mapped.path, below[i], major))
			return true;
	return false;
}

static bool settle_on_toolkit(unsigned major)
{
	const char *const roots[] = { secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"), "/usr/local/cuda" };
	static const char *const below[] = { "lib64", "extras/CUPTI/lib64", "lib" };
	char versioned[64];

	for (size_t i = 0; i < VT_ARRAY_SIZE(roots); i++)
		for (size_t j = 0; roots[i] && j < VT_ARRAY_SIZE(below); j++)
			if (settle_on_file(roots[i], below[j], major))
				return true;
	for (unsigned minor = 0; minor < 10; minor++) {
		(void)snprintf(versioned, sizeof(versioned), "/usr/local/cuda-%u.%u", major, minor);
		for (size_t j = 0; j < VT_ARRAY_SIZE(below); j++)
			if (settle_on_file(versioned, below[j], major))
				return true;
	}
	return false;
}

static bool settle_on_major(unsigned major, char *ret_why, size_t why_bytes)
{
	char soname[32];

	(void)snprintf(soname, sizeof(soname), major == 11 ? "libcupti.so.11.8" : "libcupti.so.%u", major);
	return settle_on(soname, RTLD_NOW | RTLD_LOCAL, ret_why, why_bytes) || settle_near_runtime(major) ||
	       settle_on_toolkit(major);
}

static bool settle(const char *preferred, char *ret_why, size_t why_bytes)
{
	unsigned fitting;

	if (settle_on_mapped(ret_why, why_bytes))
		return true;
	if (preferred && settle_on(preferred, RTLD_NOW | RTLD_LOCAL, ret_why, why_bytes))
		return true;
	fitting = fitting_major();
	if (fitting)
		return settle_on_major(fitting, ret_why, why_bytes);
	return settle_on_major(13, ret_why, why_bytes) || settle_on_major(12, ret_why, why_bytes);
}

static const struct vt_cupti_library *settled_library(void)
{
	return atomic_load_explicit(&settled, memory_order_acquire) ? &library : NULL;
}

const struct vt_cupti_library *vt_cupti_library_mapped(void)
{
	char ignored[8];

	if (!settled_library())
		(void)settle_on_mapped(ignored, sizeof(ignored));
	return settled_library();
}

const struct vt_cupti_library *vt_cupti_library_load(const char *preferred, char *ret_why, size_t why_bytes)
{
	if (!settled_library())
		(void)settle(preferred, ret_why, why_bytes);
	return settled_library();
}
