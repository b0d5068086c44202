/* oom.h - the event of an out-of-memory error. */
#ifndef VT_AGENT_OOM_H
#define VT_AGENT_OOM_H

#include "capture/agent/agent.h"

struct vt_oom_facts {
	uint64_t requested_bytes;
	uint64_t allocated_bytes;
	uint64_t reserved_bytes;
	struct vt_context context;
	uint16_t device_type; /* enum vt_device_type */
	int16_t device;
};

/*
 * Asks the driver (free and total bytes) and NVML (this process's bytes) and writes the event. Only where the program
 * itself has just asked the driver for memory on this thread: those calls may wait for the driver's locks.
 */
void vt_oom_write(struct vt_thread *thread, const struct vt_oom_facts *facts);

#endif
