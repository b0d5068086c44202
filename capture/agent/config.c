/* config.c - see config.h. */
#include "capture/agent/config.h"

#include <stdlib.h>
#include <string.h>

#include "schema/ring.h"

struct vt_config vt_config;

/* Whether a comma list holds a word. */
static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == length && memcmp(list, word, n) == 0)
			return true;
		list += n;
		list += *list == ',';
	}
	return false;
}

static bool is_zero(const char *value)
{
	return value && strcmp(value, "0") == 0;
}

void vt_config_load(void)
{
	const char *session = secure_getenv(VT_ENV_SESSION);
	const char *host = secure_getenv(VT_ENV_HOST);
	const char *kernels = secure_getenv(VT_ENV_KERNELS);
	const char *stacks = secure_getenv(VT_ENV_STACKS);
	size_t length = session ? strlen(session) : 0;

	memset(&vt_config, 0, sizeof(vt_config));
	/* A relative directory would change its meaning with the program's first chdir. */
	if (length == 0 || length >= sizeof(vt_config.session) || session[0] != '/')
		return;
	memcpy(vt_config.session, session, length + 1);
	vt_config.host = host && strcmp(host, "1") == 0;
	vt_config.ops = !is_zero(secure_getenv(VT_ENV_OPS));
	vt_config.python = !stacks || list_has(stacks, "python");
	vt_config.kernels = kernels && strcmp(kernels, "1") == 0;
	vt_config.wanted = true;
}
