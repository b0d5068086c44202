/* calls.c - see calls.h. */
#include "analyze/views/calls.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2

_Static_assert(VT_driver_api_END <= VT_CALLS_APIS, "raise VT_CALLS_APIS");

struct device_calls {
	struct vt_call_count apis[VT_CALLS_APIS];
	struct vt_attempt attempt;
	bool ended; /* the attempt ended in an OOM: the next failure begins another */
};

struct vt_calls {
	struct device_calls *devices;
	size_t room;
};

int vt_calls_new(struct vt_calls **ret, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : vt_err_set(err, VT_E_NOMEM, "no memory for the driver calls");
}

void vt_calls_free(struct vt_calls *calls)
{
	if (!calls)
		return;
	free(calls->devices);
	free(calls);
}

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_driver_memory *rec = (const struct vt_driver_memory *)(const void *)item->rec;
	const struct vt_device *state = vt_replay_device(replay, device);
	struct vt_calls *calls = self;
	struct vt_call_count *count;
	struct vt_attempt *attempt;

	if (!state || rec->api >= VT_CALLS_APIS)
		return 0;
	if (vt_array_reach((void **)&calls->devices, &calls->room, device, sizeof(*calls->devices)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the driver calls");
	count = &calls->devices[device].apis[rec->api];
	count->calls++;
	count->time_ns += rec->time_ns > rec->start_ns ? rec->time_ns - rec->start_ns : 0;
	if (!rec->result) {
		count->bytes += rec->size_bytes;
		return 0;
	}
	if (rec->result != CUDA_ERROR_OUT_OF_MEMORY) {
		count->failed++;
		return 0;
	}
	count->out_of_memory++;
	attempt = &calls->devices[device].attempt;
	if (calls->devices[device].ended) {
		calls->devices[device].ended = false;
		*attempt = (struct vt_attempt){ .failures = 0 };
	}
	if (!attempt->failures++) {
		attempt->first_ns = rec->time_ns;
		attempt->driver_before = state->driver_bytes;
	}
	attempt->last_ns = rec->time_ns;
	attempt->size_bytes = rec->size_bytes;
	attempt->api = rec->api;
	return 0;
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	struct vt_calls *calls = self;

	(void)replay;
	(void)item;
	(void)err;
	if (block->device < calls->room)
		calls->devices[block->device].attempt = (struct vt_attempt){ .failures = 0 };
	return 0;
}

static int on_oom(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		  struct vt_err *err)
{
	(void)replay;
	(void)item;
	(void)err;
	vt_calls_end_attempt(self, device);
	return 0;
}

struct vt_listener vt_calls_listener(struct vt_calls *calls)
{
	return (struct vt_listener){ .self = calls, .alloc = on_alloc, .driver = on_driver, .oom = on_oom };
}

struct vt_call_count vt_calls_count(const struct vt_calls *calls, uint32_t device, uint32_t api)
{
	return device < calls->room ? calls->devices[device].apis[api] : (struct vt_call_count){ .calls = 0 };
}

struct vt_attempt vt_calls_attempt(const struct vt_calls *calls, uint32_t device)
{
	return device < calls->room ? calls->devices[device].attempt : (struct vt_attempt){ .failures = 0 };
}

void vt_calls_end_attempt(struct vt_calls *calls, uint32_t device)
{
	if (device < calls->room)
		calls->devices[device].ended = true;
}
