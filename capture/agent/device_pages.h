/*
 * device_pages.h - which 2 MiB pages of the address space hold device memory: one bit each.
 *
 * The launch scan asks for every 8-byte word of every kernel's parameters whether it could be a device address; nearly
 * all words are not, so the answer has to cost a load and a shift. A set bit says "some allocation touches this page";
 * the analyzer, which knows the exact blocks, has the last word.
 *
 * The map covers 48 address bits (CUDA's unified address space on x86-64 and AArch64 lies below): 16 MiB of address space,
 * of which only the pages in use become memory. Safe from any thread, no lock.
 */
#ifndef VT_AGENT_DEVICE_PAGES_H
#define VT_AGENT_DEVICE_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_DEVICE_PAGE_SHIFT 21
#define VT_DEVICE_ADDRESS_BITS 48

struct vt_device_pages {
	_Atomic uint64_t *bits; /* NULL: not made, every query answers false */
};

/* false: no memory for it; queries then answer false. Once, before the first set. */
bool vt_device_pages_init(struct vt_device_pages *pages);
void vt_device_pages_done(struct vt_device_pages *pages);

/* Marks every page that [address, address + bytes) touches. Ranges outside 48 bits are ignored. */
void vt_device_pages_set(struct vt_device_pages *pages, uint64_t address, uint64_t bytes);
/*
 * Forgets a range. Pages at its ends that it does not fill stay marked: another allocation may share them, and a stale
 * bit only costs a look-up in the analyzer.
 */
void vt_device_pages_clear(struct vt_device_pages *pages, uint64_t address, uint64_t bytes);

static inline bool vt_device_pages_has(const struct vt_device_pages *pages, uint64_t address)
{
	uint64_t page = address >> VT_DEVICE_PAGE_SHIFT;

	if (address >> VT_DEVICE_ADDRESS_BITS)
		return false;
	return atomic_load_explicit(&pages->bits[page / 64], memory_order_relaxed) >> (page % 64) & 1;
}

#endif
