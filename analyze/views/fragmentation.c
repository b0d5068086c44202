/* fragmentation.c - see fragmentation.h: the two passes, and the sentence. */
#include "analyze/views/fragmentation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/views/alloc_conf.h"
#include "analyze/views/idmap.h"
#include "schema/base/bits.h"

static struct vt_fragmentation_moment *new_moment(struct vt_fragmentation *report, enum vt_fragmentation_when when,
						  uint32_t device, uint64_t time_ns)
{
	const struct vt_device *state = vt_replay_device(report->session->replay, device);
	struct vt_fragmentation_moment *moment;

	if (report->nmoments == VT_FRAGMENTATION_MOMENTS_MAX)
		return NULL;
	moment = &report->moments[report->nmoments++];
	*moment = (struct vt_fragmentation_moment){
		.when = when,
		.device = device,
		.time_ns = time_ns,
		.reserved_bytes = state->reserved_bytes,
		.allocated_bytes = state->reported_bytes,
	};
	return moment;
}

static int fill(struct vt_fragmentation *report, const struct vt_replay *replay, struct vt_fragmentation_moment *moment,
		struct vt_err *err)
{
	int r = vt_space_take(&moment->space, report->segments, replay, moment->device, err);

	if (!r)
		r = vt_pins_list(&moment->space, &moment->pins, &moment->npins, err);
	if (!r && moment->when == VT_FRAGMENTATION_OOM)
		r = vt_obstacles_find(&moment->obstacles, &moment->space, &moment->request, err);
	return r;
}

/* Devices whose memory a caching allocator manages. */
static bool has_pools(const struct vt_device *device)
{
	return device->device_type != VT_device_type_HOST && !device->pool_backend;
}

static int on_block(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	struct vt_fragmentation *report = self;
	const struct vt_device *device = vt_replay_device(replay, block->device);
	struct vt_fragmentation_moment *moment;

	if (!report->wants_peak || block->device >= report->npeaks || !report->peaks[block->device] ||
	    device->peak_allocated_ns != report->peaks[block->device] || item->time_ns != device->peak_allocated_ns ||
	    !has_pools(device) || !vt_session_wants(report->session, block->device))
		return 0;
	report->peaks[block->device] = 0;
	moment = new_moment(report, VT_FRAGMENTATION_PEAK, block->device, item->time_ns);
	return moment ? fill(report, replay, moment, err) : 0;
}

static int on_oom(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		  struct vt_err *err)
{
	const struct vt_oom *oom = (const struct vt_oom *)(const void *)item->rec;
	const struct vt_device *state = vt_replay_device(replay, device);
	struct vt_fragmentation *report = self;
	struct vt_fragmentation_moment *moment;
	const char *conf;

	if (!vt_session_wants(report->session, device) || !has_pools(state))
		return 0;
	report->ooms++;
	if (!report->wants_oom)
		return 0;
	moment = new_moment(report, VT_FRAGMENTATION_OOM, device, item->time_ns);
	if (!moment)
		return 0;
	conf = vt_session_note(report->session, state->process, VT_note_code_ALLOCATOR_CONF, UINT64_MAX);
	moment->oom = *oom;
	moment->request = (struct vt_request){
		.block_bytes = oom->requested_bytes,
		.segment_bytes = vt_torch_segment_bytes(oom->requested_bytes, vt_alloc_conf_large_segment(conf)),
		.device_free_bytes = oom->device_free_bytes,
	};
	return fill(report, replay, moment, err);
}

/* The moment that the user chose is where the pass ends. */
static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_fragmentation *report = self;
	int r = 0;

	if (!report->wants_end)
		return 0;
	for (uint32_t i = 0; i < vt_replay_device_count(replay) && !r; i++) {
		const struct vt_device *device = vt_replay_device(replay, i);
		struct vt_fragmentation_moment *moment;

		if (!has_pools(device) || !(device->allocs || device->frees) || !vt_session_wants(report->session, i))
			continue;
		moment = new_moment(report, VT_FRAGMENTATION_TIME, i, vt_replay_last_ns(replay));
		r = moment ? fill(report, replay, moment, err) : 0;
	}
	return r;
}

static int find_peaks(struct vt_fragmentation *report, bool quiet, struct vt_err *err)
{
	struct vt_session *session = report->session;
	int r = vt_session_run(session, quiet, err);

	if (r < 0)
		return r;
	report->npeaks = vt_replay_device_count(session->replay);
	report->peaks = calloc(report->npeaks ? report->npeaks : 1, sizeof(*report->peaks));
	if (!report->peaks)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the peaks");
	for (uint32_t i = 0; i < report->npeaks; i++)
		report->peaks[i] = vt_replay_device(session->replay, i)->peak_allocated_ns;
	vt_replay_free(session->replay);
	session->replay = NULL;
	return vt_replay_new(&session->replay, err);
}

