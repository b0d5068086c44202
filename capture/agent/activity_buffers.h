/*
 * activity_buffers.h - the buffers CUPTI writes its records into: a fixed pool, no allocation after the start.
 *
 * CUPTI must always be given a buffer (libraries before CUDA 12.9 crash on NULL): when all are out, it gets the discard
 * buffer, whose contents are only counted. Lock-free; any thread.
 */
#ifndef VT_AGENT_ACTIVITY_BUFFERS_H
#define VT_AGENT_ACTIVITY_BUFFERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct vt_activity_buffers {
	uint8_t *memory;       /* count + 1 buffers; the last one is for discarding */
	_Atomic uint32_t free; /* bit i: buffer i may be given out */
};

/* false: no memory. At most 31 buffers; bytes a multiple of 4096. */
bool vt_activity_buffers_init(struct vt_activity_buffers *buffers);
uint8_t *vt_activity_buffer_take(struct vt_activity_buffers *buffers);
/* false: it was the discard buffer (whose records are lost), or not one of ours. */
bool vt_activity_buffer_is_kept(const struct vt_activity_buffers *buffers, const uint8_t *buffer);
void vt_activity_buffer_give_back(struct vt_activity_buffers *buffers, const uint8_t *buffer);

#endif
