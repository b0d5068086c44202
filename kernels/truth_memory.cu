/*
 * truth_memory.cu - every way of getting memory from CUDA, once or twice each, in an order that can be counted by hand.
 *
 *   truth_memory        prints what a tool must have seen (truth.h); needs less than 200 MiB of the device
 *
 * Managed memory is kept to 64 KiB.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "truth.h"

#define MIB ((size_t)1 << 20)
#define WORKERS 2
#define WORKER_ROUNDS 3

static void plain(void)
{
	void *a, *b, *huge = NULL;
	size_t pitch;
	cudaError_t error;

	CHECK(cudaMalloc(&a, 10 * MIB));
	truth_call("cuMemAlloc", 0, ",\"address\":%llu,\"size_bytes\":%llu", TRUTH_ADDRESS(a), 10ULL * MIB);
	CHECK(cudaMallocPitch(&b, &pitch, 1000, 300));
	truth_call("cuMemAllocPitch", 0, ",\"address\":%llu,\"size_bytes\":%llu", TRUTH_ADDRESS(b),
		   (unsigned long long)(pitch * 300));
	/* More than any device has: fails, and the failure is an event. */
	error = cudaMalloc(&huge, (size_t)1 << 46);
	if (error != cudaErrorMemoryAllocation)
		truth_fail(__FILE__, __LINE__, "cudaMalloc of 64 TiB", (int)error, "should be out of memory");
	(void)cudaGetLastError();
	truth_call("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY, ",\"address\":0,\"size_bytes\":%llu", 1ULL << 46);
	CHECK(cudaFree(a));
	truth_call("cuMemFree", 0, ",\"address\":%llu,\"size_bytes\":0", TRUTH_ADDRESS(a));
	CHECK(cudaFree(b));
	truth_call("cuMemFree", 0, ",\"address\":%llu,\"size_bytes\":0", TRUTH_ADDRESS(b));
	CHECK(cudaFree(NULL)); /* frees nothing: no event */
}

static void managed(void)
{
	void *p;

	CHECK(cudaMallocManaged(&p, 64 << 10, cudaMemAttachGlobal));
	truth_call("cuMemAllocManaged", 0, ",\"address\":%llu,\"size_bytes\":%d", TRUTH_ADDRESS(p), 64 << 10);
	CHECK(cudaFree(p));
	truth_call("cuMemFree", 0, ",\"address\":%llu", TRUTH_ADDRESS(p));
}

static void host(void)
{
	void *pinned, *own;

	CHECK(cudaHostAlloc(&pinned, 3 * MIB, cudaHostAllocPortable));
	truth_call("cuMemHostAlloc", 0, ",\"address\":%llu,\"size_bytes\":%llu,\"device\":-1", TRUTH_ADDRESS(pinned),
		   3ULL * MIB);
	own = aligned_alloc(4096, MIB);
	if (!own)
		exit(1);
	CHECK(cudaHostRegister(own, MIB, cudaHostRegisterPortable));
	truth_call("cuMemHostRegister", 0, ",\"address\":%llu,\"size_bytes\":%llu,\"device\":-1", TRUTH_ADDRESS(own),
		   1ULL * MIB);
	CHECK(cudaHostUnregister(own));
	truth_call("cuMemHostUnregister", 0, ",\"address\":%llu,\"device\":-1", TRUTH_ADDRESS(own));
	free(own);
	CHECK(cudaFreeHost(pinned));
	truth_call("cuMemFreeHost", 0, ",\"address\":%llu,\"device\":-1", TRUTH_ADDRESS(pinned));
}

static void arrays(void)
{
	cudaChannelFormatDesc float4_format = cudaCreateChannelDesc<float4>();
	cudaArray_t array;

	CHECK(cudaMallocArray(&array, &float4_format, 256, 128));
	truth_call("cuArrayCreate", 0, ",\"address\":0,\"size_bytes\":%d", 256 * 128 * 16);
	CHECK(cudaFreeArray(array));
	truth_call("cuArrayDestroy", 0, ",\"address\":0");
}

