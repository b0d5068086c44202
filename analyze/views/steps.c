/* steps.c - see steps.h. */
#include "analyze/views/steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/views/idmap.h"

#define STEP_NAME "Optimizer.step#"

struct mark {
	struct vt_growth growth;
	uint64_t last_bytes; /* allocated at the last step end */
};

struct vt_steps {
	const struct vt_symbols *symbols;
	struct mark *devices;
	size_t room;
};

int vt_steps_new(struct vt_steps **ret, const struct vt_symbols *symbols, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the steps");
	(*ret)->symbols = symbols;
	return 0;
}

void vt_steps_free(struct vt_steps *steps)
{
	if (!steps)
		return;
	free(steps->devices);
	free(steps);
}

static void end_step(struct mark *mark, uint64_t time_ns, uint64_t bytes)
{
	struct vt_growth *growth = &mark->growth;

	if (growth->steps && bytes > mark->last_bytes) {
		growth->rising++;
		growth->rise_bytes += bytes - mark->last_bytes;
	} else {
		growth->rising = 0;
		growth->rise_bytes = 0;
	}
	growth->steps++;
	growth->last_ns = time_ns;
	mark->last_bytes = bytes;
}

static int on_op(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_op *rec = (const struct vt_op *)(const void *)item->rec;
	struct vt_steps *steps = self;
	uint32_t devices = vt_replay_device_count(replay);
	struct vt_op_info info;

	if (!vt_symbols_op(steps->symbols, item->process, rec->node, &info) || info.scope != VT_op_scope_USER ||
	    strncmp(info.name, STEP_NAME, strlen(STEP_NAME)) != 0)
		return 0;
	if (devices && vt_array_reach((void **)&steps->devices, &steps->room, devices - 1, sizeof(*steps->devices)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the steps");
	for (uint32_t i = 0; i < devices; i++) {
		const struct vt_device *device = vt_replay_device(replay, i);

		if (device->process == item->process)
			end_step(&steps->devices[i], item->time_ns, device->reported_bytes);
	}
	return 0;
}

struct vt_listener vt_steps_listener(struct vt_steps *steps)
{
	return (struct vt_listener){ .self = steps, .op = on_op };
}

struct vt_growth vt_steps_growth(const struct vt_steps *steps, uint32_t device)
{
	return device < steps->room ? steps->devices[device].growth : (struct vt_growth){ .steps = 0 };
}
