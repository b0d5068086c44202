/* cupti_memory.h - CUPTI's driver callbacks to driver_memory events. */
#ifndef VT_AGENT_CUPTI_MEMORY_H
#define VT_AGENT_CUPTI_MEMORY_H

#include "capture/agent/cupti_abi.h"

/* At the entry and at the exit of a driver call, in the calling thread. Calls that are not watched are ignored. */
void vt_cupti_memory_call(uint32_t cbid, const struct vt_cupti_callback_data *data);

#endif
