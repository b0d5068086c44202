/*
 * activity_records.h - reads CUPTI's activity records by offset.
 *
 * Offsets from the CUDA 11.8 to 13.0 headers (cupti_activity.h): CUpti_ActivityKernel8..10, CUpti_ActivityMemcpy5..6,
 * CUpti_ActivityMemset4, CUpti_ActivityMemcpyPtoP4. Facts, checked by tests/unit/test_cupti_abi.c.
 */
#ifndef VT_AGENT_ACTIVITY_RECORDS_H
#define VT_AGENT_ACTIVITY_RECORDS_H

#include <stdint.h>
#include <string.h>

enum {
	VT_ACTIVITY_MEMCPY = 1,
	VT_ACTIVITY_MEMSET = 2,
	VT_ACTIVITY_CONCURRENT_KERNEL = 10,
	VT_ACTIVITY_MEMCPY_PEER = 22,
};

/*
 * cuptiGetVersion of CUDA 11.8, the oldest library whose activities are read: CUpti_ActivityKernel8, _Memcpy5, _Memset4.
 * Every field below is there from then on.
 */
#define VT_CUPTI_VERSION_OLDEST 18u
/* CUDA 13.0: CUpti_ActivityKernel10 brings VT_KERNEL_DEVICE_LAUNCHED. */
#define VT_CUPTI_VERSION_KERNEL10 130000u

enum {
	VT_KERNEL_REGISTERS = 6,
	VT_KERNEL_START = 16,
	VT_KERNEL_END = 24,
	VT_KERNEL_DEVICE = 40,
	VT_KERNEL_CONTEXT = 44,
	VT_KERNEL_STREAM = 48,
	VT_KERNEL_GRID = 52,
	VT_KERNEL_BLOCK = 64,
	VT_KERNEL_STATIC_SHARED = 76,
	VT_KERNEL_DYNAMIC_SHARED = 80,
	VT_KERNEL_LOCAL = 84,
	VT_KERNEL_CORRELATION = 92,
	VT_KERNEL_NAME = 104,
	VT_KERNEL_GRAPH_NODE = 144,
	VT_KERNEL_GRAPH = 156,
	VT_KERNEL_CLUSTER = 176,
	VT_KERNEL_LOCAL_TOTAL = 192,
	VT_KERNEL_DEVICE_LAUNCHED = 208,
	VT_KERNEL_RECORD_BYTES = 216, /* CUpti_ActivityKernel10; older ones are 200 and 208 */
};

enum {
	VT_MEMCPY_KIND = 4,
	VT_MEMCPY_SOURCE = 5,
	VT_MEMCPY_TARGET = 6,
	VT_MEMCPY_FLAGS = 7,
	VT_MEMCPY_BYTES = 8,
	VT_MEMCPY_START = 16,
	VT_MEMCPY_END = 24,
	VT_MEMCPY_DEVICE = 32,
	VT_MEMCPY_CONTEXT = 36,
	VT_MEMCPY_STREAM = 40,
	VT_MEMCPY_CORRELATION = 44,
	VT_MEMCPY_GRAPH_NODE = 64,
	VT_MEMCPY_GRAPH = 72,
	VT_MEMCPY_PEER_SOURCE = 44,
	VT_MEMCPY_PEER_TARGET = 52,
	VT_MEMCPY_PEER_CORRELATION = 60,
};

enum {
	VT_MEMSET_VALUE = 4,
	VT_MEMSET_BYTES = 8,
	VT_MEMSET_START = 16,
	VT_MEMSET_END = 24,
	VT_MEMSET_DEVICE = 32,
	VT_MEMSET_CONTEXT = 36,
	VT_MEMSET_STREAM = 40,
	VT_MEMSET_CORRELATION = 44,
	VT_MEMSET_FLAGS = 48,
	VT_MEMSET_MEMORY_KIND = 50,
	VT_MEMSET_GRAPH_NODE = 64,
	VT_MEMSET_GRAPH = 72,
};

static inline uint8_t vt_record_u8(const void *record, size_t offset)
{
	return ((const uint8_t *)record)[offset];
}

static inline uint16_t vt_record_u16(const void *record, size_t offset)
{
	uint16_t value;

	memcpy(&value, (const char *)record + offset, sizeof(value));
	return value;
}

static inline uint32_t vt_record_u32(const void *record, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)record + offset, sizeof(value));
	return value;
}

static inline uint64_t vt_record_u64(const void *record, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)record + offset, sizeof(value));
	return value;
}

#endif
