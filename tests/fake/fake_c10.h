/*
 * fake_c10.h - a stand-in for libc10: the functions that the agent interposes, under their real names, and an allocator
 * that reports to them as PyTorch's does (through the PLT, totals after the event, frees negative).
 *
 * Device is two int8_t: 0x0001 is CUDA device 0, 0x0101 CUDA device 1, 0xff00 the host.
 */
#ifndef VT_FAKE_C10_H
#define VT_FAKE_C10_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_CUDA0 0x0001u
#define FAKE_CUDA1 0x0101u
#define FAKE_HOST 0xff00u
#define FAKE_DEVICES 4

/* What reached the real functions: equal to what was reported, if the agent forwards everything. */
struct fake_seen {
	uint64_t reports;
	uint64_t ooms;
	uint64_t enabled_asked;
};

/* What the allocator has done; may lie in memory that outlives the process (fake_c10_share). */
struct fake_counts {
	_Atomic uint64_t allocs;
	_Atomic uint64_t frees;
	_Atomic uint64_t ooms;
	_Atomic uint64_t allocated_bytes[FAKE_DEVICES];
	_Atomic uint64_t reserved_bytes[FAKE_DEVICES];
	_Atomic uint64_t next_address;
};

/* The counters live in the given memory from now on (zeroed by the caller). */
void fake_c10_share(struct fake_counts *counts);
struct fake_counts *fake_c10_counts(void);
struct fake_seen fake_c10_seen(void);

/* Reports under one mutex, as CUDA's allocator does. fake_alloc returns an address that was never given out before. */
uint64_t fake_alloc(uint64_t bytes, uint16_t device);
void fake_free(uint64_t address, uint64_t bytes, uint16_t device);
void fake_oom(uint64_t bytes, uint16_t device);

/* ns for one report of an allocation, over n of them; the allocator's own work is left out. */
double fake_c10_bench(uint64_t n);

#endif
