/*
 * cupti_abi.h - the part of CUPTI's and the CUDA driver's binary interface that we use, in our own words.
 *
 * NVIDIA's headers may not be copied, and the agent must build where they are not installed. So this file states facts
 * alone: numbers, field orders and prototypes. Sources (CUDA 11.8, 12.9 and 13.0 agree on all of them):
 *   cupti_result.h, cupti_callbacks.h     results, domains, callback data, subscriber parameters
 *   cupti_driver_cbid.h                   the numbers in cupti_calls.def; they are append-only
 *   generated_cuda_meta.h                 the parameter blocks: a call's arguments in order, as a C struct
 *   cuda.h                                descriptors, attributes, results
 * tests/abi/cupti_abi_check.c proves every line against the real headers wherever those are found.
 *
 * Handles (CUcontext, CUstream, CUarray, CUmemoryPool) are pointers to unknown structs and CUdeviceptr is a 64-bit
 * number: all of them are uint64_t here. A `ret_` field points at the caller's variable, which holds a value only
 * after the call succeeded.
 */
#ifndef VT_AGENT_CUPTI_ABI_H
#define VT_AGENT_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define VT_CUPTIAPI /* CUPTIAPI and CUDAAPI are empty on Linux */

/* CUptiResult */
enum {
	VT_CUPTI_SUCCESS = 0,
	VT_CUPTI_ERROR_INVALID_PARAMETER = 1,
	VT_CUPTI_ERROR_NOT_INITIALIZED = 15,
	VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS = 39,
};

/* CUpti_CallbackDomain */
enum {
	VT_CUPTI_DOMAIN_DRIVER_API = 1,
	VT_CUPTI_DOMAIN_RUNTIME_API = 2,
	VT_CUPTI_DOMAIN_RESOURCE = 3,
	VT_CUPTI_DOMAIN_SYNCHRONIZE = 4,
	VT_CUPTI_DOMAIN_NVTX = 5,
	VT_CUPTI_DOMAIN_STATE = 6,
	VT_CUPTI_DOMAINS = 8, /* ours: room for the known ones and one more */
};

/* CUpti_ApiCallbackSite */
enum { VT_CUPTI_API_ENTER = 0, VT_CUPTI_API_EXIT = 1 };

/* CUpti_CallbackIdState (since CUDA 12.2) */
enum { VT_CUPTI_STATE_FATAL_ERROR = 1 };

/* CUpti_CallbackData: the argument of a driver or runtime API callback. */
struct vt_cupti_callback_data {
	uint32_t site;
	const char *function_name;
	const void *params;
	const void *result; /* CUresult *; valid at the exit */
	const char *symbol_name;
	uint64_t context; /* CUcontext */
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation;
};

/* CUpti_SubscriberParams as CUDA 13.0 has it; a larger struct_bytes asks for things this one cannot say. */
struct vt_cupti_subscriber_params {
	size_t struct_bytes;
	const char *name;
	char *old_name; /* of the subscriber that is in the way */
	size_t old_name_bytes;
};
#define VT_CUPTI_OLD_NAME_BYTES 64

/* CUpti_StateData, for its fatal error. */
struct vt_cupti_state_data {
	int32_t result;
	const char *message;
};

typedef void vt_cupti_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);

/* CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc, CUpti_TimestampCallbackFunc */
typedef void vt_cupti_buffer_request(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max_records);
typedef void vt_cupti_buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
				      size_t valid_bytes);
typedef uint64_t vt_cupti_clock(void);

/* CUpti_ActivityFlag of cuptiActivityFlushAll: incomplete records too. */
enum { VT_CUPTI_FLUSH_FORCED = 1 };

/* CUresult */
enum { VT_CU_SUCCESS = 0, VT_CU_ERROR_OUT_OF_MEMORY = 2 };

/* CUmemLocationType: 1 = a device, the others are of the host. */
enum { VT_CU_LOCATION_DEVICE = 1 };

struct vt_cu_location {
	uint32_t type;
	int32_t id;
};

/* CUmemAllocationProp, the fields up to its location. */
struct vt_cu_alloc_prop {
	uint32_t type;
	uint32_t handle_types;
	struct vt_cu_location location;
};

/* CUmemPoolProps begins alike. */
struct vt_cu_pool_props {
	uint32_t type;
	uint32_t handle_types;
	struct vt_cu_location location;
};

/* CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR */
struct vt_cu_array_desc {
	size_t width;
	size_t height;
	uint32_t format;
	uint32_t channels;
};

struct vt_cu_array3d_desc {
	size_t width;
	size_t height;
	size_t depth;
	uint32_t format;
	uint32_t channels;
	uint32_t flags;
};

/* CUmemPool_attribute */
enum { VT_CU_POOL_RESERVED_MEM_CURRENT = 5, VT_CU_POOL_USED_MEM_CURRENT = 7 };

