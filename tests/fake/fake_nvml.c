/* fake_nvml.c - a fake libnvidia-ml that knows one device and one process. See fake_cuda.h. */
#include <stdio.h>
#include <string.h>

#include "tests/fake/fake_cuda.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

struct process_info {
	uint32_t pid;
	uint64_t used_bytes;
	uint32_t gpu_instance;
	uint32_t compute_instance;
};

FAKE_EXPORT struct fake_nvml *fake_nvml(void);
FAKE_EXPORT int nvmlInit_v2(void);
FAKE_EXPORT int nvmlSystemGetDriverVersion(char *ret_text, unsigned bytes);
FAKE_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret_device);
FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, struct process_info *ret_infos);

static struct fake_nvml fake;

struct fake_nvml *fake_nvml(void)
{
	return &fake;
}

int nvmlInit_v2(void)
{
	fake.inits++;
	return fake.init_result;
}

int nvmlSystemGetDriverVersion(char *ret_text, unsigned bytes)
{
	(void)snprintf(ret_text, bytes, "580.fake");
	return 0;
}

/* Device 0, as a MIG instance: known by its MIG name alone. */
int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret_device)
{
	*ret_device = &fake;
	return strcmp(uuid, "MIG-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0") ? 6 : 0;
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, struct process_info *ret_infos)
{
	if (device != &fake || *count < 2)
		return 7;
	*count = 2;
	ret_infos[0] = (struct process_info){ .pid = fake.pid + 1, .used_bytes = 77 };
	ret_infos[1] = (struct process_info){ .pid = fake.pid, .used_bytes = fake.used_bytes };
	return fake.list_result;
}
