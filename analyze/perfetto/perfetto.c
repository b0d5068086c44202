/* perfetto.c - see perfetto.h: one replay, and what comes before and after it in the file. */
#include "analyze/perfetto/perfetto.h"

#include "analyze/perfetto/pf_events.h"
#include "schema/base/cleanup.h"

/* Ids of the packet sequences; heaps have the ones after. */
enum { SEQUENCE_MEMORY = 1, SEQUENCE_CALLS = 2, SEQUENCE_HEAPS = 100 };

struct export {
	struct vt_pf_output output;
	struct vt_pf_clocks clocks;
	struct vt_pf_sequence memory;
	struct vt_pf_sequence calls;
	struct vt_pf_tracks tracks;
	struct vt_pf_events events;
	struct vt_groups *groups;
	struct vt_replay *replay;
};

static void close_cursor(struct vt_cursor **cursor)
{
	vt_cursor_close(*cursor);
}

/* The first pairing of the file. */
static int take_clock(void *arg, const struct vt_clock_row *row)
{
	struct vt_pf_clocks *clocks = arg;

	if (!clocks->monotonic_ns)
		*clocks = (struct vt_pf_clocks){ row->monotonic_ns, row->realtime_ns, row->boottime_ns };
	return 0;
}

/* Incremental timestamps count up from the pairing: it must lie before every event. */
static int take_start(void *arg, const struct vt_process_row *row)
{
	struct vt_pf_clocks *clocks = arg;
	uint64_t back;

	if (!clocks->monotonic_ns)
		*clocks = (struct vt_pf_clocks){ row->start_ns, row->start_ns, row->start_ns };
	back = row->start_ns && row->start_ns < clocks->monotonic_ns ? clocks->monotonic_ns - row->start_ns : 0;
	clocks->monotonic_ns -= back;
	clocks->realtime_ns -= back < clocks->realtime_ns ? back : clocks->realtime_ns;
	clocks->boottime_ns -= back < clocks->boottime_ns ? back : clocks->boottime_ns;
	return 0;
}

static int take_kernel_config(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_kernel_config *config = (const struct vt_kernel_config *)(const void *)rec;
	struct vt_pf_events *events = arg;
	uint32_t place = vt_idmap_add(&events->configs, (struct vt_idmap_key){ process, config->id, 0 });

	if (place == VT_IDMAP_NONE || vt_array_reach((void **)&events->config_names, &events->config_room, place,
						     sizeof(*events->config_names)) < 0)
		return -VT_E_NOMEM;
	events->config_names[place] = config->name;
	return 0;
}

static int take_loss(void *arg, const struct vt_loss_row *row)
{
	*(uint64_t *)arg += row->count;
	return 0;
}

/* Perfetto raises its data-loss warning for a sequence that says so. */
static int flag_losses(struct export *export, struct vt_store *store, struct vt_err *err)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;
	uint64_t lost = 0;
	int r = vt_store_each_loss(store, take_loss, &lost, err);

	if (r < 0 || !lost)
		return r;
	packet.has_previous_packet_dropped = 1;
	packet.previous_packet_dropped = 1;
	vt_pf_write(&export->calls, &packet, 0);
	return 0;
}

