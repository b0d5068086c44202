/* alloc_conf.c - see alloc_conf.h. */
#include "analyze/views/alloc_conf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The value of a key of PYTORCH_CUDA_ALLOC_CONF, or NULL. */
static const char *conf_value(const char *conf, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = conf; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		p += strspn(p, " ");
		if (!strncmp(p, key, n) && p[n] == ':')
			return p + n + 1 + strspn(p + n + 1, " ");
	}
	return NULL;
}

bool vt_alloc_conf_expandable(const char *conf)
{
	const char *value = conf_value(conf, "expandable_segments");

	return value && !strncasecmp(value, "true", 4);
}

uint64_t vt_alloc_conf_large_segment(const char *conf)
{
	const char *value = conf_value(conf, "large_segment_size_mb");
	unsigned long mib = value ? strtoul(value, NULL, 10) : 0;

	return mib < (1ul << 20) ? (uint64_t)mib << 20 : 0;
}
