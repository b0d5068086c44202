/* environ.h - the environment by which the recorded program and its children find the agent and the session. */
#ifndef VT_LAUNCH_ENVIRON_H
#define VT_LAUNCH_ENVIRON_H

#include <stdbool.h>

#include "capture/launch/options.h"

/*
 * Changes this process's own environment, which the program then inherits. What the user preloads stays, behind the
 * agent. A CUDA_INJECTION64_PATH of the user's own stays too: *ret_injection_taken is true then, and driver calls can
 * be recorded only if libcuda is used by torch.
 */
int vt_environ_prepare(const struct vt_record_options *options, const char *session, const char *agent,
		       bool *ret_injection_taken, struct vt_err *err);

#endif
