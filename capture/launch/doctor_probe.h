/*
 * doctor_probe.h - a small Python program run under capture, and what the agent noted in its trace: what the agent does in
 * that interpreter is not guessed but seen.
 */
#ifndef VT_LAUNCH_DOCTOR_PROBE_H
#define VT_LAUNCH_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/base/err.h"
#include "schema/event.h"

#define VT_PROBE_NOTES_MAX 32
#define VT_PROBE_FACTS_MAX 16

struct vt_probe_note {
	uint32_t process, code, text_id;
	uint64_t value;
	char text[320];
};

struct vt_probe_fact {
	char key[24];
	char value[320];
};

struct vt_probe {
	struct vt_probe_note notes[VT_PROBE_NOTES_MAX];
	unsigned notes_count;
	struct vt_probe_fact facts[VT_PROBE_FACTS_MAX]; /* the program's own words: versions, what CUDA answered */
	unsigned facts_count;
	char failure[320]; /* "" when the program ran to its end and left a trace */
};

/*
 * Runs `python` with the probe under `vramtrace record`, in a directory of its own that is removed. A program that fails,
 * or is not done within VT_PROBE_SECONDS, is not an error: ret->failure says so. An error is what keeps us from trying.
 */
#define VT_PROBE_SECONDS 120
int vt_probe_run(struct vt_probe *ret, const char *python, struct vt_err *err);

/* NULL where there is none. */
const struct vt_probe_note *vt_probe_note(const struct vt_probe *probe, enum vt_note_code code);
const char *vt_probe_fact(const struct vt_probe *probe, const char *key);

#endif
