/*
 * nvml.c - see nvml.h. Prototypes and the layout of nvmlProcessInfo_t are facts of nvml.h (CUDA 11.1 and later: the _v2
 * and _v3 calls share them); the library is found by dlopen, as everything of NVIDIA's.
 */
#include "capture/agent/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define NVML_SUCCESS 0
#define NVML_NOT_AVAILABLE UINT64_MAX /* NVML_VALUE_NOT_AVAILABLE */

/* More processes than this on one device: we are told INSUFFICIENT_SIZE and do not know. */
#define PROCESSES_MAX 256

struct process_info {
	uint32_t pid;
	uint64_t used_bytes;
	uint32_t gpu_instance;
	uint32_t compute_instance;
};
_Static_assert(sizeof(struct process_info) == 24, "nvmlProcessInfo_t");

static struct {
	int (*init)(void);
	int (*driver_version)(char *ret_text, unsigned bytes);
	int (*device_by_uuid)(const char *uuid, void **ret_device);
	int (*compute_processes)(void *device, unsigned *count, struct process_info *ret_infos);
} nvml; /* constant after `once` */
static bool ready;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *find(void *library, const char *name, const char *older)
{
	void *function = dlsym(library, name);

	return function || !older ? function : dlsym(library, older);
}

static void load(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return;
	nvml.init = (int (*)(void))find(library, "nvmlInit_v2", NULL);
	nvml.driver_version = (int (*)(char *, unsigned))find(library, "nvmlSystemGetDriverVersion", NULL);
	nvml.device_by_uuid = (int (*)(const char *, void **))find(library, "nvmlDeviceGetHandleByUUID", NULL);
	nvml.compute_processes = (int (*)(void *, unsigned *, struct process_info *))find(
		library, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2");
	ready = nvml.init && nvml.init() == NVML_SUCCESS;
}

static bool is_ready(void)
{
	return pthread_once(&once, load) == 0 && ready;
}

void vt_nvml_uuid_text(const uint8_t *uuid, const char *kind, char *ret_text, size_t bytes)
{
	const uint8_t *u = uuid;

	(void)snprintf(ret_text, bytes, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", kind,
		       u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
		       u[15]);
}

bool vt_nvml_driver_version(char *ret_text, size_t bytes)
{
	return is_ready() && nvml.driver_version && nvml.driver_version(ret_text, (unsigned)bytes) == NVML_SUCCESS;
}

/* CUDA gives a MIG instance's uuid without saying that it is one. */
static void *find_device(const uint8_t *uuid)
{
	void *device = NULL;
	char text[64];

	vt_nvml_uuid_text(uuid, "GPU", text, sizeof(text));
	if (nvml.device_by_uuid(text, &device) == NVML_SUCCESS)
		return device;
	vt_nvml_uuid_text(uuid, "MIG", text, sizeof(text));
	return nvml.device_by_uuid(text, &device) == NVML_SUCCESS ? device : NULL;
}

bool vt_nvml_process_bytes(const uint8_t *uuid, uint64_t *ret_bytes)
{
	struct process_info infos[PROCESSES_MAX];
	unsigned count = PROCESSES_MAX;
	uint32_t pid = (uint32_t)getpid();
	void *handle;

	if (!is_ready() || !nvml.device_by_uuid || !nvml.compute_processes)
		return false;
	handle = find_device(uuid);
	if (!handle || nvml.compute_processes(handle, &count, infos) != NVML_SUCCESS)
		return false;
	for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
		if (infos[i].pid == pid && infos[i].used_bytes != NVML_NOT_AVAILABLE) {
			*ret_bytes = infos[i].used_bytes;
			return true;
		}
	}
	return false;
}
