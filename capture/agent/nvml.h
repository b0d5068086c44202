/*
 * nvml.h - what NVML books for this process. libnvidia-ml is loaded at the first question (milliseconds, once), so
 * questions are for rare moments: the first sight of a device, an OOM.
 */
#ifndef VT_AGENT_NVML_H
#define VT_AGENT_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes booked for this process on the device with this uuid (16 bytes, as cuDeviceGetUuid gives it). False where NVML
 * cannot say; so also in a container that hides our real process id from us: no guess is made.
 */
bool vt_nvml_process_bytes(const uint8_t *uuid, uint64_t *ret_bytes);

/* "580.159.04" */
bool vt_nvml_driver_version(char *ret_text, size_t bytes);

/* "GPU-93ca3cf7-..." of a uuid; kind: "GPU" or "MIG". Cut off where bytes do not suffice. */
void vt_nvml_uuid_text(const uint8_t *uuid, const char *kind, char *ret_text, size_t bytes);

#endif
