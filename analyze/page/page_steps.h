/* page_steps.h - what each step of a loop did to each device: a listener of a pass after the one that found the steps. */
#ifndef VT_ANALYZE_PAGE_STEPS_H
#define VT_ANALYZE_PAGE_STEPS_H

#include "analyze/attribute/attribute.h"

/* Steps told of a device; what comes later is told as one. */
#define VT_PAGE_STEPS_MAX 20000

struct vt_page_step {
	uint32_t step;		    /* VT_STEP_UNKNOWN: the rest */
	uint64_t first_ns, last_ns; /* of its events on this device */
	uint64_t peak_bytes, peak_ns;
	uint64_t end_bytes; /* allocated after its last event */
	uint64_t allocs, allocated_bytes;
};

struct vt_page_device_steps {
	struct vt_page_step *list;
	size_t count, room;
};

/* Zero-initialised, then attribution set; the holder calls vt_page_steps_done. */
struct vt_page_steps {
	const struct vt_attribution *attribution; /* its run is over */
	struct vt_page_device_steps *devices;
	size_t room;
};

struct vt_listener vt_page_steps_listener(struct vt_page_steps *steps);
void vt_page_steps_done(struct vt_page_steps *steps);

#endif
