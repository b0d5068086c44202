/*
 * page_series.h - what the bins' memory was, by category, op, module and line: from the attributed blocks.
 *
 * A block counts in each bin whose moment lies in its life. Labels are those of `tree --by`. Of each but the categories
 * the ones that held most, over time, have a series of their own; the others are one series together. Which those are is
 * told by a first pass without attribution, so that memory is series times bins.
 */
#ifndef VT_ANALYZE_PAGE_SERIES_H
#define VT_ANALYZE_PAGE_SERIES_H

#include "analyze/page/page_bins.h"
#include "analyze/views/paths.h"

enum vt_page_by { VT_PAGE_CATEGORY, VT_PAGE_OP, VT_PAGE_MODULE, VT_PAGE_LINE, VT_PAGE_BYS };

/* Series of a kind; number 0 is "other". */
#define VT_PAGE_SERIES_MAX 24

struct vt_page_kind {
	struct vt_map series; /* text -> number */
	uint32_t labels[VT_PAGE_SERIES_MAX];
	unsigned count;
};

struct vt_page_device_series {
	uint64_t *changes[VT_PAGE_BYS][VT_PAGE_SERIES_MAX]; /* by bin: bytes more than in the bin before, modulo
							      * 2^64; NULL: none */
};

/* Zero-initialised, then session and bins set; the holder calls vt_page_series_done. */
struct vt_page_series {
	const struct vt_session *session;
	const struct vt_page_bins *bins;
	struct vt_texts texts;
	struct vt_idmap sites; /* process, op, stack */
	double *site_weights;  /* bytes times ns */
	size_t site_room;
	struct vt_page_kind kinds[VT_PAGE_BYS];
	struct vt_idmap known[2]; /* process, op, stack; that and the forward op's */
	uint8_t (*numbers)[VT_PAGE_BYS];
	size_t number_room;
	struct vt_page_device_series *devices;
	size_t device_room;
};

/* For the first pass: weighs the places of allocation. */
struct vt_listener vt_page_series_scout(struct vt_page_series *series);
/* After it: chooses the series. */
int vt_page_series_choose(struct vt_page_series *series, struct vt_err *err);
/* Each block of the second pass. */
int vt_page_series_add(struct vt_page_series *series, const struct vt_attributed *block, struct vt_err *err);
void vt_page_series_done(struct vt_page_series *series);

const char *vt_page_by_name(enum vt_page_by by);
/* A block's labels as texts of series->texts. */
int vt_page_labels(struct vt_page_series *series, const struct vt_attributed *block, uint32_t ret[VT_PAGE_BYS]);

#endif
