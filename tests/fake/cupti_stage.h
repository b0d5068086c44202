/*
 * cupti_stage.h - a process in which the agent's core records, with fakes for NVIDIA's libraries: each test of the
 * driver-level capture runs on a fresh one (a process per test: tests/cupti.cmake).
 */
#ifndef VT_TESTS_CUPTI_STAGE_H
#define VT_TESTS_CUPTI_STAGE_H

#include "schema/event.h"
#include "tests/fake/fake_cuda.h"
#include "tests/fake/fake_cupti.h"

struct stage {
	struct fake_cuda *cuda;
	struct fake_nvml *nvml;
	struct fake_cupti *(*cupti)(void); /* NULL until stage_map_cupti; a fresh look at each call */
	void (*call)(uint32_t cbid, const void *params, uint64_t context, int32_t result, void (*body)(void *),
		     void *arg);
	void (*raise)(uint32_t domain, uint32_t cbid, const void *data);
	char session[64];
};

/* A session directory, the environment, libcuda and libnvidia-ml mapped. cmocka fixtures. */
int stage_open(void **state);
int stage_close(void **state);

/* Maps the fake libcupti, as `import torch` maps the real one. */
void stage_map_cupti(struct stage *stage);
/* What InitializeInjection does. */
void stage_attach(void);

/* Copies the records of one kind, from all rings, in the order written; the count. */
size_t stage_records(const struct stage *stage, uint16_t type, void *ret_records, size_t size, size_t max);
/* Text of an interned string, "" for 0; valid until the next call. */
const char *stage_string(const struct stage *stage, uint32_t id);
/* The last note of a code; false: there is none. */
bool stage_note(const struct stage *stage, uint32_t code, struct vt_note *ret_note);
/* Losses of a kind over all rings. */
uint64_t stage_lost(const struct stage *stage, enum vt_loss why);

#endif
