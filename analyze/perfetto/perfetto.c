/* perfetto.c - see perfetto.h: one replay, and what comes before and after it in the file. */
#include "analyze/perfetto/perfetto.h"

#include <stdlib.h>

#include "analyze/perfetto/pf_args.h"
#include "analyze/perfetto/pf_calls.h"
#include "analyze/perfetto/pf_memory.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

/* Ids of the packet sequences: small ones take a byte less in each packet. Devices count from SEQUENCE_MEMORY. */
enum { SEQUENCE_COMMON = 1, SEQUENCE_CALLS = 2, SEQUENCE_WORK = 3, SEQUENCE_MEMORY = 16 };
#define SEQUENCE_HEAPS (1u << 20)

struct export
{
	const struct vt_pf_options *options;
	struct vt_store *store;
	const struct vt_symbols *symbols;
	struct vt_pf_output output;
	struct vt_pf_clocks clocks;
	struct vt_pf_sequence common, calls_sequence, work_sequence;
	struct vt_pf_tracks tracks;
	struct vt_pf_gpus gpus;
	struct vt_pf_memory memory;
	struct vt_pf_slices slices;
	struct vt_pf_calls calls;
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

struct losses {
	struct export *export;
	uint64_t time_ns;
	uint64_t count;
};

static int take_loss(void *arg, const struct vt_loss_row *row)
{
	struct losses *losses = arg;
	struct export *export = losses->export;
	const char *kind = vt_enum_text("loss", row->kind);
	uint64_t track = vt_pf_tracks_capture(&export->tracks, row->process);
	struct vt_pf_event event;

	losses->count += row->count;
	if (!row->count || !track)
		return 0;
	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_INSTANT, track);
	vt_pf_event_name(&export->common, &event, "events lost");
	vt_pf_arg_number(&export->common, &event, "count", row->count);
	vt_pf_arg_text(&export->common, &event, "why", kind ? kind : "?");
	vt_pf_write_event(&export->common, VT_PF_TRACK_EVENT, &event, losses->time_ns);
	return 0;
}

/*
 * Losses stand in the row "Capture", at the end: when they happened is not known. Perfetto shows its warning of lost data
 * for what its own recorder would have counted, so the number is put there. (A packet that says that the ones before it
 * were dropped, as the format offers, raises nothing by itself.)
 */
static int write_losses(struct export *export, struct vt_err *err)
{
	struct losses losses = { export, vt_replay_last_ns(export->replay), 0 };
	Pf__TraceStats__BufferStats buffer = PF__TRACE_STATS__BUFFER_STATS__INIT, *buffers = &buffer;
	Pf__TraceStats stats = PF__TRACE_STATS__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;
	int r = vt_store_each_loss(export->store, take_loss, &losses, err);

	if (r < 0 || !losses.count)
		return r;
	buffer.has_trace_writer_packet_loss = 1;
	buffer.trace_writer_packet_loss = losses.count;
	stats.n_buffer_stats = 1;
	stats.buffer_stats = &buffers;
	packet.trace_stats = &stats;
	vt_pf_write(&export->common, &packet, 0);
	return 0;
}

