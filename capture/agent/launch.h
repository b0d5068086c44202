/*
 * launch.h - a launch event: who launched, and which device addresses its parameters hold.
 *
 * Every 8-byte aligned word of every parameter is looked up in the map of device pages; by-value structs (elementwise
 * functors, GEMM parameter blocks) are looked into the same way. What this cannot see: pointers kept in device memory,
 * tensor-map descriptors, and whether an address is read or written. A stray integer that looks like an address of
 * device memory is kept: the analyzer drops what no live block covers.
 */
#ifndef VT_AGENT_LAUNCH_H
#define VT_AGENT_LAUNCH_H

#include "capture/agent/agent.h"
#include "capture/agent/device_pages.h"
#include "capture/agent/param_layout.h"

/* Addresses that one launch may name; further ones are left out. */
#define VT_TOUCHES_MAX 64

struct vt_launch_state {
	struct vt_device_pages pages;
	struct vt_param_layouts layouts;
};

struct vt_launch_call {
	uint64_t start_ns;
	void *function;	     /* CUfunction or CUkernel; NULL: no parameters to look at */
	void *const *params; /* kernelParams: a pointer to each parameter, or NULL */
	void *const *extra;  /* the other way to pass them: { 1, buffer, 2, &bytes, 0 }, or NULL */
	uint32_t correlation;
	int32_t result;
	enum vt_launch_api api;
	int16_t device;
};

/* Writes the launch event (and, the first time, its touch definition). The thread is inside vt_agent_enter. */
void vt_launch_record(struct vt_thread *thread, struct vt_launch_state *state, const struct vt_launch_call *call);

#endif
