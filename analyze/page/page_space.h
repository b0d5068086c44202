/*
 * page_space.h - what lies in the segments at some moments of the trace: a listener, after vt_segments' own.
 *
 * Moments: each device's peak, each out-of-memory error, the end, and others spread over the bins, as many as there is
 * room for.
 */
#ifndef VT_ANALYZE_PAGE_SPACE_H
#define VT_ANALYZE_PAGE_SPACE_H

#include "analyze/page/page_bins.h"
#include "analyze/views/space.h"
#include "schema/base/buf.h"

/* Moments spread over the bins of a device, and pieces (blocks side by side are one) kept of all of them. */
#define VT_PAGE_MOMENTS 64
#define VT_PAGE_PIECES_MAX 200000

struct vt_page_segment {
	uint64_t start, bytes;
	bool small;
	size_t first_piece, npieces; /* in pieces: used ranges by address */
};

struct vt_page_piece {
	uint64_t offset, bytes; /* in the segment */
};

struct vt_page_moment {
	uint32_t device;
	bool oom;
	uint64_t time_ns;
	uint64_t live_bytes, stray_bytes; /* of blocks in the segments, and of others */
	size_t first_segment, nsegments;  /* in segments */
};

/* The bins of a device: which comes next, which has the peak. */
struct vt_page_space_cursor {
	size_t next, peak;
	bool known;
};

/* Zero-initialised, then bins and segments set; the holder calls vt_page_space_done. */
struct vt_page_space {
	const struct vt_page_bins *bins;
	const struct vt_segments *of;
	struct vt_buf segments;		      /* struct vt_page_segment */
	struct vt_buf pieces;		      /* struct vt_page_piece */
	struct vt_buf moments;		      /* struct vt_page_moment */
	struct vt_page_space_cursor *cursors; /* by device */
	size_t room;
};

struct vt_listener vt_page_space_listener(struct vt_page_space *space);
void vt_page_space_done(struct vt_page_space *space);

#endif
