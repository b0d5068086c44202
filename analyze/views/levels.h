/*
 * levels.h - the levels of memory of one device at one moment, and a name for every byte between two of them.
 *
 *   device total >= used by all processes >= this process >= allocated from the driver >= reserved >= allocated >= requested
 *
 * A level that the trace does not know is left out of the sum and shown as "not captured". The rows' gaps always add up
 * to the highest level known; a lower level that is higher than the one above it (figures read at different moments)
 * gives a negative gap, and it is called unattributed.
 */
#ifndef VT_ANALYZE_LEVELS_H
#define VT_ANALYZE_LEVELS_H

#include "analyze/replay/replay.h"

/* What is known at a moment. */
struct vt_levels {
	uint64_t time_ns;
	/* From the driver; total_bytes 0: not captured. */
	uint64_t total_bytes, free_bytes;
	uint64_t process_bytes; /* 0: not captured */
	uint64_t read_ns;	/* when these three were read */
	uint64_t driver_then;	/* driver_bytes when they were read */
	/* From the driver calls and the tensors. */
	bool has_driver;
	uint64_t driver_bytes;
	bool has_tensors;
	bool is_host;
	uint64_t reserved_bytes, allocated_bytes;
	uint64_t known_bytes;	    /* of allocated_bytes: blocks whose allocation is in the trace */
	uint64_t requested_bytes;   /* asked for, before rounding, of the blocks where that is known; 0: of none */
	uint64_t unrequested_bytes; /* of known_bytes: blocks where it is not */
};

enum vt_level_kind { VT_LEVEL, VT_LEVEL_GAP };

struct vt_level_row {
	const char *name; /* for people */
	const char *key;  /* for JSON: without the unit */
	int64_t bytes;	  /* negative in gaps only */
	enum vt_level_kind kind;
	bool known;
};

#define VT_LEVEL_ROWS_MAX 14

/* Fills rows from the widest level to the narrowest, each gap before the level below it; returns how many. */
unsigned vt_levels_rows(const struct vt_levels *levels, struct vt_level_row rows[VT_LEVEL_ROWS_MAX]);
/* The driver's figures and the program's own calls belong to one moment: nothing was allocated between. */
bool vt_levels_simultaneous(const struct vt_levels *levels);

/* A listener that keeps the levels of each device at its peak. */
struct vt_levels_view;

int vt_levels_view_new(struct vt_levels_view **ret, struct vt_err *err);
void vt_levels_view_free(struct vt_levels_view *view); /* NULL is fine */
struct vt_listener vt_levels_listener(struct vt_levels_view *view);
/* Inside callbacks of later listeners and after the run. */
struct vt_levels vt_levels_at_peak(const struct vt_levels_view *view, const struct vt_replay *replay, uint32_t device);
struct vt_levels vt_levels_now(const struct vt_levels_view *view, const struct vt_replay *replay, uint32_t device);

#endif