/* CUpointer_attribute */
enum { VT_CU_POINTER_MEMPOOL_HANDLE = 17 };

/* CU_STREAM_PER_THREAD: what stream 0 means in the _ptsz calls. */
#define VT_CU_STREAM_PER_THREAD 2

/* ---- parameter blocks, named by shape: several calls have the same ---- */

/* cuMemAlloc_v2, cuMemAllocHost_v2 */
struct vt_cu_alloc {
	uint64_t *ret_address;
	size_t bytes;
};

/* cuMemAllocManaged, cuMemHostAlloc */
struct vt_cu_alloc_flags {
	uint64_t *ret_address;
	size_t bytes;
	uint32_t flags;
};

/* cuMemAllocPitch_v2 */
struct vt_cu_alloc_pitch {
	uint64_t *ret_address;
	size_t *ret_pitch;
	size_t width_bytes;
	size_t height;
	uint32_t element_bytes;
};

/* cuMemFree_v2, cuMemFreeHost, cuMemHostUnregister, cuIpcCloseMemHandle */
struct vt_cu_free {
	uint64_t address;
};

/* cuMemHostRegister_v2 */
struct vt_cu_register {
	uint64_t address;
	size_t bytes;
	uint32_t flags;
};

/* cuMemAllocAsync */
struct vt_cu_alloc_async {
	uint64_t *ret_address;
	size_t bytes;
	uint64_t stream;
};

/* cuMemAllocFromPoolAsync */
struct vt_cu_alloc_pool {
	uint64_t *ret_address;
	size_t bytes;
	uint64_t pool;
	uint64_t stream;
};

/* cuMemFreeAsync */
struct vt_cu_free_async {
	uint64_t address;
	uint64_t stream;
};

/* cuMemAddressReserve */
struct vt_cu_reserve {
	uint64_t *ret_address;
	size_t bytes;
	size_t alignment;
	uint64_t wanted_address;
	uint64_t flags;
};

/* cuMemAddressFree, cuMemUnmap */
struct vt_cu_range {
	uint64_t address;
	size_t bytes;
};

/* cuLaunchKernel */
struct vt_cu_launch {
	void *function;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes;
	uint64_t stream;
	void *const *params;
	void *const *extra;
};

/* cuLaunchKernelEx */
struct vt_cu_launch_ex {
	const void *config;
	void *function;
	void *const *params;
	void *const *extra;
};

/* cuLaunchCooperativeKernel */
struct vt_cu_launch_cooperative {
	void *function;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes;
	uint64_t stream;
	void *const *params;
};

/* cuMemcpy, cuMemcpyHtoD_v2, cuMemcpyDtoH_v2, cuMemcpyDtoD_v2 */
struct vt_cu_copy {
	uint64_t target;
	uint64_t source;
	size_t bytes;
};

/* cuMemCreate */
struct vt_cu_create {
	uint64_t *ret_handle;
	size_t bytes;
	const struct vt_cu_alloc_prop *prop;
	uint64_t flags;
};

/* cuMemRelease, cuArrayDestroy, cuMipmappedArrayDestroy, cuMemPoolDestroy */
struct vt_cu_handle {
	uint64_t handle;
};

/* cuMemMap */
struct vt_cu_map {
	uint64_t address;
	size_t bytes;
	size_t offset;
	uint64_t handle;
	uint64_t flags;
};

/* cuMemImportFromShareableHandle */
struct vt_cu_import {
	uint64_t *ret_handle;
	const void *os_handle;
	uint32_t handle_type;
};

/* cuMemRetainAllocationHandle */
struct vt_cu_retain {
	uint64_t *ret_handle;
	uint64_t address;
};

/* cuArrayCreate_v2 */
struct vt_cu_array {
	uint64_t *ret_array;
	const struct vt_cu_array_desc *desc;
};

/* cuArray3DCreate_v2 */
struct vt_cu_array3d {
	uint64_t *ret_array;
	const struct vt_cu_array3d_desc *desc;
};

/* cuMipmappedArrayCreate */
struct vt_cu_mipmap {
	uint64_t *ret_array;
	const struct vt_cu_array3d_desc *desc;
	uint32_t levels;
};

/* cuIpcOpenMemHandle: the 64-byte handle goes by value. */
struct vt_cu_ipc_open {
	uint64_t *ret_address;
	uint8_t handle[64];
	uint32_t flags;
};

/* cuMemPoolCreate */
struct vt_cu_pool_create {
	uint64_t *ret_pool;
	const struct vt_cu_pool_props *props;
};

/* cuMemPoolTrimTo */
struct vt_cu_pool_trim {
	uint64_t pool;
	size_t keep_bytes;
};

#endif
