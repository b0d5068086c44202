/*
 * replay.h - one pass over a trace: keeps what is live, counts what the allocator counts, and tells listeners.
 *
 * A listener (a view) fills in the callbacks it wants. For each event: the replay updates its own state first, then
 * calls the listeners in the order they were added; for a free, the block given is the one that was live. Listeners
 * read the replay's state through the functions below and never change it. Memory grows with the live set, not with
 * the trace.
 *
 * "Device" here is (process, device type, device index): totals of different processes are never added up silently.
 */
#ifndef VT_ANALYZE_REPLAY_H
#define VT_ANALYZE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/store/cursor.h"

struct vt_replay;

struct vt_block {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t alloc_ns;
	uint64_t serial; /* counts allocations over the whole trace, from 1 */
	uint32_t device; /* index into the replay's devices */
	uint32_t thread;
	uint32_t op;		  /* op_node of the allocating op */
	uint32_t stack;		  /* Python stack of the allocation */
	uint64_t requested_bytes; /* what was asked for, before rounding; 0: not known */
	uint64_t stream;	  /* c10::StreamId of the allocation, plus 1; 0: not known */
};

/* The state of one (process, device type, device) after the events so far. */
struct vt_device {
	uint32_t process;
	uint16_t device_type;
	int16_t device;
	/* From the tensor events: what the framework counts (torch.cuda.memory_stats words in brackets). */
	uint64_t allocated_bytes;      /* sum of live blocks */
	uint64_t reported_bytes;       /* the allocator's own total [allocated_bytes.all.current] */
	uint64_t reserved_bytes;       /* [reserved_bytes.all.current] */
	uint64_t peak_allocated_bytes; /* of reported_bytes [allocated_bytes.all.peak] */
	uint64_t peak_allocated_ns;
	uint64_t peak_reserved_bytes; /* [reserved_bytes.all.peak] */
	uint64_t peak_reserved_ns;
	uint64_t requested_bytes;      /* of the live blocks whose request is known [requested_bytes.all.current] */
	uint64_t peak_requested_bytes; /* [requested_bytes.all.peak], where all are known */
	uint64_t unrequested_bytes;    /* of the live blocks whose request is not known */
	uint64_t allocs;	       /* [allocation.all.allocated] */
	uint64_t frees;
	uint64_t allocated_total_bytes; /* [allocated_bytes.all.allocated] */
	uint64_t freed_total_bytes;
	uint64_t live_blocks;
	uint64_t unknown_frees;	  /* frees of blocks whose allocation is not in the trace */
	uint64_t replaced_blocks; /* allocations at an address whose block was still live: that block was closed */
	uint64_t mismatches;	  /* events after which our sum and the allocator's total moved differently */
	/* From the driver_memory events. */
	uint64_t driver_bytes; /* physical bytes now held by calls seen: cuMemAlloc, cuMemCreate, pools' reserve;
				* of the HOST device: pinned and registered host memory */
	uint64_t peak_driver_bytes;
	uint64_t driver_failures; /* calls that returned out of memory */
	bool pool_backend;	  /* totals come from a stream-ordered pool (backend:cudaMallocAsync) */
	/* From the samples. */
	uint64_t total_bytes;	 /* device capacity; 0: not known */
	uint64_t free_bytes;	 /* at the last sample */
	uint64_t process_bytes;	 /* booked by the driver for this process at the last sample; 0: not known */
	uint64_t min_free_bytes; /* UINT64_MAX: no sample yet */
};

struct vt_listener {
	void *self;
	/*
	 * alloc and free: item is a tensor event, or a stream-ordered driver_memory call where that is the allocator
	 * (vt_device.pool_backend): take what you need from the block. free: also a note, where a pause of the recording
	 * ends and blocks of before it cannot be followed any further.
	 *
	 * All may be NULL. Non-zero (negative) ends the replay with that code; fill err.
	 */
	int (*alloc)(void *self, const struct vt_replay *replay, const struct vt_item *item,
		     const struct vt_block *block, struct vt_err *err);
	/*
	 * block->serial 0: allocated before the capture or lost; then only address, size and device are known.
	 * Called too, before alloc, for a block whose address is handed out again though its free was never seen: what
	 * alloc began and free ended is always what is live.
	 */
	int (*free)(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err);
	int (*driver)(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		      struct vt_err *err);
	int (*op)(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err);
	int (*sample)(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		      struct vt_err *err);
	int (*oom)(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		   struct vt_err *err);
	int (*note)(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err);
	/* Every other kind of event: launch, kernel, copy, wait, mark. They change nothing of the replay's state. */
	int (*work)(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err);
	/* A new maximum of reported_bytes was reached on the device (called before alloc or free). */
	int (*peak)(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		    struct vt_err *err);
	/* After the last event. */
	int (*end)(void *self, const struct vt_replay *replay, struct vt_err *err);
};

int vt_replay_new(struct vt_replay **ret, struct vt_err *err);
void vt_replay_free(struct vt_replay *replay); /* NULL is fine */
/* The listener is copied; listener.self is borrowed until vt_replay_free. */
int vt_replay_add(struct vt_replay *replay, const struct vt_listener *listener, struct vt_err *err);
/* Runs over the cursor to its end. Again with a cursor that begins behind it; listeners are told of each end. */
int vt_replay_run(struct vt_replay *replay, struct vt_cursor *cursor, struct vt_err *err);

uint32_t vt_replay_device_count(const struct vt_replay *replay);
const struct vt_device *vt_replay_device(const struct vt_replay *replay, uint32_t index);
/* Time of the first and the last event seen; 0 before any. */
uint64_t vt_replay_first_ns(const struct vt_replay *replay);
uint64_t vt_replay_last_ns(const struct vt_replay *replay);

/*
 * Inside a `driver` callback: how the call changed the physical bytes held on its device, and the library (string id;
 * 0: not known) that asked for the allocation that began, ended or grew.
 */
struct vt_driver_change {
	int64_t bytes;
	uint32_t owner;
};
struct vt_driver_change vt_replay_driver_change(const struct vt_replay *replay);

/* Every live block of a device (all devices: UINT32_MAX), in no order. Valid inside callbacks and after the run. */
int vt_replay_each_live(const struct vt_replay *replay, uint32_t device,
			int (*fn)(void *arg, const struct vt_block *block), void *arg);

#endif
