/* cupti_decode.c - see cupti_decode.h. One small function per shape of parameter block. */
#include "capture/agent/cupti_decode.h"

#include <stddef.h>

#include "capture/agent/cupti_abi.h"
#include "schema/base/bits.h"
#include "schema/event.h"

struct vt_call {
	void (*decode)(const void *params, bool ok, struct vt_call_facts *facts);
	uint16_t api;
	uint16_t traits;
	uint32_t cbid;
};

/* What the call wrote to its caller's variable: not before it succeeded, and only if there is a variable. */
static uint64_t written(const uint64_t *variable, bool ok)
{
	return ok && variable ? *variable : 0;
}

static void decode_nothing(const void *params, bool ok, struct vt_call_facts *facts)
{
	(void)params, (void)ok, (void)facts;
}

static void decode_alloc(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_alloc *p = params;

	facts->address = written(p->ret_address, ok);
	facts->size_bytes = p->bytes;
}

static void decode_alloc_flags(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_alloc_flags *p = params;

	facts->address = written(p->ret_address, ok);
	facts->size_bytes = p->bytes;
	facts->flags = p->flags;
}

/* The driver chooses the pitch; where it got none, what was asked for is width by height. */
static void decode_alloc_pitch(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_alloc_pitch *p = params;

	facts->address = written(p->ret_address, ok);
	facts->size_bytes = (ok && p->ret_pitch ? *p->ret_pitch : p->width_bytes) * p->height;
}

static void decode_free(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_free *p = params;

	(void)ok;
	facts->address = p->address;
}

static void decode_host_register(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_register *p = params;

	(void)ok;
	facts->address = p->address;
	facts->size_bytes = p->bytes;
	facts->flags = p->flags;
}

static void decode_alloc_async(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_alloc_async *p = params;

	facts->address = written(p->ret_address, ok);
	facts->size_bytes = p->bytes;
	facts->stream = p->stream;
}

static void decode_alloc_pool(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_alloc_pool *p = params;

	facts->address = written(p->ret_address, ok);
	facts->size_bytes = p->bytes;
	facts->handle = p->pool;
	facts->stream = p->stream;
}

static void decode_free_async(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_free_async *p = params;

	(void)ok;
	facts->address = p->address;
	facts->stream = p->stream;
}

static void decode_pool_trim(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_pool_trim *p = params;

	(void)ok;
	facts->handle = p->pool;
	facts->size_bytes = p->keep_bytes;
}

static int16_t device_of(const struct vt_cu_location *location)
{
	if (location->type != VT_CU_LOCATION_DEVICE || location->id < 0 || location->id > INT16_MAX)
		return -1;
	return (int16_t)location->id;
}

static void decode_pool_create(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_pool_create *p = params;

	facts->handle = written(p->ret_pool, ok);
	if (p->props)
		facts->device = device_of(&p->props->location);
}

static void decode_pool_destroy(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_handle *p = params;

	(void)ok;
	facts->handle = p->handle;
}

static void decode_reserve(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_reserve *p = params;

	facts->address = written(p->ret_address, ok);
	facts->size_bytes = p->bytes;
	facts->flags = (uint32_t)p->flags;
}

static void decode_range(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_range *p = params;

	(void)ok;
	facts->address = p->address;
	facts->size_bytes = p->bytes;
}

static void decode_create(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_create *p = params;

	facts->handle = written(p->ret_handle, ok);
	facts->size_bytes = p->bytes;
	facts->flags = (uint32_t)p->flags;
	if (p->prop)
		facts->device = device_of(&p->prop->location);
}

static void decode_handle(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_handle *p = params;

	(void)ok;
	facts->handle = p->handle;
}

static void decode_map(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_map *p = params;

	(void)ok;
	facts->address = p->address;
	facts->size_bytes = p->bytes;
	facts->handle = p->handle;
	facts->flags = (uint32_t)p->flags;
}

static void decode_import(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_import *p = params;

	facts->handle = written(p->ret_handle, ok);
	facts->flags = p->handle_type;
}

static void decode_retain(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_retain *p = params;

	facts->handle = written(p->ret_handle, ok);
	facts->address = p->address;
}

/* Bytes of one channel of a CUarray_format; 0 for block-compressed and planar ones, whose sizes are no simple product.
 */
