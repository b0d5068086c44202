/* oom_json.c - the post-mortem as one JSON object: see oom.h. */
#include "analyze/commands/open.h"
#include "analyze/render/losses.h"
#include "analyze/views/oom.h"
#include "analyze/views/report.h"

static void put_known(struct vt_json *json, const char *name, bool known, uint64_t value)
{
	vt_json_name(json, name);
	if (known)
		vt_json_u64(json, value);
	else
		vt_json_null(json);
}

static void put_figures(struct vt_json *json, const struct vt_oom_facts *facts)
{
	uint64_t others = 0;
	bool known = vt_oom_others(facts, &others);

	vt_json_put_u64(json, "requested_bytes", facts->requested_bytes);
	vt_json_put_u64(json, "tried_bytes", facts->tried_bytes);
	put_known(json, "total_bytes", facts->total_bytes, facts->total_bytes);
	put_known(json, "free_bytes", facts->total_bytes, facts->free_bytes);
	put_known(json, "process_bytes", facts->process_bytes, facts->process_bytes);
	put_known(json, "other_processes_bytes", known, others);
	put_known(json, "driver_bytes", facts->has_driver, facts->driver_bytes);
	vt_json_put_u64(json, "reserved_bytes", facts->reserved_bytes);
	vt_json_put_u64(json, "allocated_bytes", facts->allocated_bytes);
	vt_json_put_u64(json, "unallocated_bytes", vt_oom_unallocated(facts));
	vt_json_put_bool(json, "expandable_segments", facts->expandable);
	vt_json_put_u64(json, "steps", facts->growth.steps);
	put_known(json, "survived_bytes", facts->growth.steps, facts->survived_bytes);
}

static void put_driver_call(struct vt_json *json, const struct vt_oom_facts *facts)
{
	const char *call = vt_enum_text("driver_api", facts->attempt.api);

	vt_json_name(json, "failed_call");
	if (!facts->attempt.failures) {
		vt_json_null(json);
		return;
	}
	vt_json_object(json);
	vt_json_put_string(json, "call", call ? call : "?");
	vt_json_put_u64(json, "requested_bytes", facts->attempt.size_bytes);
	vt_json_put_u64(json, "failures", facts->attempt.failures);
	vt_json_put_u64(json, "released_bytes", facts->released_bytes);
	vt_json_object_end(json);
}

static void put_space(struct vt_json *json, const struct vt_oom_facts *facts)
{
	vt_json_name(json, "free_space");
	if (!facts->has_segments) {
		vt_json_null(json);
		return;
	}
	vt_json_object(json);
	vt_json_put_u64(json, "segments", facts->space.segments);
	vt_json_put_u64(json, "segment_bytes", facts->space.segment_bytes);
	vt_json_put_u64(json, "free_bytes", facts->space.free_bytes);
	vt_json_put_u64(json, "free_ranges", facts->space.free_ranges);
	vt_json_put_u64(json, "largest_free_bytes", facts->space.largest_bytes);
	vt_json_put_u64(json, "other_pool_free_bytes", facts->space.other_free_bytes);
	vt_json_put_u64(json, "blocks_outside_segments", facts->space.stray_blocks);
	vt_json_object_end(json);
}

static void put_next(struct vt_json *json, const struct vt_oom_facts *facts)
{
	char text[VT_OOM_TEXT_MAX];

	vt_json_put_array(json, "next_steps");
	for (unsigned i = 0; i < vt_oom_nrules; i++) {
		if (!vt_oom_rules[i].applies(facts))
			continue;
		vt_oom_rules[i].say(text, facts);
		vt_json_object(json);
		vt_json_put_string(json, "rule", vt_oom_rules[i].key);
		vt_json_put_string(json, "text", text);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

static void put_story(const struct vt_oom_report *report, struct vt_json *json, const struct vt_oom_story *story,
		      uint64_t top)
{
	const struct vt_link_forward forward = vt_attribution_answer(report->attribution, story->question);
	const struct vt_session *session = report->session;

	vt_json_object(json);
	vt_json_put_u64(json, "number", story->number);
	vt_session_json_device(session, json, vt_replay_device(session->replay, story->device));
	vt_json_put_u64(json, "time_ns", vt_session_relative_ns(session, story->rec.time_ns));
	vt_json_put_u64(json, "thread", story->rec.thread);
	vt_json_put_string(json, "source", story->facts.from_driver ? "driver" : "framework");
	put_figures(json, &story->facts);
	put_driver_call(json, &story->facts);
	put_space(json, &story->facts);
	vt_json_put_object(json, "asker");
	vt_place_json(json, session->symbols, story->process, story->rec.op, story->rec.stack);
	vt_json_name(json, "forward");
	if (forward.op) {
		vt_json_object(json);
		vt_place_json(json, session->symbols, story->process, forward.op, forward.stack);
		vt_json_object_end(json);
	} else {
		vt_json_null(json);
	}
	vt_json_object_end(json);
	vt_report_json_levels(json, &story->levels);
	vt_report_json_holders(session, json, story->process, &story->holders, top);
	vt_json_put_string(json, "sentence", story->sentence);
	vt_uses_json(json, &story->uses);
	put_next(json, &story->facts);
	vt_json_object_end(json);
}

int vt_oom_report_json(const struct vt_oom_report *report, FILE *out, uint64_t top, struct vt_err *err)
{
	struct vt_json json;
	int r = 0;

	vt_json_init(&json, out, false);
	vt_session_json_begin(report->session, &json, "oom");
	vt_json_put_u64(&json, "out_of_memory_errors", report->ooms);
	vt_json_put_bool(&json, "growth", report->growing);
	vt_json_put_array(&json, "ooms");
	for (unsigned i = 0; i < report->nstories; i++)
		put_story(report, &json, &report->stories[i], top);
	vt_json_array_end(&json);
	if (!r)
		r = vt_losses_json(&json, report->session->store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}
