/* driver.c - see driver.h. */
#include "analyze/replay/driver.h"

#include "schema/base/bits.h"
#include "schema/base/err.h"

enum holding_kind { HOLDING_PLAIN, HOLDING_PHYSICAL, HOLDING_POOL, HOLDING_UNCOUNTED };

/* An allocation that lives. */
struct holding {
	uint64_t bytes;
	uint64_t pool; /* HOLDING_POOL: the pool's handle */
	uint32_t device;
	uint32_t caller;   /* string id of the library that asked */
	uint32_t mapped;   /* HOLDING_PHYSICAL: mappings of it */
	uint32_t retained; /* HOLDING_PHYSICAL: releases that it outlives */
	uint32_t next;	   /* unused: the next unused, index + 1 */
	enum holding_kind kind;
	bool released; /* HOLDING_PHYSICAL: by cuMemRelease; it ends with its last mapping */
};

struct mapping {
	uint64_t bytes;
	uint32_t holding;
	uint32_t next; /* unused: as in struct holding */
};

/* One 64-bit key for both: two pairs that meet by chance (or craft) confuse their own figures and nothing else. */
static uint64_t key_of(uint32_t process, uint64_t value)
{
	return value ^ vt_mix64(process);
}

static struct holding *holding_at(const struct vt_driver *driver, uint32_t index)
{
	return (struct holding *)(void *)driver->holdings.data + index;
}

static struct mapping *mapping_at(const struct vt_driver *driver, uint32_t index)
{
	return (struct mapping *)(void *)driver->mappings.data + index;
}

static struct vt_driver_pool *pool_at(const struct vt_driver *driver, uint32_t index)
{
	return (struct vt_driver_pool *)(void *)driver->pools.data + index;
}

static int new_holding(struct vt_driver *driver, const struct holding *holding, uint32_t *ret)
{
	if (driver->spare_holding) {
		*ret = driver->spare_holding - 1;
		driver->spare_holding = holding_at(driver, *ret)->next;
		*holding_at(driver, *ret) = *holding;
		return 0;
	}
	*ret = (uint32_t)(driver->holdings.bytes / sizeof(*holding));
	return vt_buf_append(&driver->holdings, holding, sizeof(*holding));
}

static void end_holding(struct vt_driver *driver, uint32_t index)
{
	holding_at(driver, index)->next = driver->spare_holding;
	driver->spare_holding = index + 1;
}

static int new_mapping(struct vt_driver *driver, const struct mapping *mapping, uint32_t *ret)
{
	if (driver->spare_mapping) {
		*ret = driver->spare_mapping - 1;
		driver->spare_mapping = mapping_at(driver, *ret)->next;
		*mapping_at(driver, *ret) = *mapping;
		return 0;
	}
	*ret = (uint32_t)(driver->mappings.bytes / sizeof(*mapping));
	return vt_buf_append(&driver->mappings, mapping, sizeof(*mapping));
}

static int find_pool(struct vt_driver *driver, uint32_t device, uint64_t handle, struct vt_driver_pool **ret)
{
	struct vt_driver_pool pool = { .device = device };
	uint64_t key = key_of(device, handle);
	uint32_t index = vt_map_find(&driver->by_pool, key);
	int r;

	if (index == VT_MAP_NONE) {
		index = (uint32_t)(driver->pools.bytes / sizeof(pool));
		r = vt_buf_append(&driver->pools, &pool, sizeof(pool));
		if (!r)
			r = vt_map_put(&driver->by_pool, key, index);
		if (r < 0)
			return r;
	}
	*ret = pool_at(driver, index);
	return 0;
}

