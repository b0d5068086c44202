/* fake_cuda.h - levers of the fake libcuda and libnvidia-ml: one process, a few devices, no memory behind them. */
#ifndef VT_TESTS_FAKE_CUDA_H
#define VT_TESTS_FAKE_CUDA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_CUDA_POOLS 8

struct fake_pool {
	uint64_t reserved_bytes;
	uint64_t used_bytes;
};

struct fake_cuda {
	_Atomic int32_t result;	    /* of every query: 0, or the error of a lost device */
	_Atomic int current_device; /* of the calling thread's context; -1: none */
	_Atomic size_t free_bytes;
	_Atomic size_t total_bytes;
	/* Pools are numbered from 1; 1 + device is that device's default pool. */
	struct fake_pool pools[FAKE_CUDA_POOLS];
	uint64_t allocating_pool;	 /* what cuDeviceGetMemPool gives; 0: the default one */
	uint64_t pool_of_address;	 /* what cuPointerGetAttribute gives */
	_Atomic unsigned strict_queries; /* queries made in another capture mode than relaxed */
	_Atomic unsigned info_queries;
	_Atomic unsigned pointer_queries;
};

struct fake_cuda *fake_cuda(void);

struct fake_nvml {
	int init_result;
	int list_result;
	uint32_t pid; /* of the one process that it lists */
	uint64_t used_bytes;
	unsigned inits;
};

struct fake_nvml *fake_nvml(void);

#endif
