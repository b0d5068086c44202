/* report_json.c - the report as one JSON object: see report.h and docs on the names. */
#include "analyze/commands/open.h"
#include "analyze/render/losses.h"
#include "analyze/views/report.h"

#define TIMELINE_COLUMNS 120

static int put_timeline(const struct vt_report *report, struct vt_json *json, uint32_t device, struct vt_err *err)
{
	struct vt_timeline_picture picture;
	int r = vt_timeline_draw(report->timeline, device, TIMELINE_COLUMNS, &picture, err);

	if (r < 0)
		return r;
	vt_json_put_object(json, "timeline");
	vt_json_put_u64(json, "start_ns", vt_session_relative_ns(report->session, picture.start_ns));
	vt_json_put_u64(json, "column_ns", picture.column_ns);
	vt_json_put_array(json, "max_allocated_bytes");
	for (uint32_t i = 0; i < picture.columns; i++)
		vt_json_u64(json, picture.allocated[i]);
	vt_json_array_end(json);
	vt_json_put_array(json, "max_reserved_bytes");
	for (uint32_t i = 0; i < picture.columns; i++)
		vt_json_u64(json, picture.reserved[i]);
	vt_json_array_end(json);
	vt_json_object_end(json);
	vt_timeline_picture_done(&picture);
	return 0;
}

static void put_calls(const struct vt_report *report, struct vt_json *json, uint32_t device)
{
	vt_json_put_array(json, "driver_calls");
	for (uint32_t api = 0; api < VT_CALLS_APIS; api++) {
		struct vt_call_count count = vt_calls_count(report->calls, device, api);
		const char *name = vt_enum_text("driver_api", api);

		if (!count.calls)
			continue;
		vt_json_object(json);
		vt_json_put_string(json, "call", name ? name : "?");
		vt_json_put_u64(json, "calls", count.calls);
		vt_json_put_u64(json, "out_of_memory", count.out_of_memory);
		vt_json_put_u64(json, "other_errors", count.failed);
		vt_json_put_u64(json, "requested_bytes", count.bytes);
		vt_json_put_u64(json, "time_ns", count.time_ns);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

static void put_known(struct vt_json *json, const char *name, bool known, uint64_t value)
{
	vt_json_name(json, name);
	if (known)
		vt_json_u64(json, value);
	else
		vt_json_null(json);
}

static void put_state(const struct vt_report *report, struct vt_json *json, const struct vt_report_device *device)
{
	const struct vt_device *state = vt_replay_device(report->session->replay, device->index);
	const struct vt_levels *levels = &device->levels;
	bool tensors = levels->has_tensors;

	vt_session_json_device(report->session, json, state);
	vt_json_put_u64(json, "time_ns", vt_session_relative_ns(report->session, device->time_ns));
	put_known(json, "total_bytes", levels->total_bytes, levels->total_bytes);
	put_known(json, "free_bytes", levels->total_bytes, levels->free_bytes);
	put_known(json, "process_bytes", levels->process_bytes, levels->process_bytes);
	put_known(json, "driver_bytes", levels->has_driver, levels->driver_bytes);
	put_known(json, "reserved_bytes", tensors && !levels->is_host, levels->reserved_bytes);
	put_known(json, "allocated_bytes", tensors, levels->allocated_bytes);
	put_known(json, "peak_allocated_bytes", tensors, state->peak_allocated_bytes);
	put_known(json, "requested_bytes", levels->requested_bytes && !levels->unrequested_bytes,
		  levels->requested_bytes);
	put_known(json, "peak_requested_bytes", levels->requested_bytes && !levels->unrequested_bytes,
		  state->peak_requested_bytes);
	put_known(json, "peak_time_ns", tensors, vt_session_relative_ns(report->session, state->peak_allocated_ns));
	put_known(json, "peak_reserved_bytes", tensors && !levels->is_host, state->peak_reserved_bytes);
	put_known(json, "peak_driver_bytes", levels->has_driver, state->peak_driver_bytes);
	vt_json_put_bool(json, "simultaneous", vt_levels_simultaneous(levels));
	vt_report_json_levels(json, levels);
	vt_json_put_u64(json, "allocations", state->allocs);
	vt_json_put_u64(json, "allocations_bytes", state->allocated_total_bytes);
	vt_json_put_u64(json, "frees", state->frees);
	vt_json_put_u64(json, "frees_bytes", state->freed_total_bytes);
	vt_json_put_u64(json, "live_blocks", state->live_blocks);
	vt_json_put_u64(json, "unknown_frees", state->unknown_frees);
	vt_json_put_u64(json, "mismatches", state->mismatches);
	put_known(json, "mean_lifetime_ns", device->frees, device->mean_lifetime_ns);
}

static void put_uses(const struct vt_report *report, struct vt_json *json, const struct vt_report_device *device,
		     uint32_t process)
{
	bool step = report->session->moment == VT_MOMENT_PEAK && device->uses.step != VT_STEP_UNKNOWN;
	const struct vt_attribution *attribution = report->uses.attribution;

	vt_json_put_string(json, "sentence", device->sentence);
	vt_json_put_u64(json, "steps", vt_attribution_steps(attribution, process));
	vt_json_put_string(json, "steps_found", vt_steps_how_text(vt_attribution_steps_how(attribution, process)));
	put_known(json, "step", step, device->uses.step);
	vt_uses_json(json, &device->uses);
}

int vt_report_json(const struct vt_report *report, FILE *out, uint64_t top, struct vt_err *err)
{
	const struct vt_session *session = report->session;
	struct vt_json json;
	int r = 0;

	vt_json_init(&json, out, false);
	vt_session_json_begin(session, &json, "report");
	vt_json_put_u64(&json, "origin_ns", session->origin_ns);
	vt_json_put_string(&json, "moment", session->moment_word);
	vt_json_put_u64(&json, "first_event_ns", vt_session_relative_ns(session, vt_replay_first_ns(session->replay)));
	vt_json_put_u64(&json, "last_event_ns", vt_session_relative_ns(session, vt_replay_last_ns(session->replay)));
	vt_json_put_u64(&json, "out_of_memory_errors", session->ooms);
	vt_json_put_array(&json, "devices");
	for (size_t i = 0; i < report->ndevices && !r; i++) {
		const struct vt_report_device *device = &report->devices[i];
		uint32_t process = vt_replay_device(session->replay, device->index)->process;

		vt_json_object(&json);
		put_state(report, &json, device);
		vt_report_json_holders(session, &json, process, &device->holders, top);
		put_uses(report, &json, device, process);
		put_calls(report, &json, device->index);
		r = vt_report_json_libraries(report, &json, device->index, err);
		if (!r)
			r = put_timeline(report, &json, device->index, err);
		vt_json_object_end(&json);
	}
	vt_json_array_end(&json);
	if (!r)
		r = vt_losses_json(&json, session->store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}
