/* device.c - see device.h; vt_device_memory and vt_device_process_bytes are documented in agent.h. */
#include "capture/agent/device.h"

#include "capture/agent/cuda_driver.h"
#include "capture/agent/cupti_abi.h"
#include "capture/agent/nvml.h"
#include "schema/base/bits.h"

/* cuMemGetInfo costs microseconds; at this distance it costs a program that allocates all the time less than 1%. */
#define SAMPLE_INTERVAL_NS UINT64_C(10000000)

/* Contexts are few and their numbers rise from 1. */
#define CONTEXTS_MAX 64

struct device {
	_Atomic uint64_t sampled_ns; /* time of the last sample; 0: none yet, nothing was noted either */
};

static struct device devices[VT_DEVICES_MAX];
static _Atomic bool driver_noted;
/* (uid << 16) | (ordinal + 1), by uid modulo CONTEXTS_MAX; ordinal + 1 = 0: not known. */
static _Atomic uint64_t contexts[CONTEXTS_MAX];

static bool current_device(const struct vt_driver *driver, int *ret_device)
{
	return driver->cuCtxGetDevice && driver->cuCtxGetDevice(ret_device) == VT_CU_SUCCESS && *ret_device >= 0 &&
	       *ret_device <= INT16_MAX;
}

int16_t vt_device_of_context(uint64_t context, uint32_t uid)
{
	_Atomic uint64_t *slot = &contexts[uid % CONTEXTS_MAX];
	uint64_t kept = atomic_load_explicit(slot, memory_order_relaxed);
	const struct vt_driver *driver;
	int device;

	if (!context)
		return -1;
	if (kept >> 16 == uid && (kept & 0xffff))
		return (int16_t)((kept & 0xffff) - 1);
	driver = vt_driver_get();
	if (!driver || !current_device(driver, &device))
		return -1;
	atomic_store_explicit(slot, (uint64_t)uid << 16 | (uint16_t)(device + 1), memory_order_relaxed);
	return (int16_t)device;
}

static bool memory_info(const struct vt_driver *driver, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	size_t free_bytes, total_bytes;
	int32_t result;
	int mode;

	if (!driver->cuMemGetInfo_v2)
		return false;
	mode = vt_driver_relax_begin(driver);
	result = driver->cuMemGetInfo_v2(&free_bytes, &total_bytes);
	vt_driver_relax_end(driver, mode);
	if (result != VT_CU_SUCCESS)
		return false;
	*ret_free_bytes = free_bytes;
	*ret_total_bytes = total_bytes;
	return true;
}

bool vt_device_memory(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	const struct vt_driver *driver = vt_driver_get();
	int current;

	/* The driver answers for the current context's device alone, and we switch no contexts. */
	return driver && current_device(driver, &current) && current == device &&
	       memory_info(driver, ret_free_bytes, ret_total_bytes);
}

static bool device_uuid(const struct vt_driver *driver, int device, uint8_t ret_uuid[VT_UUID_BYTES])
{
	if (driver->cuDeviceGetUuid_v2)
		return driver->cuDeviceGetUuid_v2(ret_uuid, device) == VT_CU_SUCCESS;
	return driver->cuDeviceGetUuid && driver->cuDeviceGetUuid(ret_uuid, device) == VT_CU_SUCCESS;
}

bool vt_device_process_bytes(int device, uint64_t *ret_bytes)
{
	const struct vt_driver *driver = vt_driver_get();
	uint8_t uuid[VT_UUID_BYTES];

	return driver && device >= 0 && device < VT_DEVICES_MAX && device_uuid(driver, device, uuid) &&
	       vt_nvml_process_bytes(uuid, ret_bytes);
}

static void note_driver(struct vt_thread *thread, const struct vt_driver *driver)
{
	char text[96];
	int version;

	if (atomic_exchange_explicit(&driver_noted, true, memory_order_relaxed))
		return;
	if (!driver->cuDriverGetVersion || driver->cuDriverGetVersion(&version) != VT_CU_SUCCESS)
		version = 0;
	if (!vt_nvml_driver_version(text, sizeof(text)))
		text[0] = '\0';
	vt_agent_note(thread, VT_note_code_DRIVER_VERSION, (uint64_t)version, text[0] ? text : NULL);
}

static void note_device(struct vt_thread *thread, const struct vt_driver *driver, int16_t device)
{
	uint8_t uuid[VT_UUID_BYTES];
	char text[256];

	note_driver(thread, driver);
	if (driver->cuDeviceGetName && driver->cuDeviceGetName(text, sizeof(text), device) == VT_CU_SUCCESS) {
		text[sizeof(text) - 1] = '\0';
		vt_agent_note(thread, VT_note_code_DEVICE_NAME, (uint64_t)device, text);
	}
	if (device_uuid(driver, device, uuid)) {
		vt_nvml_uuid_text(uuid, "GPU", text, sizeof(text));
		vt_agent_note(thread, VT_note_code_DEVICE_UUID, (uint64_t)device, text);
	}
}

static void write_sample(struct vt_thread *thread, int16_t device, uint64_t process_bytes)
{
	uint64_t free_bytes, total_bytes;
	struct vt_device_sample *sample;

	if (!vt_device_memory(device, &free_bytes, &total_bytes))
		return;
	sample = vt_ring_reserve(&thread->writer, VT_EVENT_device_sample, sizeof(*sample));
	if (!sample)
		return;
	sample->time_ns = vt_agent_now(thread);
	sample->free_bytes = free_bytes;
	sample->total_bytes = total_bytes;
	sample->process_bytes = process_bytes;
	sample->thread = thread->tid;
	sample->device = device;
	sample->source = VT_sample_source_MEM_GET_INFO;
	vt_ring_commit(&thread->writer, sizeof(*sample));
}

void vt_device_moved(struct vt_thread *thread, int16_t device)
{
	const struct vt_driver *driver = vt_driver_get();
	uint64_t now = vt_agent_now(thread);
	uint64_t process_bytes = 0;
	uint64_t last;

	if (!driver || device < 0 || device >= VT_DEVICES_MAX)
		return;
	last = atomic_load_explicit(&devices[device].sampled_ns, memory_order_relaxed);
	if (last && now < last + SAMPLE_INTERVAL_NS)
		return;
	/* Of threads that come at once, one samples. */
	if (!atomic_compare_exchange_strong_explicit(&devices[device].sampled_ns, &last, now, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	if (!last) {
		note_device(thread, driver, device);
		if (!vt_device_process_bytes(device, &process_bytes))
			process_bytes = 0;
	}
	write_sample(thread, device, process_bytes);
}

void vt_device_refused(struct vt_thread *thread, int16_t device)
{
	uint64_t process_bytes = 0;

	if (!vt_driver_get() || device < 0 || device >= VT_DEVICES_MAX)
		return;
	if (!vt_device_process_bytes(device, &process_bytes))
		process_bytes = 0;
	write_sample(thread, device, process_bytes);
}
