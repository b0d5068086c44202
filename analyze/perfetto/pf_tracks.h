/*
 * pf_tracks.h - the rows of the timeline: processes, threads, and below each process a tree of its memory.
 *
 *   process  python train.py
 *     Steps (pf_lives.h)
 *     Capture (what the capture says about itself, where there is something)
 *     Memory
 *       cuda:0 NVIDIA H200
 *         Out of memory, Allocated, Reserved, Driver, Device used (counters on one axis), Allocations, Frees
 *         By category, Largest blocks (pf_lives.h)
 *     thread   python3
 *     thread   python3, overlapping (slices that do not nest)
 *
 * A child of a process track would be shown beside it, not below: that is why "Memory" stands in between.
 */
#ifndef VT_ANALYZE_PF_TRACKS_H
#define VT_ANALYZE_PF_TRACKS_H

#include "analyze/perfetto/pf_sequence.h"
#include "analyze/replay/replay.h"

/* uuids of one device's rows; 0: not made yet. */
struct vt_pf_device_tracks {
	uint64_t group;
	uint64_t allocated;
	uint64_t allocated_unit; /* bytes that one of its counter stands for */
	uint64_t reserved;
	uint64_t driver;
	uint64_t device_used;
	uint64_t allocs;
	uint64_t frees;
	uint64_t ooms;
};

struct vt_pf_process_tracks {
	uint32_t pid;
	uint64_t process;
	uint64_t memory;  /* 0: not made yet */
	uint64_t capture; /* likewise */
};

struct vt_pf_tracks {
	struct vt_pf_sequence *sequence; /* descriptors are written here */
	uint64_t next_uuid;
	struct vt_idmap processes; /* (process, 0, 0) -> place in process_rows */
	struct vt_pf_process_tracks *process_rows;
	size_t process_room;
	struct vt_idmap threads; /* (process, tid, 0) */
	uint64_t *thread_uuids;
	size_t thread_room;
	struct vt_pf_device_tracks **devices; /* by index of the replay; they stay where they are */
	size_t device_room;
};

/* Writes the descriptors of all processes and named threads of the file. */
int vt_pf_tracks_begin(struct vt_pf_tracks *tracks, struct vt_pf_sequence *sequence, struct vt_store *store,
		       struct vt_err *err);
void vt_pf_tracks_done(struct vt_pf_tracks *tracks);

/* The rows of a device, made at its first use; model "" where it is not known. NULL: no memory. */
const struct vt_pf_device_tracks *vt_pf_tracks_device(struct vt_pf_tracks *tracks, const struct vt_device *state,
						      uint32_t device, const char *model);
/* The row of a thread, made at its first use; 0: no memory. */
uint64_t vt_pf_tracks_thread(struct vt_pf_tracks *tracks, uint32_t process, uint32_t tid);
/* One more row for a thread's slices. */
uint64_t vt_pf_tracks_lane(struct vt_pf_tracks *tracks, uint64_t thread_track, int32_t rank);
/* The row for what the capture says about itself; 0: no such process. */
uint64_t vt_pf_tracks_capture(struct vt_pf_tracks *tracks, uint32_t process);
/* A row below another, a counter of bytes, and a row whose children keep their order; each call makes a new one. */
uint64_t vt_pf_tracks_plain(struct vt_pf_tracks *tracks, uint64_t parent, int32_t rank, const char *name,
			    const char *description);
uint64_t vt_pf_tracks_counter(struct vt_pf_tracks *tracks, uint64_t parent, int32_t rank, const char *name,
			      const char *description);
uint64_t vt_pf_tracks_group(struct vt_pf_tracks *tracks, uint64_t parent, int32_t rank, const char *name,
			    const char *description);
/* The row for a process's steps; how: they were found. 0: no such process. */
uint64_t vt_pf_tracks_steps(struct vt_pf_tracks *tracks, uint32_t process, const char *how);
/* Operating system's number of a process. */
uint32_t vt_pf_tracks_pid(const struct vt_pf_tracks *tracks, uint32_t process);

#endif