static uint64_t channel_bytes(uint32_t format)
{
	switch (format) {
	case 0x01: /* UNSIGNED_INT8 */
	case 0x08: /* SIGNED_INT8 */
		return 1;
	case 0x02: /* UNSIGNED_INT16 */
	case 0x09: /* SIGNED_INT16 */
	case 0x10: /* HALF */
		return 2;
	case 0x03: /* UNSIGNED_INT32 */
	case 0x0a: /* SIGNED_INT32 */
	case 0x20: /* FLOAT */
		return 4;
	default:
		return 0;
	}
}

/* Elements times their size: what was asked for; the driver pads as it likes. A dimension of 0 is one not used. */
static uint64_t array_bytes(const struct vt_cu_array3d_desc *desc)
{
	return (uint64_t)desc->width * (desc->height ? desc->height : 1) * (desc->depth ? desc->depth : 1) *
	       desc->channels * channel_bytes(desc->format);
}

static void decode_array(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_array *p = params;

	facts->handle = written(p->ret_array, ok);
	if (p->desc) {
		struct vt_cu_array3d_desc desc = { .width = p->desc->width,
						   .height = p->desc->height,
						   .format = p->desc->format,
						   .channels = p->desc->channels };

		facts->size_bytes = array_bytes(&desc);
	}
}

static void decode_array3d(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_array3d *p = params;

	facts->handle = written(p->ret_array, ok);
	if (p->desc) {
		facts->size_bytes = array_bytes(p->desc);
		facts->flags = p->desc->flags;
	}
}

static size_t half(size_t n, bool is_layers)
{
	return n > 1 && !is_layers ? n / 2 : n;
}

/* Each level halves every dimension, down to 1; the layers of a layered array (flag 1) are not halved. */
static void decode_mipmap(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_mipmap *p = params;
	struct vt_cu_array3d_desc level;

	facts->handle = written(p->ret_array, ok);
	if (!p->desc)
		return;
	level = *p->desc;
	facts->flags = level.flags;
	for (uint32_t i = 0; i < p->levels && i < 64; i++) {
		facts->size_bytes += array_bytes(&level);
		level.width = half(level.width, false);
		level.height = half(level.height, false);
		level.depth = half(level.depth, level.flags & 1);
	}
}

static void decode_ipc_open(const void *params, bool ok, struct vt_call_facts *facts)
{
	const struct vt_cu_ipc_open *p = params;

	facts->address = written(p->ret_address, ok);
	facts->flags = p->flags;
}

/* clang-format off */
/* Lets cupti_calls.def write traits as DEVICE | FREE. */
enum { DEVICE = VT_CALL_DEVICE, HOST = VT_CALL_HOST, POOL = VT_CALL_POOL, FREE = VT_CALL_FREE, PTSZ = VT_CALL_PTSZ,
       REPOOL = VT_CALL_REPOOL };

enum {
#define CALL(cbid, name, api, decode, traits) CALL_##name,
#include "capture/agent/cupti_calls.def"
	CALLS
};

static const struct vt_call calls[CALLS] = {
#define CALL(cbid, name, api, decode, traits) { decode_##decode, VT_driver_api_##api, (traits), (cbid) },
#include "capture/agent/cupti_calls.def"
};

/* Index into calls plus 1 by number. */
static const uint8_t call_of_cbid[] = {
#define CALL(cbid, name, api, decode, traits) [(cbid)] = CALL_##name + 1,
#include "capture/agent/cupti_calls.def"
};
/* clang-format on */
_Static_assert(CALLS < UINT8_MAX, "call_of_cbid holds bytes");

const struct vt_call *vt_call_find(uint32_t cbid)
{
	uint32_t index = cbid < VT_ARRAY_SIZE(call_of_cbid) ? call_of_cbid[cbid] : 0;

	return index ? &calls[index - 1] : NULL;
}

unsigned vt_call_traits(const struct vt_call *call)
{
	return call->traits;
}

uint16_t vt_call_api(const struct vt_call *call)
{
	return call->api;
}

struct vt_call_facts vt_call_decode(const struct vt_call *call, const void *params, bool ok)
{
	struct vt_call_facts facts = { .device = call->traits & VT_CALL_HOST ? -1 : VT_CALL_DEVICE_OF_CONTEXT };

	call->decode(params, ok, &facts);
	if ((call->traits & VT_CALL_PTSZ) && facts.stream == 0)
		facts.stream = VT_CU_STREAM_PER_THREAD;
	return facts;
}

uint32_t vt_call_cbid(uint32_t index)
{
	return index < CALLS ? calls[index].cbid : 0;
}