/* The device's default pool, then one of our own. The stream is idle at each free, so the pool's numbers are settled. */
static void pools(int device)
{
	cudaMemPoolProps props;
	cudaMemPool_t pool;
	cudaStream_t stream;
	void *a, *b;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
	CHECK(cudaMallocAsync(&a, 5 * MIB, stream));
	truth_pool_call("cuMemAllocAsync", a, 5 * MIB, stream, pool, 1);
	CHECK(cudaMallocAsync(&b, 7, cudaStreamPerThread));
	truth_pool_call("cuMemAllocAsync", b, 7, cudaStreamPerThread, pool, 1);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFreeAsync(a, stream));
	truth_pool_call("cuMemFreeAsync", a, 0, stream, pool, 1);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFreeAsync(b, stream));
	truth_pool_call("cuMemFreeAsync", b, 0, stream, pool, 1);
	CHECK(cudaDeviceSynchronize());

	memset(&props, 0, sizeof(props));
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	props.location.id = device;
	CHECK(cudaMemPoolCreate(&pool, &props));
	truth_call("cuMemPoolCreate", 0, ",\"handle\":%llu,\"device\":%d", TRUTH_ADDRESS(pool), device);
	CHECK(cudaMallocFromPoolAsync(&a, 2 * MIB, pool, stream));
	truth_pool_call("cuMemAllocFromPoolAsync", a, 2 * MIB, stream, pool, 0);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFreeAsync(a, stream));
	truth_pool_call("cuMemFreeAsync", a, 0, stream, pool, 0);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemPoolTrimTo(pool, 0));
	truth_pool_call("cuMemPoolTrimTo", NULL, 0, NULL, pool, 0);
	CHECK(cudaMemPoolDestroy(pool));
	truth_call("cuMemPoolDestroy", 0, ",\"handle\":%llu", TRUTH_ADDRESS(pool));
	CHECK(cudaStreamDestroy(stream));
}

/* The driver's own functions: the runtime has none for this. */
static void *driver(const char *name)
{
	cudaDriverEntryPointQueryResult found;
	void *function = NULL;

	CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
	if (!function)
		truth_fail(__FILE__, __LINE__, name, (int)found, "the driver has no such function");
	return function;
}

/* One piece of physical memory seen at two addresses, as expandable segments and sleep modes do it. */
static void virtual_memory(int device)
{
	CUresult (*granularity)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags) =
		(decltype(granularity))driver("cuMemGetAllocationGranularity");
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long) =
		(decltype(reserve))driver("cuMemAddressReserve");
	CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long) =
		(decltype(create))driver("cuMemCreate");
	CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) =
		(decltype(map))driver("cuMemMap");
	CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t) =
		(decltype(access))driver("cuMemSetAccess");
	CUresult (*retain)(CUmemGenericAllocationHandle *, void *) =
		(decltype(retain))driver("cuMemRetainAllocationHandle");
	CUresult (*unmap)(CUdeviceptr, size_t) = (decltype(unmap))driver("cuMemUnmap");
	CUresult (*release)(CUmemGenericAllocationHandle) = (decltype(release))driver("cuMemRelease");
	CUresult (*unreserve)(CUdeviceptr, size_t) = (decltype(unreserve))driver("cuMemAddressFree");
	CUmemAllocationProp prop;
	CUmemAccessDesc rights;
	CUmemGenericAllocationHandle handle, again;
	CUdeviceptr at[2];
	size_t page;
	int byte = 0;

	memset(&prop, 0, sizeof(prop));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = device;
	rights.location = prop.location;
	rights.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CHECK_DRIVER(granularity(&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK_DRIVER(create(&handle, 4 * page, &prop, 0));
	truth_call("cuMemCreate", 0, ",\"handle\":%llu,\"size_bytes\":%llu,\"device\":%d", handle,
		   (unsigned long long)(4 * page), device);
	for (int i = 0; i < 2; i++) {
		CHECK_DRIVER(reserve(&at[i], 8 * page, 0, 0, 0));
		truth_call("cuMemAddressReserve", 0, ",\"address\":%llu,\"size_bytes\":%llu", (unsigned long long)at[i],
			   (unsigned long long)(8 * page));
		CHECK_DRIVER(map(at[i], 4 * page, 0, handle, 0));
		truth_call("cuMemMap", 0, ",\"address\":%llu,\"size_bytes\":%llu,\"handle\":%llu",
			   (unsigned long long)at[i], (unsigned long long)(4 * page), handle);
		CHECK_DRIVER(access(at[i], 4 * page, &rights, 1));
	}
	/* It is one memory: written through one address, read through the other. */
	CHECK(cudaMemset((void *)(uintptr_t)at[0], 42, 4 * page));
	CHECK(cudaMemcpy(&byte, (void *)(uintptr_t)(at[1] + 4 * page - 1), 1, cudaMemcpyDeviceToHost));
	if (byte != 42)
		truth_fail(__FILE__, __LINE__, "alias", byte, "the two addresses are not one memory");
	CHECK_DRIVER(retain(&again, (void *)(uintptr_t)at[0]));
	truth_call("cuMemRetainAllocationHandle", 0, ",\"address\":%llu,\"handle\":%llu", (unsigned long long)at[0], again);
	CHECK_DRIVER(release(again));
	truth_call("cuMemRelease", 0, ",\"handle\":%llu", again);
	for (int i = 0; i < 2; i++) {
		CHECK_DRIVER(unmap(at[i], 4 * page));
		truth_call("cuMemUnmap", 0, ",\"address\":%llu,\"size_bytes\":%llu", (unsigned long long)at[i],
			   (unsigned long long)(4 * page));
	}
	CHECK_DRIVER(release(handle));
	truth_call("cuMemRelease", 0, ",\"handle\":%llu", handle);
	for (int i = 0; i < 2; i++) {
		CHECK_DRIVER(unreserve(at[i], 8 * page));
		truth_call("cuMemAddressFree", 0, ",\"address\":%llu,\"size_bytes\":%llu", (unsigned long long)at[i],
			   (unsigned long long)(8 * page));
	}
}

static void *work(void *unused)
{
	cudaStream_t stream;
	void *a, *b;

	(void)unused;
	CHECK(cudaStreamCreate(&stream));
	for (int i = 1; i <= WORKER_ROUNDS; i++) {
		CHECK(cudaMalloc(&a, i * MIB));
		truth_call("cuMemAlloc", 0, ",\"address\":%llu,\"size_bytes\":%llu", TRUTH_ADDRESS(a),
			   (unsigned long long)(i * MIB));
		CHECK(cudaMallocAsync(&b, i * MIB, stream));
		truth_call("cuMemAllocAsync", 0, ",\"address\":%llu,\"size_bytes\":%llu,\"stream\":%llu", TRUTH_ADDRESS(b),
			   (unsigned long long)(i * MIB), TRUTH_ADDRESS(stream));
		CHECK(cudaFreeAsync(b, stream));
		truth_call("cuMemFreeAsync", 0, ",\"address\":%llu,\"stream\":%llu", TRUTH_ADDRESS(b),
			   TRUTH_ADDRESS(stream));
		CHECK(cudaFree(a));
		truth_call("cuMemFree", 0, ",\"address\":%llu", TRUTH_ADDRESS(a));
	}
	CHECK(cudaStreamDestroy(stream));
	return NULL;
}

static void threads(void)
{
	pthread_t workers[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, NULL))
			exit(1);
	for (int i = 0; i < WORKERS; i++)
		(void)pthread_join(workers[i], NULL);
}

