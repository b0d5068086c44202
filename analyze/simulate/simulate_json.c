/* simulate_json.c - the report as one JSON object: see simulate.h. */
#include "analyze/commands/open.h"
#include "analyze/render/losses.h"
#include "analyze/simulate/simulate.h"

static void put_policy(struct vt_json *json, const struct vt_session *session, const struct vt_policy *policy)
{
	const struct vt_alloc_stats *stats = vt_allocator_stats(policy->allocator);
	char conf[VT_ALLOC_SETTINGS_MAX];

	vt_json_object(json);
	vt_json_put_string(json, "name", policy->name);
	vt_json_put_string(json, "conf", vt_alloc_settings_text(conf, &policy->settings));
	vt_json_put_bool(json, "estimate", policy->settings.async_backend);
	vt_json_put_u64(json, "peak_reserved_bytes", stats->peak_reserved_bytes);
	vt_json_put_u64(json, "peak_allocated_bytes", stats->peak_allocated_bytes);
	vt_json_put_u64(json, "reserved_bytes", stats->reserved_bytes);
	vt_json_put_u64(json, "device_allocations", stats->device_allocs);
	vt_json_put_u64(json, "device_frees", stats->device_frees);
	vt_json_put_u64(json, "retries", stats->retries);
	vt_json_put_u64(json, "out_of_memory_errors", stats->ooms);
	vt_json_put_bool(json, "survives", vt_policy_survives(policy));
	vt_json_name(json, "died_ns");
	if (policy->died)
		vt_json_u64(json, vt_session_relative_ns(session, policy->died_ns));
	else
		vt_json_null(json);
	vt_json_object_end(json);
}

static void put_agreement(struct vt_json *json, const struct vt_policy *policy)
{
	const struct vt_policy_agreement *agreement = &policy->agreement;

	vt_json_name(json, "agreement");
	if (!policy->recorded) {
		vt_json_null(json);
		return;
	}
	vt_json_object(json);
	vt_json_put_bool(json, "exact", vt_policy_agrees(policy));
	vt_json_put_u64(json, "requests", agreement->compared);
	vt_json_put_u64(json, "reserved_differs", agreement->reserved_differs);
	vt_json_put_u64(json, "blocks", agreement->blocks);
	vt_json_put_u64(json, "blocks_elsewhere", agreement->elsewhere);
	vt_json_put_u64(json, "errors_matched", agreement->ooms_matched);
	vt_json_put_u64(json, "errors_missed", agreement->ooms_missed);
	vt_json_object_end(json);
}

static void put_device(const struct vt_simulate *report, struct vt_json *json, const struct vt_simulated_device *device)
{
	const struct vt_session *session = report->session;
	const struct vt_device *state = vt_replay_device(session->replay, device->device);
	unsigned order[VT_SIMULATE_POLICIES_MAX];

	vt_simulate_rank(device, order);
	vt_json_object(json);
	vt_session_json_device(session, json, state);
	vt_json_put_u64(json, "recorded_peak_reserved_bytes", state->peak_reserved_bytes);
	vt_json_put_u64(json, "peak_live_bytes", device->packing.peak_live_bytes);
	vt_json_name(json, "offline_best_fit_bytes");
	if (device->packed_bytes)
		vt_json_u64(json, device->packed_bytes);
	else
		vt_json_null(json);
	put_agreement(json, &device->policies[0]);
	vt_json_put_array(json, "policies");
	for (unsigned i = 0; i < device->npolicies; i++)
		put_policy(json, session, &device->policies[order[i]]);
	vt_json_array_end(json);
	vt_json_object_end(json);
}

int vt_simulate_json(const struct vt_simulate *report, FILE *out, struct vt_err *err)
{
	struct vt_json json;
	int r;

	vt_json_init(&json, out, false);
	vt_session_json_begin(report->session, &json, "simulate");
	vt_json_put_array(&json, "devices");
	for (unsigned i = 0; i < report->ndevices; i++) {
		const struct vt_feed_quality *quality = vt_feed_quality(report->feed, report->devices[i]->device);

		if (quality && quality->allocs)
			put_device(report, &json, report->devices[i]);
	}
	vt_json_array_end(&json);
	r = vt_losses_json(&json, report->session->store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}
