/*
 * oom_rules.h - what to do next after an out-of-memory error: rules over the numbers of that moment.
 *
 * Each rule is a condition and the sentence that follows from it; both use measured figures only. Pure functions.
 */
#ifndef VT_ANALYZE_OOM_RULES_H
#define VT_ANALYZE_OOM_RULES_H

#include "analyze/views/calls.h"
#include "analyze/views/segments.h"
#include "analyze/views/steps.h"

struct vt_oom_facts {
	bool from_driver;	  /* a driver call was refused, and no framework's own report of it is in the trace */
	uint64_t requested_bytes; /* as rounded by the allocator */
	uint64_t tried_bytes;	  /* of the segment for it: what the exception's text says */
	uint64_t total_bytes;	  /* 0: the driver's figures are not in the trace */
	uint64_t free_bytes;
	uint64_t process_bytes; /* 0: not in the trace */
	uint64_t reserved_bytes, allocated_bytes;
	bool has_driver; /* driver calls are in the trace */
	uint64_t driver_bytes;
	uint64_t released_bytes; /* given back to the driver between the first failed call and the error */
	struct vt_attempt attempt;
	bool has_segments; /* space is computed from segments in the trace */
	struct vt_free_space space;
	bool expandable; /* expandable_segments:True in the allocator's settings */
	struct vt_growth growth;
	uint64_t survived_bytes; /* live blocks allocated before the last optimizer step ended; 0 with growth.steps 0 */
	uint64_t top_bytes;	 /* of the largest holder */
	const char *top_place;	 /* words for it, or "" */
};

#define VT_OOM_TEXT_MAX 640

struct vt_oom_rule {
	const char *key;   /* stable: JSON */
	const char *title; /* for people */
	bool (*applies)(const struct vt_oom_facts *facts);
	void (*say)(char out[VT_OOM_TEXT_MAX], const struct vt_oom_facts *facts);
};

/* In the order in which they are to be read. */
extern const struct vt_oom_rule vt_oom_rules[];
extern const unsigned vt_oom_nrules;

/* Used on the device by others than this process; false: not known. */
bool vt_oom_others(const struct vt_oom_facts *facts, uint64_t *ret_bytes);
/* reserved - allocated; 0 where totals contradict. */
uint64_t vt_oom_unallocated(const struct vt_oom_facts *facts);

#endif
