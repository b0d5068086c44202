/*
 * fake_nvtx.h - a copy of NVTX as a library has it inside: a table of function pointers that a tool may fill, found as
 * NVTX finds it, and the calls of a program that go through it.
 */
#ifndef VT_FAKE_NVTX_H
#define VT_FAKE_NVTX_H

#include <stdbool.h>
#include <wchar.h>

#include "capture/agent/nvtx_abi.h"

/* One library's copy; zero-initialised is one that was never used. */
struct fake_nvtx {
	vt_nvtx_function *core[16], *core2[16];
	bool attached;
};

/* A tool is handed the table; its result. Tables that end behind `size` entries: an NVTX older than ours. */
int fake_nvtx_attach(struct fake_nvtx *nvtx, int (*tool)(vt_nvtx_get_table_fn *), unsigned size);
/* As NVTX does at a program's first call: loads what NVTX_INJECTION64_PATH names. False: no tool. */
bool fake_nvtx_load(struct fake_nvtx *nvtx);

/* The program's calls. Where no tool took a function: nothing, and -2, 0 or NULL. domain NULL: the default domain. */
int fake_nvtx_push(const struct fake_nvtx *nvtx, const char *text);
int fake_nvtx_push_wide(const struct fake_nvtx *nvtx, const wchar_t *text);
int fake_nvtx_pop(const struct fake_nvtx *nvtx);
void fake_nvtx_mark(const struct fake_nvtx *nvtx, const char *text);
uint64_t fake_nvtx_start(const struct fake_nvtx *nvtx, const char *text);
void fake_nvtx_end(const struct fake_nvtx *nvtx, uint64_t id);
void fake_nvtx_name_thread(const struct fake_nvtx *nvtx, uint32_t tid, const char *name);
const void *fake_nvtx_domain(const struct fake_nvtx *nvtx, const char *name);
const void *fake_nvtx_register(const struct fake_nvtx *nvtx, const void *domain, const char *text);
int fake_nvtx_domain_push(const struct fake_nvtx *nvtx, const void *domain,
			  const struct vt_nvtx_attributes *attributes);
int fake_nvtx_domain_pop(const struct fake_nvtx *nvtx, const void *domain);
void fake_nvtx_domain_mark(const struct fake_nvtx *nvtx, const void *domain,
			   const struct vt_nvtx_attributes *attributes);
uint64_t fake_nvtx_domain_start(const struct fake_nvtx *nvtx, const void *domain,
				const struct vt_nvtx_attributes *attributes);

#endif
