/* device.h - what the driver says about devices: which one a context is on, what is free, and what it is called. */
#ifndef VT_AGENT_DEVICE_H
#define VT_AGENT_DEVICE_H

#include "capture/agent/agent.h"

/* Devices beyond are recorded as they come but neither sampled nor described. */
#define VT_DEVICES_MAX 64
#define VT_UUID_BYTES 16

/*
 * Ordinal of a context's device, -1 where it cannot be told. context: CUcontext, which must be the calling thread's
 * current one; uid: CUPTI's number of it, unique in the process, under which the answer is kept.
 */
int16_t vt_device_of_context(uint64_t context, uint32_t uid);

/*
 * To be called when bytes of a device have moved, in a thread that has a context of it: at first sight of a device
 * notes its name, and from then on writes a device_sample, at most one in 10 ms.
 */
void vt_device_moved(struct vt_thread *thread, int16_t device);

/*
 * To be called when the device has refused memory, in a thread that has a context of it: writes a device_sample at once,
 * with what the driver books for this process. Such a moment is what people ask about, and rare.
 */
void vt_device_refused(struct vt_thread *thread, int16_t device);

#endif
