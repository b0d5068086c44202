/* fake_cuda.c - a fake libcuda: the queries of cuda_driver.def. See fake_cuda.h. */
#include "tests/fake/fake_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "capture/agent/cupti_abi.h"

#define FAKE_EXPORT __attribute__((visibility("default")))
#define FN(name, parameters) FAKE_EXPORT int32_t name parameters;
#include "capture/agent/cuda_driver.def"

#define INVALID_CONTEXT 201

static _Thread_local int capture_mode; /* CU_STREAM_CAPTURE_MODE_*: 0 global, 2 relaxed */
static struct fake_cuda fake = { .free_bytes = 1000, .total_bytes = 4000 };

FAKE_EXPORT struct fake_cuda *fake_cuda(void);
FAKE_EXPORT struct fake_cuda *fake_cuda(void)
{
	return &fake;
}

static void query(void)
{
	if (capture_mode != 2)
		fake.strict_queries++;
}

/* The injected library is preloaded too, as `vramtrace record` has it. */
FAKE_EXPORT int32_t cuInit(unsigned flags);
FAKE_EXPORT int32_t cuInit(unsigned flags)
{
	int (*inject)(void);
	void *found = flags == 0 ? dlsym(RTLD_DEFAULT, "InitializeInjection") : NULL;

	memcpy(&inject, &found, sizeof(inject));
	if (inject)
		(void)inject();
	return fake.result;
}

FAKE_EXPORT int32_t cuDeviceGetCount(int *ret_count);
FAKE_EXPORT int32_t cuDeviceGetCount(int *ret_count)
{
	*ret_count = 1;
	return fake.result;
}

int32_t cuDriverGetVersion(int *ret_version)
{
	*ret_version = 13000;
	return fake.result;
}

int32_t cuCtxGetDevice(int *ret_device)
{
	*ret_device = fake.current_device;
	return fake.current_device < 0 ? INVALID_CONTEXT : fake.result;
}

int32_t cuDeviceGetName(char *ret_name, int bytes, int device)
{
	(void)snprintf(ret_name, (size_t)bytes, "Fake GPU %d", device);
	return fake.result;
}

int32_t cuDeviceGetUuid(void *ret_uuid, int device)
{
	memset(ret_uuid, 0xa0 + device, 16);
	return fake.result;
}

int32_t cuDeviceGetUuid_v2(void *ret_uuid, int device)
{
	return cuDeviceGetUuid(ret_uuid, device);
}

int32_t cuMemGetInfo_v2(size_t *ret_free_bytes, size_t *ret_total_bytes)
{
	fake.info_queries++;
	query();
	*ret_free_bytes = fake.free_bytes;
	*ret_total_bytes = fake.total_bytes;
	return fake.result;
}

int32_t cuMemPoolGetAttribute(uint64_t pool, int attribute, void *ret_value)
{
	const struct fake_pool *found = &fake.pools[pool % FAKE_CUDA_POOLS];

	query();
	memcpy(ret_value, attribute == VT_CU_POOL_RESERVED_MEM_CURRENT ? &found->reserved_bytes : &found->used_bytes,
	       8);
	return pool == 0 || pool >= FAKE_CUDA_POOLS ? 1 : fake.result;
}

int32_t cuDeviceGetDefaultMemPool(uint64_t *ret_pool, int device)
{
	*ret_pool = 1 + (uint64_t)device;
	return fake.result;
}

int32_t cuDeviceGetMemPool(uint64_t *ret_pool, int device)
{
	*ret_pool = fake.allocating_pool ? fake.allocating_pool : 1 + (uint64_t)device;
	return fake.result;
}

int32_t cuPointerGetAttribute(void *ret_value, int attribute, uint64_t address)
{
	(void)address;
	fake.pointer_queries++;
	memcpy(ret_value, &fake.pool_of_address, 8);
	return attribute == VT_CU_POINTER_MEMPOOL_HANDLE && fake.pool_of_address ? fake.result : 1;
}

int32_t cuThreadExchangeStreamCaptureMode(int *mode)
{
	int old = capture_mode;

	capture_mode = *mode;
	*mode = old;
	return 0;
}
