/*
 * nvtx_domains.h - what a program gives names to in NVTX before it uses them: domains and strings; and the text of a
 * mark or range.
 *
 * Handles point into static memory that is touched only where NVTX is used, and stay good in a child after fork. When
 * it is full, what comes later has no name of its own.
 */
#ifndef VT_AGENT_NVTX_DOMAINS_H
#define VT_AGENT_NVTX_DOMAINS_H

#include <wchar.h>

#include "capture/agent/nvtx_abi.h"

#define VT_NVTX_DOMAINS_MAX 128u
#define VT_NVTX_STRINGS_BYTES (256u << 10)
/* A longer text of a mark or range is cut. */
#define VT_NVTX_TEXT_BYTES_MAX 512u

struct vt_nvtx_domain;

/* The domain of this name, made if need be; one for all libraries that ask for it. */
struct vt_nvtx_domain *vt_nvtx_domain_create(const char *name);
struct vt_nvtx_domain *vt_nvtx_domain_create_wide(const wchar_t *name);
/* A handle as the program gave it; what is none of ours is the default domain, which has no name. */
struct vt_nvtx_domain *vt_nvtx_domain_check(const void *handle);
/* The domain of ranges that come through vramtrace.h. */
struct vt_nvtx_domain *vt_nvtx_domain_own(void);

/* A handle, or NULL where there is no more room. */
const void *vt_nvtx_string_register(const char *text);
const void *vt_nvtx_string_register_wide(const wchar_t *text);

struct vt_nvtx_text {
	char bytes[VT_NVTX_TEXT_BYTES_MAX];
	size_t length; /* no NUL behind them */
};

/* "domain: text", or the text alone in the default domain. text may be NULL. */
void vt_nvtx_text_plain(struct vt_nvtx_text *ret, const struct vt_nvtx_domain *domain, const char *text);
void vt_nvtx_text_wide(struct vt_nvtx_text *ret, const struct vt_nvtx_domain *domain, const wchar_t *text);
/* Of attributes as the program gave them; may be NULL. */
void vt_nvtx_text_of(struct vt_nvtx_text *ret, const struct vt_nvtx_domain *domain,
		     const struct vt_nvtx_attributes *attributes);

#endif
