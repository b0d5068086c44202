/* param_layout.c - see param_layout.h. */
#include "capture/agent/param_layout.h"

#include <sys/mman.h>

#include "schema/base/bits.h"

struct vt_layout_entry {
	uint32_t first; /* index into sizes */
	uint32_t count;
};

static void *map_pages(size_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

bool vt_param_layouts_init(struct vt_param_layouts *layouts, vt_param_info_fn of_kernel, vt_param_info_fn of_function)
{
	layouts->of_kernel = of_kernel;
	layouts->of_function = of_function;
	layouts->entries = map_pages((VT_LAYOUTS_MAX + 1) * sizeof(*layouts->entries));
	layouts->sizes = map_pages(VT_LAYOUT_SIZES_MAX * sizeof(*layouts->sizes));
	return layouts->entries && layouts->sizes;
}

void vt_param_layouts_forget(struct vt_param_layouts *layouts)
{
	atomic_fetch_add_explicit(&layouts->epoch, 1, memory_order_relaxed);
}

/* Asks the driver. Returns the number of parameters; 0 where it knows none. */
static uint32_t ask_driver(const struct vt_param_layouts *layouts, void *function, uint16_t sizes[VT_PARAMS_MAX])
{
	const vt_param_info_fn ask[] = { layouts->of_kernel, layouts->of_function };
	size_t offset;
	size_t size;

	for (size_t i = 0; i < VT_ARRAY_SIZE(ask); i++) {
		uint32_t count = 0;

		while (ask[i] && count < VT_PARAMS_MAX && ask[i](function, count, &offset, &size) == 0 &&
		       size <= UINT16_MAX)
			sizes[count++] = (uint16_t)size;
		if (count)
			return count;
	}
	return 0;
}

/* Room for count sizes in the shared array, or UINT32_MAX. */
static uint32_t take_sizes(struct vt_param_layouts *layouts, uint32_t count)
{
	uint32_t first = atomic_load_explicit(&layouts->sizes_used, memory_order_relaxed);

	do {
		if (count > VT_LAYOUT_SIZES_MAX - first)
			return UINT32_MAX;
	} while (!atomic_compare_exchange_weak_explicit(&layouts->sizes_used, &first, first + count,
							memory_order_relaxed, memory_order_relaxed));
	return first;
}

/* Fills the claimed slot; false leaves it vacant for a later try. */
static bool define(struct vt_param_layouts *layouts, struct vt_table_slot *slot, void *function, uint32_t *ret_id)
{
	uint16_t sizes[VT_PARAMS_MAX];
	uint32_t id = vt_table_new_id(&layouts->table);
	uint32_t count = id && id <= VT_LAYOUTS_MAX ? ask_driver(layouts, function, sizes) : 0;
	uint32_t first = take_sizes(layouts, count);

	if (id == 0 || id > VT_LAYOUTS_MAX || first == UINT32_MAX) {
		vt_table_vacate(slot);
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		layouts->sizes[first + i] = sizes[i];
	layouts->entries[id] = (struct vt_layout_entry){ first, count };
	vt_table_publish(slot, id); /* releases entries and sizes to every thread that finds the id */
	*ret_id = id;
	return true;
}

bool vt_param_layout_find(struct vt_param_layouts *layouts, void *function, struct vt_param_layout *ret)
{
	uint64_t epoch = atomic_load_explicit(&layouts->epoch, memory_order_relaxed);
	uint64_t key = vt_mix64((uint64_t)(uintptr_t)function ^ epoch << 48) | 1;
	struct vt_table_slot *slot = NULL;
	uint32_t id = 0;

	if (VT_UNLIKELY(!layouts->entries || !layouts->sizes))
		return false;
	switch (vt_table_find(&layouts->table, key, &id, &slot)) {
	case VT_TABLE_FOUND:
		break;
	case VT_TABLE_CLAIMED:
		if (!define(layouts, slot, function, &id))
			return false;
		break;
	case VT_TABLE_BUSY:
	case VT_TABLE_FULL:
	default:
		return false;
	}
	ret->sizes = layouts->sizes + layouts->entries[id].first;
	ret->count = layouts->entries[id].count;
	return true;
}
