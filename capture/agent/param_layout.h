/*
 * param_layout.h - how many bytes each parameter of a kernel has, asked of the driver once per function.
 *
 * The driver's answer costs microseconds; a look-up here a few nanoseconds. Lock-free, insert-only; handles that a
 * module unload may have freed are left behind by raising the epoch.
 */
#ifndef VT_AGENT_PARAM_LAYOUT_H
#define VT_AGENT_PARAM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/agent/table.h"

/* Most parameters that are looked at; CUDA allows 4 KiB of them, 32,764 bytes since 12.1. */
#define VT_PARAMS_MAX 256
/* Layouts and sizes that fit: 64 Ki functions of 16 parameters. Beyond, launches are recorded without touches. */
#define VT_LAYOUTS_MAX (1u << 16)
#define VT_LAYOUT_SIZES_MAX (1u << 20)

/* cuKernelGetParamInfo and cuFuncGetParamInfo: (handle, index, offset, size) -> CUresult. Either may be NULL. */
typedef int (*vt_param_info_fn)(void *handle, size_t index, size_t *ret_offset, size_t *ret_size);

struct vt_param_layout {
	const uint16_t *sizes; /* bytes of each parameter; a parameter over 64 KiB does not exist */
	uint32_t count;
};

struct vt_param_layouts {
	struct vt_table table;
	vt_param_info_fn of_kernel; /* the runtime passes a CUkernel as the function: asked first */
	vt_param_info_fn of_function;
	struct vt_layout_entry *entries;
	uint16_t *sizes;
	_Atomic uint32_t sizes_used;
	_Atomic uint32_t epoch;
};

/* false: no memory; every find then answers false. */
bool vt_param_layouts_init(struct vt_param_layouts *layouts, vt_param_info_fn of_kernel, vt_param_info_fn of_function);
/* true with the layout (count 0: the driver knows none), false where it cannot be had now. Any thread. */
bool vt_param_layout_find(struct vt_param_layouts *layouts, void *function, struct vt_param_layout *ret);
/* Function handles may be given out anew from now on. */
void vt_param_layouts_forget(struct vt_param_layouts *layouts);

#endif
