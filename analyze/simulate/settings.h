/*
 * settings.h - the settings of PyTorch's caching allocator: PYTORCH_CUDA_ALLOC_CONF read and written.
 *
 * Names, defaults and rules are those of PyTorch 2.11 (c10/core/AllocatorConfig, c10/cuda/CUDAAllocatorConfig); what an
 * older version does not know is taken as the newer one does. Settings without influence on where blocks lie (pinned memory,
 * locks) are read and left out.
 */
#ifndef VT_ANALYZE_ALLOC_SETTINGS_H
#define VT_ANALYZE_ALLOC_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/base/err.h"

#define VT_ROUNDUP_CLASSES 16

struct vt_alloc_settings {
	bool async_backend; /* backend:cudaMallocAsync */
	bool expandable;
	uint64_t max_split_bytes;     /* UINT64_MAX: no limit */
	uint64_t max_non_split_bytes; /* how much larger than asked an oversize block may be */
	uint64_t large_segment_bytes; /* of a segment for requests from 1 to 10 MiB, and an expandable one's page */
	double gc_threshold;	      /* 0: off */
	double fraction;	      /* of the device's memory that may be reserved; 0: no limit */
	uint32_t roundup[VT_ROUNDUP_CLASSES]; /* by power of two from 1 MiB to 32 GiB and above; 0 or 1: off */
};

void vt_alloc_settings_default(struct vt_alloc_settings *ret);
/* text may be NULL. -VT_E_USAGE names the setting that is not understood. */
int vt_alloc_settings_parse(struct vt_alloc_settings *ret, const char *text, struct vt_err *err);

#define VT_ALLOC_SETTINGS_MAX 256
/* As a value of PYTORCH_CUDA_ALLOC_CONF: what differs from the defaults; "" where nothing does. */
const char *vt_alloc_settings_text(char out[VT_ALLOC_SETTINGS_MAX], const struct vt_alloc_settings *settings);

/* What a request of so many bytes is rounded up to. */
uint64_t vt_alloc_round(const struct vt_alloc_settings *settings, uint64_t bytes);
/* What the driver is asked for to serve a (rounded) request. */
uint64_t vt_alloc_segment_bytes(const struct vt_alloc_settings *settings, uint64_t rounded_bytes);

#endif
