/* activity_buffers.c - see activity_buffers.h. */
#include "capture/agent/activity_buffers.h"

#include <stddef.h>
#include <sys/mman.h>

#include "capture/agent/activity.h"

#define ALL_FREE ((1u << VT_ACTIVITY_BUFFERS) - 1)

bool vt_activity_buffers_init(struct vt_activity_buffers *buffers)
{
	size_t bytes = (size_t)(VT_ACTIVITY_BUFFERS + 1) * VT_ACTIVITY_BUFFER_BYTES;
	void *map;

	if (buffers->memory)
		return true;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return false;
	buffers->memory = map;
	atomic_store_explicit(&buffers->free, ALL_FREE, memory_order_relaxed);
	return true;
}

uint8_t *vt_activity_buffer_take(struct vt_activity_buffers *buffers)
{
	uint32_t free = atomic_load_explicit(&buffers->free, memory_order_relaxed);
	uint32_t index;

	do {
		if (free == 0)
			return buffers->memory + (size_t)VT_ACTIVITY_BUFFERS * VT_ACTIVITY_BUFFER_BYTES;
		/* The lowest: few pages stay in use when few buffers are needed. */
		index = (uint32_t)__builtin_ctz(free);
	} while (!atomic_compare_exchange_weak_explicit(&buffers->free, &free, free & ~(1u << index),
							memory_order_acquire, memory_order_relaxed)); /* B1 */
	return buffers->memory + (size_t)index * VT_ACTIVITY_BUFFER_BYTES;
}

bool vt_activity_buffer_is_kept(const struct vt_activity_buffers *buffers, const uint8_t *buffer)
{
	size_t kept_bytes = (size_t)VT_ACTIVITY_BUFFERS * VT_ACTIVITY_BUFFER_BYTES;

	return buffers->memory && buffer >= buffers->memory && (size_t)(buffer - buffers->memory) < kept_bytes;
}

void vt_activity_buffer_give_back(struct vt_activity_buffers *buffers, const uint8_t *buffer)
{
	size_t index;

	if (!vt_activity_buffer_is_kept(buffers, buffer))
		return;
	index = (size_t)(buffer - buffers->memory) / VT_ACTIVITY_BUFFER_BYTES;
	atomic_fetch_or_explicit(&buffers->free, 1u << index, memory_order_release); /* B1 */
}
