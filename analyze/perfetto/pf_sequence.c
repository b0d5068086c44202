/* pf_sequence.c - see pf_sequence.h. */
#include "analyze/perfetto/pf_sequence.h"

#include <errno.h>
#include <stdlib.h>
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
	return output->failed ? vt_err_set(err, VT_E_IO, "the Perfetto trace cannot be written: %s", strerror(errno))
			      : 0;
}

/* Tag and length of Trace.packet, then room for the packet itself; NULL: failed. */
static uint8_t *open_packet(struct vt_pf_output *output, size_t size)
{
	uint8_t *at;

	if (output->failed)
		return NULL;
	if (vt_buf_reserve(&output->buf, size + 1 + VT_VARINT_MAX) < 0) {
		output->failed = true;
		errno = ENOMEM;
		return NULL;
	}
	at = output->buf.data + output->buf.bytes;
	*at++ = 1 << 3 | VT_PF_WIRE_BYTES;
	return vt_varint_put(at, size);
}

static void close_packet(struct vt_pf_output *output, const uint8_t *end)
{
	size_t bytes = (size_t)(end - (output->buf.data + output->buf.bytes));

	output->buf.bytes += bytes;
	output->bytes += bytes;
	if (output->limit && output->bytes > output->limit)
		output->failed = output->exceeded = true;
	output->packets++;
	if (output->buf.bytes >= FLUSH_BYTES)
		flush(output);
}

void vt_pf_write(struct vt_pf_sequence *sequence, Pf__TracePacket *packet, uint64_t time_ns)
{
	uint8_t *at;

	packet->has_trusted_packet_sequence_id = 1;
	packet->trusted_packet_sequence_id = sequence->id;
	packet->has_sequence_flags = 1;
	packet->sequence_flags |= PF__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	if (time_ns) {
		packet->has_timestamp = 1;
		packet->timestamp = time_ns;
		packet->has_timestamp_clock_id = time_ns < sequence->last_ns;
		packet->timestamp_clock_id = BUILTIN_MONOTONIC;
		if (time_ns >= sequence->last_ns) {
			packet->timestamp = time_ns - sequence->last_ns;
			sequence->last_ns = time_ns;
		}
	}
	at = open_packet(sequence->output, pf__trace_packet__get_packed_size(packet));
	if (at)
		close_packet(sequence->output, at + pf__trace_packet__pack(packet, at));
}

void vt_pf_write_event(struct vt_pf_sequence *sequence, uint32_t field, const struct vt_pf_event *event,
		       uint64_t time_ns)
{
	static const uint8_t absolute[] = { 0xd0, 0x03, BUILTIN_MONOTONIC }; /* timestamp_clock_id = 58 */
	bool is_back = time_ns < sequence->last_ns;
	uint64_t timestamp = is_back ? time_ns : time_ns - sequence->last_ns;
	uint64_t tag = (uint64_t)field << 3 | VT_PF_WIRE_BYTES;
	size_t size = vt_varint_bytes(tag) + vt_varint_bytes(event->bytes) + event->bytes + 1 +
		      vt_varint_bytes(timestamp) + (is_back ? sizeof(absolute) : 0) + sequence->tail_bytes;
	uint8_t *at = open_packet(sequence->output, size);

	if (!at)
		return;
	at = vt_varint_put(at, tag);
	at = vt_varint_put(at, event->bytes);
	memcpy(at, event->data, event->bytes);
	at += event->bytes;
	*at++ = 8 << 3 | VT_PF_WIRE_VARINT; /* timestamp */
	at = vt_varint_put(at, timestamp);
	if (is_back) {
		memcpy(at, absolute, sizeof(absolute));
		at += sizeof(absolute);
	} else {
		sequence->last_ns = time_ns;
	}
	memcpy(at, sequence->tail, sequence->tail_bytes);
	close_packet(sequence->output, at + sequence->tail_bytes);
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
	snapshot.n_clocks = VT_ARRAY_SIZE(values);
	snapshot.clocks = list;
	snapshot.has_primary_trace_clock = 1;
	snapshot.primary_trace_clock = BUILTIN_MONOTONIC;
	packet.clock_snapshot = &snapshot;
	vt_pf_write(sequence, &packet, 0);
}

/* Ends every packet of the sequence: trusted_packet_sequence_id = 10, sequence_flags = 13. */
static void make_tail(struct vt_pf_sequence *sequence)
{
	uint8_t *at = sequence->tail;

	*at++ = 10 << 3 | VT_PF_WIRE_VARINT;
	at = vt_varint_put(at, sequence->id);
	*at++ = 13 << 3 | VT_PF_WIRE_VARINT;
	*at++ = PF__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	sequence->tail_bytes = (size_t)(at - sequence->tail);
}

void vt_pf_sequence_begin(struct vt_pf_sequence *sequence, struct vt_pf_output *output,
			  const struct vt_symbols *symbols, const struct vt_pf_clocks *clocks, uint64_t default_track)
{
	Pf__TracePacketDefaults defaults = PF__TRACE_PACKET_DEFAULTS__INIT;
	Pf__TrackEventDefaults event_defaults = PF__TRACK_EVENT_DEFAULTS__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	*sequence = (struct vt_pf_sequence){ .output = output,
					     .symbols = symbols,
					     .id = ++output->sequences,
					     .last_ns = clocks->monotonic_ns,
					     .seed = vt_hash_seed() };
	make_tail(sequence);
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = VT_PF_CLOCK_INCREMENTAL;
	if (default_track) {
		event_defaults.has_track_uuid = 1;
		event_defaults.track_uuid = default_track;
		event_defaults.n_extra_counter_track_uuids = 1;
		event_defaults.extra_counter_track_uuids = &default_track;
		defaults.track_event_defaults = &event_defaults;
	}
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
	vt_map_done(&sequence->frame_lists);
	free(sequence->callstack_iids);
}

