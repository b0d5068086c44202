/* thread.h - the per-thread state and the memory that the parts keep for each thread. */
#ifndef VT_AGENT_THREAD_H
#define VT_AGENT_THREAD_H

#include <signal.h>

#include "capture/agent/state.h"

/* Names the function that ends a thread's recording when the thread ends; once per process, under agent->lock. */
void vt_thread_prepare(void);

/*
 * For work that must not be interrupted halfway: while quiet, the thread takes no signal and cannot be cancelled, and
 * errno is put back afterwards. Makes system calls.
 */
struct vt_quiet {
	sigset_t signals;
	int cancel;
	int error;
};
void vt_quiet_begin(struct vt_quiet *quiet);
void vt_quiet_end(const struct vt_quiet *quiet);

#endif
