/* table.c - see table.h. */
#include "capture/agent/table.h"

#include <stddef.h>
#include <sys/mman.h>

#include "schema/base/bits.h"

#define BUSY 0u
#define VACANT UINT32_MAX
#define LEVEL0_BITS 12u
/* Ids that a table gives out; the last ones stay free for the two marks above. */
#define ID_MAX (UINT32_MAX - 2)

static uint64_t level_slots(unsigned level)
{
	return UINT64_C(1) << (LEVEL0_BITS + 2 * level);
}

/* The level's slots, made by whoever comes first; NULL when there is no memory. */
static struct vt_table_slot *level_get(struct vt_table *table, unsigned level)
{
	struct vt_table_slot *slots = atomic_load_explicit(&table->levels[level], memory_order_acquire); /* T1 */
	struct vt_table_slot *expected = NULL;
	size_t bytes = level_slots(level) * sizeof(*slots);

	if (VT_LIKELY(slots != NULL))
		return slots;
	slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return NULL;
	/* T1: fresh memory is zero, so release orders nothing but the pointer. */
	if (atomic_compare_exchange_strong_explicit(&table->levels[level], &expected, slots, memory_order_acq_rel,
						    memory_order_acquire))
		return slots;
	(void)munmap(slots, bytes);
	return expected;
}

/* What a slot that holds the key says. */
static enum vt_table_result read_slot(struct vt_table_slot *slot, uint32_t *ret_id, struct vt_table_slot **ret_slot)
{
	uint32_t id = atomic_load_explicit(&slot->id, memory_order_acquire); /* T2: pairs with publish */

	if (VT_UNLIKELY(id == VACANT)) {
		if (!atomic_compare_exchange_strong_explicit(&slot->id, &id, BUSY, memory_order_relaxed,
							     memory_order_relaxed))
			return VT_TABLE_BUSY;
		*ret_slot = slot;
		return VT_TABLE_CLAIMED;
	}
	if (VT_UNLIKELY(id == BUSY))
		return VT_TABLE_BUSY;
	*ret_id = id;
	return VT_TABLE_FOUND;
}

enum vt_table_result vt_table_find(struct vt_table *table, uint64_t key, uint32_t *ret_id,
				   struct vt_table_slot **ret_slot)
{
	for (unsigned level = 0; level < VT_TABLE_LEVELS; level++) {
		struct vt_table_slot *slots = level_get(table, level);
		uint64_t mask = level_slots(level) - 1;

		if (!slots)
			return VT_TABLE_FULL;
		for (uint64_t i = 0; i < VT_TABLE_PROBES; i++) {
			struct vt_table_slot *slot = &slots[(key + i) & mask];
			uint64_t seen = atomic_load_explicit(&slot->key, memory_order_relaxed);

			if (VT_LIKELY(seen == key))
				return read_slot(slot, ret_id, ret_slot);
			if (seen != 0)
				continue;
			if (atomic_compare_exchange_strong_explicit(&slot->key, &seen, key, memory_order_relaxed,
								    memory_order_relaxed)) {
				*ret_slot = slot;
				return VT_TABLE_CLAIMED;
			}
			if (seen == key)
				return read_slot(slot, ret_id, ret_slot);
		}
	}
	return VT_TABLE_FULL;
}

uint32_t vt_table_new_id(struct vt_table *table)
{
	uint32_t id = atomic_load_explicit(&table->next_id, memory_order_relaxed);

	do {
		if (id >= ID_MAX)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&table->next_id, &id, id + 1, memory_order_relaxed,
							memory_order_relaxed));
	return id + 1;
}

void vt_table_publish(struct vt_table_slot *slot, uint32_t id)
{
	atomic_store_explicit(&slot->id, id, memory_order_release); /* T2 */
}

void vt_table_vacate(struct vt_table_slot *slot)
{
	atomic_store_explicit(&slot->id, VACANT, memory_order_relaxed);
}
