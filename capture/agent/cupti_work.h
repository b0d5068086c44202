/*
 * cupti_work.h - CUPTI's driver callbacks to launch and wait events, and the map of device memory that the launch scan
 * looks addresses up in.
 */
#ifndef VT_AGENT_CUPTI_WORK_H
#define VT_AGENT_CUPTI_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/agent/cupti_abi.h"

/* Once, before the first call is watched. false where there is no memory for it: then nothing of this is recorded. */
bool vt_work_start(void);
bool vt_work_is_on(void);

/* The numbers of all watched calls: index 0 up to the first 0; 0 at once while this part is off. */
uint32_t vt_work_cbid(uint32_t index);
bool vt_work_is_watched(uint32_t cbid);

/* At the entry and at the exit of a driver call, in the calling thread. Calls that are not watched are ignored. */
void vt_work_call(uint32_t cbid, const struct vt_cupti_callback_data *data);

/* Device memory came or went (any thread): what the launch scan knows as device addresses. */
void vt_work_memory_came(uint64_t address, uint64_t bytes);
void vt_work_memory_went(uint64_t address, uint64_t bytes);

#endif
