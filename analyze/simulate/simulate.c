/* simulate.c - see simulate.h: the pass. */
#include "analyze/simulate/simulate.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/base/bits.h"

static int take(void *self, const struct vt_feed_event *events, size_t count, struct vt_err *err)
{
	struct vt_simulated_device *device = self;
	int r = 0;

	for (unsigned i = 0; i < device->npolicies && !r; i++)
		r = vt_policy_take(&device->policies[i], events, count);
	for (size_t i = 0; i < count && !r; i++) {
		if (events[i].kind == VT_FEED_ALLOC)
			r = vt_packing_begin(&device->packing, events[i].slot, events[i].bytes);
		else if (events[i].kind == VT_FEED_FREE)
			vt_packing_end(&device->packing, events[i].slot);
	}
	return r < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory for a model of the allocator") : r;
}

/* The settings that the recorded run had, as far as the trace or the user knows. */
static int open_recorded(struct vt_simulated_device *device, const struct vt_device *state, struct vt_err *err)
{
	const struct vt_simulate *report = device->report;
	struct vt_policy *policy = &device->policies[0];
	const char *conf = report->options.recorded;
	int r;

	if (!conf)
		conf = vt_session_note(report->session, state->process, VT_note_code_ALLOCATOR_CONF, UINT64_MAX);
	*policy = (struct vt_policy){ .recorded = !report->options.capacity_bytes,
				      .capacity_bytes = report->options.capacity_bytes };
	r = vt_alloc_settings_parse(&policy->settings, conf, err);
	if (r < 0) {
		vt_err_prefix(err, "settings of the recorded run");
		return r;
	}
	(void)snprintf(policy->name, sizeof(policy->name), "recorded settings");
	device->npolicies = 1;
	return vt_policy_open(policy, err);
}

static int open_device(void *arg, const struct vt_replay *replay, uint32_t index, struct vt_feed_sink *ret,
		       struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(replay, index);
	struct vt_simulate *report = arg;
	struct vt_simulated_device *device;
	int r;

	*ret = (struct vt_feed_sink){ .take = NULL };
	if (!vt_session_wants(report->session, index) || state->device_type == VT_device_type_HOST ||
	    report->ndevices == VT_SIMULATE_DEVICES_MAX)
		return 0;
	device = calloc(1, sizeof(*device));
	if (!device)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a model of the allocator");
	report->devices[report->ndevices++] = device;
	device->report = report;
	device->device = index;
	*ret = (struct vt_feed_sink){ .self = device, .take = take };
	r = open_recorded(device, state, err);
	return r ? r : vt_simulate_add_policies(device, err);
}

int vt_simulate_run(struct vt_simulate *report, struct vt_session *session, const struct vt_simulate_options *options,
		    bool quiet, struct vt_err *err)
{
	const struct vt_feed_setup setup = { .symbols = session->symbols, .arg = report, .open = open_device };
	struct vt_listener listener;
	int r;

	*report = (struct vt_simulate){ .session = session, .options = *options };
	r = vt_feed_new(&report->feed, &setup, err);
	if (r < 0)
		return r;
	listener = vt_feed_listener(report->feed);
	r = vt_replay_add(session->replay, &listener, err);
	if (!r)
		r = vt_session_run(session, quiet, err);
	for (unsigned i = 0; i < report->ndevices && !r; i++) {
		struct vt_simulated_device *device = report->devices[i];

		r = vt_packing_pack(&device->packing, &device->packed_bytes);
		r = r < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory to pack the blocks") : 0;
	}
	return r;
}

void vt_simulate_done(struct vt_simulate *report)
{
	for (unsigned i = 0; i < report->ndevices; i++) {
		struct vt_simulated_device *device = report->devices[i];

		for (unsigned p = 0; p < device->npolicies; p++)
			vt_policy_done(&device->policies[p]);
		vt_packing_done(&device->packing);
		free(device);
	}
	vt_feed_free(report->feed);
	*report = (struct vt_simulate){ .session = NULL };
}

bool vt_simulate_differs(const struct vt_simulate *report)
{
	for (unsigned i = 0; i < report->ndevices; i++)
		if (report->devices[i]->policies[0].recorded && !vt_policy_agrees(&report->devices[i]->policies[0]))
			return true;
	return false;
}

bool vt_simulate_fails(const struct vt_simulate *report)
{
	for (unsigned i = 0; i < report->ndevices; i++)
		for (unsigned p = 0; p < report->devices[i]->npolicies; p++)
			if (!vt_policy_survives(&report->devices[i]->policies[p]))
				return true;
	return false;
}
