/* timeline.c - see timeline.h. */
#include "analyze/views/timeline.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"

#define SPANS 4096	   /* of each device; even */
#define SPAN_FIRST_NS 1024 /* SPANS of these are 4 ms: short against any program */

struct track {
	uint64_t *allocated; /* [SPANS] maxima; valid up to `last` */
	uint64_t *reserved;
	uint32_t last; /* span of the latest event */
	uint64_t now_allocated, now_reserved;
	uint64_t span_ns;
};

struct vt_timeline {
	struct track *tracks;
	size_t room;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t from_ns, to_ns; /* what is looked at; to_ns 0: to the end */
};

int vt_timeline_new(struct vt_timeline **ret, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : vt_err_set(err, VT_E_NOMEM, "no memory for the timeline");
}

void vt_timeline_free(struct vt_timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->room; i++) {
		free(timeline->tracks[i].allocated);
		free(timeline->tracks[i].reserved);
	}
	free(timeline->tracks);
	free(timeline);
}

static uint64_t max(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

static void halve(struct track *track)
{
	for (size_t i = 0; i < SPANS / 2; i++) {
		/* Spans after the last one hold nothing yet. */
		bool pair = 2 * i + 1 <= track->last;

		if (2 * i > track->last)
			break;
		track->allocated[i] = max(track->allocated[2 * i], pair ? track->allocated[2 * i + 1] : 0);
		track->reserved[i] = max(track->reserved[2 * i], pair ? track->reserved[2 * i + 1] : 0);
	}
	track->last /= 2;
	track->span_ns *= 2;
}

/* Brings the track to a time: the values so far hold until then. */
static void advance(struct track *track, uint64_t since_start_ns)
{
	while (since_start_ns / track->span_ns >= SPANS)
		halve(track);
	while (track->last < since_start_ns / track->span_ns) {
		track->last++;
		track->allocated[track->last] = track->now_allocated;
		track->reserved[track->last] = track->now_reserved;
	}
}

static struct track *find_track(struct vt_timeline *timeline, uint32_t device, struct vt_err *err)
{
	struct track *track;

	if (vt_array_reach((void **)&timeline->tracks, &timeline->room, device, sizeof(*timeline->tracks)) < 0)
		goto no_memory;
	track = &timeline->tracks[device];
	if (track->span_ns)
		return track;
	free(track->allocated);
	free(track->reserved);
	track->allocated = calloc(SPANS, sizeof(uint64_t));
	track->reserved = calloc(SPANS, sizeof(uint64_t));
	if (!track->allocated || !track->reserved)
		goto no_memory;
	track->span_ns = SPAN_FIRST_NS;
	return track;
no_memory:
	vt_err_set(err, VT_E_NOMEM, "no memory for the timeline of device %u", device);
	return NULL;
}

void vt_timeline_window(struct vt_timeline *timeline, uint64_t from_ns, uint64_t to_ns)
{
	timeline->from_ns = from_ns;
	timeline->to_ns = to_ns;
}

static uint64_t start_of(const struct vt_timeline *timeline, const struct vt_replay *replay)
{
	return max(vt_replay_first_ns(replay), timeline->from_ns);
}

static int update(struct vt_timeline *timeline, const struct vt_replay *replay, uint64_t time_ns, uint32_t device,
		  struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(replay, device);
	struct track *track;

	if (!state || (timeline->to_ns && time_ns > timeline->to_ns))
		return 0;
	track = find_track(timeline, device, err);
	if (!track)
		return -VT_E_NOMEM;
	timeline->start_ns = start_of(timeline, replay);
	advance(track, time_ns > timeline->start_ns ? time_ns - timeline->start_ns : 0);
	/* Before the window: only the last state counts. */
	if (time_ns < timeline->start_ns)
		track->allocated[0] = track->reserved[0] = 0;
	track->now_allocated = state->reported_bytes;
	track->now_reserved = state->reserved_bytes;
	track->allocated[track->last] = max(track->allocated[track->last], track->now_allocated);
	track->reserved[track->last] = max(track->reserved[track->last], track->now_reserved);
	return 0;
}

static int on_block(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	return update(self, replay, item->time_ns, block->device, err);
}

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	return update(self, replay, item->time_ns, device, err);
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_timeline *timeline = self;

	(void)err;
	timeline->start_ns = start_of(timeline, replay);
	timeline->end_ns = max(vt_replay_last_ns(replay), timeline->start_ns);
	if (timeline->to_ns && timeline->end_ns > timeline->to_ns)
		timeline->end_ns = max(timeline->to_ns, timeline->start_ns);
	for (size_t i = 0; i < timeline->room; i++)
		if (timeline->tracks[i].span_ns)
			advance(&timeline->tracks[i], timeline->end_ns - timeline->start_ns);
	return 0;
}

struct vt_listener vt_timeline_listener(struct vt_timeline *timeline)
{
	return (struct vt_listener){
		.self = timeline, .alloc = on_block, .free = on_block, .driver = on_driver, .end = on_end
	};
}

int vt_timeline_draw(const struct vt_timeline *timeline, uint32_t device, uint32_t columns,
		     struct vt_timeline_picture *ret, struct vt_err *err)
{
	const struct track *track = device < timeline->room ? &timeline->tracks[device] : NULL;
	uint32_t spans, each;

	*ret = (struct vt_timeline_picture){ .start_ns = timeline->start_ns };
	if (!track || !track->span_ns || !columns)
		return 0;
	/* Whole spans for each column, so that a column's maximum is exact. */
	spans = track->last + 1;
	each = (spans + columns - 1) / columns;
	ret->columns = (spans + each - 1) / each;
	ret->column_ns = each * track->span_ns;
	ret->allocated = calloc(ret->columns, sizeof(uint64_t));
	ret->reserved = calloc(ret->columns, sizeof(uint64_t));
	if (!ret->allocated || !ret->reserved) {
		vt_timeline_picture_done(ret);
		return vt_err_set(err, VT_E_NOMEM, "no memory for the timeline's picture");
	}
	for (uint32_t i = 0; i < spans; i++) {
		ret->allocated[i / each] = max(ret->allocated[i / each], track->allocated[i]);
		ret->reserved[i / each] = max(ret->reserved[i / each], track->reserved[i]);
	}
	return 0;
}

void vt_timeline_picture_done(struct vt_timeline_picture *picture)
{
	free(picture->allocated);
	free(picture->reserved);
	*picture = (struct vt_timeline_picture){ .columns = 0 };
}
