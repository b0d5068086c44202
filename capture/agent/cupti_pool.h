/*
 * cupti_pool.h - stream-ordered memory pools: which pool a call works on, and what that pool holds.
 *
 * What a pool holds is read from the driver after each call: the same two attributes that PyTorch's
 * backend:cudaMallocAsync takes its statistics from, so its numbers can be reproduced to the byte.
 */
#ifndef VT_AGENT_CUPTI_POOL_H
#define VT_AGENT_CUPTI_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct vt_pool_facts {
	uint64_t handle; /* 0: the device's default pool */
	uint64_t reserved_bytes;
	uint64_t used_bytes;
};

/* At the entry of a free: the pool that holds the address, 0: the one that the device allocates from. */
uint64_t vt_pool_of_address(uint64_t address);

/* After a call on `pool` (0: the one that the device allocates from). What cannot be read is 0. */
struct vt_pool_facts vt_pool_read(uint64_t pool, int16_t device);

/* The program has made or imported a pool, or has told a device which pool to allocate from. */
void vt_pool_changed(void);

#endif
