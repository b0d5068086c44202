/*
 * timeline.h - allocated and reserved bytes of each device over time, as maxima of equal spans: a listener.
 *
 * The trace's length is not known beforehand: spans start short and are merged in pairs when they run out, so memory
 * is the same for a second and for a day.
 */
#ifndef VT_ANALYZE_TIMELINE_H
#define VT_ANALYZE_TIMELINE_H

#include "analyze/replay/replay.h"

struct vt_timeline;

int vt_timeline_new(struct vt_timeline **ret, struct vt_err *err);
void vt_timeline_free(struct vt_timeline *timeline); /* NULL is fine */
/* Before the run: only what is in this time; to_ns 0: to the end. What was there at its begin is in the first column. */
void vt_timeline_window(struct vt_timeline *timeline, uint64_t from_ns, uint64_t to_ns);
struct vt_listener vt_timeline_listener(struct vt_timeline *timeline);

struct vt_timeline_picture {
	uint64_t start_ns;   /* of the first column */
	uint64_t column_ns;  /* span of each column */
	uint32_t columns;    /* at most what was asked for */
	uint64_t *allocated; /* [columns]; maxima of vt_device.reported_bytes */
	uint64_t *reserved;
};

/* After the run: from the first to the last event of the trace, in at most `columns` columns. Free with _done. */
int vt_timeline_draw(const struct vt_timeline *timeline, uint32_t device, uint32_t columns,
		     struct vt_timeline_picture *ret, struct vt_err *err);
void vt_timeline_picture_done(struct vt_timeline_picture *picture);

#endif