void vt_pf_write_interned(struct vt_pf_sequence *sequence, Pf__InternedData *data)
{
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	packet.interned_data = data;
	vt_pf_write(sequence, &packet, 0);
}

static void write_text(struct vt_pf_sequence *sequence, enum vt_pf_text kind, uint64_t iid, const char *text,
		       size_t bytes)
{
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__EventName event_name = PF__EVENT_NAME__INIT, *event_names = &event_name;
	Pf__DebugAnnotationName annotation = PF__DEBUG_ANNOTATION_NAME__INIT, *annotations = &annotation;
	Pf__InternedString string = PF__INTERNED_STRING__INIT, *strings = &string;
	Pf__InternedComputeArgName argument = PF__INTERNED_COMPUTE_ARG_NAME__INIT, *arguments = &argument;
	char words[VT_PF_INTERNED_MAX + 1];

	memcpy(words, text, bytes);
	words[bytes] = '\0';

	event_name.has_iid = annotation.has_iid = string.has_iid = argument.has_iid = 1;
	event_name.iid = annotation.iid = string.iid = argument.iid = iid;
	event_name.name = annotation.name = argument.name = words;
	string.has_str = 1;
	string.str.data = (uint8_t *)words;
	string.str.len = bytes;
	if (kind == VT_PF_EVENT_NAME) {
		data.n_event_names = 1;
		data.event_names = &event_names;
	} else if (kind == VT_PF_ANNOTATION_NAME) {
		data.n_debug_annotation_names = 1;
		data.debug_annotation_names = &annotations;
	} else if (kind == VT_PF_FUNCTION_NAME) {
		data.n_function_names = 1;
		data.function_names = &strings;
	} else if (kind == VT_PF_SOURCE_PATH) {
		data.n_source_paths = 1;
		data.source_paths = &strings;
	} else {
		data.n_compute_arg_names = 1;
		data.compute_arg_names = &arguments;
	}
	vt_pf_write_interned(sequence, &data);
}

uint64_t vt_pf_text(struct vt_pf_sequence *sequence, enum vt_pf_text kind, const char *text)
{
	size_t bytes = vt_pf_text_bytes(text, VT_PF_INTERNED_MAX);
	uint64_t key;
	uint32_t iid;

	if (!bytes)
		return 0;
	key = vt_hash_bytes(sequence->seed, text, bytes);
	iid = vt_map_find(&sequence->names[kind], key);
	if (iid != VT_MAP_NONE)
		return iid;
	iid = ++sequence->next_iid[kind];
	if (vt_map_put(&sequence->names[kind], key, iid) < 0) {
		sequence->output->failed = true;
		errno = ENOMEM;
	}
	write_text(sequence, kind, iid, text, bytes);
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
	vt_pf_write_interned(sequence, &data);
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

/* The iid of a list of frames, innermost first. */
static uint64_t list_iid(struct vt_pf_sequence *sequence, uint64_t frames[FRAMES_MAX], size_t n)
{
	Pf__InternedData data = PF__INTERNED_DATA__INIT;
	Pf__Callstack callstack = PF__CALLSTACK__INIT, *callstacks = &callstack;
	uint64_t key = vt_hash_bytes(sequence->seed, frames, n * sizeof(*frames));
	uint32_t iid = vt_map_find(&sequence->frame_lists, key);

	if (iid != VT_MAP_NONE)
		return iid;
	iid = ++sequence->next_callstack;
	if (vt_map_put(&sequence->frame_lists, key, iid) < 0)
		sequence->output->failed = true;
	/* Perfetto wants the outermost first. */
	for (size_t i = 0; i < n / 2; i++) {
		uint64_t swap = frames[i];

		frames[i] = frames[n - 1 - i];
		frames[n - 1 - i] = swap;
	}
	callstack.has_iid = 1;
	callstack.iid = iid;
	callstack.n_frame_ids = n;
	callstack.frame_ids = frames;
	data.n_callstacks = 1;
	data.callstacks = &callstacks;
	vt_pf_write_interned(sequence, &data);
	return iid;
}

uint64_t vt_pf_callstack(struct vt_pf_sequence *sequence, uint32_t process, uint32_t op, uint32_t stack)
{
	struct vt_idmap_key key = { process, op, stack };
	uint64_t frames[FRAMES_MAX];
	uint32_t place;
	size_t n;

	if (!op && !stack)
		return 0;
	place = vt_idmap_find(&sequence->callstacks, key);
	if (place != VT_IDMAP_NONE)
		return sequence->callstack_iids[place];
	place = vt_idmap_add(&sequence->callstacks, key);
	if (place == VT_IDMAP_NONE || vt_array_reach((void **)&sequence->callstack_iids, &sequence->callstack_room,
						     place, sizeof(*sequence->callstack_iids)) < 0) {
		sequence->output->failed = true;
		return 0;
	}
	n = collect_frames(sequence, process, op, stack, frames);
	sequence->callstack_iids[place] = n ? list_iid(sequence, frames, n) : 0;
	return sequence->callstack_iids[place];
}

uint64_t vt_pf_callstack_none(struct vt_pf_sequence *sequence)
{
	uint64_t frames[FRAMES_MAX] = { frame_iid(sequence, "(no op and no Python frame)", "", 0) };

	return list_iid(sequence, frames, 1);
}
