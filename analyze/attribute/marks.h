/*
 * marks.h - moments whose live blocks are kept, as they are attributed: one at each device's last peak, others where
 * asked for. A block is attributed when its life ends; a mark takes those that were live when it began.
 */
#ifndef VT_ANALYZE_MARKS_H
#define VT_ANALYZE_MARKS_H

#include <stdbool.h>

#include "analyze/attribute/rules.h"

/* A block with all that is known of it. */
struct vt_attributed {
	uint64_t address, size_bytes, serial;
	uint64_t alloc_ns;
	uint64_t free_ns; /* UINT64_MAX: live at the end */
	uint32_t device;  /* index into the replay's devices */
	uint32_t process, thread;
	uint32_t op, stack;		     /* of the allocation */
	uint32_t forward_op, forward_stack;  /* of backward memory: the forward op it belongs to; 0: not known */
	uint32_t step;			     /* VT_STEP_UNKNOWN: not known */
	uint8_t category, confidence, phase; /* rules.h */
	bool freed_in_backward;
	bool range_step; /* step is of the range around the allocation */
};

struct vt_moment_mark {
	uint32_t device;      /* UINT32_MAX: all */
	uint64_t begin_ns;    /* begins after the last event up to this, if it has not begun */
	uint64_t last_serial; /* of the last block that was allocated before it */
	uint32_t generation;  /* how often it began */
	bool begun;
	bool unused;	      /* forgotten */
	struct vt_buf blocks; /* struct vt_attributed */
};

/* Zero-initialised is empty; the holder calls vt_marks_done. */
struct vt_marks {
	struct vt_buf list;    /* struct vt_moment_mark */
	struct vt_peak *peaks; /* by device */
	size_t peaks_room;
};

/* Where in marks a block was put, to complete it there. */
#define VT_MARK_PLACES_MAX 8u
struct vt_mark_places {
	struct {
		uint32_t mark; /* number in the list, or with VT_MARK_PEAK the device */
		uint32_t generation;
		size_t position;
	} list[VT_MARK_PLACES_MAX];
	uint32_t count;
};
#define VT_MARK_PEAK UINT32_C(0x80000000)

/* The functions that return int: 0 or -VT_E_NOMEM. */
int vt_marks_add(struct vt_marks *marks, const struct vt_moment_mark *mark, uint32_t *ret);
void vt_marks_forget(struct vt_marks *marks, uint32_t mark);
/* Begins the marks whose time has passed when an event of this time comes. */
void vt_marks_begin_due(struct vt_marks *marks, uint64_t time_ns, uint64_t last_serial);
/* After the last event: begins all that have not. */
void vt_marks_begin_rest(struct vt_marks *marks, uint64_t last_serial);
/* A peak of the device: the mark begins with the event that makes it, which has not come yet. */
int vt_marks_announce(struct vt_marks *marks, uint32_t device);
/* The event is done. */
void vt_marks_end_announced(struct vt_marks *marks, uint32_t device, uint64_t last_serial);
/* The event is a free: the total is the highest without this block, so the mark must not see it. */
void vt_marks_before_free(struct vt_marks *marks, uint32_t device);
/* An attributed block, to the marks that saw it. places may be NULL. */
int vt_marks_keep(struct vt_marks *marks, const struct vt_attributed *block, struct vt_mark_places *places);
/* What has become known of a block since. */
void vt_marks_complete(struct vt_marks *marks, const struct vt_mark_places *places, const struct vt_attributed *block);
/* Calls fn with every block that is kept. */
void vt_marks_each(struct vt_marks *marks, void (*fn)(void *self, struct vt_attributed *block), void *self);

/* The blocks of a mark, in no order of meaning; valid as long as the marks. */
struct vt_attributed_list {
	const struct vt_attributed *list;
	size_t count;
};
struct vt_attributed_list vt_marks_blocks(const struct vt_marks *marks, uint32_t mark);
struct vt_attributed_list vt_marks_peak(const struct vt_marks *marks, uint32_t device);
void vt_marks_done(struct vt_marks *marks);

#endif
