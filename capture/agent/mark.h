/* mark.h - what the program itself says of where it is: marks, steps and ranges, from NVTX and from vramtrace.h. */
#ifndef VT_AGENT_MARK_H
#define VT_AGENT_MARK_H

#include "capture/agent/agent.h"
#include "capture/agent/nvtx_domains.h"

struct vt_mark_facts {
	enum vt_mark_kind kind;
	uint32_t name; /* string id */
	uint64_t value;
	uint64_t start_ns; /* 0: the mark is a moment */
};
void vt_mark_write(struct vt_thread *thread, const struct vt_mark_facts *facts);

/*
 * A range on the thread's op stack. A range is closed by the next pop of its domain on its thread; both return its
 * level, from 0, counted within the domain; VT_NVTX_NO_LEVEL where it is not followed.
 */
int vt_range_push(struct vt_thread *thread, const struct vt_nvtx_domain *domain, const struct vt_nvtx_text *text);
int vt_range_pop(struct vt_thread *thread, const struct vt_nvtx_domain *domain);

#endif
