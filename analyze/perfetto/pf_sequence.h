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

#include "analyze/symbols/symbols.h"
#include "analyze/views/idmap.h"
#include "schema/base/buf.h"
#include "schema/base/hash.h"

struct vt_pf_output {
	FILE *file;
	struct vt_buf buf;
	uint64_t packets;
	uint64_t bytes;
	bool failed;
};

void vt_pf_output_init(struct vt_pf_output *output, FILE *file);
/* Writes what is buffered. -VT_E_IO or -VT_E_NOMEM with the first thing that went wrong. */
int vt_pf_output_done(struct vt_pf_output *output, struct vt_err *err);

/* Clock 64 of a sequence: each packet's timestamp is the difference to the one before, 1 to 4 bytes instead of 8. */
#define VT_PF_CLOCK_INCREMENTAL 64

struct vt_pf_sequence {
	struct vt_pf_output *output;
	const struct vt_symbols *symbols;
	uint32_t id;	     /* trusted_packet_sequence_id, not 0 */
	bool is_incremental; /* timestamps must then never fall */
	uint64_t last_ns;
	struct vt_map names[4]; /* by enum vt_pf_text: hash of the text -> iid */
	uint32_t next_iid[4];
	uint64_t seed;
	struct vt_idmap frames;	    /* (function, file, line) -> iid - 1 */
	struct vt_idmap callstacks; /* (process, op, stack) -> iid - 1 */
};

enum vt_pf_text { VT_PF_EVENT_NAME, VT_PF_ANNOTATION_NAME, VT_PF_FUNCTION_NAME, VT_PF_SOURCE_PATH };

/* Realtime and boottime that belong to a monotonic time. */
struct vt_pf_clocks {
	uint64_t monotonic_ns, realtime_ns, boottime_ns;
};

/* Starts a sequence: clears its state, sets its clock, writes the clock snapshot. */
void vt_pf_sequence_begin(struct vt_pf_sequence *sequence, struct vt_pf_output *output,
			  const struct vt_symbols *symbols, uint32_t id, const struct vt_pf_clocks *clocks,
			  bool is_incremental);
void vt_pf_sequence_done(struct vt_pf_sequence *sequence);

/* A packet of this sequence at a time; payload fields are the caller's. time_ns 0: a packet without one. */
void vt_pf_write(struct vt_pf_sequence *sequence, Pf__TracePacket *packet, uint64_t time_ns);

/* The iid of a text, 0 for "". */
uint64_t vt_pf_text(struct vt_pf_sequence *sequence, enum vt_pf_text kind, const char *text);
/*
 * The iid of a call stack: the Python frames from the outermost, then the ops from the outermost: what called what.
 * 0 where both are unknown.
 */
uint64_t vt_pf_callstack(struct vt_pf_sequence *sequence, uint32_t process, uint32_t op, uint32_t stack);

#endif