int vt_fragmentation_run(struct vt_fragmentation *report, struct vt_session *session, const char *at, bool quiet,
			 struct vt_err *err)
{
	int r;

	*report = (struct vt_fragmentation){
		.session = session,
		.wants_peak = !at || !strcmp(at, "peak"),
		.wants_oom = !at || !strcmp(at, "oom"),
	};
	report->wants_end = !report->wants_peak && !report->wants_oom;
	r = vt_segments_new(&report->segments, err);
	if (!r && report->wants_peak)
		r = find_peaks(report, quiet, err);
	if (r < 0)
		return r;

	const struct vt_listener listeners[] = {
		vt_segments_listener(report->segments),
		{ .self = report, .alloc = on_block, .free = on_block, .oom = on_oom, .end = on_end },
	};

	for (size_t i = 0; i < VT_ARRAY_SIZE(listeners) && !r; i++)
		r = vt_replay_add(session->replay, &listeners[i], err);
	return r ? r : vt_session_run(session, quiet, err);
}

void vt_fragmentation_done(struct vt_fragmentation *report)
{
	for (unsigned i = 0; i < report->nmoments; i++) {
		vt_space_done(&report->moments[i].space);
		vt_obstacles_done(&report->moments[i].obstacles);
		free(report->moments[i].pins);
	}
	vt_segments_free(report->segments);
	free(report->peaks);
	*report = (struct vt_fragmentation){ .session = NULL };
}

const char *vt_fragmentation_pool_name(unsigned pool)
{
	return pool ? "large" : "small";
}

static void say_obstacles(char out[VT_FRAGMENTATION_SENTENCE_MAX], const struct vt_fragmentation_moment *moment,
			  const char *unallocated, const char *asked)
{
	const struct vt_obstacles *obstacles = &moment->obstacles;
	char bytes[VT_FORMAT_MAX], count[VT_FORMAT_MAX], room[VT_FORMAT_MAX], missing[VT_FORMAT_MAX];

	(void)vt_format_bytes(bytes, obstacles->bytes);
	(void)vt_format_count(count, obstacles->nblocks);
	(void)vt_format_bytes(room, obstacles->room_bytes);
	(void)vt_format_bytes(missing, obstacles->short_bytes);
	if (obstacles->kind == VT_OBSTACLE_SHORT)
		(void)snprintf(out, VT_FRAGMENTATION_SENTENCE_MAX,
			       "%s reserved but unallocated, and %s could not be served: with all that is free on the "
			       "device it is %s short. No arrangement of the blocks would have served it.",
			       unallocated, asked, missing);
	else if (obstacles->kind == VT_OBSTACLE_NONE)
		(void)snprintf(
			out, VT_FRAGMENTATION_SENTENCE_MAX,
			"%s reserved but unallocated, and %s could not be served, though a free range or the "
			"device has the room: it belongs to another stream or pool, or PyTorch's own limit stood "
			"in the way.",
			unallocated, asked);
	else
		(void)snprintf(
			out, VT_FRAGMENTATION_SENTENCE_MAX,
			"%s reserved but unallocated, and %s could not be served: because of %s block%s (%s) that "
			"%s%s %s of free room%s.",
			unallocated, asked, obstacles->nblocks == 1 ? "one" : count, obstacles->nblocks == 1 ? "" : "s",
			bytes, obstacles->kind == VT_OBSTACLE_WINDOW ? "part" : "pin",
			obstacles->nblocks == 1 ? "s" : "", room,
			obstacles->kind == VT_OBSTACLE_WINDOW ? " side by side"
							      : " in segments that could otherwise be given back");
}

const char *vt_fragmentation_sentence(char out[VT_FRAGMENTATION_SENTENCE_MAX],
				      const struct vt_fragmentation_moment *moment)
{
	const struct vt_space_pool *pools = moment->space.pools;
	char unallocated[VT_FORMAT_MAX], asked[VT_FORMAT_MAX], pinned[VT_FORMAT_MAX], count[VT_FORMAT_MAX];
	uint64_t free_bytes = moment->reserved_bytes - moment->allocated_bytes;
	uint64_t held = vt_space_pinned_bytes(&pools[0]) + vt_space_pinned_bytes(&pools[1]);

	(void)vt_format_bytes(unallocated, moment->reserved_bytes > moment->allocated_bytes ? free_bytes : 0);
	(void)vt_format_bytes(asked, moment->request.block_bytes);
	if (moment->when == VT_FRAGMENTATION_OOM && moment->space.nsegments) {
		say_obstacles(out, moment, unallocated, asked);
		return out;
	}
	(void)vt_format_bytes(pinned, held);
	(void)vt_format_count(count, moment->npins);
	(void)snprintf(out, VT_FRAGMENTATION_SENTENCE_MAX,
		       "%s reserved but unallocated; %s of it cannot be given back, because live blocks lie in its %s "
		       "segment%s.",
		       unallocated, pinned, count, moment->npins == 1 ? "" : "s");
	return out;
}
