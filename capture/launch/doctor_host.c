/* doctor_host.c - the machine and the environment: driver, permissions, other tools, room, limits. See doctor.h. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "capture/launch/doctor.h"
#include "capture/launch/session_dir.h"
#include "schema/base/format.h"
#include "schema/ring.h"

/* An hour of a busy training takes about as much; a figure to warn by, not a need. */
#define DISK_BYTES_COMFORTABLE (UINT64_C(1) << 30)
/* The recorder's own files and one ring file for each process. */
#define FILES_COMFORTABLE 256

#define GPUS_MAX 64

static const char *below_root(const char *path, char ret_path[PATH_MAX])
{
	const char *root = getenv(VT_ENV_DOCTOR_ROOT);

	return snprintf(ret_path, PATH_MAX, "%s%s", root ? root : "", path) < PATH_MAX ? ret_path : path;
}

/* The rest of the line behind `prefix`, in the first line that has it. */
static bool find_line(const char *path, const char *prefix, char *ret_rest, size_t bytes)
{
	char real[PATH_MAX], line[400];
	FILE *file = fopen(below_root(path, real), "re");
	const char *at = NULL;

	while (file && !at && fgets(line, sizeof(line), file)) {
		at = strstr(line, prefix);
		if (at)
			(void)snprintf(ret_rest, bytes, "%.*s", (int)strcspn(at + strlen(prefix), "\n"),
				       at + strlen(prefix));
	}
	if (file)
		(void)fclose(file);
	return at != NULL;
}

static void check_driver(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	const struct vt_probe_note *note = vt_probe_note(probe, VT_note_code_DRIVER_VERSION);
	const char *result = vt_probe_fact(probe, "cuinit"), *missing = vt_probe_fact(probe, "cuda_missing");
	const char *devices = vt_probe_fact(probe, "devices"), *error = vt_probe_fact(probe, "cuda_error");
	char version[200] = "";
	bool module = find_line("/proc/driver/nvidia/version", "NVRM version: ", version, sizeof(version));
	const char *name = "NVIDIA driver";

	if (!module && note)
		(void)snprintf(version, sizeof(version), "%.190s", note->text);
	if (!module && !result)
		vt_doctor_add(doctor, name, VT_CHECK_NO,
			      "install the NVIDIA driver; without a GPU, CPU tensors are recorded by `record --host`",
			      "no kernel module, no libcuda.so.1");
	else if (missing)
		vt_doctor_add(doctor, name, VT_CHECK_NO,
			      "install the driver's libraries; start a container with --gpus all and the capability "
			      "`compute`",
			      "%s, but no libcuda.so.1: %s", version, missing);
	else if (result && strcmp(result, "0") != 0)
		vt_doctor_add(doctor, name, VT_CHECK_NO,
			      "run nvidia-smi: CUDA does not start for any program of this user here",
			      "%s; cuInit answers %s", version, result);
	else if (devices && strcmp(devices, "0") == 0)
		vt_doctor_add(doctor, name, VT_CHECK_NO, "look at CUDA_VISIBLE_DEVICES", "%s; no device is visible",
			      version);
	else if (error)
		vt_doctor_add(doctor, name, VT_CHECK_LIMITED, "see what PyTorch says; it does so without vramtrace too",
			      "%s; PyTorch cannot use the device: %s", version, error);
	else if (!result)
		vt_doctor_add(doctor, name, VT_CHECK_LIMITED, "see the check `agent`", "%s; CUDA was not tried",
			      version);
	else
		vt_doctor_add(doctor, name, VT_CHECK_OK, NULL, "%s; devices: %s",
			      version[0] ? version : "no version told", devices ? devices : "not told");
}

static void check_permission(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	bool kernels = vt_probe_note(probe, VT_note_code_KERNELS_ON) != NULL;
	char value[32];

	if (!find_line("/proc/driver/nvidia/params", "RmProfilingAdminOnly: ", value, sizeof(value)))
		vt_doctor_add(doctor, "counters", kernels ? VT_CHECK_OK : VT_CHECK_LIMITED,
			      kernels ? NULL : "see the check `NVIDIA driver`",
			      "/proc/driver/nvidia/params does not tell%s", kernels ? "; kernels are recorded" : "");
	else if (strcmp(value, "0") == 0)
		vt_doctor_add(doctor, "counters", VT_CHECK_OK, NULL, "open to every user");
	else if (geteuid() == 0 || kernels)
		vt_doctor_add(doctor, "counters", VT_CHECK_OK, NULL, "for administrators only%s",
			      kernels ? "; kernels are recorded nevertheless" : ", which you are");
	else
		vt_doctor_add(doctor, "counters", VT_CHECK_LIMITED,
			      "the administrator sets `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in "
			      "/etc/modprobe.d and reboots, if kernels are refused",
			      "for administrators only (RmProfilingAdminOnly: %s)", value);
}

static unsigned count_instances(unsigned gpu)
{
	char path[96], real[PATH_MAX];
	const struct dirent *entry;
	unsigned count = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/driver/nvidia/capabilities/gpu%u/mig", gpu);
	dir = opendir(below_root(path, real));
	while (dir && (entry = readdir(dir)) != NULL)
		count += strncmp(entry->d_name, "gi", 2) == 0;
	if (dir)
		(void)closedir(dir);
	return count;
}

static void check_mig(struct vt_doctor *doctor)
{
	unsigned count = 0;

	for (unsigned gpu = 0; gpu < GPUS_MAX; gpu++)
		count += count_instances(gpu);
	if (count)
		vt_doctor_add(doctor, "MIG", VT_CHECK_LIMITED,
			      "read device totals as those of the instance; look at `kernels` for what CUPTI allows",
			      "%u GPU instance%s: a program sees a part of a device", count, count == 1 ? "" : "s");
	else
		vt_doctor_add(doctor, "MIG", VT_CHECK_OK, NULL, "no GPU instances");
}

