/*
 * pf_slices.h - the slices of threads: ops, driver calls, launches, waits. Put in the order in which Perfetto nests them.
 *
 * The file has a slice when it ends, inner before outer. Perfetto has a begin and an end, sorts them by time, keeps the
 * order of the file where times are equal, and lets an end close whatever was begun last on the row. So:
 *
 *  - slices wait in a window and are written by rising begin, outer before inner (which also makes the differences of
 *    their times small);
 *  - a slice that overlaps another one of its thread without being inside it goes to a row of its own beside the thread.
 *    Slices come by rising end: those that no later one encloses yet are the roots of the thread's forest, and a new one
 *    must not begin inside a root. This is exact while a row has at most VT_PF_ROOTS_MAX of them; of more, the older half
 *    is forgotten, and a slice that may or may not have begun inside one of those goes to the other row.
 */
#ifndef VT_ANALYZE_PF_SLICES_H
#define VT_ANALYZE_PF_SLICES_H

#include "analyze/perfetto/pf_tracks.h"

/* Slices that wait. */
#define VT_PF_WINDOW (1u << 15)
/* Bytes of what a slice says; more is left out. */
#define VT_PF_BODY_MAX (VT_PF_EVENT_ROOM - 256)
#define VT_PF_ROOTS_MAX (1u << 16)
/* Rows of one thread; what needs more is shown as an instant that says how long it took. */
#define VT_PF_LANES_MAX 16

/* DONE: an OUT that another slice of its number has taken over. */
enum vt_pf_flow { VT_PF_FLOW_NONE, VT_PF_FLOW_OUT, VT_PF_FLOW_IN, VT_PF_FLOW_DONE };

struct vt_pf_slice {
	uint64_t start_ns, end_ns;
	uint64_t flow;	  /* id of an arrow */
	int64_t number;	  /* VT_PF_FLOW_OUT: of the autograd node, rising in a thread; equal ones have one flow */
	uint64_t arrival; /* counts slices */
	size_t body;	  /* place in bodies */
	uint32_t body_bytes;
	uint32_t thread;
	uint16_t lane;
	uint16_t flow_kind; /* enum vt_pf_flow */
};

struct vt_pf_root {
	uint64_t start_ns, end_ns;
	uint64_t arrival;
};

struct vt_pf_lane {
	struct vt_pf_root *roots; /* disjoint, by rising time */
	size_t count, room;
	uint64_t forgotten_start_ns, forgotten_end_ns; /* where the roots lay that are not kept any more; 0: all are */
	uint64_t track;
};

struct vt_pf_thread {
	struct vt_pf_sequence
		sequence; /* of its slices alone: their times then rise; its default track is the thread's */
	uint32_t place;
	uint64_t last_end_ns;
	int64_t next_number; /* arrows of lower numbers are written */
	struct vt_pf_lane *lanes;
	size_t count, room;
};

struct vt_pf_slices {
	struct vt_pf_output *output;
	const struct vt_symbols *symbols;
	const struct vt_pf_clocks *clocks;
	struct vt_pf_tracks *tracks;
	struct vt_pf_slice list[VT_PF_WINDOW];
	size_t count;
	uint64_t arrivals;
	uint64_t window_arrival; /* slices from this one on are not written yet */
	struct vt_buf bodies;
	struct vt_idmap thread_ids; /* (process, tid, 0) -> place in threads */
	struct vt_pf_thread **threads;
	size_t thread_room;
};

void vt_pf_slices_init(struct vt_pf_slices *slices, struct vt_pf_output *output, const struct vt_symbols *symbols,
		       const struct vt_pf_clocks *clocks, struct vt_pf_tracks *tracks);
/* A thread, on whose sequence what its slices say is interned; made at its first use. NULL: no memory. */
struct vt_pf_thread *vt_pf_slices_thread(struct vt_pf_slices *slices, uint32_t process, uint32_t tid);
/*
 * A slice of a thread, with what its track event says besides type, track and flow. Slices of a thread come by rising
 * end. flow_kind VT_PF_FLOW_NONE: flow is not used.
 */
void vt_pf_slices_add(struct vt_pf_slices *slices, struct vt_pf_thread *thread, const struct vt_pf_slice *slice,
		      const struct vt_pf_event *body);
/* Writes what waits, for the last time. */
void vt_pf_slices_finish(struct vt_pf_slices *slices);
void vt_pf_slices_done(struct vt_pf_slices *slices);

#endif
