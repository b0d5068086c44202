/* loader.c - see loader.h. */
#include "capture/agent/loader.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

struct search {
	const char *name;
	char path[4096];
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	const char *base = strrchr(info->dlpi_name, '/');
	size_t length = strlen(search->name);
	size_t bytes;

	(void)size;
	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, search->name, length) != 0 || (base[length] != '\0' && base[length] != '.'))
		return 0;
	bytes = strlen(info->dlpi_name) + 1;
	if (bytes > sizeof(search->path))
		return 0;
	memcpy(search->path, info->dlpi_name, bytes);
	return 1;
}

void *vt_loader_find(const char *name)
{
	struct search search = { .name = name };

	/* dlopen under dl_iterate_phdr's lock could deadlock, so the path is carried out first. */
	return dl_iterate_phdr(visit, &search) ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}