/* Begins of variables that a profiler sets for what it runs, and of libraries that it injects. */
static bool is_of_profiler(const char *variable)
{
	static const char *const names[] = { "NSYS_PROFILING_SESSION_ID=", "QUADD_INJECTION_PROXY=",
					     "NV_NSIGHT_INJECTION_", "NV_TPS_LAUNCH_TOKEN=", "NV_COMPUTE_PROFILER_" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return strncmp(variable, "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0 &&
	       strstr(variable, "libToolsInjection") != NULL;
}

static void check_tools(struct vt_doctor *doctor)
{
	const char *cuda = getenv("CUDA_INJECTION64_PATH"), *nvtx = getenv("NVTX_INJECTION64_PATH");
	const char *next = "run without the other tool: CUPTI and the injection have room for one";

	for (char **variable = environ; *variable; variable++)
		if (is_of_profiler(*variable)) {
			vt_doctor_add(doctor, "other tools", VT_CHECK_LIMITED, next, "nsys or ncu is at work: %.*s",
				      (int)strcspn(*variable, "="), *variable);
			return;
		}
	if (cuda && *cuda && !strstr(cuda, "libvramtrace-agent"))
		vt_doctor_add(doctor, "other tools", VT_CHECK_LIMITED, next, "CUDA_INJECTION64_PATH is %.300s", cuda);
	else if (nvtx && *nvtx && !strstr(nvtx, "libvramtrace-agent"))
		vt_doctor_add(doctor, "other tools", VT_CHECK_LIMITED, "unset it to have NVTX ranges in the trace",
			      "NVTX_INJECTION64_PATH is %.300s", nvtx);
	else
		vt_doctor_add(doctor, "other tools", VT_CHECK_OK, NULL, "none in the environment");
}

static bool room_in(const char *path, uint64_t *ret_bytes)
{
	struct statvfs fs;

	*ret_bytes = 0;
	if (access(path, W_OK | X_OK) < 0 || statvfs(path, &fs) < 0)
		return false;
	*ret_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	return true;
}

static void check_room(struct vt_doctor *doctor)
{
	char path[PATH_MAX], size[VT_FORMAT_MAX];
	uint64_t bytes;

	if (!room_in(below_root("/dev/shm", path), &bytes))
		vt_doctor_add(
			doctor, "shared memory", VT_CHECK_LIMITED,
			"mount /dev/shm; until then rings are in $TMPDIR or /tmp, and a busy disk slows the program",
			"/dev/shm cannot be written: %s", strerror(errno));
	else if (bytes < VT_SESSION_FREE_BYTES_MIN)
		vt_doctor_add(doctor, "shared memory", VT_CHECK_LIMITED,
			      "give a container more (docker: --shm-size 1g); until then rings are in $TMPDIR or /tmp",
			      "/dev/shm has %s free", vt_format_bytes(size, bytes));
	else
		vt_doctor_add(doctor, "shared memory", VT_CHECK_OK, NULL, "/dev/shm has %s free",
			      vt_format_bytes(size, bytes));
	if (!room_in(".", &bytes))
		vt_doctor_add(doctor, "disk", VT_CHECK_LIMITED, "name a trace elsewhere: record -o",
			      "the current directory cannot be written: %s", strerror(errno));
	else
		vt_doctor_add(doctor, "disk", bytes < DISK_BYTES_COMFORTABLE ? VT_CHECK_LIMITED : VT_CHECK_OK,
			      bytes < DISK_BYTES_COMFORTABLE ? "make room, or name a trace elsewhere: record -o" : NULL,
			      "the current directory has %s free", vt_format_bytes(size, bytes));
}

static bool is_below(int resource, uint64_t wanted, uint64_t *ret_limit)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*ret_limit = limit.rlim_cur;
	return limit.rlim_cur < wanted;
}

static void check_limits(struct vt_doctor *doctor)
{
	char size[VT_FORMAT_MAX], wanted[VT_FORMAT_MAX];
	uint64_t limit = 0;

	if (is_below(RLIMIT_FSIZE, vt_shm_file_bytes(), &limit))
		vt_doctor_add(doctor, "limits", VT_CHECK_NO, "raise it: ulimit -f unlimited",
			      "files may have %s; the ring file of a process needs %s", vt_format_bytes(size, limit),
			      vt_format_bytes(wanted, vt_shm_file_bytes()));
	else if (is_below(RLIMIT_NOFILE, FILES_COMFORTABLE, &limit))
		vt_doctor_add(doctor, "limits", VT_CHECK_LIMITED, "raise it for many processes: ulimit -n 1024",
			      "%" PRIu64 " open files", limit);
	else if (is_below(RLIMIT_AS, UINT64_MAX, &limit))
		vt_doctor_add(doctor, "limits", VT_CHECK_LIMITED,
			      "raise it if the program fails under capture: ulimit -v unlimited",
			      "address space of %s, of which capture takes %s a process", vt_format_bytes(size, limit),
			      vt_format_bytes(wanted, vt_shm_file_bytes()));
	else
		vt_doctor_add(doctor, "limits", VT_CHECK_OK, NULL, "files and address space are large enough");
}

void vt_doctor_look_at_host(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	check_driver(doctor, probe);
	check_permission(doctor, probe);
	check_mig(doctor);
	check_tools(doctor);
	check_room(doctor);
	check_limits(doctor);
}
