/* cupti_work.c - see cupti_work.h. */
#include "capture/agent/cupti_work.h"

#include "capture/agent/agent.h"
#include "capture/agent/cuda_driver.h"
#include "capture/agent/device.h"
#include "capture/agent/launch.h"

enum work_event { LAUNCH = 1, WAIT = 2 };
enum work_shape { SHAPE_other, SHAPE_kernel, SHAPE_kernel_ex, SHAPE_cooperative, SHAPE_copy };

struct work {
	uint16_t cbid;
	uint8_t event; /* 0: not watched */
	uint8_t api;
	uint8_t shape;
};

static const struct work works[] = {
#define WORK(cbid, name, event, api, shape) { (cbid), (event), (api), SHAPE_##shape },
#include "capture/agent/cupti_work_calls.def"
};

/* CUPTI's driver calls are numbered up to about 810. */
#define CBIDS_MAX 1024u

/* The part's state: `on` and `index` are constant once a callback can come. */
static struct {
	struct vt_launch_state launch;
	_Atomic bool on;
	uint8_t index[CBIDS_MAX]; /* 1 + place in works; 0: not watched */
} work_state;
_Static_assert(VT_ARRAY_SIZE(works) < UINT8_MAX, "index holds a place in works");

bool vt_work_start(void)
{
	const struct vt_driver *driver = vt_driver_get();

	if (vt_work_is_on())
		return true;
	if (!driver || !vt_device_pages_init(&work_state.launch.pages) ||
	    !vt_param_layouts_init(&work_state.launch.layouts, driver->cuKernelGetParamInfo,
				   driver->cuFuncGetParamInfo))
		return false;
	for (uint32_t i = 0; i < VT_ARRAY_SIZE(works); i++)
		work_state.index[works[i].cbid] = (uint8_t)(i + 1);
	atomic_store_explicit(&work_state.on, true, memory_order_release);
	return true;
}

bool vt_work_is_on(void)
{
	return atomic_load_explicit(&work_state.on, memory_order_acquire);
}

uint32_t vt_work_cbid(uint32_t index)
{
	return vt_work_is_on() && index < VT_ARRAY_SIZE(works) ? works[index].cbid : 0;
}

bool vt_work_is_watched(uint32_t cbid)
{
	return vt_work_is_on() && cbid < CBIDS_MAX && work_state.index[cbid];
}

void vt_work_memory_came(uint64_t address, uint64_t bytes)
{
	vt_device_pages_set(&work_state.launch.pages, address, bytes);
}

void vt_work_memory_went(uint64_t address, uint64_t bytes)
{
	vt_device_pages_clear(&work_state.launch.pages, address, bytes);
}

static int32_t result_of(const struct vt_cupti_callback_data *data)
{
	return data->result ? *(const int32_t *)data->result : 0;
}

static void record_launch(struct vt_thread *thread, const struct work *work, const struct vt_cupti_callback_data *data)
{
	struct vt_launch_call call = { .start_ns = thread->work_call.start_ns,
				       .correlation = data->correlation,
				       .result = result_of(data),
				       .api = work->api,
				       .device = vt_device_of_context(data->context, data->context_uid) };

	if (work->shape == SHAPE_kernel) {
		const struct vt_cu_launch *params = data->params;

		call.function = params->function;
		call.params = params->params;
		call.extra = params->extra;
	} else if (work->shape == SHAPE_kernel_ex) {
		const struct vt_cu_launch_ex *params = data->params;

		call.function = params->function;
		call.params = params->params;
		call.extra = params->extra;
	} else if (work->shape == SHAPE_cooperative) {
		const struct vt_cu_launch_cooperative *params = data->params;

		call.function = params->function;
		call.params = params->params;
	}
	vt_launch_record(thread, &work_state.launch, &call);
}

static void record_wait(struct vt_thread *thread, const struct work *work, const struct vt_cupti_callback_data *data)
{
	uint64_t now_ns = vt_agent_now(thread);
	struct vt_context context = vt_agent_context(thread);
	struct vt_wait *record = vt_ring_reserve(&thread->writer, VT_EVENT_wait, sizeof(*record));

	if (!record)
		return;
	record->time_ns = now_ns;
	record->start_ns = thread->work_call.start_ns;
	record->size_bytes = work->shape == SHAPE_copy ? ((const struct vt_cu_copy *)data->params)->bytes : 0;
	record->correlation = data->correlation;
	record->op = context.op;
	record->stack = context.stack;
	record->thread = thread->tid;
	record->api = work->api;
	record->device = vt_device_of_context(data->context, data->context_uid);
	record->result = result_of(data);
	vt_ring_commit(&thread->writer, sizeof(*record));
}

void vt_work_call(uint32_t cbid, const struct vt_cupti_callback_data *data)
{
	const struct work *work;
	struct vt_thread *thread;

	if (!vt_work_is_watched(cbid) || !data->params)
		return;
	work = &works[work_state.index[cbid] - 1];
	thread = vt_agent_enter();
	if (!thread)
		return;
	if (data->site == VT_CUPTI_API_ENTER) {
		thread->work_call.correlation = data->correlation;
		thread->work_call.start_ns = vt_agent_now(thread);
	} else {
		/* An exit whose entry was not seen (capture began in between): a call of no length. */
		if (thread->work_call.correlation != data->correlation)
			thread->work_call.start_ns = vt_agent_now(thread);
		if (work->event == LAUNCH)
			record_launch(thread, work, data);
		else
			record_wait(thread, work, data);
	}
	vt_agent_leave(thread);
}
