/*
 * attribute.h - what each block was for and which forward line it belongs to: a listener of the replay.
 *
 * A block's use shows in its later life, so it is attributed when it ends: when it is freed, or when the trace ends. To
 * tell who holds memory at a moment, the attribution keeps the attributed blocks that were live then ("mark"): those of
 * each device's last peak always, others where asked for. Memory: the live set, and for each mark the live set then.
 */
#ifndef VT_ANALYZE_ATTRIBUTE_H
#define VT_ANALYZE_ATTRIBUTE_H

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

struct vt_attribution;

int vt_attribution_new(struct vt_attribution **ret, const struct vt_symbols *symbols, struct vt_err *err);
void vt_attribution_free(struct vt_attribution *attribution); /* NULL is fine */
struct vt_listener vt_attribution_listener(struct vt_attribution *attribution);

/* Each attributed block, as it ends. Its step is what was known by then. Set before the run; self is borrowed. */
void vt_attribution_each(struct vt_attribution *attribution,
			 int (*fn)(void *self, const struct vt_attributed *block, struct vt_err *err), void *self);

/*
 * Marks: what is live on a device (UINT32_MAX: on all) now, from inside a callback of a later listener. *ret is the
 * mark's number.
 */
int vt_attribution_mark(struct vt_attribution *attribution, uint32_t device, uint32_t *ret, struct vt_err *err);
/* Before the run: what will be live after the last event up to that time; UINT64_MAX: at the end. */
int vt_attribution_mark_at(struct vt_attribution *attribution, uint64_t time_ns, uint32_t *ret, struct vt_err *err);

/* Forgets a mark and its blocks; its number may be given anew. */
void vt_attribution_unmark(struct vt_attribution *attribution, uint32_t mark);

/* After the run. The blocks of a mark, in no order of meaning; valid as long as the attribution. */
struct vt_attributed_list {
	const struct vt_attributed *list;
	size_t count;
};
struct vt_attributed_list vt_attribution_marked(const struct vt_attribution *attribution, uint32_t mark);
struct vt_attributed_list vt_attribution_peak(const struct vt_attribution *attribution, uint32_t device);

/* Inside callbacks of later listeners and after the run. */
uint32_t vt_attribution_step(const struct vt_attribution *attribution, uint32_t process, uint64_t time_ns);
enum vt_steps_how vt_attribution_steps_how(const struct vt_attribution *attribution, uint32_t process);
uint32_t vt_attribution_steps(const struct vt_attribution *attribution, uint32_t process);

#endif