static int begin(struct export *export, struct vt_err *err)
{
	struct vt_listener listener;
	int r = vt_store_each_clock(export->store, take_clock, &export->clocks, err);

	if (r == 0)
		r = vt_store_each_process(export->store, take_start, &export->clocks, err);
	if (r < 0)
		return r;
	vt_pf_sequence_begin(&export->common, &export->output, export->symbols, SEQUENCE_COMMON, &export->clocks, 0);
	vt_pf_sequence_begin(&export->calls_sequence, &export->output, export->symbols, SEQUENCE_CALLS, &export->clocks,
			     0);
	vt_pf_sequence_begin(&export->work_sequence, &export->output, export->symbols, SEQUENCE_WORK, &export->clocks,
			     0);
	r = vt_pf_tracks_begin(&export->tracks, &export->common, export->store, err);
	if (r == 0)
		r = vt_pf_gpus_begin(&export->gpus, &export->work_sequence, &export->tracks, export->store, err);
	if (r == 0)
		r = vt_groups_new(&export->groups, err);
	if (r == 0)
		r = vt_replay_new(&export->replay, err);
	if (r < 0)
		return r;
	export->memory = (struct vt_pf_memory){ .detail = export->options->detail,
						.from_ns = export->options->cursor.from_ns,
						.first_sequence = SEQUENCE_MEMORY,
						.symbols = export->symbols,
						.clocks = &export->clocks,
						.tracks = &export->tracks,
						.gpus = &export->gpus,
						.groups = export->groups,
						.heaps = { .from_ns = export->options->cursor.from_ns },
						.common = &export->common };
	listener = vt_groups_listener(export->groups);
	r = vt_replay_add(export->replay, &listener, err);
	if (r < 0)
		return r;
	listener = vt_pf_memory_listener(&export->memory);
	return vt_replay_add(export->replay, &listener, err);
}

/* From the begin of the trace, wherever the window begins: what is live was allocated before it. */
static int write_memory(struct export *export, struct vt_err *err)
{
	static const uint32_t kinds[] = { VT_EVENT_tensor, VT_EVENT_driver_memory, VT_EVENT_device_sample, VT_EVENT_oom,
					  VT_EVENT_note };
	VT_CLEANUP(close_cursor) struct vt_cursor *cursor = NULL;
	struct vt_cursor_options replayed = export->options->cursor;
	int r;

	replayed.kinds = kinds;
	replayed.nkinds = VT_ARRAY_SIZE(kinds);
	replayed.from_ns = 0;
	r = vt_cursor_open(&cursor, export->store, &replayed, err);
	return r == 0 ? vt_replay_run(export->replay, cursor, err) : r;
}

static int write_calls(struct export *export, struct vt_err *err)
{
	struct vt_pf_calls *calls = &export->calls;

	vt_pf_slices_init(&export->slices, &export->calls_sequence, &export->tracks);
	calls->detail = export->options->detail;
	calls->from_ns = export->options->cursor.from_ns;
	calls->to_ns = export->options->cursor.to_ns;
	calls->symbols = export->symbols;
	calls->slices = &export->slices;
	calls->gpus = &export->gpus;
	calls->work = &export->work_sequence;
	return vt_pf_calls_write(calls, export->store, &export->options->cursor, err);
}

static void release(struct export *export)
{
	vt_pf_memory_done(&export->memory);
	vt_pf_slices_done(&export->slices);
	vt_pf_gpus_done(&export->gpus);
	vt_pf_tracks_done(&export->tracks);
	vt_pf_sequence_done(&export->common);
	vt_pf_sequence_done(&export->calls_sequence);
	vt_pf_sequence_done(&export->work_sequence);
	vt_replay_free(export->replay);
	vt_groups_free(export->groups);
	free(export);
}

int vt_perfetto_export(FILE *out, struct vt_store *store, const struct vt_symbols *symbols,
		       const struct vt_pf_options *options, struct vt_pf_summary *ret, struct vt_err *err)
{
	struct export *export = calloc(1, sizeof(*export));
	int done;
	int r;

	*ret = (struct vt_pf_summary){ 0 };
	if (!export)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for a Perfetto trace");
	export->options = options;
	export->store = store;
	export->symbols = symbols;
	vt_pf_output_init(&export->output, out);
	r = begin(export, err);
	if (r == 0)
		r = write_memory(export, err);
	if (r == 0)
		r = write_calls(export, err);
	if (r == 0)
		r = write_losses(export, err);
	if (r == 0)
		r = vt_pf_heaps_write(&export->memory.heaps, export->groups, export->replay, &export->tracks,
				      &export->clocks, SEQUENCE_HEAPS, err);
	*ret = (struct vt_pf_summary){ export->output.packets, export->output.bytes };
	done = vt_pf_output_done(&export->output, r == 0 ? err : NULL);
	release(export);
	return r < 0 ? r : done;
}
