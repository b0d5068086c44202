/* perfetto.c - see perfetto.h: one replay, and what comes before and after it in the file. */
#include "analyze/perfetto/perfetto.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/perfetto/pf_args.h"
#include "analyze/perfetto/pf_calls.h"
#include "analyze/perfetto/pf_lives.h"
#include "analyze/perfetto/pf_memory.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

struct exporter {
	const struct vt_pf_options *options;
	struct vt_store *store;
	const struct vt_symbols *symbols;
	struct vt_pf_output output;
	struct vt_pf_clocks clocks;
	struct vt_pf_sequence common, work_sequence;
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
	struct exporter *exporter;
	uint64_t time_ns;
	uint64_t count;
};

static int take_loss(void *arg, const struct vt_loss_row *row)
{
	struct losses *losses = arg;
	struct exporter *exporter = losses->exporter;
	const char *kind = vt_enum_text("loss", row->kind);
	uint64_t track = vt_pf_tracks_capture(&exporter->tracks, row->process);
	struct vt_pf_event event;

	losses->count += row->count;
	if (!row->count || !track)
		return 0;
	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_INSTANT, track);
	vt_pf_event_name(&exporter->common, &event, "events lost");
	vt_pf_arg_number(&exporter->common, &event, "count", row->count);
	vt_pf_arg_text(&exporter->common, &event, "why", kind ? kind : "?");
	vt_pf_write_event(&exporter->common, VT_PF_TRACK_EVENT, &event, losses->time_ns);
	return 0;
}

/*
 * Losses stand in the row "Capture", at the end: when they happened is not known. Perfetto shows its warning of lost data
 * for what its own recorder would have counted, so the number is put there. (A packet that says that the ones before it
 * were dropped, as the format offers, raises nothing by itself.)
 */
static int write_losses(struct exporter *exporter, struct vt_err *err)
{
	struct losses losses = { exporter, vt_replay_last_ns(exporter->replay), 0 };
	Pf__TraceStats__BufferStats buffer = PF__TRACE_STATS__BUFFER_STATS__INIT, *buffers = &buffer;
	Pf__TraceStats stats = PF__TRACE_STATS__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;
	int r = vt_store_each_loss(exporter->store, take_loss, &losses, err);

	if (r < 0 || !losses.count)
		return r;
	buffer.has_trace_writer_packet_loss = 1;
	buffer.trace_writer_packet_loss = losses.count;
	stats.n_buffer_stats = 1;
	stats.buffer_stats = &buffers;
	packet.trace_stats = &stats;
	vt_pf_write(&exporter->common, &packet, 0);
	return 0;
}

static int begin(struct exporter *exporter, struct vt_err *err)
{
	struct vt_listener listener;
	int r = vt_store_each_clock(exporter->store, take_clock, &exporter->clocks, err);

	if (r == 0)
		r = vt_store_each_process(exporter->store, take_start, &exporter->clocks, err);
	if (r < 0)
		return r;
	vt_pf_sequence_begin(&exporter->common, &exporter->output, exporter->symbols, &exporter->clocks, 0);
	vt_pf_sequence_begin(&exporter->work_sequence, &exporter->output, exporter->symbols, &exporter->clocks, 0);
	r = vt_pf_tracks_begin(&exporter->tracks, &exporter->common, exporter->store, err);
	if (r == 0)
		r = vt_pf_gpus_begin(&exporter->gpus, &exporter->work_sequence, &exporter->tracks, exporter->store,
				     err);
	if (r == 0)
		r = vt_groups_new(&exporter->groups, err);
	if (r == 0)
		r = vt_replay_new(&exporter->replay, err);
	if (r < 0)
		return r;
	exporter->memory =
		(struct vt_pf_memory){ .detail = exporter->options->detail,
				       .coarse = exporter->options->coarse,
				       .from_ns = exporter->options->cursor.from_ns,
				       .symbols = exporter->symbols,
				       .clocks = &exporter->clocks,
				       .tracks = &exporter->tracks,
				       .gpus = &exporter->gpus,
				       .groups = exporter->groups,
				       .heaps = { .from_ns = exporter->options->cursor.from_ns },
				       .steps = exporter->options->page ? &exporter->options->page->steps : NULL,
				       .common = &exporter->common };
	listener = vt_groups_listener(exporter->groups);
	r = vt_replay_add(exporter->replay, &listener, err);
	if (r < 0)
		return r;
	listener = vt_pf_memory_listener(&exporter->memory);
	return vt_replay_add(exporter->replay, &listener, err);
}

