/* doctor_capture.c - what the agent did in the interpreter, by its own notes. See doctor.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture/launch/doctor.h"

/* cuptiGetVersion: 18 is that of CUDA 11.8; from 13.0 on it is major * 10000 and more. */
#define CUPTI_OLDEST 18
#define CUPTI_UNKNOWN 140000

static void check_probe(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	const struct vt_probe_note *off = vt_probe_note(probe, VT_note_code_AGENT_OFF);

	if (off)
		vt_doctor_add(doctor, "agent", VT_CHECK_NO, "please report it, with this line",
			      "switched itself off: %s", off->text);
	else if (probe->failure[0])
		vt_doctor_add(doctor, "agent", VT_CHECK_NO, "run the same interpreter without vramtrace and compare",
			      "a small program under capture did not end well: %s", probe->failure);
	else if (vt_probe_note(probe, VT_note_code_AGENT_STARTED))
		vt_doctor_add(doctor, "agent", VT_CHECK_OK, NULL, "works in a small program");
	else
		vt_doctor_add(doctor, "agent", VT_CHECK_LIMITED,
			      "give a Python with PyTorch: vramtrace doctor -- PYTHON",
			      "not tried: the small program used neither PyTorch nor CUDA");
}

static void check_python(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	const struct vt_probe_note *off = vt_probe_note(probe, VT_note_code_PYTHON_STACKS_OFF);
	const char *version = vt_probe_fact(probe, "python");

	if (!version)
		vt_doctor_add(doctor, "Python", VT_CHECK_LIMITED, "give one that runs: vramtrace doctor -- PYTHON",
			      "no interpreter answered");
	else if (off)
		vt_doctor_add(doctor, "Python", VT_CHECK_LIMITED, "use CPython of a version in README.md",
			      "%s: no lines of the program: %s", version, off->text);
	else if (vt_probe_note(probe, VT_note_code_PYTHON_STACKS_ON))
		vt_doctor_add(doctor, "Python", VT_CHECK_OK, NULL, "%s: lines of the program are recorded", version);
	else
		vt_doctor_add(doctor, "Python", VT_CHECK_LIMITED, "see the check `agent`", "%s: lines were not tried",
			      version);
}

static void check_torch(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	const struct vt_probe_note *off = vt_probe_note(probe, VT_note_code_TORCH_OPS_OFF);
	const char *version = vt_probe_fact(probe, "torch"), *error = vt_probe_fact(probe, "torch_error");

	if (error)
		vt_doctor_add(doctor, "PyTorch", VT_CHECK_LIMITED, "run `import torch` by itself", "does not work: %s",
			      error);
	else if (!version)
		vt_doctor_add(doctor, "PyTorch", VT_CHECK_LIMITED,
			      "give the Python that has it, if the program uses it: vramtrace doctor -- PYTHON",
			      "not in this interpreter: tensors and ops are not seen");
	else if (off)
		vt_doctor_add(doctor, "PyTorch", VT_CHECK_LIMITED, "use a version in README.md",
			      "%s: ops are not recorded: %s", version, off->text);
	else if (vt_probe_note(probe, VT_note_code_TORCH_OPS_ON))
		vt_doctor_add(doctor, "PyTorch", VT_CHECK_OK, NULL, "%s: tensors and ops are recorded", version);
	else
		vt_doctor_add(doctor, "PyTorch", VT_CHECK_LIMITED, "see the check `agent`",
			      "%s: the agent has not found it", version);
}

static void check_cupti(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	const struct vt_probe_note *on = vt_probe_note(probe, VT_note_code_CUPTI_ON);
	const struct vt_probe_note *off = vt_probe_note(probe, VT_note_code_CUPTI_OFF);

	if (off)
		vt_doctor_add(doctor, "CUPTI", VT_CHECK_LIMITED,
			      "pip install nvidia-cuda-cupti (-cu12, -cu11) of the driver's CUDA, or name libcupti in "
			      "VRAMTRACE_CUPTI",
			      "no driver calls: %s", off->text);
	else if (!on)
		vt_doctor_add(doctor, "CUPTI", VT_CHECK_LIMITED, "see the check `NVIDIA driver`",
			      "not tried: the agent looks for it when CUDA starts");
	else if (on->value < CUPTI_OLDEST || on->value >= CUPTI_UNKNOWN)
		vt_doctor_add(doctor, "CUPTI", VT_CHECK_LIMITED, "use libcupti of CUDA 11.8 to 13: VRAMTRACE_CUPTI",
			      "version %" PRIu64 " is not one that was tested: %s", on->value, on->text);
	else
		vt_doctor_add(doctor, "CUPTI", VT_CHECK_OK, NULL, "version %" PRIu64 ": %s", on->value, on->text);
}

static void check_kernels(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	const struct vt_probe_note *off = vt_probe_note(probe, VT_note_code_KERNELS_OFF);

	if (vt_probe_note(probe, VT_note_code_KERNELS_ON))
		vt_doctor_add(doctor, "kernels", VT_CHECK_OK, NULL, "kernels and copies are recorded");
	else
		vt_doctor_add(doctor, "kernels", VT_CHECK_LIMITED,
			      off ? "see the check `counters`" : "see the check `CUPTI`", "%s",
			      off ? off->text : "not tried");
}

/* Where CUDA did not start, the interpreter's own libraries say what the agent would find: native.h. */
static void check_callers(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	const struct vt_probe_note *off = vt_probe_note(probe, VT_note_code_NATIVE_CALLERS_OFF);
	const char *libc = vt_probe_fact(probe, "libc"), *find = vt_probe_fact(probe, "find_object");
	const char *libgcc = vt_probe_fact(probe, "libgcc"), *next = "use a distribution with glibc 2.35 and libgcc 12";

	if (off)
		vt_doctor_add(doctor, "callers", VT_CHECK_LIMITED, next, "%s", off->text);
	else if (!find || !libgcc)
		vt_doctor_add(doctor, "callers", VT_CHECK_LIMITED, next, "not known: glibc or libgcc was not found");
	else if (strcmp(find, "1") != 0 || strcmp(libgcc, "1") != 0)
		vt_doctor_add(doctor, "callers", VT_CHECK_LIMITED, next,
			      "%s: libraries behind driver calls are not named: too old is %s", libc ? libc : "libc",
			      strcmp(find, "1") != 0 ? "glibc" : "libgcc");
	else
		vt_doctor_add(doctor, "callers", VT_CHECK_OK, NULL,
			      "%s and libgcc name the libraries behind driver calls", libc ? libc : "libc");
}

void vt_doctor_look_at_probe(struct vt_doctor *doctor, const struct vt_probe *probe)
{
	check_probe(doctor, probe);
	check_python(doctor, probe);
	check_torch(doctor, probe);
	check_cupti(doctor, probe);
	check_kernels(doctor, probe);
	check_callers(doctor, probe);
}
