/* pf_sequence.c - see pf_sequence.h. */
#include "analyze/perfetto/pf_sequence.h"

#include <errno.h>
#include <string.h>

#include "schema/base/bits.h"

/* Written out when this much has gathered. */
#define FLUSH_BYTES (1u << 20)
/* Frames of one call stack; deeper ones lose their outermost. */
#define FRAMES_MAX 256
#define BUILTIN_MONOTONIC PF__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC

void vt_pf_output_init(struct vt_pf_output *output, FILE *file)
{
	*output = (struct vt_pf_output){ .file = file };
}

static void flush(struct vt_pf_output *output)
{
	if (!output->failed && output->buf.bytes &&
	    fwrite(output->buf.data, 1, output->buf.bytes, output->file) != output->buf.bytes)
		output->failed = true;
	vt_buf_clear(&output->buf);
}

int vt_pf_output_done(struct vt_pf_output *output, struct vt_err *err)
{
	flush(output);
	if (!output->failed && fflush(output->file) != 0)
		output->failed = true;
	vt_buf_done(&output->buf);
	return output->failed ? vt_err_set(err, VT_E_IO, "the Perfetto trace cannot be written: %s", strerror(errno)) : 0;
}

static void put_packet(struct vt_pf_output *output, const Pf__TracePacket *packet)
{
	size_t size = pf__trace_packet__get_packed_size(packet);
	uint8_t head[12] = { 0x0a };
	size_t n = 1;

	if (output->failed)
		return;
	for (size_t rest = size; n < sizeof(head); rest >>= 7) {
		head[n++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
		if (rest <= 0x7f)
			break;
	}
	if (vt_buf_reserve(&output->buf, n + size) < 0) {
		output->failed = true;
		errno = ENOMEM;
		return;
	}
	memcpy(output->buf.data + output->buf.bytes, head, n);
	(void)pf__trace_packet__pack(packet, output->buf.data + output->buf.bytes + n);
	output->buf.bytes += n + size;
	output->packets++;
	output->bytes += n + size;
	if (output->buf.bytes >= FLUSH_BYTES)
		flush(output);
}

void vt_pf_write(struct vt_pf_sequence *sequence, Pf__TracePacket *packet, uint64_t time_ns)
{
	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = sequence->id;
	packet->has_sequence_flags = 1;
	packet->sequence_flags |= PF__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	if (time_ns) {
		packet->has_timestamp = 1;
		packet->timestamp = time_ns;
		if (sequence->is_incremental) {
			packet->timestamp = time_ns > sequence->last_ns ? time_ns - sequence->last_ns : 0;
			sequence->last_ns += packet->timestamp;
		}
	}
	put_packet(sequence->output, packet);
}

/*
 * All clocks Perfetto asks for: without BOOTTIME it reports unrelatable clocks, and heap profiles are read in
 * MONOTONIC_COARSE whatever they say.
 */
static void write_clocks(struct vt_pf_sequence *sequence, const struct vt_pf_clocks *clocks)
{
	Pf__ClockSnapshot snapshot = PF__CLOCK_SNAPSHOT__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;
	Pf__ClockSnapshot__Clock clock[5];
	Pf__ClockSnapshot__Clock *list[5];
	const struct {
		uint32_t id;
		uint64_t ns;
	} values[] = {
		{ PF__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC, clocks->monotonic_ns },
		{ PF__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC_COARSE, clocks->monotonic_ns },
		{ PF__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME, clocks->boottime_ns },
		{ PF__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME, clocks->realtime_ns },
		{ VT_PF_CLOCK_INCREMENTAL, clocks->monotonic_ns },
	};

	for (size_t i = 0; i < VT_ARRAY_SIZE(values); i++) {
		pf__clock_snapshot__clock__init(&clock[i]);
		clock[i].has_clock_id = clock[i].has_timestamp = 1;
		clock[i].clock_id = values[i].id;
		clock[i].timestamp = values[i].ns;
		clock[i].has_is_incremental = clock[i].is_incremental = values[i].id == VT_PF_CLOCK_INCREMENTAL;
		list[i] = &clock[i];
	}
	snapshot.n_clocks = sequence->is_incremental ? 5 : 4;
	snapshot.clocks = list;
	snapshot.has_primary_trace_clock = 1;
	snapshot.primary_trace_clock = BUILTIN_MONOTONIC;
	packet.clock_snapshot = &snapshot;
	vt_pf_write(sequence, &packet, 0);
}

void vt_pf_sequence_begin(struct vt_pf_sequence *sequence, struct vt_pf_output *output,
			  const struct vt_symbols *symbols, uint32_t id, const struct vt_pf_clocks *clocks,
			  bool is_incremental)
{
	Pf__TracePacketDefaults defaults = PF__TRACE_PACKET_DEFAULTS__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	*sequence = (struct vt_pf_sequence){ .output = output,
					     .symbols = symbols,
					     .id = id,
					     .is_incremental = is_incremental,
					     .last_ns = clocks->monotonic_ns,
					     .seed = vt_hash_seed() };
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = is_incremental ? VT_PF_CLOCK_INCREMENTAL : BUILTIN_MONOTONIC;
	packet.trace_packet_defaults = &defaults;
	packet.sequence_flags = PF__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
	packet.has_first_packet_on_sequence = packet.first_packet_on_sequence = 1;
	vt_pf_write(sequence, &packet, 0);
	write_clocks(sequence, clocks);
}

void vt_pf_sequence_done(struct vt_pf_sequence *sequence)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(sequence->names); i++)
		vt_map_done(&sequence->names[i]);
	vt_idmap_done(&sequence->frames);
	vt_idmap_done(&sequence->callstacks);
}

