/* device_pages.c - see device_pages.h. */
#include "capture/agent/device_pages.h"

#include <sys/mman.h>

#define PAGES (UINT64_C(1) << (VT_DEVICE_ADDRESS_BITS - VT_DEVICE_PAGE_SHIFT))
#define MAP_BYTES (PAGES / 8)

bool vt_device_pages_init(struct vt_device_pages *pages)
{
	void *map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return false;
	pages->bits = map;
	return true;
}

void vt_device_pages_done(struct vt_device_pages *pages)
{
	if (pages->bits)
		(void)munmap(pages->bits, MAP_BYTES);
	pages->bits = NULL;
}

/* First and one-past-last page; false where the range is empty or outside the map. */
static bool page_range(uint64_t first_byte, uint64_t end_byte, uint64_t *ret_first, uint64_t *ret_end)
{
	if (end_byte <= first_byte || end_byte > UINT64_C(1) << VT_DEVICE_ADDRESS_BITS)
		return false;
	*ret_first = first_byte >> VT_DEVICE_PAGE_SHIFT;
	*ret_end = (end_byte + (UINT64_C(1) << VT_DEVICE_PAGE_SHIFT) - 1) >> VT_DEVICE_PAGE_SHIFT;
	return true;
}

/* The bits of [first, end) that lie in word `index`. */
static uint64_t word_mask(uint64_t index, uint64_t first, uint64_t end)
{
	uint64_t low = index == first / 64 ? first % 64 : 0;
	uint64_t high = index == (end - 1) / 64 ? (end - 1) % 64 : 63;

	return (UINT64_MAX >> (63 - (high - low))) << low;
}

void vt_device_pages_set(struct vt_device_pages *pages, uint64_t address, uint64_t bytes)
{
	uint64_t first;
	uint64_t end;

	if (!pages->bits || !page_range(address, address + bytes, &first, &end))
		return;
	for (uint64_t word = first / 64; word <= (end - 1) / 64; word++)
		atomic_fetch_or_explicit(&pages->bits[word], word_mask(word, first, end), memory_order_relaxed);
}

void vt_device_pages_clear(struct vt_device_pages *pages, uint64_t address, uint64_t bytes)
{
	uint64_t page_bytes = UINT64_C(1) << VT_DEVICE_PAGE_SHIFT;
	uint64_t from = (address + page_bytes - 1) & ~(page_bytes - 1);
	uint64_t to = (address + bytes) & ~(page_bytes - 1);
	uint64_t first;
	uint64_t end;

	if (!pages->bits || address + bytes < address || !page_range(from, to, &first, &end))
		return;
	for (uint64_t word = first / 64; word <= (end - 1) / 64; word++)
		atomic_fetch_and_explicit(&pages->bits[word], ~word_mask(word, first, end), memory_order_relaxed);
}