/* Takes over what the driver said of the pool, or else what its blocks add up to. */
static void update_pool(struct vt_driver_pool *pool, const struct vt_driver_memory *call, struct vt_driver_effect *ret)
{
	uint64_t before = pool->reserved_bytes;

	/* Once a pool could be read, zeros are what it says: trimmed to nothing. */
	if (pool->read || call->pool_reserved_bytes || call->pool_used_bytes) {
		pool->read = true;
		pool->reserved_bytes = call->pool_reserved_bytes;
		pool->used_bytes = call->pool_used_bytes;
	} else {
		pool->reserved_bytes = pool->block_bytes;
		pool->used_bytes = pool->block_bytes;
	}
	ret->bytes += pool->reserved_bytes - before;
	ret->pool_call = true;
	ret->pool_used_bytes = pool->used_bytes;
	ret->pool_reserved_bytes = pool->reserved_bytes;
}

static int pool_call(struct vt_driver *driver, uint32_t device, const struct vt_driver_memory *call,
		     struct vt_driver_effect *ret)
{
	struct vt_driver_pool *pool = NULL;
	int r;

	r = find_pool(driver, device, call->handle, &pool);
	if (r < 0)
		return r;
	ret->pool = call->handle;
	if (call->api == VT_driver_api_POOL_DESTROY) {
		ret->bytes -= pool->reserved_bytes;
		*pool = (struct vt_driver_pool){ .device = pool->device };
	} else {
		update_pool(pool, call, ret);
	}
	return 0;
}

/* The end of an allocation was not seen, and its place is taken: it has gone, or lives on in its mappings alone. */
static void replace_holding(struct vt_driver *driver, uint32_t index, uint32_t device, struct vt_driver_effect *ret)
{
	struct holding *old = holding_at(driver, index);

	if (old->kind == HOLDING_PHYSICAL && old->mapped) {
		old->released = true;
		return;
	}
	if ((old->kind == HOLDING_PLAIN || old->kind == HOLDING_PHYSICAL) && old->device == device)
		ret->bytes -= old->bytes;
	end_holding(driver, index);
}

static int begin(struct vt_driver *driver, struct vt_map *map, uint64_t key, const struct holding *holding,
		 struct vt_driver_effect *ret)
{
	uint32_t index = vt_map_find(map, key);
	int r;

	if (index != VT_MAP_NONE)
		replace_holding(driver, index, holding->device, ret);
	r = new_holding(driver, holding, &index);
	if (!r)
		r = vt_map_put(map, key, index);
	if (!r && (holding->kind == HOLDING_PLAIN || holding->kind == HOLDING_PHYSICAL))
		ret->bytes += holding->bytes;
	return r;
}

static int pool_alloc(struct vt_driver *driver, uint32_t process, uint32_t device, const struct vt_driver_memory *call,
		      struct vt_driver_effect *ret)
{
	const struct holding holding = {
		.bytes = call->size_bytes,
		.pool = call->handle,
		.device = device,
		.caller = call->caller,
		.kind = HOLDING_POOL,
	};
	struct vt_driver_pool *pool = NULL;
	int r = begin(driver, &driver->by_address, key_of(process, call->address), &holding, ret);

	if (!r)
		r = find_pool(driver, device, call->handle, &pool);
	if (r < 0 || !pool)
		return r;
	pool->block_bytes += call->size_bytes;
	ret->pool_alloc = true;
	ret->size_bytes = call->size_bytes;
	ret->pool = call->handle;
	update_pool(pool, call, ret);
	return 0;
}

/* A free by address, of whatever kind the memory is: cuMemFree takes stream-ordered memory too. */
static int end_address(struct vt_driver *driver, uint32_t process, const struct vt_driver_memory *call,
		       struct vt_driver_effect *ret)
{
	uint32_t index = vt_map_take(&driver->by_address, key_of(process, call->address));
	struct vt_driver_pool *pool = NULL;
	struct holding holding;
	int r;