/* From the begin of the trace, wherever the window begins: what is live was allocated before it. */
static int write_memory(struct exporter *exporter, struct vt_err *err)
{
	static const uint32_t kinds[] = { VT_EVENT_tensor, VT_EVENT_driver_memory, VT_EVENT_device_sample, VT_EVENT_oom,
					  VT_EVENT_note };
	VT_CLEANUP(close_cursor) struct vt_cursor *cursor = NULL;
	struct vt_cursor_options replayed = exporter->options->cursor;
	int r;

	replayed.kinds = kinds;
	replayed.nkinds = VT_ARRAY_SIZE(kinds);
	replayed.from_ns = 0;
	r = vt_cursor_open(&cursor, exporter->store, &replayed, err);
	return r == 0 ? vt_replay_run(exporter->replay, cursor, err) : r;
}

static int write_calls(struct exporter *exporter, struct vt_err *err)
{
	struct vt_pf_calls *calls = &exporter->calls;

	vt_pf_slices_init(&exporter->slices, &exporter->output, exporter->symbols, &exporter->clocks,
			  &exporter->tracks);
	calls->detail = exporter->options->detail;
	calls->from_ns = exporter->options->cursor.from_ns;
	calls->to_ns = exporter->options->cursor.to_ns;
	calls->symbols = exporter->symbols;
	calls->slices = &exporter->slices;
	calls->gpus = &exporter->gpus;
	calls->work = &exporter->work_sequence;
	return vt_pf_calls_write(calls, exporter->store, &exporter->options->cursor, err);
}

static int write_lives(struct exporter *exporter, struct vt_err *err)
{
	const struct vt_pf_lives lives = { .page = exporter->options->page,
					   .coarse = exporter->options->coarse,
					   .tracks = &exporter->tracks,
					   .clocks = &exporter->clocks,
					   .from_ns = exporter->options->cursor.from_ns,
					   .to_ns = exporter->options->cursor.to_ns };

	return lives.page ? vt_pf_lives_write(&lives, err) : 0;
}

static void release(struct exporter *exporter)
{
	vt_pf_memory_done(&exporter->memory);
	vt_pf_slices_done(&exporter->slices);
	vt_pf_gpus_done(&exporter->gpus);
	vt_pf_tracks_done(&exporter->tracks);
	vt_pf_sequence_done(&exporter->common);
	vt_pf_sequence_done(&exporter->work_sequence);
	vt_replay_free(exporter->replay);
	vt_groups_free(exporter->groups);
	free(exporter);
}

int vt_perfetto_export(FILE *out, struct vt_store *store, const struct vt_symbols *symbols,
		       const struct vt_pf_options *options, struct vt_pf_summary *ret, struct vt_err *err)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));
	int done;
	int r;

	*ret = (struct vt_pf_summary){ 0 };
	if (!exporter)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for a Perfetto trace");
	exporter->options = options;
	exporter->store = store;
	exporter->symbols = symbols;
	vt_pf_output_init(&exporter->output, out);
	exporter->output.limit = options->max_bytes;
	r = begin(exporter, err);
	if (r == 0)
		r = write_memory(exporter, err);
	if (r == 0)
		r = write_lives(exporter, err);
	if (r == 0)
		r = write_calls(exporter, err);
	if (r == 0)
		r = write_losses(exporter, err);
	if (r == 0)
		r = vt_pf_heaps_write(&exporter->memory.heaps, exporter->groups, exporter->replay, &exporter->tracks,
				      &exporter->clocks, err);
	*ret = (struct vt_pf_summary){ exporter->output.packets, exporter->output.bytes, exporter->output.exceeded };
	done = vt_pf_output_done(&exporter->output, r == 0 ? err : NULL);
	release(exporter);
	return r < 0 ? r : done;
}

int vt_pf_detail_parse(const char *text, enum vt_pf_detail *ret, struct vt_err *err)
{
	static const char *const names[] = { [VT_PF_LOW] = "low", [VT_PF_NORMAL] = "normal", [VT_PF_FULL] = "full" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i])) {
			*ret = (enum vt_pf_detail)i;
			return 0;
		}
	}
	return vt_err_set(err, VT_E_USAGE, "--detail takes low, normal or full, not '%.40s'", text);
}
