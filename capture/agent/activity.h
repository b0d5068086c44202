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
#include <stddef.h>
#include <stdint.h>

#define VT_ACTIVITY_FLUSH_MS 50
#define VT_ACTIVITY_BUFFER_BYTES (1u << 20)
#define VT_ACTIVITY_BUFFERS 16

/* The entry points used, by dlsym: prototypes as in cupti_activity.h, results are CUptiResult (0: success). */
struct vt_activity_api {
	int (*register_callbacks)(void (*request)(uint8_t **, size_t *, size_t *),
				  void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));
	int (*enable)(uint32_t kind);
	int (*disable)(uint32_t kind);
	int (*next_record)(uint8_t *buffer, size_t valid_bytes, void **record);
	int (*flush_all)(uint32_t flag);
	int (*dropped)(void *context, uint32_t stream, size_t *ret_count);
	int (*timestamp)(uint64_t *ret_ns);
	uint32_t version; /* cuptiGetVersion */
};

/*
 * Registers the buffers, enables the kinds and starts the flush thread. false (and nothing enabled) on the first step
 * that fails, with *ret_step naming it and *ret_result CUPTI's code. Once until stop.
 */
bool vt_activity_start(const struct vt_activity_api *api, const char **ret_step, int *ret_result);
/* Disables the kinds, flushes what is complete (everything with `force`: only at exit) and ends the flush thread. */
void vt_activity_stop(bool force);
bool vt_activity_is_on(void);

#endif
