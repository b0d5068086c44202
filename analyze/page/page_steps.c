/* page_steps.c - see page_steps.h. */
#include "analyze/page/page_steps.h"

#include <stdlib.h>

/* The step of a moment, begun where it is new. NULL: no memory. */
static struct vt_page_step *step_at(struct vt_page_device_steps *device, uint32_t number, uint64_t time_ns)
{
	struct vt_page_step *last = device->count ? &device->list[device->count - 1] : NULL;

	if (last && (last->step == number || device->count == VT_PAGE_STEPS_MAX)) {
		last->step = last->step == number ? number : VT_STEP_UNKNOWN;
		return last;
	}
	if (vt_array_reach((void **)&device->list, &device->room, device->count, sizeof(*device->list)) < 0)
		return NULL;
	last = &device->list[device->count++];
	*last = (struct vt_page_step){ .step = number, .first_ns = time_ns };
	return last;
}

static int take(struct vt_page_steps *steps, const struct vt_replay *replay, const struct vt_item *item,
		const struct vt_block *block, struct vt_err *err, bool is_alloc)
{
	const struct vt_device *state = vt_replay_device(replay, block->device);
	uint32_t number = vt_attribution_step(steps->attribution, state->process, item->time_ns);
	struct vt_page_step *step;

	if (number == VT_STEP_UNKNOWN)
		return 0;
	if (vt_array_reach((void **)&steps->devices, &steps->room, block->device, sizeof(*steps->devices)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the table of steps");
	step = step_at(&steps->devices[block->device], number, item->time_ns);
	if (!step)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the table of steps");
	step->last_ns = item->time_ns;
	step->end_bytes = state->reported_bytes;
	if (state->reported_bytes > step->peak_bytes) {
		step->peak_bytes = state->reported_bytes;
		step->peak_ns = item->time_ns;
	}
	step->allocs += is_alloc;
	step->allocated_bytes += is_alloc ? block->size_bytes : 0;
	return 0;
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	return take(self, replay, item, block, err, true);
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	return take(self, replay, item, block, err, false);
}

struct vt_listener vt_page_steps_listener(struct vt_page_steps *steps)
{
	return (struct vt_listener){ .self = steps, .alloc = on_alloc, .free = on_free };
}

void vt_page_steps_done(struct vt_page_steps *steps)
{
	for (size_t i = 0; i < steps->room; i++)
		free(steps->devices[i].list);
	free(steps->devices);
	*steps = (struct vt_page_steps){ .devices = NULL };
}
