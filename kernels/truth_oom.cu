/*
 * truth_oom.cu - a device memory exhaustion with known numbers.
 *
 *   truth_oom [BLOCKS]        default 8
 *
 * Holds BLOCKS blocks of 256 MiB, asks for more than is free, is refused, frees one block and gets a small one. Prints
 * each call (truth.h) and what cuMemGetInfo said at the refusal: a device_sample must hold the same two numbers.
 */
#include <time.h>

#include "truth.h"

#define MIB ((size_t)1 << 20)
#define BLOCK_BYTES (256 * MIB)
#define BLOCKS_MAX 64

/* Longer than the distance that a tool may keep between two looks at the device. */
static void let_time_pass(void)
{
	const struct timespec time = { 0, 50000000 };

	(void)nanosleep(&time, NULL);
}

static void *allocate(size_t bytes)
{
	void *p;

	CHECK(cudaMalloc(&p, bytes));
	truth_call("cuMemAlloc", 0, ",\"address\":%llu,\"size_bytes\":%llu", TRUTH_ADDRESS(p), (unsigned long long)bytes);
	return p;
}

static void release(void *p)
{
	CHECK(cudaFree(p));
	truth_call("cuMemFree", 0, ",\"address\":%llu", TRUTH_ADDRESS(p));
}

static void be_refused(void)
{
	size_t free_bytes, total_bytes, asked;
	cudaError_t error;
	void *p;

	CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
	asked = free_bytes + BLOCK_BYTES;
	let_time_pass();
	error = cudaMalloc(&p, asked);
	if (error != cudaErrorMemoryAllocation)
		truth_fail(__FILE__, __LINE__, "cudaMalloc", (int)error, "should be out of memory");
	(void)cudaGetLastError();
	truth_call("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY, ",\"address\":0,\"size_bytes\":%llu", (unsigned long long)asked);
	CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
	printf("{\"event\":\"device_sample\",\"free_bytes\":%zu,\"total_bytes\":%zu,\"device\":0}\n", free_bytes,
	       total_bytes);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	long blocks = argc > 1 ? strtol(argv[1], NULL, 10) : 8;
	void *held[BLOCKS_MAX];

	if (blocks < 1 || blocks > BLOCKS_MAX)
		return 2;
	for (long i = 0; i < blocks; i++)
		held[i] = allocate(BLOCK_BYTES);
	be_refused();
	release(held[--blocks]);
	release(allocate(MIB));
	while (blocks)
		release(held[--blocks]);
	truth_end("truth_oom");
	return 0;
}
