/*
 * fragmentation.h - the report `fragmentation`: segments, free ranges and what pins them, at the moments asked for.
 *
 * Two passes: the first finds each device's peak, the second takes every device's state at its moments.
 */
#ifndef VT_ANALYZE_FRAGMENTATION_H
#define VT_ANALYZE_FRAGMENTATION_H

#include "analyze/views/pins.h"
#include "analyze/views/session.h"

/* Moments told of one report; out-of-memory errors beyond are counted. */
#define VT_FRAGMENTATION_MOMENTS_MAX 16

enum vt_fragmentation_when { VT_FRAGMENTATION_PEAK, VT_FRAGMENTATION_OOM, VT_FRAGMENTATION_TIME };

struct vt_fragmentation_moment {
	enum vt_fragmentation_when when;
	uint32_t device; /* index into the replay's devices */
	uint64_t time_ns;
	uint64_t reserved_bytes, allocated_bytes; /* the allocator's own totals */
	struct vt_oom oom;			  /* VT_FRAGMENTATION_OOM */
	struct vt_request request;
	struct vt_obstacles obstacles;
	struct vt_space space;
	struct vt_pin *pins;
	size_t npins;
};

struct vt_fragmentation {
	struct vt_session *session;
	bool wants_peak, wants_oom, wants_end; /* which moments are told; end: where the pass ends */
	struct vt_segments *segments;
	uint64_t *peaks; /* first pass: when each device had most allocated */
	uint32_t npeaks;
	struct vt_fragmentation_moment moments[VT_FRAGMENTATION_MOMENTS_MAX];
	unsigned nmoments;
	uint64_t ooms; /* on the devices that the session wants */
};

/* Runs the session's passes; at: the user's choice, which the session knows, or NULL: peak and errors. The holder calls _done in any case; session is borrowed. */
int vt_fragmentation_run(struct vt_fragmentation *report, struct vt_session *session, const char *at, bool quiet,
			 struct vt_err *err);
void vt_fragmentation_done(struct vt_fragmentation *report);
int vt_fragmentation_print(const struct vt_fragmentation *report, const struct vt_screen *screen, uint64_t top,
			   struct vt_err *err);
int vt_fragmentation_json(const struct vt_fragmentation *report, FILE *out, uint64_t top, struct vt_err *err);

/* One sentence on a moment: what is reserved but unallocated, and why. */
#define VT_FRAGMENTATION_SENTENCE_MAX 512
const char *vt_fragmentation_sentence(char out[VT_FRAGMENTATION_SENTENCE_MAX],
				      const struct vt_fragmentation_moment *moment);
/* "small" or "large" */
const char *vt_fragmentation_pool_name(unsigned pool);
/* The segments as bars of block characters, as wide as the screen. */
void vt_fragmentation_picture(const struct vt_screen *screen, const struct vt_space *space);

#endif
