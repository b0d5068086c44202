/* bench_simulate.c - requests a second through the model of PyTorch's allocator, at several sizes of the live set. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/simulate/allocator.h"

#define REQUESTS 4000000u

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Sizes as training has them: few different ones, most of them small, used again and again. */
static void run(const char *conf, uint32_t live)
{
	uint64_t seed = 88172645463325252u, sizes[64];
	struct vt_alloc_settings settings;
	struct vt_allocator *allocator;
	struct vt_err err;
	double begin;

	if (vt_alloc_settings_parse(&settings, conf, &err) < 0 || vt_allocator_new(&allocator, &settings, &err) < 0)
		exit(1);
	for (int i = 0; i < 64; i++)
		sizes[i] = 512 + (next_random(&seed) & (((uint64_t)1 << (10 + i % 14)) - 1));
	begin = seconds();
	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint32_t slot = (uint32_t)(1 + next_random(&seed) % live);
		struct vt_range range;

		if (vt_allocator_block(allocator, slot, &range))
			(void)vt_allocator_release(allocator, slot, false);
		else
			(void)vt_allocator_alloc(
				allocator,
				&(struct vt_alloc_request){ .bytes = sizes[next_random(&seed) % 64], .slot = slot });
	}
	begin = seconds() - begin;
	(void)printf("simulate  %-26s %8u slots  %6.2f M requests/s  %5.0f ns each\n", *conf ? conf : "native", live,
		     REQUESTS / begin / 1e6, begin * 1e9 / REQUESTS);
	vt_allocator_free(allocator);
}

int main(void)
{
	for (uint32_t live = 100; live <= 100000; live *= 10) {
		run("", live);
		run("expandable_segments:True", live);
	}
	return 0;
}
