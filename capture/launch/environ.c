/* environ.c - see environ.h. */
#include "capture/launch/environ.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/cleanup.h"
#include "schema/ring.h"

#define ENV_PRELOAD "LD_PRELOAD"
#define ENV_INJECTION "CUDA_INJECTION64_PATH"
#define ENV_NVTX "NVTX_INJECTION64_PATH"

static int set(const char *name, const char *value, struct vt_err *err)
{
	return setenv(name, value, 1) < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory for the environment") : 0;
}

/* Whether the agent is preloaded already: `vramtrace record` within `vramtrace record`. */
static bool begins_with(const char *preload, const char *agent)
{
	size_t length = strlen(agent);

	return strncmp(preload, agent, length) == 0 && strchr(": ", preload[length]) != NULL;
}

static int prepend_preload(const char *agent, struct vt_err *err)
{
	const char *present = getenv(ENV_PRELOAD);
	VT_CLEANUP(vt_freep) char *both = NULL;

	if (!present || !*present)
		return set(ENV_PRELOAD, agent, err);
	if (begins_with(present, agent))
		return 0;
	if (asprintf(&both, "%s:%s", agent, present) < 0) {
		both = NULL;
		return vt_err_set(err, VT_E_NOMEM, "no memory for the environment");
	}
	return set(ENV_PRELOAD, both, err);
}

/* *ret_taken: the variable names another library already, and stays as it is. */
static int set_injection(const char *name, const char *agent, bool *ret_taken, struct vt_err *err)
{
	const char *present = getenv(name);

	*ret_taken = present && *present && strcmp(present, agent) != 0;
	return *ret_taken ? 0 : set(name, agent, err);
}

int vt_environ_prepare(const struct vt_record_options *options, const char *session, const char *agent,
		       struct vt_environ_taken *ret_taken, struct vt_err *err)
{
	int r = set(VT_ENV_SESSION, session, err);

	*ret_taken = (struct vt_environ_taken){ .cuda = false };
	if (r == 0)
		r = set(VT_ENV_HOST, options->host ? "1" : "0", err);
	if (r == 0)
		r = set(VT_ENV_STACKS, options->stacks, err);
	if (r == 0)
		r = set(VT_ENV_OPS, options->ops ? "1" : "0", err);
	if (r == 0)
		r = set(VT_ENV_KERNELS, options->kernels ? "1" : "0", err);
	if (r == 0)
		r = prepend_preload(agent, err);
	if (r == 0)
		r = set_injection(ENV_NVTX, agent, &ret_taken->nvtx, err);
	if (r == 0)
		r = options->cupti ? set_injection(ENV_INJECTION, agent, &ret_taken->cuda, err)
				   : set(VT_ENV_CUPTI, "0", err);
	return r;
}
