/*
 * marks_program.c - a program that says where it is, through vramtrace.h and through NVTX, and allocates meanwhile.
 *
 * Prints "tool" or "no tool": what its copy of NVTX found.
 */
#include <stdio.h>

#include "capture/include/vramtrace.h"
#include "tests/fake/fake_c10.h"
#include "tests/fake/fake_nvtx.h"

int main(void)
{
	static struct fake_nvtx nvtx;
	bool tool = fake_nvtx_load(&nvtx);

	vramtrace_range_pop();
	for (uint64_t step = 0; step < 3; step++) {
		uint64_t block;

		vramtrace_step(step);
		vramtrace_range_push("forward");
		(void)fake_nvtx_push(&nvtx, "layer");
		block = fake_alloc(1024, FAKE_CUDA0);
		(void)fake_nvtx_pop(&nvtx);
		vramtrace_range_pop();
		fake_free(block, 1024, FAKE_CUDA0);
	}
	vramtrace_mark("written");
	(void)fake_alloc(512, FAKE_CUDA0);
	puts(tool ? "tool" : "no tool");
	return 0;
}
