/* environ.h - the environment by which the recorded program and its children find the agent and the session. */
#ifndef VT_LAUNCH_ENVIRON_H
#define VT_LAUNCH_ENVIRON_H

#include <stdbool.h>

#include "capture/launch/options.h"

/* Variables of the user's own that name another library and were left alone. */
struct vt_environ_taken {
	bool cuda; /* CUDA_INJECTION64_PATH: driver calls can be recorded only if libcuda is used by torch */
	bool nvtx; /* NVTX_INJECTION64_PATH: NVTX ranges and marks are not recorded */
};

/*
 * Changes this process's own environment, which the program then inherits. What the user preloads stays, behind the
 * agent.
 */
int vt_environ_prepare(const struct vt_record_options *options, const char *session, const char *agent,
		       struct vt_environ_taken *ret_taken, struct vt_err *err);

#endif
