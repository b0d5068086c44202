/* user_file.c - see user_file.h. */
#include "analyze/symbols/user_file.h"

#include <string.h>

#include "schema/base/bits.h"

/* The standard library: .../lib/python3.11/..., .../lib64/python3.11/..., .../python311.zip/... */
static bool is_python_library(const char *path)
{
	for (const char *at = strstr(path, "/python"); at; at = strstr(at + 1, "/python")) {
		const char *version = at + strlen("/python");
		size_t length = strspn(version, "0123456789.");

		if (!length)
			continue;
		if (version[length] == '/' && at - path >= 4 &&
		    (!strncmp(at - 4, "/lib", 4) || !strncmp(at - 4, "ib64", 4)))
			return true;
		if (!strncmp(version + length, "zip/", 4))
			return true;
	}
	return false;
}

bool vt_is_user_file(const char *path)
{
	/* Installed packages; a checkout of PyTorch; code that torch.compile and torch.fx generate. */
	static const char *const foreign[] = { "/site-packages/", "/dist-packages/", "/pytorch/torch/",
					       "torchinductor_",  "<frozen ",	     "<eval_with_key>" };

	if (!*path)
		return false;
	for (size_t i = 0; i < VT_ARRAY_SIZE(foreign); i++)
		if (strstr(path, foreign[i]))
			return false;
	return !is_python_library(path);
}
