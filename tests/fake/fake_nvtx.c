/* fake_nvtx.c - see fake_nvtx.h. */
#include "tests/fake/fake_nvtx.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 16u

/* What the tool is filling at the moment: its functions get no argument that says which copy they are for. */
static struct fake_nvtx *filling;
static vt_nvtx_function **places[2][ENTRIES];
static unsigned places_size;

static int get_function_table(int module, vt_nvtx_function ****ret_table, unsigned *ret_size)
{
	unsigned which = module == VT_NVTX_MODULE_CORE2;

	if (module != VT_NVTX_MODULE_CORE && module != VT_NVTX_MODULE_CORE2)
		return 0;
	for (unsigned i = 1; i < ENTRIES; i++)
		places[which][i] = which ? &filling->core2[i] : &filling->core[i];
	*ret_table = places[which];
	*ret_size = places_size;
	return 1;
}

static const void *get_table(uint32_t table)
{
	static const struct vt_nvtx_callbacks callbacks = { sizeof(callbacks), get_function_table };

	return table == VT_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

int fake_nvtx_attach(struct fake_nvtx *nvtx, int (*tool)(vt_nvtx_get_table_fn *), unsigned size)
{
	int r;

	filling = nvtx;
	places_size = size;
	r = tool(get_table);
	if (!r)
		memset(nvtx, 0, sizeof(*nvtx));
	nvtx->attached = r != 0;
	return r;
}

bool fake_nvtx_load(struct fake_nvtx *nvtx)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*tool)(vt_nvtx_get_table_fn *) =
		library ? (int (*)(vt_nvtx_get_table_fn *))dlsym(library, "InitializeInjectionNvtx2") : NULL;

	return tool && fake_nvtx_attach(nvtx, tool, ENTRIES);
}

#define CALL(function, type, none, ...) ((function) ? ((type)(function))(__VA_ARGS__) : (none))

int fake_nvtx_push(const struct fake_nvtx *nvtx, const char *text)
{
	return CALL(nvtx->core[VT_NVTX_RANGE_PUSH_A], int (*)(const char *), VT_NVTX_NO_LEVEL, text);
}

int fake_nvtx_push_wide(const struct fake_nvtx *nvtx, const wchar_t *text)
{
	return CALL(nvtx->core[VT_NVTX_RANGE_PUSH_W], int (*)(const wchar_t *), VT_NVTX_NO_LEVEL, text);
}

int fake_nvtx_pop(const struct fake_nvtx *nvtx)
{
	return CALL(nvtx->core[VT_NVTX_RANGE_POP], int (*)(void), VT_NVTX_NO_LEVEL, );
}

void fake_nvtx_mark(const struct fake_nvtx *nvtx, const char *text)
{
	CALL(nvtx->core[VT_NVTX_MARK_A], void (*)(const char *), (void)0, text);
}

uint64_t fake_nvtx_start(const struct fake_nvtx *nvtx, const char *text)
{
	return CALL(nvtx->core[VT_NVTX_RANGE_START_A], uint64_t(*)(const char *), 0, text);
}

void fake_nvtx_end(const struct fake_nvtx *nvtx, uint64_t id)
{
	CALL(nvtx->core[VT_NVTX_RANGE_END], void (*)(uint64_t), (void)0, id);
}

void fake_nvtx_name_thread(const struct fake_nvtx *nvtx, uint32_t tid, const char *name)
{
	CALL(nvtx->core[VT_NVTX_NAME_OS_THREAD_A], void (*)(uint32_t, const char *), (void)0, tid, name);
}

const void *fake_nvtx_domain(const struct fake_nvtx *nvtx, const char *name)
{
	return CALL(nvtx->core2[VT_NVTX_DOMAIN_CREATE_A], const void *(*)(const char *), NULL, name);
}

const void *fake_nvtx_register(const struct fake_nvtx *nvtx, const void *domain, const char *text)
{
	return CALL(nvtx->core2[VT_NVTX_DOMAIN_REGISTER_STRING_A], const void *(*)(const void *, const char *), NULL,
		    domain, text);
}

int fake_nvtx_domain_push(const struct fake_nvtx *nvtx, const void *domain, const struct vt_nvtx_attributes *attributes)
{
	return CALL(nvtx->core2[VT_NVTX_DOMAIN_RANGE_PUSH_EX], int (*)(const void *, const struct vt_nvtx_attributes *),
		    VT_NVTX_NO_LEVEL, domain, attributes);
}

int fake_nvtx_domain_pop(const struct fake_nvtx *nvtx, const void *domain)
{
	return CALL(nvtx->core2[VT_NVTX_DOMAIN_RANGE_POP], int (*)(const void *), VT_NVTX_NO_LEVEL, domain);
}

void fake_nvtx_domain_mark(const struct fake_nvtx *nvtx, const void *domain,
			   const struct vt_nvtx_attributes *attributes)
{
	CALL(nvtx->core2[VT_NVTX_DOMAIN_MARK_EX], void (*)(const void *, const struct vt_nvtx_attributes *), (void)0,
	     domain, attributes);
}

uint64_t fake_nvtx_domain_start(const struct fake_nvtx *nvtx, const void *domain,
				const struct vt_nvtx_attributes *attributes)
{
	return CALL(nvtx->core2[VT_NVTX_DOMAIN_RANGE_START_EX],
		    uint64_t(*)(const void *, const struct vt_nvtx_attributes *), 0, domain, attributes);
}
