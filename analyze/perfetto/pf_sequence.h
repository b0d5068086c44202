/*
 * pf_sequence.h - writes Perfetto packets: one stream of bytes, and in it packet sequences with interned texts.
 *
 * A file is packets one after the other, each as field 1 of the message Trace: tag 0x0a, length, bytes. Nothing but the
 * packet under way is held. Interning ids (iids) belong to a sequence; a text's packet is written right before the first
 * packet that uses it. Formats and traps: docs/perfetto.md.
 *
 * Errors are sticky: after one, everything is a no-op and vt_pf_done returns it.
 */
#ifndef VT_ANALYZE_PF_SEQUENCE_H
#define VT_ANALYZE_PF_SEQUENCE_H

#include <perfetto.pb-c.h>
#include <stdbool.h>
#include <stdio.h>

#include "analyze/perfetto/pf_event.h"
#include "analyze/symbols/symbols.h"
#include "analyze/views/idmap.h"
#include "schema/base/buf.h"
#include "schema/base/hash.h"

enum vt_pf_text {
	VT_PF_EVENT_NAME,
	VT_PF_ANNOTATION_NAME,
	VT_PF_FUNCTION_NAME,
	VT_PF_SOURCE_PATH,
	VT_PF_ARGUMENT_NAME, /* of a kernel */
	VT_PF_TEXTS,
};

struct vt_pf_output {
	FILE *file;
	struct vt_buf buf;
	uint64_t packets;
	uint64_t bytes;
	uint32_t sequences; /* begun so far; their ids count from 1, small ones take less room in each packet */
	uint64_t limit;	    /* of bytes; 0: none */
	bool exceeded;	    /* it was reached: nothing more is written */
	bool failed;
};

void vt_pf_output_init(struct vt_pf_output *output, FILE *file);
/* Writes what is buffered. -VT_E_IO or -VT_E_NOMEM with the first thing that went wrong. */
int vt_pf_output_done(struct vt_pf_output *output, struct vt_err *err);

/*
 * Clock 64 of a sequence: each packet's timestamp is the difference to the one before, 1 to 4 bytes instead of 8. A
 * packet that lies before the one before it says its time in full and leaves the clock alone.
 */
#define VT_PF_CLOCK_INCREMENTAL 64
/* Longest text that is interned. */
#define VT_PF_INTERNED_MAX 4096

struct vt_pf_sequence {
	struct vt_pf_output *output;
	const struct vt_symbols *symbols;
	uint32_t id; /* trusted_packet_sequence_id, not 0 */
	uint64_t last_ns;
	uint8_t tail[16]; /* what ends each packet: the sequence's id and flags */
	size_t tail_bytes;
	struct vt_map names[VT_PF_TEXTS]; /* hash of the text -> iid */
	uint32_t next_iid[VT_PF_TEXTS];
	uint64_t seed;
	struct vt_idmap frames;	    /* (function, file, line) -> iid - 1 */
	struct vt_idmap callstacks; /* (process, op, stack) -> place in callstack_iids */
	uint64_t *callstack_iids;
	size_t callstack_room;
	struct vt_map frame_lists; /* hash of a list of frames -> iid */
	uint32_t next_callstack;
};

/* Realtime and boottime that belong to a monotonic time. */
struct vt_pf_clocks {
	uint64_t monotonic_ns, realtime_ns, boottime_ns;
};

/*
 * Starts a sequence: clears its state, sets its clock, writes the clock snapshot. default_track: the track of events
 * that name none, and of the counter values that come with events; 0: there is none.
 */
void vt_pf_sequence_begin(struct vt_pf_sequence *sequence, struct vt_pf_output *output,
			  const struct vt_symbols *symbols, const struct vt_pf_clocks *clocks, uint64_t default_track);
void vt_pf_sequence_done(struct vt_pf_sequence *sequence);

/* A packet of this sequence at a time; payload fields are the caller's. time_ns 0: a packet without one. */
void vt_pf_write(struct vt_pf_sequence *sequence, Pf__TracePacket *packet, uint64_t time_ns);
/* The same for a payload that is packed already: `field` is its number in TracePacket. */
void vt_pf_write_event(struct vt_pf_sequence *sequence, uint32_t field, const struct vt_pf_event *event,
		       uint64_t time_ns);
/* Numbers in TracePacket of the payloads that are packed by hand. */
enum { VT_PF_TRACK_EVENT = 11, VT_PF_RENDER_STAGE = 53 };

/* The iid of a text, 0 for "". Longer ones than VT_PF_INTERNED_MAX are cut. */
uint64_t vt_pf_text(struct vt_pf_sequence *sequence, enum vt_pf_text kind, const char *text);
/*
 * The iid of a call stack: the Python frames from the outermost, then the ops from the outermost: what called what.
 * 0 where both are unknown. Stacks that read the same are one: Perfetto takes them for one whatever their iids are, and
 * a heap that names them twice is refused as malformed.
 */
uint64_t vt_pf_callstack(struct vt_pf_sequence *sequence, uint32_t process, uint32_t op, uint32_t stack);

/* The iid of the stack that stands for all that has none. */
uint64_t vt_pf_callstack_none(struct vt_pf_sequence *sequence);
/* A packet of nothing but interned data. */
void vt_pf_write_interned(struct vt_pf_sequence *sequence, Pf__InternedData *data);

#endif
