/* report.c - see report.h: gathers what the report says. */
#include "analyze/views/report.h"

#include <stdio.h>
#include <stdlib.h>

static int add_listeners(struct vt_report *report, struct vt_err *err)
{
	const struct vt_listener listeners[] = {
		vt_groups_listener(report->groups),	  vt_levels_listener(report->levels),
		vt_timeline_listener(report->timeline),	  vt_calls_listener(report->calls),
		vt_libraries_listener(report->libraries),
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(listeners) / sizeof(listeners[0]) && !r; i++)
		r = vt_replay_add(report->session->replay, &listeners[i], err);
	return r;
}

static void sum_lifetimes(const struct vt_report *report, struct vt_report_device *device)
{
	unsigned __int128 sum = 0;

	for (uint32_t i = 0; i < vt_groups_count(report->groups); i++) {
		struct vt_group group = vt_groups_get(report->groups, i);

		if (group.device != device->index)
			continue;
		sum += group.lifetime_ns;
		device->frees += group.frees;
	}
	device->mean_lifetime_ns = device->frees ? (uint64_t)(sum / device->frees) : 0;
}

static int gather_uses(const struct vt_report *report, struct vt_report_device *device, struct vt_err *err)
{
	const struct vt_session *session = report->session;
	char word[64];
	const struct vt_use_moment moment = {
		.word = word,
		.last_block = session->moment == VT_MOMENT_PEAK,
		.device = device->index,
		.blocks = vt_uses_blocks(&report->uses, session, device->index),
	};
	int r;

	(void)snprintf(word, sizeof(word), "%s", session->moment_word);
	if (word[0] == 'a')
		word[0] = 'A';
	device->uses = vt_uses_sum(moment.blocks, device->index);
	r = vt_uses_sentence(device->sentence, session, &moment, err);
	if (r < 0)
		return r;
	return vt_holders_build(&device->holders, session->symbols, moment.blocks,
				(struct vt_holders_filter){ device->index, -1 }, err);
}

static int gather_device(struct vt_report *report, struct vt_report_device *device, struct vt_err *err)
{
	const struct vt_session *session = report->session;

	if (session->moment == VT_MOMENT_PEAK)
		device->levels = vt_levels_at_peak(report->levels, session->replay, device->index);
	else
		device->levels = vt_levels_now(report->levels, session->replay, device->index);
	device->time_ns = device->levels.time_ns;
	sum_lifetimes(report, device);
	return gather_uses(report, device, err);
}

static int by_peak(const void *a, const void *b)
{
	const struct vt_report_device *x = a, *y = b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static int gather(struct vt_report *report, struct vt_err *err)
{
	uint32_t n = vt_replay_device_count(report->session->replay);
	int r = 0;

	report->devices = calloc(n ? n : 1, sizeof(*report->devices));
	if (!report->devices)
		return vt_err_set(err, VT_E_NOMEM, "no memory for %u devices", n);
	for (uint32_t i = 0; i < n; i++) {
		if (!vt_session_wants(report->session, i))
			continue;
		report->devices[report->ndevices].index = i;
		report->devices[report->ndevices++].peak_bytes =
			vt_replay_device(report->session->replay, i)->peak_allocated_bytes;
	}
	qsort(report->devices, report->ndevices, sizeof(*report->devices), by_peak);
	for (size_t i = 0; i < report->ndevices && !r; i++)
		r = gather_device(report, &report->devices[i], err);
	return r;
}

int vt_report_run(struct vt_report *report, struct vt_session *session, bool quiet, struct vt_err *err)
{
	int r;

	*report = (struct vt_report){ .session = session };
	r = vt_groups_new(&report->groups, err);
	if (!r)
		r = vt_levels_view_new(&report->levels, err);
	if (!r)
		r = vt_timeline_new(&report->timeline, err);
	if (!r)
		r = vt_calls_new(&report->calls, err);
	if (!r)
		r = vt_libraries_new(&report->libraries, err);
	if (!r)
		r = add_listeners(report, err);
	if (!r)
		r = vt_uses_begin(&report->uses, session, err);
	if (!r)
		r = vt_session_run(session, quiet, err);
	if (!r)
		r = vt_uses_end(&report->uses, session, quiet, err);
	return r ? r : gather(report, err);
}

void vt_report_done(struct vt_report *report)
{
	for (size_t i = 0; i < report->ndevices; i++)
		vt_holders_done(&report->devices[i].holders);
	free(report->devices);
	vt_uses_done(&report->uses);
	vt_libraries_free(report->libraries);
	vt_calls_free(report->calls);
	vt_timeline_free(report->timeline);
	vt_levels_view_free(report->levels);
	vt_groups_free(report->groups);
	*report = (struct vt_report){ .session = NULL };
}
