/*
 * page_bins.h - memory over time in a bounded number of pieces: a listener.
 *
 * A bin is so many events of a device in a row, not a span of time: there is detail where something happens. It is shown
 * by its greatest moment; what is drawn of a bin is therefore true of one moment in it, and no peak is lost. Before a
 * long silence the last state is a bin of its own, or the maximum of what came before would stand through the silence.
 * A short trace has a bin for each event.
 */
#ifndef VT_ANALYZE_PAGE_BINS_H
#define VT_ANALYZE_PAGE_BINS_H

#include "analyze/replay/replay.h"

struct vt_page_bin {
	uint64_t first_ns; /* of its first event; bins reach to the next one's */
	uint64_t at_ns;	   /* when the figures below were true; rising over the bins */
	uint64_t allocated_bytes, reserved_bytes, driver_bytes;
	uint64_t used_bytes; /* of the device, by all processes; 0: not known */
};

struct vt_page_bins_device {
	struct vt_page_bin *list;
	size_t count, room;
	uint64_t events; /* in the last bin */
	struct vt_page_bin now;
};

/* events_per_bin and silence_ns set; the holder calls vt_page_bins_done. */
struct vt_page_bins {
	uint64_t events_per_bin;
	uint64_t silence_ns;
	struct vt_page_bins_device *devices; /* by device of the replay */
	size_t room;
};

struct vt_listener vt_page_bins_listener(struct vt_page_bins *bins);
void vt_page_bins_done(struct vt_page_bins *bins);

/* The first bin whose moment is not before a time; count where there is none. */
size_t vt_page_bins_find(const struct vt_page_bins_device *device, uint64_t time_ns);

#endif
