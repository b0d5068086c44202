/* live.c - see live.h. */
#include "analyze/views/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "analyze/render/losses.h"
#include "analyze/views/idmap.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

/* Between the threads' clocks and the recorder's commit: what is older is in the file. */
#define MARGIN_NS 100000000
/* After this without an event there is nothing to wait for. */
#define SILENCE_NS 2000000000

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int vt_live_begin(struct vt_live *live, const char *path, const struct vt_common_options *options, struct vt_err *err)
{
	struct vt_listener listener;
	int r;

	*live = (struct vt_live){ .path = path, .options = options };
	r = vt_groups_new(&live->groups, err);
	if (!r)
		r = vt_replay_new(&live->replay, err);
	if (r < 0)
		return r;
	listener = vt_groups_listener(live->groups);
	return vt_replay_add(live->replay, &listener, err);
}

/* The replay outlives the session that lends it out. */
static void close_session(struct vt_live *live)
{
	live->session.replay = NULL;
	vt_session_done(&live->session);
}

void vt_live_done(struct vt_live *live)
{
	close_session(live);
	vt_replay_free(live->replay);
	vt_groups_free(live->groups);
	for (size_t i = 0; i < live->room; i++)
		free(live->devices[i]);
	free(live->devices);
	*live = (struct vt_live){ .path = NULL };
}

struct extent {
	uint64_t events, last_ns;
};

static int take_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct extent *extent = arg;

	extent->events += info->events;
	extent->last_ns = info->last_ns > extent->last_ns ? info->last_ns : extent->last_ns;
	return 0;
}

/* A file that is written has a log beside it; the recorder folds it in at the end. */
static bool has_log(const char *path)
{
	char name[4096];

	(void)snprintf(name, sizeof(name), "%s-wal", path);
	return !access(name, F_OK);
}

static int take_events(struct vt_live *live, uint64_t until_ns, struct vt_err *err)
{
	static const uint32_t kinds[] = { VT_EVENT_tensor, VT_EVENT_driver_memory, VT_EVENT_device_sample, VT_EVENT_oom,
					  VT_EVENT_note };
	const struct vt_cursor_options options = { .kinds = kinds,
						   .nkinds = VT_ARRAY_SIZE(kinds),
						   .process = live->session.process,
						   .from_ns = live->taken_ns + 1,
						   .to_ns = until_ns };
	struct vt_cursor *cursor = NULL;
	int r = vt_cursor_open(&cursor, live->session.store, &options, err);

	if (!r)
		r = vt_replay_run(live->replay, cursor, err);
	vt_cursor_close(cursor);
	live->taken_ns = until_ns;
	return r;
}

