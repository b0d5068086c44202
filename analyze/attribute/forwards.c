/* forwards.c - see forwards.h. */
#include "analyze/attribute/forwards.h"

#include <stdlib.h>

#include "schema/base/err.h"

#define OPS_FIRST 64
/* Nodes that one op makes at most, as far as they are told from ops that were not captured. An in-place op on a view
 * makes two or three. */
#define NODES_MAX 16

static struct vt_forward *slot(const struct vt_forwards *forwards, int64_t sequence)
{
	return &forwards->ops[(uint64_t)sequence & (forwards->room - 1)];
}

static int grow(struct vt_forwards *forwards)
{
	struct vt_forwards larger = *forwards;

	larger.room = forwards->room ? forwards->room * 2 : OPS_FIRST;
	larger.ops = calloc(larger.room, sizeof(*larger.ops));
	if (!larger.ops)
		return -VT_E_NOMEM;
	for (size_t i = 0; i < forwards->room; i++)
		if (forwards->ops[i].node)
			*slot(&larger, forwards->ops[i].sequence) = forwards->ops[i];
	free(forwards->ops);
	*forwards = larger;
	return 0;
}

/* Makes room so that no op of this pass or the last one is overwritten, as far as the limit allows. */
static struct vt_forward *place(struct vt_forwards *forwards, int64_t sequence, uint32_t pass)
{
	if (!forwards->room && grow(forwards) < 0)
		return NULL;
	while (forwards->room < VT_FORWARDS_MAX) {
		const struct vt_forward *taken = slot(forwards, sequence);

		if (!taken->node || taken->sequence == sequence || taken->pass + 1 < pass)
			break;
		if (grow(forwards) < 0)
			return NULL;
	}
	return slot(forwards, sequence);
}

int vt_forwards_enter(struct vt_forwards *forwards, const struct vt_forward *op)
{
	struct vt_forward *forward = place(forwards, op->sequence, op->pass);

	if (!forward)
		return -VT_E_NOMEM;
	if (forward->node && forward->sequence == op->sequence && forward->start_ns >= op->start_ns &&
	    forward->pass == op->pass) {
		forward->stack = forward->stack ? forward->stack : op->stack;
		return 0;
	}
	*forward = *op;
	return 0;
}

struct vt_forward *vt_forwards_exact(const struct vt_forwards *forwards, int64_t sequence)
{
	struct vt_forward *found = forwards->room ? slot(forwards, sequence) : NULL;

	return found && found->node && found->sequence == sequence ? found : NULL;
}

const struct vt_forward *vt_forwards_find(const struct vt_forwards *forwards, int64_t sequence)
{
	for (int64_t back = 0; forwards->room && back < NODES_MAX && back <= sequence; back++) {
		const struct vt_forward *found = slot(forwards, sequence - back);

		if (!found->node || found->sequence < sequence - back)
			continue;
		/* What made the node may have run in between, unseen. */
		if (forwards->has_gap && found->sequence <= forwards->gap && sequence > forwards->gap)
			return NULL;
		/* A later op took its place: what made the node is not known any more. */
		return found->sequence == sequence - back ? found : NULL;
	}
	return NULL;
}

void vt_forwards_gap(struct vt_forwards *forwards, int64_t current)
{
	forwards->has_gap = true;
	forwards->gap = current;
}

void vt_forwards_done(struct vt_forwards *forwards)
{
	free(forwards->ops);
	*forwards = (struct vt_forwards){ .ops = NULL };
}
