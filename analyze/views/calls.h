/* calls.h - how often a device's memory was asked of the driver, with what success and cost: a listener. */
#ifndef VT_ANALYZE_CALLS_H
#define VT_ANALYZE_CALLS_H

#include "analyze/replay/replay.h"

struct vt_calls;

#define VT_CALLS_APIS 32 /* more than enum vt_driver_api has */

struct vt_call_count {
	uint64_t calls;
	uint64_t out_of_memory; /* of those: returned CUDA_ERROR_OUT_OF_MEMORY */
	uint64_t failed;	/* of those: returned any other error */
	uint64_t bytes;		/* asked for by the calls that succeeded */
	uint64_t time_ns;	/* spent in the calls, failed ones included */
};

/* The failures since the last block was handed out: one request that the allocator tries to serve. */
struct vt_attempt {
	uint64_t failures;
	uint64_t first_ns, last_ns;
	uint64_t driver_before; /* vt_device.driver_bytes at the first of them */
	uint64_t size_bytes;	/* of the last */
	uint16_t api;
};

int vt_calls_new(struct vt_calls **ret, struct vt_err *err);
void vt_calls_free(struct vt_calls *calls); /* NULL is fine */
struct vt_listener vt_calls_listener(struct vt_calls *calls);

/* Inside callbacks of later listeners and after the run. api below VT_CALLS_APIS. */
struct vt_call_count vt_calls_count(const struct vt_calls *calls, uint32_t device, uint32_t api);
struct vt_attempt vt_calls_attempt(const struct vt_calls *calls, uint32_t device);
/* The request has ended, as at an error that the framework reports: the next failure begins another. */
void vt_calls_end_attempt(struct vt_calls *calls, uint32_t device);

#endif
