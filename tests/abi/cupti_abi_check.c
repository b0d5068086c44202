/*
 * cupti_abi_check.c - capture/agent/cupti_abi.h and cupti_calls.def against NVIDIA's own headers. Compiling it is the
 * test. Built where headers are found, once per header set (tests/cupti.cmake).
 */
#include <stddef.h>

#include <cuda.h>
#include <cupti.h>

#include "capture/agent/cupti_abi.h"

#define SAME_NUMBER(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SAME_FIELD(ours, our_field, theirs, their_field)                                                               \
	_Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field) &&                            \
			       sizeof(((struct ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),            \
		       #theirs "." #their_field)
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #theirs)

SAME_NUMBER(VT_CUPTI_SUCCESS, CUPTI_SUCCESS);
SAME_NUMBER(VT_CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME_NUMBER(VT_CUPTI_ERROR_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME_NUMBER(VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_NUMBER(VT_CUPTI_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
SAME_NUMBER(VT_CUPTI_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME_NUMBER(VT_CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME_NUMBER(VT_CUPTI_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_SYNCHRONIZE);
SAME_NUMBER(VT_CUPTI_DOMAIN_NVTX, CUPTI_CB_DOMAIN_NVTX);
SAME_NUMBER(VT_CUPTI_API_ENTER, CUPTI_API_ENTER);
SAME_NUMBER(VT_CUPTI_API_EXIT, CUPTI_API_EXIT);

SAME_SIZE(vt_cupti_callback_data, CUpti_CallbackData);
SAME_FIELD(vt_cupti_callback_data, site, CUpti_CallbackData, callbackSite);
SAME_FIELD(vt_cupti_callback_data, function_name, CUpti_CallbackData, functionName);
SAME_FIELD(vt_cupti_callback_data, params, CUpti_CallbackData, functionParams);
SAME_FIELD(vt_cupti_callback_data, result, CUpti_CallbackData, functionReturnValue);
SAME_FIELD(vt_cupti_callback_data, symbol_name, CUpti_CallbackData, symbolName);
SAME_FIELD(vt_cupti_callback_data, context, CUpti_CallbackData, context);
SAME_FIELD(vt_cupti_callback_data, context_uid, CUpti_CallbackData, contextUid);
SAME_FIELD(vt_cupti_callback_data, correlation_data, CUpti_CallbackData, correlationData);
SAME_FIELD(vt_cupti_callback_data, correlation, CUpti_CallbackData, correlationId);

#if CUDA_VERSION >= 12020
SAME_NUMBER(VT_CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
SAME_NUMBER(VT_CUPTI_STATE_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
SAME_FIELD(vt_cupti_state_data, result, CUpti_StateData, notification.result);
SAME_FIELD(vt_cupti_state_data, message, CUpti_StateData, notification.message);
#endif
#if CUDA_VERSION >= 13000
SAME_NUMBER(sizeof(struct vt_cupti_subscriber_params), CUpti_SubscriberParams_STRUCT_SIZE);
SAME_FIELD(vt_cupti_subscriber_params, struct_bytes, CUpti_SubscriberParams, structSize);
SAME_FIELD(vt_cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME_FIELD(vt_cupti_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME_FIELD(vt_cupti_subscriber_params, old_name_bytes, CUpti_SubscriberParams, oldSubscriberSize);
SAME_NUMBER(VT_CUPTI_OLD_NAME_BYTES, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
#endif

SAME_NUMBER(VT_CU_SUCCESS, CUDA_SUCCESS);
SAME_NUMBER(VT_CU_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(VT_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_NUMBER(VT_CU_POOL_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME_NUMBER(VT_CU_POOL_USED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
SAME_NUMBER(VT_CU_POINTER_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
SAME_NUMBER(VT_CU_STREAM_PER_THREAD, (uintptr_t)CU_STREAM_PER_THREAD);

SAME_FIELD(vt_cu_alloc_prop, type, CUmemAllocationProp, type);
SAME_FIELD(vt_cu_alloc_prop, location.type, CUmemAllocationProp, location.type);
SAME_FIELD(vt_cu_alloc_prop, location.id, CUmemAllocationProp, location.id);
SAME_FIELD(vt_cu_pool_props, type, CUmemPoolProps, allocType);
SAME_FIELD(vt_cu_pool_props, location.type, CUmemPoolProps, location.type);
SAME_FIELD(vt_cu_pool_props, location.id, CUmemPoolProps, location.id);
SAME_FIELD(vt_cu_array_desc, width, CUDA_ARRAY_DESCRIPTOR, Width);
SAME_FIELD(vt_cu_array_desc, height, CUDA_ARRAY_DESCRIPTOR, Height);
SAME_FIELD(vt_cu_array_desc, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME_FIELD(vt_cu_array_desc, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_FIELD(vt_cu_array3d_desc, width, CUDA_ARRAY3D_DESCRIPTOR, Width);
SAME_FIELD(vt_cu_array3d_desc, height, CUDA_ARRAY3D_DESCRIPTOR, Height);
SAME_FIELD(vt_cu_array3d_desc, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME_FIELD(vt_cu_array3d_desc, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_FIELD(vt_cu_array3d_desc, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
SAME_FIELD(vt_cu_array3d_desc, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
/* The channel sizes in cupti_decode.c. */
SAME_NUMBER(0x01, CU_AD_FORMAT_UNSIGNED_INT8);
SAME_NUMBER(0x02, CU_AD_FORMAT_UNSIGNED_INT16);
SAME_NUMBER(0x03, CU_AD_FORMAT_UNSIGNED_INT32);
SAME_NUMBER(0x08, CU_AD_FORMAT_SIGNED_INT8);
SAME_NUMBER(0x09, CU_AD_FORMAT_SIGNED_INT16);
SAME_NUMBER(0x0a, CU_AD_FORMAT_SIGNED_INT32);
SAME_NUMBER(0x10, CU_AD_FORMAT_HALF);
SAME_NUMBER(0x20, CU_AD_FORMAT_FLOAT);
SAME_NUMBER(1, CUDA_ARRAY3D_LAYERED);
/* cuda_driver.c */
SAME_NUMBER(2, CU_STREAM_CAPTURE_MODE_RELAXED);

/* The parameter blocks, each with every call that is decoded by it. */
#define ALLOC(call, pointer)                                                                                           \
	SAME_SIZE(vt_cu_alloc, call##_params);                                                                         \
	SAME_FIELD(vt_cu_alloc, ret_address, call##_params, pointer);                                                  \
	SAME_FIELD(vt_cu_alloc, bytes, call##_params, bytesize)
ALLOC(cuMemAlloc_v2, dptr);
ALLOC(cuMemAllocHost_v2, pp);
#define ALLOC_FLAGS(call, pointer, word)                                                                               \
	SAME_SIZE(vt_cu_alloc_flags, call##_params);                                                                   \
	SAME_FIELD(vt_cu_alloc_flags, ret_address, call##_params, pointer);                                            \
	SAME_FIELD(vt_cu_alloc_flags, bytes, call##_params, bytesize);                                                 \
	SAME_FIELD(vt_cu_alloc_flags, flags, call##_params, word)
ALLOC_FLAGS(cuMemAllocManaged, dptr, flags);
ALLOC_FLAGS(cuMemHostAlloc, pp, Flags);

SAME_SIZE(vt_cu_alloc_pitch, cuMemAllocPitch_v2_params);
SAME_FIELD(vt_cu_alloc_pitch, ret_address, cuMemAllocPitch_v2_params, dptr);
SAME_FIELD(vt_cu_alloc_pitch, ret_pitch, cuMemAllocPitch_v2_params, pPitch);
SAME_FIELD(vt_cu_alloc_pitch, width_bytes, cuMemAllocPitch_v2_params, WidthInBytes);
SAME_FIELD(vt_cu_alloc_pitch, height, cuMemAllocPitch_v2_params, Height);

#define FREE(call, pointer)                                                                                            \
	SAME_SIZE(vt_cu_free, call##_params);                                                                          \
	SAME_FIELD(vt_cu_free, address, call##_params, pointer)
FREE(cuMemFree_v2, dptr);
FREE(cuMemFreeHost, p);
FREE(cuMemHostUnregister, p);
FREE(cuIpcCloseMemHandle, dptr);

#define REGISTER(call)                                                                                                 \
	SAME_SIZE(vt_cu_register, call##_params);                                                                      \
	SAME_FIELD(vt_cu_register, address, call##_params, p);                                                         \
	SAME_FIELD(vt_cu_register, bytes, call##_params, bytesize);                                                    \
	SAME_FIELD(vt_cu_register, flags, call##_params, Flags)
REGISTER(cuMemHostRegister);
REGISTER(cuMemHostRegister_v2);

#define ALLOC_ASYNC(call)                                                                                              \
	SAME_SIZE(vt_cu_alloc_async, call##_params);                                                                   \
	SAME_FIELD(vt_cu_alloc_async, ret_address, call##_params, dptr);                                               \
	SAME_FIELD(vt_cu_alloc_async, bytes, call##_params, bytesize);                                                 \
	SAME_FIELD(vt_cu_alloc_async, stream, call##_params, hStream)
ALLOC_ASYNC(cuMemAllocAsync);
ALLOC_ASYNC(cuMemAllocAsync_ptsz);
#define ALLOC_POOL(call)                                                                                               \
	SAME_SIZE(vt_cu_alloc_pool, call##_params);                                                                    \
	SAME_FIELD(vt_cu_alloc_pool, ret_address, call##_params, dptr);                                                \
	SAME_FIELD(vt_cu_alloc_pool, bytes, call##_params, bytesize);                                                  \
	SAME_FIELD(vt_cu_alloc_pool, pool, call##_params, pool);                                                       \
	SAME_FIELD(vt_cu_alloc_pool, stream, call##_params, hStream)
ALLOC_POOL(cuMemAllocFromPoolAsync);
ALLOC_POOL(cuMemAllocFromPoolAsync_ptsz);
#define FREE_ASYNC(call)                                                                                               \
	SAME_SIZE(vt_cu_free_async, call##_params);                                                                    \
	SAME_FIELD(vt_cu_free_async, address, call##_params, dptr);                                                    \
	SAME_FIELD(vt_cu_free_async, stream, call##_params, hStream)
FREE_ASYNC(cuMemFreeAsync);
FREE_ASYNC(cuMemFreeAsync_ptsz);

SAME_SIZE(vt_cu_reserve, cuMemAddressReserve_params);
SAME_FIELD(vt_cu_reserve, ret_address, cuMemAddressReserve_params, ptr);
SAME_FIELD(vt_cu_reserve, bytes, cuMemAddressReserve_params, size);
SAME_FIELD(vt_cu_reserve, flags, cuMemAddressReserve_params, flags);
#define RANGE(call)                                                                                                    \
	SAME_SIZE(vt_cu_range, call##_params);                                                                         \
	SAME_FIELD(vt_cu_range, address, call##_params, ptr);                                                          \
	SAME_FIELD(vt_cu_range, bytes, call##_params, size)
RANGE(cuMemAddressFree);
RANGE(cuMemUnmap);
SAME_SIZE(vt_cu_create, cuMemCreate_params);
SAME_FIELD(vt_cu_create, ret_handle, cuMemCreate_params, handle);
SAME_FIELD(vt_cu_create, bytes, cuMemCreate_params, size);
SAME_FIELD(vt_cu_create, prop, cuMemCreate_params, prop);
SAME_FIELD(vt_cu_create, flags, cuMemCreate_params, flags);
#define HANDLE(call, name)                                                                                             \
	SAME_SIZE(vt_cu_handle, call##_params);                                                                        \
	SAME_FIELD(vt_cu_handle, handle, call##_params, name)
HANDLE(cuMemRelease, handle);
HANDLE(cuArrayDestroy, hArray);
HANDLE(cuMipmappedArrayDestroy, hMipmappedArray);
HANDLE(cuMemPoolDestroy, pool);
SAME_SIZE(vt_cu_map, cuMemMap_params);
SAME_FIELD(vt_cu_map, address, cuMemMap_params, ptr);
SAME_FIELD(vt_cu_map, bytes, cuMemMap_params, size);
SAME_FIELD(vt_cu_map, handle, cuMemMap_params, handle);
SAME_FIELD(vt_cu_map, flags, cuMemMap_params, flags);
SAME_SIZE(vt_cu_import, cuMemImportFromShareableHandle_params);
SAME_FIELD(vt_cu_import, ret_handle, cuMemImportFromShareableHandle_params, handle);
SAME_FIELD(vt_cu_import, handle_type, cuMemImportFromShareableHandle_params, shHandleType);
SAME_SIZE(vt_cu_retain, cuMemRetainAllocationHandle_params);
SAME_FIELD(vt_cu_retain, ret_handle, cuMemRetainAllocationHandle_params, handle);
SAME_FIELD(vt_cu_retain, address, cuMemRetainAllocationHandle_params, addr);

SAME_SIZE(vt_cu_array, cuArrayCreate_v2_params);
SAME_FIELD(vt_cu_array, ret_array, cuArrayCreate_v2_params, pHandle);
SAME_FIELD(vt_cu_array, desc, cuArrayCreate_v2_params, pAllocateArray);
SAME_SIZE(vt_cu_array3d, cuArray3DCreate_v2_params);
SAME_FIELD(vt_cu_array3d, ret_array, cuArray3DCreate_v2_params, pHandle);
SAME_FIELD(vt_cu_array3d, desc, cuArray3DCreate_v2_params, pAllocateArray);
SAME_SIZE(vt_cu_mipmap, cuMipmappedArrayCreate_params);
SAME_FIELD(vt_cu_mipmap, ret_array, cuMipmappedArrayCreate_params, pHandle);
SAME_FIELD(vt_cu_mipmap, desc, cuMipmappedArrayCreate_params, pMipmappedArrayDesc);
SAME_FIELD(vt_cu_mipmap, levels, cuMipmappedArrayCreate_params, numMipmapLevels);

#define IPC_OPEN(call)                                                                                                 \
	SAME_SIZE(vt_cu_ipc_open, call##_params);                                                                      \
	SAME_FIELD(vt_cu_ipc_open, ret_address, call##_params, pdptr);                                                 \
	SAME_FIELD(vt_cu_ipc_open, handle, call##_params, handle);                                                     \
	SAME_FIELD(vt_cu_ipc_open, flags, call##_params, Flags)
IPC_OPEN(cuIpcOpenMemHandle);
IPC_OPEN(cuIpcOpenMemHandle_v2);
SAME_SIZE(vt_cu_pool_create, cuMemPoolCreate_params);
SAME_FIELD(vt_cu_pool_create, ret_pool, cuMemPoolCreate_params, pool);
SAME_FIELD(vt_cu_pool_create, props, cuMemPoolCreate_params, poolProps);
SAME_SIZE(vt_cu_pool_trim, cuMemPoolTrimTo_params);
SAME_FIELD(vt_cu_pool_trim, pool, cuMemPoolTrimTo_params, pool);
SAME_FIELD(vt_cu_pool_trim, keep_bytes, cuMemPoolTrimTo_params, minBytesToKeep);

/* Every number in the table. */
#if CUDA_VERSION < 13000
#define CALL_13(cbid, name, api, decode, traits)
#endif
#define CALL(cbid, name, api, decode, traits) SAME_NUMBER(cbid, CUPTI_DRIVER_TRACE_CBID_##name);
#include "capture/agent/cupti_calls.def"

SAME_FIELD(vt_cu_launch, function, cuLaunchKernel_params, f);
SAME_FIELD(vt_cu_launch, shared_bytes, cuLaunchKernel_params, sharedMemBytes);
SAME_FIELD(vt_cu_launch, stream, cuLaunchKernel_params, hStream);
SAME_FIELD(vt_cu_launch, params, cuLaunchKernel_params, kernelParams);
SAME_FIELD(vt_cu_launch, extra, cuLaunchKernel_params, extra);
SAME_SIZE(vt_cu_launch, cuLaunchKernel_params);
SAME_FIELD(vt_cu_launch_ex, function, cuLaunchKernelEx_params, f);
SAME_FIELD(vt_cu_launch_ex, params, cuLaunchKernelEx_params, kernelParams);
SAME_FIELD(vt_cu_launch_ex, extra, cuLaunchKernelEx_params, extra);
SAME_FIELD(vt_cu_launch_cooperative, function, cuLaunchCooperativeKernel_params, f);
SAME_FIELD(vt_cu_launch_cooperative, params, cuLaunchCooperativeKernel_params, kernelParams);
SAME_FIELD(vt_cu_copy, bytes, cuMemcpyHtoD_v2_params, ByteCount);
SAME_FIELD(vt_cu_copy, bytes, cuMemcpyDtoH_v2_params, ByteCount);
SAME_FIELD(vt_cu_copy, bytes, cuMemcpyDtoD_v2_params, ByteCount);
SAME_FIELD(vt_cu_copy, bytes, cuMemcpy_params, ByteCount);

/* ---- cupti_work_calls.def ---- */

#define WORK(cbid, name, event, api, shape) SAME_NUMBER(cbid, CUPTI_DRIVER_TRACE_CBID_##name);
#include "capture/agent/cupti_work_calls.def"

/* ---- activity_records.h: the newest layout of each header set ---- */

#include "capture/agent/activity_records.h"

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
#elif CUPTI_API_VERSION >= 19
typedef CUpti_ActivityKernel9 kernel_record;
#else
typedef CUpti_ActivityKernel8 kernel_record;
#endif
#if CUPTI_API_VERSION >= 26
typedef CUpti_ActivityMemcpy6 memcpy_record;
#else
typedef CUpti_ActivityMemcpy5 memcpy_record;
#endif

#define AT(offset, record, field) _Static_assert((size_t)(offset) == offsetof(record, field), #record "." #field)

SAME_NUMBER(VT_ACTIVITY_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_NUMBER(VT_ACTIVITY_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_NUMBER(VT_ACTIVITY_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_NUMBER(VT_ACTIVITY_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_NUMBER(VT_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
AT(VT_KERNEL_REGISTERS, kernel_record, registersPerThread);
AT(VT_KERNEL_START, kernel_record, start);
AT(VT_KERNEL_END, kernel_record, end);
AT(VT_KERNEL_DEVICE, kernel_record, deviceId);
AT(VT_KERNEL_CONTEXT, kernel_record, contextId);
AT(VT_KERNEL_STREAM, kernel_record, streamId);
AT(VT_KERNEL_GRID, kernel_record, gridX);
AT(VT_KERNEL_BLOCK, kernel_record, blockX);
AT(VT_KERNEL_STATIC_SHARED, kernel_record, staticSharedMemory);
AT(VT_KERNEL_DYNAMIC_SHARED, kernel_record, dynamicSharedMemory);
AT(VT_KERNEL_LOCAL, kernel_record, localMemoryPerThread);
AT(VT_KERNEL_CORRELATION, kernel_record, correlationId);
AT(VT_KERNEL_NAME, kernel_record, name);
AT(VT_KERNEL_GRAPH_NODE, kernel_record, graphNodeId);
AT(VT_KERNEL_GRAPH, kernel_record, graphId);
AT(VT_KERNEL_CLUSTER, kernel_record, clusterX);
AT(VT_KERNEL_LOCAL_TOTAL, kernel_record, localMemoryTotal_v2);
_Static_assert(sizeof(kernel_record) <= VT_KERNEL_RECORD_BYTES, "a lost buffer's records are counted in these");
#if CUPTI_API_VERSION >= 130000
AT(VT_KERNEL_DEVICE_LAUNCHED, kernel_record, isDeviceLaunched);
#endif
AT(VT_MEMCPY_KIND, memcpy_record, copyKind);
AT(VT_MEMCPY_SOURCE, memcpy_record, srcKind);
AT(VT_MEMCPY_TARGET, memcpy_record, dstKind);
AT(VT_MEMCPY_FLAGS, memcpy_record, flags);
AT(VT_MEMCPY_BYTES, memcpy_record, bytes);
AT(VT_MEMCPY_START, memcpy_record, start);
AT(VT_MEMCPY_DEVICE, memcpy_record, deviceId);
AT(VT_MEMCPY_CONTEXT, memcpy_record, contextId);
AT(VT_MEMCPY_STREAM, memcpy_record, streamId);
AT(VT_MEMCPY_CORRELATION, memcpy_record, correlationId);
AT(VT_MEMCPY_GRAPH_NODE, memcpy_record, graphNodeId);
AT(VT_MEMCPY_GRAPH, memcpy_record, graphId);
AT(VT_MEMCPY_KIND, CUpti_ActivityMemcpyPtoP4, copyKind);
AT(VT_MEMCPY_BYTES, CUpti_ActivityMemcpyPtoP4, bytes);
AT(VT_MEMCPY_START, CUpti_ActivityMemcpyPtoP4, start);
AT(VT_MEMCPY_STREAM, CUpti_ActivityMemcpyPtoP4, streamId);
AT(VT_MEMCPY_PEER_SOURCE, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
AT(VT_MEMCPY_PEER_TARGET, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
AT(VT_MEMCPY_PEER_CORRELATION, CUpti_ActivityMemcpyPtoP4, correlationId);
AT(VT_MEMSET_VALUE, CUpti_ActivityMemset4, value);
AT(VT_MEMSET_BYTES, CUpti_ActivityMemset4, bytes);
AT(VT_MEMSET_START, CUpti_ActivityMemset4, start);
AT(VT_MEMSET_DEVICE, CUpti_ActivityMemset4, deviceId);
AT(VT_MEMSET_CONTEXT, CUpti_ActivityMemset4, contextId);
AT(VT_MEMSET_STREAM, CUpti_ActivityMemset4, streamId);
AT(VT_MEMSET_CORRELATION, CUpti_ActivityMemset4, correlationId);
AT(VT_MEMSET_FLAGS, CUpti_ActivityMemset4, flags);
AT(VT_MEMSET_MEMORY_KIND, CUpti_ActivityMemset4, memoryKind);
AT(VT_MEMSET_GRAPH_NODE, CUpti_ActivityMemset4, graphNodeId);
AT(VT_MEMSET_GRAPH, CUpti_ActivityMemset4, graphId);
