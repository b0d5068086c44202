/* oom.c - see oom.h: takes down the state at each error. */
#include "analyze/views/oom.h"

#include "analyze/views/alloc_conf.h"
#include "schema/base/bits.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2
#define SAMPLE_LATEST_NS 100000000 /* later than this the figures are of another moment */

struct survivors {
	uint64_t before_ns;
	uint64_t bytes;
};

static int add_survivor(void *arg, const struct vt_block *block)
{
	struct survivors *survivors = arg;

	if (block->alloc_ns <= survivors->before_ns)
		survivors->bytes += block->size_bytes;
	return 0;
}

static void take_device_figures(struct vt_oom_story *story)
{
	const struct vt_oom *rec = &story->rec;

	story->facts.total_bytes = rec->device_total_bytes;
	story->facts.free_bytes =
		rec->device_free_bytes < rec->device_total_bytes ? rec->device_free_bytes : rec->device_total_bytes;
	story->facts.process_bytes = rec->process_bytes;
}

static void take_facts(const struct vt_oom_report *report, const struct vt_replay *replay, struct vt_oom_story *story)
{
	const struct vt_device *state = vt_replay_device(replay, story->device);
	const char *conf = vt_session_note(report->session, story->process, VT_note_code_ALLOCATOR_CONF, UINT64_MAX);
	const struct vt_oom *rec = &story->rec;
	struct vt_oom_facts *facts = &story->facts;
	struct survivors survivors;

	facts->requested_bytes = rec->requested_bytes;
	facts->tried_bytes = rec->requested_bytes;
	if (!facts->from_driver)
		facts->tried_bytes = vt_torch_segment_bytes(rec->requested_bytes, vt_alloc_conf_large_segment(conf));
	take_device_figures(story);
	facts->reserved_bytes = rec->reserved_bytes;
	facts->allocated_bytes = rec->allocated_bytes;
	facts->has_driver = state->peak_driver_bytes || state->driver_failures;
	facts->driver_bytes = state->driver_bytes;
	facts->attempt = vt_calls_attempt(report->calls, story->device);
	/* What the driver was really asked for beats the rule. A page of an expandable segment is not the whole
	 * request. */
	if (facts->attempt.failures && facts->attempt.api == VT_driver_api_MEM_ALLOC)
		facts->tried_bytes = facts->attempt.size_bytes;
	if (facts->attempt.failures && facts->attempt.driver_before > state->driver_bytes)
		facts->released_bytes = facts->attempt.driver_before - state->driver_bytes;
	facts->expandable = vt_alloc_conf_expandable(conf);
	facts->growth = vt_steps_growth(report->steps, story->device);
	survivors = (struct survivors){ .before_ns = facts->growth.last_ns };
	if (facts->growth.steps)
		(void)vt_replay_each_live(replay, story->device, add_survivor, &survivors);
	facts->survived_bytes = survivors.bytes;
}

static void take_levels(const struct vt_oom_report *report, const struct vt_replay *replay, struct vt_oom_story *story)
{
	const struct vt_oom *rec = &story->rec;
	struct vt_levels levels = vt_levels_now(report->levels, replay, story->device);

	levels.time_ns = rec->time_ns;
	levels.reserved_bytes = rec->reserved_bytes;
	levels.allocated_bytes = rec->allocated_bytes;
	levels.has_tensors |= !story->facts.from_driver;
	if (rec->device_total_bytes) {
		levels.total_bytes = rec->device_total_bytes;
		levels.free_bytes = story->facts.free_bytes;
		levels.process_bytes = rec->process_bytes;
		levels.read_ns = rec->time_ns;
		levels.driver_then = levels.driver_bytes;
	}
	story->levels = levels;
}

static int take_story(struct vt_oom_report *report, const struct vt_replay *replay, struct vt_oom_story *story,
		      struct vt_err *err)
{
	const struct vt_link_question question = { story->process, story->rec.thread, story->rec.op, story->rec.stack,
						   story->rec.time_ns };
	struct vt_oom_facts *facts = &story->facts;
	int r;

	take_facts(report, replay, story);
	take_levels(report, replay, story);
	r = vt_segments_free_space(report->segments, replay, story->device, facts->requested_bytes, &facts->space, err);
	if (r < 0)
		return r;
	facts->has_segments = facts->space.segments != 0;
	vt_place_find(report->session->symbols, story->process, story->rec.op, story->rec.stack, &story->asker);
	r = vt_attribution_ask(report->attribution, &question, &story->question, err);
	return r ? r : vt_attribution_mark(report->attribution, story->device, &story->mark, err);
}

/* After the pass: who held what, and what for, is known when the blocks' lives are. */
static int take_holders(const struct vt_oom_report *report, struct vt_oom_story *story, struct vt_err *err)
{
	const struct vt_symbols *symbols = report->session->symbols;
	const struct vt_use_moment moment = {
		.word = "At that moment",
		.device = story->device,
		.blocks = vt_attribution_marked(report->attribution, story->mark),
	};
	struct vt_oom_facts *facts = &story->facts;
	int r = vt_holders_build(&story->holders, symbols, moment.blocks,
				 (struct vt_holders_filter){ story->device, -1 }, err);

	story->uses = vt_uses_sum(moment.blocks, story->device);
	if (!r)
		r = vt_uses_sentence(story->sentence, report->session, &moment, err);
	facts->top_place = "";
	if (!r && story->holders.count) {
		facts->top_bytes = story->holders.list[0].bytes;
		facts->top_place = vt_place_sentence(story->top_place, &story->holders.list[0].place);
	}
	return r;
}

