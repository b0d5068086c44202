/* fake_c10.c - see fake_c10.h. Built as libc10.so, so that the agent finds it as it finds the real one. */
#include "tests/fake/fake_c10.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define REPORT _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define REPORT_OLD _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE
#define OOM _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
#define OOM_OLD _ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE
#define ENABLED _ZN3c1022memoryProfilingEnabledEv
#define SEGMENT_BYTES (UINT64_C(2) << 20)

API void REPORT(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device);
API void REPORT_OLD(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device);
API void OOM(int64_t size, size_t allocated, size_t reserved, uint16_t device);
API void OOM_OLD(int64_t size, size_t allocated, size_t reserved, uint16_t device);
API bool ENABLED(void);

static _Atomic uint64_t seen_reports, seen_ooms, seen_enabled;
static struct fake_counts own_counts;
static struct fake_counts *counts = &own_counts;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void REPORT(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	(void)address, (void)size, (void)allocated, (void)reserved, (void)device;
	atomic_fetch_add(&seen_reports, 1);
}

void REPORT_OLD(void *address, int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	REPORT(address, size, allocated, reserved, device);
}

void OOM(int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	(void)size, (void)allocated, (void)reserved, (void)device;
	atomic_fetch_add(&seen_ooms, 1);
}

void OOM_OLD(int64_t size, size_t allocated, size_t reserved, uint16_t device)
{
	OOM(size, allocated, reserved, device);
}

bool ENABLED(void)
{
	atomic_fetch_add(&seen_enabled, 1);
	return false;
}

API void fake_c10_share(struct fake_counts *memory)
{
	counts = memory;
}

API struct fake_counts *fake_c10_counts(void)
{
	return counts;
}

API struct fake_seen fake_c10_seen(void)
{
	struct fake_seen seen = { seen_reports, seen_ooms, seen_enabled };

	return seen;
}

static unsigned device_slot(uint16_t device)
{
	return (device & 0xffu) == 0 ? FAKE_DEVICES - 1 : (unsigned)(device >> 8) % (FAKE_DEVICES - 1);
}

static void report(uint64_t address, int64_t size, uint16_t device)
{
	unsigned slot = device_slot(device);
	uint64_t allocated = atomic_fetch_add(&counts->allocated_bytes[slot], (uint64_t)size) + (uint64_t)size;
	uint64_t reserved = counts->reserved_bytes[slot];

	if (allocated > reserved) {
		reserved = (allocated + SEGMENT_BYTES - 1) / SEGMENT_BYTES * SEGMENT_BYTES;
		counts->reserved_bytes[slot] = reserved;
	}
	REPORT((void *)(uintptr_t)address, size, allocated, reserved, device);
	/* Counted after the report has returned: what the counter says was recorded must be in the trace. */
	atomic_fetch_add(size > 0 ? &counts->allocs : &counts->frees, 1);
}

API uint64_t fake_alloc(uint64_t bytes, uint16_t device)
{
	uint64_t address;

	if ((device & 0xffu) == 0 && !ENABLED())
		return 0;
	pthread_mutex_lock(&mutex);
	address = atomic_fetch_add(&counts->next_address, (bytes + 511) / 512 * 512) + UINT64_C(0x7f0000000000);
	report(address, (int64_t)bytes, device);
	pthread_mutex_unlock(&mutex);
	return address;
}

API void fake_free(uint64_t address, uint64_t bytes, uint16_t device)
{
	if (!address)
		return;
	pthread_mutex_lock(&mutex);
	report(address, -(int64_t)bytes, device);
	pthread_mutex_unlock(&mutex);
}

API void fake_oom(uint64_t bytes, uint16_t device)
{
	unsigned slot = device_slot(device);

	pthread_mutex_lock(&mutex);
	OOM((int64_t)bytes, counts->allocated_bytes[slot], counts->reserved_bytes[slot], device);
	atomic_fetch_add(&counts->ooms, 1);
	pthread_mutex_unlock(&mutex);
}

API double fake_c10_bench(uint64_t n)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint64_t i = 0; i < n; i++)
		REPORT((void *)(uintptr_t)(512 * (i + 1)), 512, 512 * (i + 1), 1 << 30, FAKE_CUDA0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)n;
}
