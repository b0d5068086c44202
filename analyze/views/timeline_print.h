/* timeline_print.h - the timeline as a picture of block characters, as wide as the screen. */
#ifndef VT_ANALYZE_TIMELINE_PRINT_H
#define VT_ANALYZE_TIMELINE_PRINT_H

#include "analyze/render/table.h"
#include "analyze/views/session.h"
#include "analyze/views/timeline.h"

/* A device's picture, so many rows high, with an empty line behind it; nothing where there is nothing to draw. */
int vt_timeline_print(const struct vt_timeline *timeline, const struct vt_session *session,
		      const struct vt_screen *screen, uint32_t device, unsigned rows, struct vt_err *err);

#endif
