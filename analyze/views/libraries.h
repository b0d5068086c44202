/*
 * libraries.h - who made the driver calls: bytes of driver allocations by the library that asked for them, where the
 * capture could walk the native stack (driver_memory.caller): a listener.
 */
#ifndef VT_ANALYZE_LIBRARIES_H
#define VT_ANALYZE_LIBRARIES_H

#include "analyze/replay/replay.h"

struct vt_libraries;

struct vt_library_use {
	uint32_t caller; /* string id of the library's path in the device's process; 0: not known */
	uint64_t calls;	 /* that succeeded and changed what is held */
	int64_t held_bytes;
	int64_t peak_bytes; /* held when the framework's allocated bytes were at their maximum */
};

int vt_libraries_new(struct vt_libraries **ret, struct vt_err *err);
void vt_libraries_free(struct vt_libraries *libraries); /* NULL is fine */
struct vt_listener vt_libraries_listener(struct vt_libraries *libraries);

/*
 * After the run: the libraries of a device that are known by name or hold something, those that hold most first
 * (at_peak: held then, else now). Free the list. Nothing where no call named its library.
 */
int vt_libraries_list(const struct vt_libraries *libraries, uint32_t device, bool at_peak, struct vt_library_use **ret,
		      size_t *ret_count, struct vt_err *err);

#endif