static int add_story(struct vt_oom_report *report, const struct vt_replay *replay, uint32_t device,
		     const struct vt_oom *rec, bool from_driver, struct vt_err *err)
{
	struct vt_oom_story *story;

	report->ooms++;
	/* The last place is for the latest one. */
	if (report->nstories == VT_OOM_FULL_MAX)
		vt_attribution_unmark(report->attribution, report->stories[--report->nstories].mark);
	story = &report->stories[report->nstories++];
	*story = (struct vt_oom_story){ .number = report->ooms,
					.device = device,
					.process = vt_replay_device(replay, device)->process,
					.rec = *rec,
					.awaits_sample = from_driver };
	story->facts.from_driver = from_driver;
	return take_story(report, replay, story, err);
}

static int on_oom(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		  struct vt_err *err)
{
	struct vt_oom_report *report = self;

	if (!vt_session_wants(report->session, device))
		return 0;
	return add_story(report, replay, device, (const struct vt_oom *)(const void *)item->rec, false, err);
}

/* Whether nobody but us will tell of this refused call; see the head of oom.h. */
static bool is_error(const struct vt_session *session, const struct vt_device *state,
		     const struct vt_driver_memory *call)
{
	/* Of a pool's refusal the agent writes an oom record itself. */
	if (call->api == VT_driver_api_MEM_ALLOC_ASYNC || call->api == VT_driver_api_MEM_ALLOC_FROM_POOL_ASYNC)
		return false;
	return call->result == CUDA_ERROR_OUT_OF_MEMORY && call->size_bytes &&
	       !vt_session_note(session, state->process, VT_note_code_TORCH_FOUND, UINT64_MAX);
}

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_driver_memory *call = (const struct vt_driver_memory *)(const void *)item->rec;
	const struct vt_device *state = vt_replay_device(replay, device);
	struct vt_oom_report *report = self;
	struct vt_oom rec;
	int r;

	if (!state || !vt_session_wants(report->session, device) || !is_error(report->session, state, call))
		return 0;
	rec = (struct vt_oom){ .time_ns = call->time_ns,
			       .requested_bytes = call->size_bytes,
			       .allocated_bytes = state->reported_bytes,
			       .reserved_bytes = state->reserved_bytes,
			       .thread = call->thread,
			       .op = call->op,
			       .stack = call->stack,
			       .device = state->device,
			       .device_type = state->device_type };
	r = add_story(report, replay, device, &rec, true, err);
	vt_calls_end_attempt(report->calls, device);
	return r;
}

/* The capture reads the device's figures right after a refused call. */
static int on_sample(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_device_sample *sample = (const struct vt_device_sample *)(const void *)item->rec;
	struct vt_oom_report *report = self;
	struct vt_oom_story *story = report->nstories ? &report->stories[report->nstories - 1] : NULL;

	(void)err;
	if (!story || !story->awaits_sample || story->device != device)
		return 0;
	story->awaits_sample = false;
	if (item->time_ns > story->rec.time_ns + SAMPLE_LATEST_NS)
		return 0;
	story->rec.device_total_bytes = sample->total_bytes;
	story->rec.device_free_bytes = sample->free_bytes;
	story->rec.process_bytes = sample->process_bytes;
	take_device_figures(story);
	take_levels(report, replay, story);
	return 0;
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_oom_report *report = self;

	(void)err;
	for (uint32_t i = 0; i < vt_replay_device_count(replay); i++) {
		struct vt_growth growth = vt_steps_growth(report->steps, i);

		if (!vt_session_wants(report->session, i) || report->growing ||
		    !vt_growth_is_leak_like(&growth, vt_replay_device(replay, i)->reported_bytes))
			continue;
		report->growing = true;
		report->growth = growth;
	}
	return 0;
}

int vt_oom_report_run(struct vt_oom_report *report, struct vt_session *session, bool quiet, struct vt_err *err)
{
	int r;

	*report = (struct vt_oom_report){ .session = session };
	r = vt_attribution_new(&report->attribution, session->symbols, err);
	if (!r)
		r = vt_levels_view_new(&report->levels, err);
	if (!r)
		r = vt_segments_new(&report->segments, err);
	if (!r)
		r = vt_steps_new(&report->steps, session->symbols, err);
	if (!r)
		r = vt_calls_new(&report->calls, err);
	if (r < 0)
		return r;

	/* This report comes last: at an error the others must know all that was before it. */
	const struct vt_listener listeners[] = {
		vt_attribution_listener(report->attribution),
		vt_levels_listener(report->levels),
		vt_segments_listener(report->segments),
		vt_steps_listener(report->steps),
		vt_calls_listener(report->calls),
		{ .self = report, .driver = on_driver, .sample = on_sample, .oom = on_oom, .end = on_end },
	};

	for (size_t i = 0; i < VT_ARRAY_SIZE(listeners) && !r; i++)
		r = vt_replay_add(session->replay, &listeners[i], err);
	if (!r)
		r = vt_session_run(session, quiet, err);
	for (unsigned i = 0; i < report->nstories && !r; i++)
		r = take_holders(report, &report->stories[i], err);
	return r;
}

void vt_oom_report_done(struct vt_oom_report *report)
{
	for (unsigned i = 0; i < report->nstories; i++)
		vt_holders_done(&report->stories[i].holders);
	vt_calls_free(report->calls);
	vt_steps_free(report->steps);
	vt_segments_free(report->segments);
	vt_levels_view_free(report->levels);
	vt_attribution_free(report->attribution);
	*report = (struct vt_oom_report){ .session = NULL };
}
