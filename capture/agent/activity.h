/*
 * activity.h - CUPTI's activity records (kernels, copies, memory sets) become events.
 *
 * CUPTI fills buffers of ours and gives them back on a thread of its own, or in the flush thread that this part starts:
 * what a kill can lose is what was not flushed, at most VT_ACTIVITY_FLUSH_MS of records. Layouts are read by fixed
 * offsets that all library versions from CUDA 11.8 to 13.x share for the fields used (activity_records.h).
 *
 * Times come in the clock of cuptiGetTimestamp (Unix time); each buffer is converted with a fresh pairing against
 * CLOCK_MONOTONIC. A record without usable times is counted as a CLOCK loss.
 */
#ifndef VT_AGENT_ACTIVITY_H
#define VT_AGENT_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/agent/cupti_load.h"

#define VT_ACTIVITY_FLUSH_MS 50
#define VT_ACTIVITY_BUFFER_BYTES (1u << 20)
#define VT_ACTIVITY_BUFFERS 16

/*
 * Registers the buffers and enables the kinds; the first time also starts the flush thread. false (and nothing enabled)
 * on the first step that fails, with *ret_step naming it and *ret_result CUPTI's code. Not while it is on.
 */
bool vt_activity_start(const struct vt_cupti_library *library, const char **ret_step, int32_t *ret_result);
/* Disables the kinds and takes what is recorded, records of unfinished work too with `force`. No-op while off. */
void vt_activity_stop(bool force);
/*
 * As a forced stop, and the flush thread ends: registered with atexit when the part starts, because a library's own
 * destructor runs too late: libcupti may be gone by then (seen: a crash in cuptiActivityDisable). No-op in a forked child.
 */
void vt_activity_end(void);

#endif
