/* simulate_print.c - the report for people: see simulate.h. */
#include <inttypes.h>

#include "analyze/render/losses.h"
#include "analyze/simulate/simulate.h"

static void print_agreement(const struct vt_screen *screen, const struct vt_session *session,
			    const struct vt_policy *policy)
{
	const struct vt_policy_agreement *agreement = &policy->agreement;
	char blocks[VT_FORMAT_MAX], totals[VT_FORMAT_MAX], ooms[VT_FORMAT_MAX], at[VT_FORMAT_MAX];

	if (!policy->recorded)
		return;
	(void)vt_format_count(blocks, agreement->blocks);
	(void)vt_format_count(totals, agreement->compared);
	(void)vt_format_count(ooms, agreement->ooms_matched);
	if (vt_policy_agrees(policy)) {
		vt_screen_text(
			screen, 0,
			"The model of the recorded settings equals the recording: %s of %s blocks at the recorded "
			"address, the reserved bytes after each of %s requests, %s out-of-memory errors.",
			blocks, blocks, totals, ooms);
		return;
	}
	vt_screen_text(screen, 0,
		       "The model of the recorded settings differs from the recording, first at %s: %" PRIu64
		       " of %s blocks lie elsewhere, the reserved bytes differ after %" PRIu64
		       " of %s requests, %" PRIu64 " recorded errors did not come. Settings made by the program itself "
		       "are not in the trace (--recorded names them).",
		       vt_session_time(session, at, agreement->first_differs_ns), agreement->elsewhere, blocks,
		       agreement->reserved_differs, totals, agreement->ooms_missed);
}

static void print_quality(const struct vt_screen *screen, const struct vt_feed_quality *quality)
{
	char count[VT_FORMAT_MAX];

	vt_screen_text(
		screen, 0,
		"Assumed: %s%sa freed block can be used again at once; private pools of CUDA graphs are not told "
		"apart.",
		quality->requested_known == quality->allocs
			? ""
			: "requests of the size of the recorded blocks where what was asked is not captured (rounded, "
			  "up to 1 MiB more); ",
		quality->stream_known ? "" : "one stream; ");
	if (quality->unknown_frees)
		vt_screen_text(screen, 0, "%s frees of blocks whose allocation is not in the trace are left out.",
			       vt_format_count(count, quality->unknown_frees));
}

static void outcome(struct vt_table *table, const struct vt_session *session, const struct vt_policy *policy)
{
	char at[VT_FORMAT_MAX];

	if (policy->died)
		vt_table_cell(table, "OOM at %s", vt_session_time(session, at, policy->died_ns));
	else if (policy->agreement.ooms_matched)
		vt_table_cell(table, "OOM as recorded");
	else
		vt_table_cell(table, "%s", policy->saved ? "no OOM" : "ok");
}

static int print_table(const struct vt_screen *screen, const struct vt_simulated_device *device, uint64_t top)
{
	const struct vt_session *session = device->report->session;
	unsigned order[VT_SIMULATE_POLICIES_MAX];
	struct vt_table *table = vt_table_new();
	char text[VT_FORMAT_MAX];

	vt_simulate_rank(device, order);
	vt_table_column(table, "Reserved", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Mallocs", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Frees", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Retries", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Outcome", VT_ALIGN_LEFT, false);
	vt_table_column(table, "Settings", VT_ALIGN_LEFT, true);
	for (unsigned i = 0; i < device->npolicies; i++) {
		const struct vt_policy *policy = &device->policies[order[i]];
		const struct vt_alloc_stats *stats = vt_allocator_stats(policy->allocator);

		if (i >= top && order[i])
			continue;
		vt_table_cell(table, "%s", vt_format_bytes(text, stats->peak_reserved_bytes));
		vt_table_cell(table, "%s", vt_format_count(text, stats->device_allocs));
		vt_table_cell(table, "%s", vt_format_count(text, stats->device_frees));
		vt_table_cell(table, "%s", vt_format_count(text, stats->retries));
		outcome(table, session, policy);
		vt_table_cell(table, "%s", policy->name);
	}
	return vt_table_print(table, screen);
}

/* The line to put into the shell; nothing where the recorded settings are the best. */
static void print_winner(const struct vt_screen *screen, const struct vt_simulated_device *device)
{
	unsigned order[VT_SIMULATE_POLICIES_MAX];
	char text[VT_ALLOC_SETTINGS_MAX];

	vt_simulate_rank(device, order);
	vt_alloc_settings_text(text, &device->policies[order[0]].settings);
	if (!vt_policy_survives(&device->policies[order[0]]))
		vt_screen_text(screen, 0, "None of these settings serves all requests.");
	else if (order[0] == 0)
		vt_screen_text(screen, 0, "None is better than the recorded settings.");
	else
		(void)fprintf(screen->out, "export PYTORCH_CUDA_ALLOC_CONF=%s\n", text);
}

static int print_device(const struct vt_simulate *report, const struct vt_screen *screen,
			const struct vt_simulated_device *device, uint64_t top)
{
	const struct vt_feed_quality *quality = vt_feed_quality(report->feed, device->device);
	char text[VT_FORMAT_MAX];
	int r;

	vt_session_print_device(report->session, screen, device->device);
	print_agreement(screen, report->session, &device->policies[0]);
	print_quality(screen, quality);
	(void)putc('\n', screen->out);
	r = print_table(screen, device, report->options.sweep ? top : UINT64_MAX);
	vt_screen_text(screen, 0, "Live at once, at most: %s. No policy can reserve less.",
		       vt_format_bytes(text, device->packing.peak_live_bytes));
	if (device->packed_bytes)
		vt_screen_text(screen, 0, "Offline best fit, which knows all lifetimes: %s.",
			       vt_format_bytes(text, device->packed_bytes));
	if (report->options.sweep)
		print_winner(screen, device);
	(void)putc('\n', screen->out);
	return r;
}

int vt_simulate_print(const struct vt_simulate *report, const struct vt_screen *screen, uint64_t top,
		      struct vt_err *err)
{
	unsigned shown = 0;

	for (unsigned i = 0; i < report->ndevices; i++) {
		const struct vt_feed_quality *quality = vt_feed_quality(report->feed, report->devices[i]->device);

		if (!quality || !quality->allocs)
			continue;
		shown++;
		if (print_device(report, screen, report->devices[i], top) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	}
	if (!shown)
		vt_screen_text(screen, 0, "No request of a device's allocator is in this trace: nothing to replay.");
	return vt_losses_print(screen, report->session->store, err);
}
