/* page_space.c - see page_space.h. */
#include "analyze/page/page_space.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"
#include "schema/base/cleanup.h"

static size_t count_of(const struct vt_buf *buf, size_t size)
{
	return buf->bytes / size;
}

static int keep_segment(struct vt_page_space *own, const struct vt_space *space, const struct vt_space_segment *from)
{
	struct vt_page_segment segment = { .start = from->start,
					   .bytes = from->bytes,
					   .small = from->small,
					   .first_piece = count_of(&own->pieces, sizeof(struct vt_page_piece)) };
	struct vt_page_piece piece = { .offset = 0 };
	int r = 0;

	for (size_t i = 0; i < from->nblocks && !r; i++) {
		const struct vt_space_block *block = &space->blocks[from->first_block + i];
		uint64_t offset = block->start - from->start;

		if (piece.bytes && piece.offset + piece.bytes == offset) {
			piece.bytes += block->bytes;
			continue;
		}
		if (piece.bytes)
			r = vt_buf_append(&own->pieces, &piece, sizeof(piece));
		piece = (struct vt_page_piece){ offset, block->bytes };
	}
	if (piece.bytes && !r)
		r = vt_buf_append(&own->pieces, &piece, sizeof(piece));
	segment.npieces = count_of(&own->pieces, sizeof(piece)) - segment.first_piece;
	return r ? r : vt_buf_append(&own->segments, &segment, sizeof(segment));
}

static int take(struct vt_page_space *own, const struct vt_replay *replay, uint32_t device, uint64_t time_ns, bool oom,
		struct vt_err *err)
{
	VT_CLEANUP(vt_space_done) struct vt_space space = { .nsegments = 0 };
	struct vt_page_moment moment = { .device = device,
					 .oom = oom,
					 .time_ns = time_ns,
					 .first_segment = count_of(&own->segments, sizeof(struct vt_page_segment)) };
	int r = vt_space_take(&space, own->of, replay, device, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < space.nsegments && !r; i++)
		r = keep_segment(own, &space, &space.segments[i]);
	moment.nsegments = space.nsegments;
	moment.live_bytes = space.pools[0].live_bytes + space.pools[1].live_bytes;
	moment.stray_bytes = space.stray_bytes;
	if (r || vt_buf_append(&own->moments, &moment, sizeof(moment)) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the segments of the page");
	return 0;
}

static bool is_full(const struct vt_page_space *own)
{
	return count_of(&own->pieces, sizeof(struct vt_page_piece)) >= VT_PAGE_PIECES_MAX;
}

/* NULL: no memory. */
static struct vt_page_space_cursor *find_cursor(struct vt_page_space *own, uint32_t device)
{
	const struct vt_page_bins_device *bins = &own->bins->devices[device];
	struct vt_page_space_cursor *cursor;

	if (vt_array_reach((void **)&own->cursors, &own->room, device, sizeof(*own->cursors)) < 0)
		return NULL;
	cursor = &own->cursors[device];
	if (cursor->known)
		return cursor;
	cursor->known = true;
	for (size_t i = 0; i < bins->count; i++)
		if (bins->list[i].allocated_bytes > bins->list[cursor->peak].allocated_bytes)
			cursor->peak = i;
	return cursor;
}

static int on_device(struct vt_page_space *own, const struct vt_replay *replay, uint64_t time_ns, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_page_bins_device *bins = device < own->bins->room ? &own->bins->devices[device] : NULL;
	const struct vt_device *state = vt_replay_device(replay, device);
	struct vt_page_space_cursor *cursor;
	size_t *next, every;
	bool named;

	if (!bins || !bins->count || !state->driver_bytes)
		return 0;
	cursor = find_cursor(own, device);
	if (!cursor)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the segments of the page");
	next = &cursor->next;
	while (*next < bins->count && bins->list[*next].at_ns < time_ns)
		++*next;
	if (*next >= bins->count || bins->list[*next].at_ns != time_ns)
		return 0;
	every = (bins->count + VT_PAGE_MOMENTS - 1) / VT_PAGE_MOMENTS;
	/* The last event of a moment is the one whose figures the bin has. */
	if (bins->list[*next].allocated_bytes != state->reported_bytes)
		return 0;
	named = *next + 1 == bins->count || *next == cursor->peak;
	if (!named && (is_full(own) || *next % every))
		return 0;
	++*next;
	return take(own, replay, device, time_ns, false, err);
}

static int on_block(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	return on_device(self, replay, item->time_ns, block->device, err);
}

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	return on_device(self, replay, item->time_ns, device, err);
}

static int on_oom(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		  struct vt_err *err)
{
	struct vt_page_space *own = self;

	return is_full(own) ? 0 : take(own, replay, device, item->time_ns, true, err);
}

struct vt_listener vt_page_space_listener(struct vt_page_space *space)
{
	return (struct vt_listener){ .self = space,
				     .alloc = on_block,
				     .free = on_block,
				     .driver = on_driver,
				     .sample = on_driver,
				     .oom = on_oom };
}

void vt_page_space_done(struct vt_page_space *space)
{
	vt_buf_done(&space->segments);
	vt_buf_done(&space->pieces);
	vt_buf_done(&space->moments);
	free(space->cursors);
	*space = (struct vt_page_space){ .bins = NULL };
}
