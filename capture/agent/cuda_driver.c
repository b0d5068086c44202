/* cuda_driver.c - see cuda_driver.h. */
#include "capture/agent/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "capture/agent/cupti_abi.h"

#define CAPTURE_MODE_RELAXED 2 /* CU_STREAM_CAPTURE_MODE_RELAXED */

static struct vt_driver functions; /* constant once `found` */
static _Atomic bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

	if (!library)
		return;
#define FN(name, parameters) functions.name = (int32_t(*) parameters)dlsym(library, #name);
#include "capture/agent/cuda_driver.def"
	atomic_store_explicit(&found, true, memory_order_release);
}

const struct vt_driver *vt_driver_get(void)
{
	if (!atomic_load_explicit(&found, memory_order_acquire)) {
		void *library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

		if (!library)
			return NULL;
		(void)pthread_once(&once, load);
		(void)dlclose(library);
		if (!atomic_load_explicit(&found, memory_order_acquire))
			return NULL;
	}
	return &functions;
}

int vt_driver_relax_begin(const struct vt_driver *driver)
{
	int mode = CAPTURE_MODE_RELAXED;

	if (!driver->cuThreadExchangeStreamCaptureMode ||
	    driver->cuThreadExchangeStreamCaptureMode(&mode) != VT_CU_SUCCESS)
		return -1;
	return mode;
}

void vt_driver_relax_end(const struct vt_driver *driver, int mode)
{
	if (mode >= 0)
		(void)driver->cuThreadExchangeStreamCaptureMode(&mode);
}
