/*
 * pf_lives.h - what only the whole of a trace tells: steps, memory by category over time, the lives of the largest blocks.
 *
 *   process
 *     Steps                      a slice each
 *     Memory / cuda:0
 *       By category              a counter each, at the greatest moments of bins (page_bins.h)
 *       Largest blocks           lanes of slices, with the time between the first and the last launch that named them
 */
#ifndef VT_ANALYZE_PF_LIVES_H
#define VT_ANALYZE_PF_LIVES_H

#include "analyze/page/page.h"
#include "analyze/perfetto/pf_tracks.h"

/* Blocks of a device that get a place in a lane. */
#define VT_PF_LIVES_MAX 100

struct vt_pf_lives {
	const struct vt_page *page;
	bool coarse; /* the totals too, at the moments of the bins; no lanes and categories */
	struct vt_pf_tracks *tracks;
	const struct vt_pf_clocks *clocks;
	uint64_t from_ns, to_ns; /* to_ns 0: no end */
};

/* After the rows of all devices were made. */
int vt_pf_lives_write(const struct vt_pf_lives *lives, struct vt_err *err);

#endif