/* The other process of the IPC pair: opens what it is handed, and closes it. */
static void import(int from)
{
	cudaIpcMemHandle_t handle;
	void *p;

	if (read(from, &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
		exit(1);
	CHECK(cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess));
	truth_call("cuIpcOpenMemHandle", 0, ",\"address\":%llu", TRUTH_ADDRESS(p));
	CHECK(cudaIpcCloseMemHandle(p));
	truth_call("cuIpcCloseMemHandle", 0, ",\"address\":%llu", TRUTH_ADDRESS(p));
	truth_end("truth_memory, importing process");
	exit(0);
}

static void export_memory(int to, pid_t other)
{
	cudaIpcMemHandle_t handle;
	int status;
	void *p;

	CHECK(cudaMalloc(&p, 2 * MIB));
	truth_call("cuMemAlloc", 0, ",\"address\":%llu,\"size_bytes\":%llu", TRUTH_ADDRESS(p), 2ULL * MIB);
	CHECK(cudaIpcGetMemHandle(&handle, p));
	if (write(to, &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
		exit(1);
	if (waitpid(other, &status, 0) != other || !WIFEXITED(status) || WEXITSTATUS(status))
		truth_fail(__FILE__, __LINE__, "waitpid", status, "the importing process failed");
	CHECK(cudaFree(p));
	truth_call("cuMemFree", 0, ",\"address\":%llu", TRUTH_ADDRESS(p));
}

int main(void)
{
	int pipes[2];
	int device = 0;
	pid_t other;

	/* Before CUDA starts here: a forked CUDA context is of no use. */
	if (pipe(pipes) || (other = fork()) < 0)
		return 1;
	if (other == 0) {
		(void)close(pipes[1]); /* so that the end of the other process is the end of the pipe */
		import(pipes[0]);
	}
	CHECK(cudaSetDevice(device));
	plain();
	managed();
	host();
	arrays();
	pools(device);
	virtual_memory(device);
	threads();
	export_memory(pipes[1], other);
	truth_end("truth_memory");
	return 0;
}