static int begin(struct export *export, struct vt_store *store, const struct vt_symbols *symbols,
		 const struct vt_pf_options *options, struct vt_err *err)
{
	struct vt_listener listener;
	int r = vt_store_each_clock(store, take_clock, &export->clocks, err);

	if (r == 0)
		r = vt_store_each_process(store, take_start, &export->clocks, err);
	if (r < 0)
		return r;
	vt_pf_sequence_begin(&export->memory, &export->output, symbols, SEQUENCE_MEMORY, &export->clocks, true);
	vt_pf_sequence_begin(&export->calls, &export->output, symbols, SEQUENCE_CALLS, &export->clocks, false);
	r = vt_pf_tracks_begin(&export->tracks, &export->memory, store, err);
	if (r == 0)
		r = vt_groups_new(&export->groups, err);
	if (r == 0)
		r = vt_replay_new(&export->replay, err);
	export->events = (struct vt_pf_events){ .detail = options->detail,
						.symbols = symbols,
						.tracks = &export->tracks,
						.memory = &export->memory,
						.calls = &export->calls,
						.groups = export->groups };
	if (r == 0)
		r = vt_store_each_record(store, vt_event_find(VT_EVENT_kernel_config), take_kernel_config, &export->events, err);
	if (r == 0) {
		listener = vt_groups_listener(export->groups);
		r = vt_replay_add(export->replay, &listener, err);
	}
	if (r == 0) {
		listener = vt_pf_events_listener(&export->events);
		r = vt_replay_add(export->replay, &listener, err);
	}
	return r;
}

/* Kernels and copies have a pass of their own: they change nothing that the replay keeps. */
static int write_work(struct export *export, struct vt_store *store, const struct vt_pf_options *options,
		      struct vt_err *err)
{
	static const uint32_t kinds[] = { VT_EVENT_kernel, VT_EVENT_copy };
	VT_CLEANUP(close_cursor) struct vt_cursor *cursor = NULL;
	struct vt_cursor_options only = options->cursor;
	struct vt_item item;
	int r;

	only.kinds = kinds;
	only.nkinds = 2;
	r = vt_cursor_open(&cursor, store, &only, err);
	while (r == 0 && (r = vt_cursor_next(cursor, &item, err)) > 0) {
		if (item.event->id == VT_EVENT_kernel)
			vt_pf_events_kernel(&export->events, item.process, (const struct vt_kernel *)(const void *)item.rec);
		else
			vt_pf_events_copy(&export->events, item.process, (const struct vt_copy *)(const void *)item.rec);
		r = 0;
	}
	return r;
}

static int run(struct export *export, struct vt_store *store, const struct vt_pf_options *options, struct vt_err *err)
{
	static const uint32_t kinds[] = { VT_EVENT_tensor, VT_EVENT_driver_memory, VT_EVENT_op, VT_EVENT_device_sample,
					  VT_EVENT_oom, VT_EVENT_note };
	VT_CLEANUP(close_cursor) struct vt_cursor *cursor = NULL;
	struct vt_cursor_options replayed = options->cursor;
	int r;

	replayed.kinds = kinds;
	replayed.nkinds = sizeof(kinds) / sizeof(kinds[0]);
	r = vt_cursor_open(&cursor, store, &replayed, err);
	return r == 0 ? vt_replay_run(export->replay, cursor, err) : r;
}

int vt_perfetto_export(FILE *out, struct vt_store *store, const struct vt_symbols *symbols,
		       const struct vt_pf_options *options, struct vt_pf_summary *ret, struct vt_err *err)
{
	struct export export = { .replay = NULL };
	int r;
	int done;

	vt_pf_output_init(&export.output, out);
	r = begin(&export, store, symbols, options, err);
	if (r == 0)
		r = run(&export, store, options, err);
	if (r == 0)
		r = write_work(&export, store, options, err);
	if (r == 0)
		r = flag_losses(&export, store, err);
	if (r == 0)
		r = vt_pf_heaps_write(&export.events.heaps, export.groups, export.replay, &export.tracks, &export.clocks,
				      SEQUENCE_HEAPS, err);
	vt_pf_events_done(&export.events);
	vt_pf_tracks_done(&export.tracks);
	vt_pf_sequence_done(&export.memory);
	vt_pf_sequence_done(&export.calls);
	vt_replay_free(export.replay);
	vt_groups_free(export.groups);
	*ret = (struct vt_pf_summary){ export.output.packets, export.output.bytes };
	done = vt_pf_output_done(&export.output, r == 0 ? err : NULL);
	return r < 0 ? r : done;
}