static int remember(struct vt_live *live, struct vt_err *err)
{
	for (uint32_t i = 0; i < vt_replay_device_count(live->replay); i++) {
		struct vt_live_device *device;

		if (vt_array_reach((void **)&live->devices, &live->room, i, sizeof(struct vt_live_device *)) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for device %u", i);
		if (!live->devices[i])
			live->devices[i] = calloc(1, sizeof(*device));
		device = live->devices[i];
		if (!device)
			return vt_err_set(err, VT_E_NOMEM, "no memory for device %u", i);
		device->looks[device->count++ % VT_LIVE_HISTORY] =
			(struct vt_live_look){ live->look_ns, vt_replay_device(live->replay, i)->reported_bytes };
	}
	return 0;
}

static int look(struct vt_live *live, struct vt_err *err)
{
	struct extent extent = { .events = 0 };
	uint64_t until_ns;
	int r;

	/* Before the file: what ends between the two looks is seen next time. */
	live->ended = !has_log(live->path);
	close_session(live);
	r = vt_session_open(&live->session, live->path, live->options, "end", err);
	vt_replay_free(live->session.replay);
	live->session.replay = live->replay;
	if (!r)
		r = vt_store_each_chunk(live->session.store, take_chunk, &extent, err);
	if (!r)
		r = vt_losses_total(live->session.store, live->session.process, &live->lost, err);
	if (r < 0)
		return r;
	live->look_before_ns = live->look_ns;
	live->events_before = live->events;
	live->look_ns = now_ns();
	live->events = extent.events;
	live->last_ns = extent.last_ns;
	(void)snprintf(live->warning, sizeof(live->warning), "%s",
		       vt_store_warning(live->session.store) ? vt_store_warning(live->session.store) : "");
	/* The log stays where somebody was reading just when it was to be folded in. */
	live->ended |= vt_store_meta(live->session.store, "exit_status") && live->look_ns > extent.last_ns + SILENCE_NS;
	live->ooms = live->session.ooms;
	until_ns = extent.last_ns;
	/* Of another boot, or over, or silent: all there is. */
	if (!live->ended && live->look_ns >= extent.last_ns && live->look_ns - extent.last_ns < SILENCE_NS)
		until_ns -= until_ns < MARGIN_NS ? until_ns : MARGIN_NS;
	if (until_ns > live->taken_ns)
		r = take_events(live, until_ns, err);
	return r ? r : remember(live, err);
}

int vt_live_look(struct vt_live *live, struct vt_err *err)
{
	int r = look(live, err);

	vt_store_close(live->session.store);
	live->session.store = NULL;
	return r;
}

double vt_live_rate(const struct vt_live *live)
{
	if (!live->look_before_ns || live->look_ns <= live->look_before_ns || live->events < live->events_before)
		return -1;
	return (double)(live->events - live->events_before) * 1e9 / (double)(live->look_ns - live->look_before_ns);
}

int64_t vt_live_growth(const struct vt_live *live, uint32_t device, uint64_t span_ns, uint64_t *ret_ns)
{
	const struct vt_live_device *own = device < live->room ? live->devices[device] : NULL;
	const struct vt_live_look *last, *then;
	size_t kept;

	*ret_ns = 0;
	if (!own || own->count < 2)
		return 0;
	kept = own->count < VT_LIVE_HISTORY ? own->count : VT_LIVE_HISTORY;
	last = then = &own->looks[(own->count - 1) % VT_LIVE_HISTORY];
	for (size_t back = 2; back <= kept && last->time_ns - then->time_ns < span_ns; back++)
		then = &own->looks[(own->count - back) % VT_LIVE_HISTORY];
	*ret_ns = last->time_ns - then->time_ns;
	return (int64_t)(last->allocated_bytes - then->allocated_bytes);
}

static int by_place(const void *a, const void *b)
{
	const struct vt_live_holder *x = a, *y = b;

	return vt_place_compare(&x->place, &y->place);
}

static int by_bytes(const void *a, const void *b)
{
	const struct vt_live_holder *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return by_place(a, b);
}

/* Puts those that read the same together, in place; returns how many are left. */
static size_t merge(struct vt_live_holder *list, size_t n)
{
	size_t merged = 0;

	qsort(list, n, sizeof(*list), by_place);
	for (size_t i = 0; i < n; i++) {
		if (!merged || by_place(&list[merged - 1], &list[i])) {
			list[merged++] = list[i];
			continue;
		}
		list[merged - 1].bytes += list[i].bytes;
		list[merged - 1].blocks += list[i].blocks;
	}
	return merged;
}

int vt_live_holders(const struct vt_live *live, uint32_t device, size_t most, struct vt_live_holders *ret,
		    struct vt_err *err)
{
	uint32_t process = vt_replay_device(live->replay, device)->process, groups = vt_groups_count(live->groups);
	struct vt_live_holder *list = calloc((size_t)groups + 1, sizeof(*list));
	size_t n = 0;

	*ret = (struct vt_live_holders){ .list = list };
	if (!list)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the holders");
	for (uint32_t i = 0; i < groups; i++) {
		struct vt_group group = vt_groups_get(live->groups, i);

		if (group.device != device || !group.live_bytes)
			continue;
		list[n] = (struct vt_live_holder){ .bytes = group.live_bytes, .blocks = group.live_blocks };
		vt_place_find(live->session.symbols, process, group.op, group.stack, &list[n++].place);
	}
	ret->all = merge(list, n);
	qsort(list, ret->all, sizeof(*list), by_bytes);
	ret->count = ret->all < most ? ret->all : most;
	return 0;
}
