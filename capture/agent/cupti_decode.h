/*
 * cupti_decode.h - from a driver call's number and parameter block to what a driver_memory event says about it.
 *
 * Pure: reads the parameter block and what it points at, calls nothing.
 */
#ifndef VT_AGENT_CUPTI_DECODE_H
#define VT_AGENT_CUPTI_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum vt_call_trait {
	VT_CALL_DEVICE = 1 << 0, /* moves bytes of the device: worth a device_sample */
	VT_CALL_HOST = 1 << 1,	 /* host memory: device -1 */
	VT_CALL_POOL = 1 << 2,	 /* of a stream-ordered pool: read what the pool holds afterwards */
	VT_CALL_FREE = 1 << 3,	 /* frees by address: with address 0 it does nothing and is no event */
	VT_CALL_PTSZ = 1 << 4,	 /* stream 0 means the per-thread stream */
	VT_CALL_REPOOL = 1 << 5, /* changes which pool a device allocates from, or brings in a pool: no event */
};

/* Where the event's device is to come from, if not given by the call. */
#define VT_CALL_DEVICE_OF_CONTEXT INT16_MIN

struct vt_call_facts {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t handle; /* of physical memory or an array; for POOL calls the pool, 0: the one the device allocates
			    from */
	uint64_t stream;
	uint32_t flags;
	int16_t device; /* ordinal, -1: host, VT_CALL_DEVICE_OF_CONTEXT */
};

struct vt_call;

/* The description of a watched call, or NULL. */
const struct vt_call *vt_call_find(uint32_t cbid);
unsigned vt_call_traits(const struct vt_call *call); /* of enum vt_call_trait */
uint16_t vt_call_api(const struct vt_call *call);    /* enum vt_driver_api; NONE: no event */
/* ok: the call has returned success, so what it writes to its caller may be read. */
struct vt_call_facts vt_call_decode(const struct vt_call *call, const void *params, bool ok);

/* The numbers of all watched calls: index 0 up to the first 0. */
uint32_t vt_call_cbid(uint32_t index);

#endif
