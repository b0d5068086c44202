/* fragmentation_json.c - see fragmentation.h: the report as one JSON object. */
#include "analyze/commands/open.h"
#include "analyze/render/losses.h"
#include "analyze/views/fragmentation.h"
#include "analyze/views/place.h"

struct putting {
	const struct vt_fragmentation *report;
	const struct vt_fragmentation_moment *moment;
	struct vt_json *json;
	uint64_t top;
};

static void put_pool(struct vt_json *json, const struct vt_space *space, unsigned index)
{
	const struct vt_space_pool *pool = &space->pools[index];

	vt_json_object(json);
	vt_json_put_string(json, "pool", vt_fragmentation_pool_name(index));
	vt_json_put_u64(json, "segments", pool->segments);
	vt_json_put_u64(json, "segment_bytes", pool->segment_bytes);
	vt_json_put_u64(json, "live_blocks", pool->live_blocks);
	vt_json_put_u64(json, "live_bytes", pool->live_bytes);
	vt_json_put_u64(json, "free_bytes", pool->free_bytes);
	vt_json_put_u64(json, "free_ranges", pool->free_ranges);
	vt_json_put_u64(json, "largest_free_bytes", pool->largest_free_bytes);
	vt_json_put_u64(json, "pinned_bytes", vt_space_pinned_bytes(pool));
	vt_json_put_double(json, "fragmentation", vt_space_fragmentation(pool));
	vt_json_put_array(json, "free_by_size");
	for (unsigned i = 0; i < VT_SPACE_CLASSES; i++) {
		vt_json_object(json);
		vt_json_name(json, "below_bytes");
		if (i + 1 < VT_SPACE_CLASSES)
			vt_json_u64(json, vt_space_class_below[i]);
		else
			vt_json_null(json);
		vt_json_put_u64(json, "free_ranges", pool->class_ranges[i]);
		vt_json_put_u64(json, "free_bytes", pool->class_bytes[i]);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
	vt_json_object_end(json);
}

static void put_block(const struct putting *put, const struct vt_space_block *block)
{
	const struct vt_session *session = put->report->session;

	vt_json_object(put->json);
	vt_json_put_u64(put->json, "address", block->start);
	vt_json_put_u64(put->json, "block_bytes", block->bytes);
	vt_json_put_u64(put->json, "age_ns", put->moment->time_ns - block->alloc_ns);
	vt_place_json(put->json, session->symbols, vt_replay_device(session->replay, put->moment->device)->process,
		      block->op, block->stack);
	vt_json_object_end(put->json);
}

/* The blocks of a segment, at most top of them. */
static void put_segment(const struct putting *put, const struct vt_space_segment *segment)
{
	struct vt_json *json = put->json;

	vt_json_object(json);
	vt_json_put_string(json, "pool", vt_fragmentation_pool_name(!segment->small));
	vt_json_put_u64(json, "address", segment->start);
	vt_json_put_u64(json, "segment_bytes", segment->bytes);
	vt_json_put_bool(json, "expandable", segment->page_bytes != 0);
	vt_json_put_u64(json, "live_bytes", segment->live_bytes);
	vt_json_put_u64(json, "live_blocks", segment->nblocks);
	vt_json_put_u64(json, "free_bytes", segment->bytes - segment->live_bytes);
	vt_json_put_u64(json, "largest_free_bytes", segment->largest_free_bytes);
	vt_json_put_array(json, "blocks");
	for (size_t i = 0; i < segment->nblocks && i < put->top; i++)
		put_block(put, &put->moment->space.blocks[segment->first_block + i]);
	vt_json_array_end(json);
	vt_json_object_end(json);
}

static void put_obstacles(const struct putting *put)
{
	static const char *const kinds[] = { "free_range", "blocks_between", "blocks_in_segments", "too_little" };
	const struct vt_fragmentation_moment *moment = put->moment;
	const struct vt_obstacles *obstacles = &moment->obstacles;
	bool small = moment->request.block_bytes <= VT_TORCH_SMALL_REQUEST;
	struct vt_json *json = put->json;

	vt_json_name(json, "request");
	if (moment->when != VT_FRAGMENTATION_OOM) {
		vt_json_null(json);
		return;
	}
	vt_json_object(json);
	vt_json_put_u64(json, "requested_bytes", moment->request.block_bytes);
	vt_json_put_u64(json, "tried_bytes", moment->request.segment_bytes);
	vt_json_put_u64(json, "free_bytes", moment->request.device_free_bytes);
	vt_json_put_double(json, "unusable", vt_space_unusable(&moment->space, small, moment->request.block_bytes));
	vt_json_put_string(json, "obstacle", kinds[obstacles->kind]);
	vt_json_put_u64(json, "obstacle_blocks", obstacles->nblocks);
	vt_json_put_u64(json, "obstacle_bytes", obstacles->bytes);
	vt_json_put_u64(json, "room_bytes", obstacles->room_bytes);
	vt_json_put_u64(json, "short_bytes", obstacles->short_bytes);
	vt_json_put_array(json, "blocks");
	for (size_t i = 0; i < obstacles->nblocks && i < put->top; i++)
		put_block(put, &moment->space.blocks[obstacles->blocks[i]]);
	vt_json_array_end(json);
	vt_json_object_end(json);
}

static void put_moment(const struct putting *put)
{
	static const char *const words[] = { "peak", "oom", "time" };
	const struct vt_fragmentation_moment *moment = put->moment;
	const struct vt_session *session = put->report->session;
	char sentence[VT_FRAGMENTATION_SENTENCE_MAX];
	struct vt_json *json = put->json;

	vt_json_object(json);
	vt_session_json_device(session, json, vt_replay_device(session->replay, moment->device));
	vt_json_put_string(json, "at", words[moment->when]);
	vt_json_put_u64(json, "time_ns", vt_session_relative_ns(session, moment->time_ns));
	vt_json_put_u64(json, "reserved_bytes", moment->reserved_bytes);
	vt_json_put_u64(json, "allocated_bytes", moment->allocated_bytes);
	vt_json_put_bool(json, "segments_captured", moment->space.nsegments != 0);
	vt_json_put_u64(json, "blocks_outside_segments", moment->space.stray_blocks);
	vt_json_put_string(json, "sentence", vt_fragmentation_sentence(sentence, moment));
	vt_json_put_array(json, "pools");
	for (unsigned i = 0; i < 2; i++)
		put_pool(json, &moment->space, i);
	vt_json_array_end(json);
	put_obstacles(put);
	vt_json_put_u64(json, "pinned_segments", moment->npins);
	vt_json_put_array(json, "pins");
	for (size_t i = 0; i < moment->npins && i < put->top; i++)
		put_segment(put, &moment->space.segments[moment->pins[i].segment]);
	vt_json_array_end(json);
	vt_json_object_end(json);
}

int vt_fragmentation_json(const struct vt_fragmentation *report, FILE *out, uint64_t top, struct vt_err *err)
{
	struct vt_json json;
	int r;

	vt_json_init(&json, out, false);
	vt_session_json_begin(report->session, &json, "fragmentation");
	vt_json_put_u64(&json, "out_of_memory_errors", report->ooms);
	vt_json_put_array(&json, "moments");
	for (unsigned i = 0; i < report->nmoments; i++)
		put_moment(&(struct putting){ report, &report->moments[i], &json, top });
	vt_json_array_end(&json);
	r = vt_losses_json(&json, report->session->store, err);
	vt_json_object_end(&json);
	return vt_report_json_end(&json, r, err);
}