	if (index == VT_MAP_NONE)
		return call->api == VT_driver_api_MEM_FREE_ASYNC ? pool_call(driver, ret->device, call, ret) : 0;
	holding = *holding_at(driver, index);
	end_holding(driver, index);
	ret->device = holding.device;
	ret->owner = holding.caller;
	if (holding.kind == HOLDING_PLAIN)
		ret->bytes -= holding.bytes;
	if (holding.kind != HOLDING_POOL)
		return 0;
	r = find_pool(driver, holding.device, holding.pool, &pool);
	if (r < 0)
		return r;
	pool->block_bytes -= holding.bytes < pool->block_bytes ? holding.bytes : pool->block_bytes;
	ret->pool_free = true;
	ret->size_bytes = holding.bytes;
	ret->pool = holding.pool;
	update_pool(pool, call, ret);
	return 0;
}

static void end_physical(struct vt_driver *driver, uint32_t index, struct vt_driver_effect *ret)
{
	const struct holding *holding = holding_at(driver, index);

	ret->device = holding->device;
	ret->owner = holding->caller;
	ret->bytes -= holding->bytes;
	end_holding(driver, index);
}

static void release(struct vt_driver *driver, uint32_t process, uint64_t handle, struct vt_driver_effect *ret)
{
	uint32_t index = vt_map_find(&driver->by_handle, key_of(process, handle));

	if (index == VT_MAP_NONE)
		return;
	if (holding_at(driver, index)->retained) {
		holding_at(driver, index)->retained--;
		return;
	}
	(void)vt_map_take(&driver->by_handle, key_of(process, handle));
	if (!holding_at(driver, index)->mapped)
		end_physical(driver, index, ret);
	else
		holding_at(driver, index)->released = true;
}

/* cuMemRetainAllocationHandle hands out a handle once more: one more release is due. */
static void retain(struct vt_driver *driver, uint32_t process, uint64_t handle)
{
	uint32_t index = vt_map_find(&driver->by_handle, key_of(process, handle));

	if (index != VT_MAP_NONE)
		holding_at(driver, index)->retained++;
}

static void unmap_one(struct vt_driver *driver, uint32_t index, struct vt_driver_effect *ret)
{
	struct mapping *mapping = mapping_at(driver, index);
	struct holding *holding = holding_at(driver, mapping->holding);

	if (holding->mapped)
		holding->mapped--;
	if (!holding->mapped && holding->released)
		end_physical(driver, mapping->holding, ret);
	mapping->next = driver->spare_mapping;
	driver->spare_mapping = index + 1;
}

static int map_memory(struct vt_driver *driver, uint32_t process, const struct vt_driver_memory *call,
		      struct vt_driver_effect *ret)
{
	uint64_t key = key_of(process, call->address);
	uint32_t holding = vt_map_find(&driver->by_handle, key_of(process, call->handle));
	uint32_t index = vt_map_take(&driver->by_mapping, key);
	int r;

	if (index != VT_MAP_NONE)
		unmap_one(driver, index, ret);
	if (holding == VT_MAP_NONE)
		return 0;
	r = new_mapping(driver, &(struct mapping){ .bytes = call->size_bytes, .holding = holding }, &index);
	if (!r)
		r = vt_map_put(&driver->by_mapping, key, index);
	if (!r)
		holding_at(driver, holding)->mapped++;
	return r;
}

/* One call may end many mappings that lie side by side. */
static void unmap(struct vt_driver *driver, uint32_t process, const struct vt_driver_memory *call,
		  struct vt_driver_effect *ret)
{
	uint64_t address = call->address, end = call->address + call->size_bytes, bytes;

	do {
		uint32_t index = vt_map_take(&driver->by_mapping, key_of(process, address));

		if (index == VT_MAP_NONE)
			return;
		bytes = mapping_at(driver, index)->bytes;
		unmap_one(driver, index, ret);
		address += bytes;
	} while (bytes && address < end);
}

static int apply(struct vt_driver *driver, uint32_t process, uint32_t device, const struct vt_driver_memory *call,
		 struct vt_driver_effect *ret)
{
	struct holding holding = {
		.bytes = call->size_bytes, .device = device, .caller = call->caller, .kind = HOLDING_PLAIN
	};