static void write_interned(struct vt_pf_sequence *sequence, Pf__InternedData *data)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	packet.interned_data = data;
	vt_pf_write(sequence, &packet, 0);
}

static void write_text(struct vt_pf_sequence *sequence, enum vt_pf_text kind, uint64_t iid, const char *text)
{
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__EventName event_name = PF__EVENT_NAME__INIT, *event_names = &event_name;
	Pf__DebugAnnotationName annotation = PF__DEBUG_ANNOTATION_NAME__INIT, *annotations = &annotation;
	Pf__InternedString string = PF__INTERNED_STRING__INIT, *strings = &string;
	char *words = (char *)(uintptr_t)text; /* protobuf-c only reads it */

	event_name.has_iid = annotation.has_iid = string.has_iid = 1;
	event_name.iid = annotation.iid = string.iid = iid;
	event_name.name = annotation.name = words;
	string.has_str = 1;
	string.str.data = (uint8_t *)words;
	string.str.len = strlen(text);
	if (kind == VT_PF_EVENT_NAME) {
		data.n_event_names = 1;
		data.event_names = &event_names;
	} else if (kind == VT_PF_ANNOTATION_NAME) {
		data.n_debug_annotation_names = 1;
		data.debug_annotation_names = &annotations;
	} else if (kind == VT_PF_FUNCTION_NAME) {
		data.n_function_names = 1;
		data.function_names = &strings;
	} else {
		data.n_source_paths = 1;
		data.source_paths = &strings;
	}
	write_interned(sequence, &data);
}

uint64_t vt_pf_text(struct vt_pf_sequence *sequence, enum vt_pf_text kind, const char *text)
{
	uint64_t key;
	uint32_t iid;

	if (!text[0])
		return 0;
	key = vt_hash_bytes(sequence->seed, text, strlen(text));
	iid = vt_map_find(&sequence->names[kind], key);
	if (iid != VT_MAP_NONE)
		return iid;
	iid = ++sequence->next_iid[kind];
	if (vt_map_put(&sequence->names[kind], key, iid) < 0) {
		sequence->output->failed = true;
		errno = ENOMEM;
	}
	write_text(sequence, kind, iid, text);
	return iid;
}

/* The iid of a frame; file "" and line 0 for an op. */
static uint64_t frame_iid(struct vt_pf_sequence *sequence, const char *function, const char *file, uint32_t line)
{
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__Frame frame = PF__FRAME__INIT, *frames = &frame;
	uint64_t function_iid = vt_pf_text(sequence, VT_PF_FUNCTION_NAME, function);
	uint64_t file_iid = vt_pf_text(sequence, VT_PF_SOURCE_PATH, file);
	struct vt_idmap_key key = { (uint32_t)function_iid, (uint32_t)file_iid, line };
	uint32_t place = vt_idmap_find(&sequence->frames, key);

	if (place != VT_IDMAP_NONE)
		return place + 1;
	place = vt_idmap_add(&sequence->frames, key);
	if (place == VT_IDMAP_NONE) {
		sequence->output->failed = true;
		return 0;
	}
	frame.has_iid = frame.has_function_name_id = frame.has_kind = 1;
	frame.iid = place + 1;
	frame.function_name_id = function_iid;
	frame.kind = file[0] ? PF__FRAME__KIND__KIND_INTERPRETED : PF__FRAME__KIND__KIND_NATIVE;
	frame.has_source_path_iid = file_iid != 0;
	frame.source_path_iid = file_iid;
	frame.has_line_number = line != 0;
	frame.line_number = line;
	data.n_frames = 1;
	data.frames = &frames;
	write_interned(sequence, &data);
	return frame.iid;
}

/* Fills frames from the innermost; returns how many. */
static size_t collect_frames(struct vt_pf_sequence *sequence, uint32_t process, uint32_t op, uint32_t stack,
			     uint64_t frames[FRAMES_MAX])
{
	struct vt_op_info info;
	struct vt_frame_info frame;
	size_t n = 0;

	while (n < FRAMES_MAX && vt_symbols_op(sequence->symbols, process, op, &info)) {
		frames[n++] = frame_iid(sequence, info.name, "", 0);
		op = info.parent;
	}
	while (n < FRAMES_MAX && vt_symbols_frame(sequence->symbols, process, stack, &frame)) {
		frames[n++] = frame_iid(sequence, frame.function[0] ? frame.function : "?", frame.file, frame.line);
		stack = frame.parent;
	}
	return n;
}

uint64_t vt_pf_callstack(struct vt_pf_sequence *sequence, uint32_t process, uint32_t op, uint32_t stack)
{
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__Callstack callstack = PF__CALLSTACK__INIT, *callstacks = &callstack;
	struct vt_idmap_key key = { process, op, stack };
	uint64_t frames[FRAMES_MAX];
	uint32_t place;
	size_t n;

	if (!op && !stack)
		return 0;
	place = vt_idmap_find(&sequence->callstacks, key);
	if (place != VT_IDMAP_NONE)
		return place + 1;
	place = vt_idmap_add(&sequence->callstacks, key);
	if (place == VT_IDMAP_NONE) {
		sequence->output->failed = true;
		return 0;
	}
	n = collect_frames(sequence, process, op, stack, frames);
	/* Perfetto wants the outermost first. */
	for (size_t i = 0; i < n / 2; i++) {
		uint64_t swap = frames[i];

		frames[i] = frames[n - 1 - i];
		frames[n - 1 - i] = swap;
	}
	callstack.has_iid = 1;
	callstack.iid = place + 1;
	callstack.n_frame_ids = n;
	callstack.frame_ids = frames;
	data.n_callstacks = 1;
	data.callstacks = &callstacks;
	write_interned(sequence, &data);
	return callstack.iid;
}
