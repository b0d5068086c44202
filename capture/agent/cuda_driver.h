/*
 * cuda_driver.h - libcuda's functions, where the host program has loaded it. We never load it ourselves.
 *
 * A CUdevice is taken for the device's ordinal, as the driver documents it ("ordinal of the device").
 */
#ifndef VT_AGENT_CUDA_DRIVER_H
#define VT_AGENT_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

struct vt_driver {
#define FN(name, parameters) int32_t(*name) parameters;
#include "capture/agent/cuda_driver.def"
};

/* NULL while libcuda is not loaded. Takes the loader's lock until it was found once, nothing afterwards. */
const struct vt_driver *vt_driver_get(void);

/*
 * Between begin and end this thread may make queries while it captures a CUDA graph: the stricter capture modes count
 * them as a mistake of the program. A thread-local switch, as torch throws around its own cudaMalloc.
 */
int vt_driver_relax_begin(const struct vt_driver *driver);
void vt_driver_relax_end(const struct vt_driver *driver, int mode);

#endif
