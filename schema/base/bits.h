/* bits.h - small things that both programs need and that must cost nothing. Safe in the agent. */
#ifndef VT_BASE_BITS_H
#define VT_BASE_BITS_H

#include <stddef.h>
#include <stdint.h>

#define VT_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define VT_LIKELY(x) __builtin_expect(!!(x), 1)
#define VT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define VT_CACHE_LINE 64

static inline uint64_t vt_align_up(uint64_t value, uint64_t power_of_two)
{
	return (value + power_of_two - 1) & ~(power_of_two - 1);
}

/* Finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit. */
static inline uint64_t vt_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

#endif
