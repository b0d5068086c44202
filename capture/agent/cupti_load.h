/* cupti_load.h - finds libcupti, in the process or on disk, and its functions. */
#ifndef VT_AGENT_CUPTI_LOAD_H
#define VT_AGENT_CUPTI_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/agent/cupti_abi.h"

struct vt_cupti_library {
#define FN(name, need, parameters) int32_t(*name) parameters;
#include "capture/agent/cupti_functions.def"
	char path[1024]; /* of the library's file */
};

/*
 * The copy of libcupti that the host program has mapped; NULL where it has none. Loads nothing. There is never a second
 * copy: whoever asks first, and gets one, settles it for the process.
 */
const struct vt_cupti_library *vt_cupti_library_mapped(void);

/*
 * The same, or else a copy found on disk: `preferred` (may be NULL) first, then the loader's own search by soname, then
 * beside the mapped CUDA runtime, then the usual places of a toolkit. NULL with the reason in ret_why.
 */
const struct vt_cupti_library *vt_cupti_library_load(const char *preferred, char *ret_why, size_t why_bytes);

#endif
