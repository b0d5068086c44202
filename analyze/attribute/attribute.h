/*
 * attribute.h - what each block was for and which forward line it belongs to: a listener of the replay.
 *
 * A block's use shows in its later life, so it is attributed when it ends: when it is freed, or when the trace ends. To
 * tell who holds memory at a moment, the attribution keeps the attributed blocks that were live then ("mark"): those of
 * each device's last peak always, others where asked for. Memory: the live set, and for each mark the live set then.
 */
#ifndef VT_ANALYZE_ATTRIBUTE_H
#define VT_ANALYZE_ATTRIBUTE_H

#include "analyze/attribute/marks.h"

struct vt_attribution;

int vt_attribution_new(struct vt_attribution **ret, const struct vt_symbols *symbols, struct vt_err *err);
void vt_attribution_free(struct vt_attribution *attribution); /* NULL is fine */
struct vt_listener vt_attribution_listener(struct vt_attribution *attribution);

/* Each attributed block, as it ends or as the op around its end does. Its step is what was known by then. Set before the run; self is borrowed. */
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

/* After the run. Valid as long as the attribution. */
struct vt_attributed_list vt_attribution_marked(const struct vt_attribution *attribution, uint32_t mark);
struct vt_attributed_list vt_attribution_peak(const struct vt_attribution *attribution, uint32_t device);

/* From inside a callback of a later listener; *ret is the question's number. The answer is there after the run. */
int vt_attribution_ask(struct vt_attribution *attribution, const struct vt_link_question *question, uint32_t *ret,
		       struct vt_err *err);
struct vt_link_forward vt_attribution_answer(const struct vt_attribution *attribution, uint32_t question);

/* Inside callbacks of later listeners and after the run. */
uint32_t vt_attribution_step(const struct vt_attribution *attribution, uint32_t process, uint64_t time_ns);
enum vt_steps_how vt_attribution_steps_how(const struct vt_attribution *attribution, uint32_t process);
uint32_t vt_attribution_steps(const struct vt_attribution *attribution, uint32_t process);

#endif