	switch (call->api) {
	case VT_driver_api_MEM_ALLOC_MANAGED:
	case VT_driver_api_IPC_OPEN:
		holding.kind = HOLDING_UNCOUNTED;
		return begin(driver, &driver->by_address, key_of(process, call->address), &holding, ret);
	case VT_driver_api_MEM_ALLOC:
	case VT_driver_api_MEM_ALLOC_PITCH:
	case VT_driver_api_MEM_HOST_ALLOC:
	case VT_driver_api_MEM_HOST_REGISTER:
		return begin(driver, &driver->by_address, key_of(process, call->address), &holding, ret);
	case VT_driver_api_MEM_CREATE:
	case VT_driver_api_ARRAY_CREATE: /* has a handle and no address either */
		holding.kind = HOLDING_PHYSICAL;
		return begin(driver, &driver->by_handle, key_of(process, call->handle), &holding, ret);
	case VT_driver_api_MEM_ALLOC_ASYNC:
	case VT_driver_api_MEM_ALLOC_FROM_POOL_ASYNC:
		return pool_alloc(driver, process, device, call, ret);
	case VT_driver_api_MEM_FREE:
	case VT_driver_api_MEM_FREE_HOST:
	case VT_driver_api_MEM_HOST_UNREGISTER:
	case VT_driver_api_MEM_FREE_ASYNC:
	case VT_driver_api_IPC_CLOSE:
		return end_address(driver, process, call, ret);
	case VT_driver_api_MEM_RETAIN:
		retain(driver, process, call->handle);
		return 0;
	case VT_driver_api_MEM_RELEASE:
	case VT_driver_api_ARRAY_DESTROY:
		release(driver, process, call->handle, ret);
		return 0;
	case VT_driver_api_MEM_MAP:
		return map_memory(driver, process, call, ret);
	case VT_driver_api_MEM_UNMAP:
		unmap(driver, process, call, ret);
		return 0;
	case VT_driver_api_POOL_TRIM:
	case VT_driver_api_POOL_DESTROY:
		return pool_call(driver, device, call, ret);
	default:
		return 0;
	}
}

/* A pool may have grown for a request that it then could not serve, and keeps what it got. */
static int apply_failed(struct vt_driver *driver, uint32_t device, const struct vt_driver_memory *call,
			struct vt_driver_effect *ret)
{
	bool is_pool_alloc =
		call->api == VT_driver_api_MEM_ALLOC_ASYNC || call->api == VT_driver_api_MEM_ALLOC_FROM_POOL_ASYNC;

	return is_pool_alloc && call->pool_reserved_bytes ? pool_call(driver, device, call, ret) : 0;
}

int vt_driver_apply(struct vt_driver *driver, uint32_t process, uint32_t device, const struct vt_driver_memory *call,
		    struct vt_driver_effect *ret)
{
	*ret = (struct vt_driver_effect){ .device = device, .owner = call->caller };
	return call->result ? apply_failed(driver, device, call, ret) : apply(driver, process, device, call, ret);
}

bool vt_driver_is_host(unsigned api)
{
	return api == VT_driver_api_MEM_HOST_ALLOC || api == VT_driver_api_MEM_FREE_HOST ||
	       api == VT_driver_api_MEM_HOST_REGISTER || api == VT_driver_api_MEM_HOST_UNREGISTER;
}

void vt_driver_done(struct vt_driver *driver)
{
	vt_map_done(&driver->by_address);
	vt_map_done(&driver->by_handle);
	vt_map_done(&driver->by_mapping);
	vt_map_done(&driver->by_pool);
	vt_buf_done(&driver->holdings);
	vt_buf_done(&driver->mappings);
	vt_buf_done(&driver->pools);
	*driver = (struct vt_driver){ 0 };
}
