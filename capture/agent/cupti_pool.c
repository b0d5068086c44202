/* cupti_pool.c - see cupti_pool.h. */
#include "capture/agent/cupti_pool.h"

#include <stdatomic.h>

#include "capture/agent/cuda_driver.h"
#include "capture/agent/cupti_abi.h"
#include "capture/agent/device.h"

/* Until the program brings in a pool of its own, every stream-ordered call works on the device's default pool. */
static _Atomic bool has_own_pools;
static _Atomic uint64_t default_pools[VT_DEVICES_MAX]; /* 0: not asked yet; a device's default pool never changes */

void vt_pool_changed(void)
{
	atomic_store_explicit(&has_own_pools, true, memory_order_relaxed);
}

uint64_t vt_pool_of_address(uint64_t address)
{
	const struct vt_driver *driver;
	uint64_t pool = 0;

	if (!address || !atomic_load_explicit(&has_own_pools, memory_order_relaxed))
		return 0;
	driver = vt_driver_get();
	if (!driver || !driver->cuPointerGetAttribute ||
	    driver->cuPointerGetAttribute(&pool, VT_CU_POINTER_MEMPOOL_HANDLE, address) != VT_CU_SUCCESS)
		return 0;
	return pool;
}

static uint64_t default_pool(const struct vt_driver *driver, int16_t device)
{
	uint64_t pool = atomic_load_explicit(&default_pools[device], memory_order_relaxed);

	if (pool || !driver->cuDeviceGetDefaultMemPool)
		return pool;
	if (driver->cuDeviceGetDefaultMemPool(&pool, device) != VT_CU_SUCCESS)
		return 0;
	atomic_store_explicit(&default_pools[device], pool, memory_order_relaxed);
	return pool;
}

static uint64_t current_pool(const struct vt_driver *driver, int16_t device)
{
	uint64_t pool = 0;

	if (!atomic_load_explicit(&has_own_pools, memory_order_relaxed))
		return default_pool(driver, device);
	if (!driver->cuDeviceGetMemPool || driver->cuDeviceGetMemPool(&pool, device) != VT_CU_SUCCESS)
		return 0;
	return pool;
}

static uint64_t attribute(const struct vt_driver *driver, uint64_t pool, int which)
{
	uint64_t value = 0;

	if (!driver->cuMemPoolGetAttribute || driver->cuMemPoolGetAttribute(pool, which, &value) != VT_CU_SUCCESS)
		return 0;
	return value;
}

struct vt_pool_facts vt_pool_read(uint64_t pool, int16_t device)
{
	const struct vt_driver *driver = vt_driver_get();
	struct vt_pool_facts facts = { .handle = pool };
	bool is_known = device >= 0 && device < VT_DEVICES_MAX;
	int mode;

	if (!driver)
		return facts;
	mode = vt_driver_relax_begin(driver);
	if (!pool && is_known)
		pool = current_pool(driver, device);
	if (pool) {
		facts.handle = is_known && pool == default_pool(driver, device) ? 0 : pool;
		facts.reserved_bytes = attribute(driver, pool, VT_CU_POOL_RESERVED_MEM_CURRENT);
		facts.used_bytes = attribute(driver, pool, VT_CU_POOL_USED_MEM_CURRENT);
	}
	vt_driver_relax_end(driver, mode);
	return facts;
}
