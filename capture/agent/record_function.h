/*
 * record_function.h - reads at::RecordFunction (pytorch, ATen/record_function.h) without its header: the object's
 * layout changed between releases and differs between the two C++ string ABIs, so it is measured in the running
 * process.
 */
#ifndef VT_AGENT_RECORD_FUNCTION_H
#define VT_AGENT_RECORD_FUNCTION_H

#include <stdint.h>
#include <string.h>

/* Byte offsets in the object. */
struct vt_rf_layout {
	uint32_t scope;		 /* uint8_t, at::RecordScope */
	uint32_t sequence;	 /* int64_t, -1: none */
	uint32_t forward_thread; /* uint64_t, 0: none */
	uint32_t is_async;	 /* bool: may end on another thread */
};

/* NULL, or why the layout is not one we understand. Constructs an object with torch's constructor and destroys it. */
const char *vt_rf_calibrate(void *constructor, void *destructor, struct vt_rf_layout *ret);

static inline uint64_t vt_rf_u64(const void *function, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)function + offset, sizeof(value));
	return value;
}

static inline uint8_t vt_rf_u8(const void *function, uint32_t offset)
{
	return ((const uint8_t *)function)[offset];
}

#endif
