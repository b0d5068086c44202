/*
 * truth.h - how a truth program says what a tool must see: one JSON object a line on standard output, with the columns
 * of schema/events.def, in the order of the calls of each thread. A column that is left out is not known to the program.
 *
 * Made to be compiled by nvcc; used by tests/device/check_truth.py.
 */
#ifndef VT_KERNELS_TRUTH_H
#define VT_KERNELS_TRUTH_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime.h>

/* Ends the program where a call that must succeed does not: a truth that was not produced must not look like one. */
#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		cudaError_t error_ = (call);                                                                           \
		if (error_ != cudaSuccess)                                                                             \
			truth_fail(__FILE__, __LINE__, #call, (int)error_, cudaGetErrorString(error_));                \
	} while (0)
#define CHECK_DRIVER(call)                                                                                             \
	do {                                                                                                           \
		CUresult error_ = (call);                                                                              \
		if (error_ != CUDA_SUCCESS)                                                                            \
			truth_fail(__FILE__, __LINE__, #call, (int)error_, "driver call failed");                      \
	} while (0)

static inline void truth_fail(const char *file, int line, const char *call, int error, const char *text)
{
	fprintf(stderr, "%s:%d: %s: %d (%s)\n", file, line, call, error, text);
	exit(1);
}

/* One line, in one write, so that threads and processes may share the output. `more`: further columns, each with a
 * leading comma, printf style. */
__attribute__((format(printf, 3, 4))) static inline void truth_call(const char *api, int result, const char *more, ...)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "{\"event\":\"driver_memory\",\"thread\":%ld,\"api\":\"%s\",\"result\":%d",
			 syscall(SYS_gettid), api, result);
	va_list arguments;

	va_start(arguments, more);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 3, more, arguments);
	va_end(arguments);
	n += snprintf(line + n, sizeof(line) - (size_t)n, "}\n");
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		exit(1);
}

#define TRUTH_ADDRESS(pointer) (unsigned long long)(uintptr_t)(pointer)

/* What the driver says about a pool right after a call on it: the same must be in the call's record. */
static inline void truth_pool_call(const char *api, const void *address, size_t bytes, cudaStream_t stream,
				   cudaMemPool_t pool, int is_default)
{
	uint64_t reserved = 0, used = 0;

	CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	truth_call(api, 0,
		   ",\"address\":%llu,\"size_bytes\":%llu,\"stream\":%llu,\"handle\":%llu,"
		   "\"pool_reserved_bytes\":%llu,\"pool_used_bytes\":%llu",
		   TRUTH_ADDRESS(address), (unsigned long long)bytes, TRUTH_ADDRESS(stream),
		   is_default ? 0ULL : TRUTH_ADDRESS(pool), (unsigned long long)reserved, (unsigned long long)used);
}

/* The last line: without it the list is cut short. */
static inline void truth_end(const char *program)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "{\"event\":\"end\",\"program\":\"%s\",\"pid\":%d}\n", program,
			 (int)getpid());

	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		exit(1);
}

#endif
