/* doctor.h - what `vramtrace doctor` looks at: a list of checks, and who fills it in. */
#ifndef VT_LAUNCH_DOCTOR_H
#define VT_LAUNCH_DOCTOR_H

#include "capture/launch/doctor_probe.h"

/* The worst of all checks is the outcome. */
enum vt_check_level { VT_CHECK_OK, VT_CHECK_LIMITED, VT_CHECK_NO };

struct vt_check {
	const char *name;
	enum vt_check_level level;
	char found[640];  /* what is the case */
	const char *next; /* what to do; NULL where there is nothing to do */
};

#define VT_CHECKS_MAX 16

struct vt_doctor {
	struct vt_check checks[VT_CHECKS_MAX];
	unsigned count;
};

/* Adds a check; one more than VT_CHECKS_MAX is a mistake of the program. next: a literal. */
__attribute__((format(printf, 5, 6))) void vt_doctor_add(struct vt_doctor *doctor, const char *name,
							 enum vt_check_level level, const char *next, const char *found,
							 ...);

/*
 * The machine and the environment. Below the directory that VT_ENV_DOCTOR_ROOT names, if it does, in place of /: tests
 * have machines of their own.
 */
#define VT_ENV_DOCTOR_ROOT "VRAMTRACE_DOCTOR_ROOT"
void vt_doctor_look_at_host(struct vt_doctor *doctor, const struct vt_probe *probe);
/* What the agent said and did in the interpreter. */
void vt_doctor_look_at_probe(struct vt_doctor *doctor, const struct vt_probe *probe);

#endif
