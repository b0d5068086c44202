/*
 * ring.h - the shared memory between one captured process and the collector: the ABI of one installation.
 *
 * One file per process in the session directory, mapped by both sides; the file outlives the process, so nothing that
 * was committed is lost when the target is killed.
 *
 *   offset 0                     struct vt_shm            identity of the process, clocks, process-wide counters
 *   vt_shm.rings_offset          struct vt_ring [nrings_max]   one header per thread
 *   vt_ring.data_offset          data_bytes               the ring itself; a power of two; allocated (fallocate) by the
 *                                                         agent before the ring is made LIVE, so a write never faults
 *
 * A ring has one producer (its thread) and one consumer (the collector). Positions count bytes since the ring was made
 * and never wrap; the byte of position p lies at data_offset + (p & (data_bytes - 1)). A record is contiguous: where it
 * does not fit before the end, a FILLER record (type 0) takes the rest.
 *
 * Who writes what, and the order that makes it safe:
 *   head    producer only, release (R1) after the record is complete   <-> acquire (A1) in ring_read.c
 *   tail    consumer only, release (R2) after records are committed to the file <-> acquire (A2) in ring_write.h
 *   state   FREE -> LIVE by the producer (release R3, after every other field) <-> acquire (A3) by the consumer
 *           LIVE -> CLOSED by the producer when its thread ends (release R4)
 *           CLOSED -> FREE by the consumer once tail == head (release R5) <-> acquire (A5) by a thread that takes it over
 *   lost    producer only, relaxed: plain counters
 *
 * Definitions (classes TABLE and BLOB: string, op_node, code, frame, stack) are records like any other. An id is handed
 * to other threads only after its definition was committed, so: a consumer that reads a head, and afterwards the heads
 * of all other rings, finds in those every definition that the first ring's records refer to.
 *
 * A crash leaves: whole records up to head. A record reserved but not committed was never visible.
 * The consumer trusts no number in here: see ring_read.c.
 */
#ifndef VT_SCHEMA_RING_H
#define VT_SCHEMA_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "schema/base/bits.h"
#include "schema/event.h"

#define VT_SHM_MAGIC UINT64_C(0x31474e4952545600) /* "\0VTRING1" */
/* Changes with every change of this file; event layouts are covered by VT_SHM_EVENTS_BYTES beside it. */
#define VT_SHM_ABI 2u
#define VT_SHM_HEADER_BYTES 8192u
#define VT_SHM_RINGS_MAX 148u

/* Ring sizes by index: few threads do nearly all the work. 4*4 MiB + 16*1 MiB + 128*256 KiB = 64 MiB at most. */
static inline uint64_t vt_ring_bytes(uint32_t index)
{
	return index < 4 ? UINT64_C(4) << 20 : index < 20 ? UINT64_C(1) << 20 : UINT64_C(256) << 10;
}

/* A longer record cannot be written: it would not fit the smallest ring four times. */
#define VT_REC_BYTES_MAX (64u << 10)

enum vt_shm_state {
	VT_SHM_STARTING = 0,
	VT_SHM_LIVE = 1,
	VT_SHM_EXITED = 2, /* the process ended by exit() and said so; threads may write until it is gone */
	VT_SHM_OFF = 3,	   /* the agent switched itself off; see the notes */
};

enum vt_ring_state { VT_RING_FREE = 0, VT_RING_LIVE = 1, VT_RING_CLOSED = 2 };

#define VT_LOSS_MAX 16

struct vt_ring {
	/* producer's line(s) */
	_Alignas(VT_CACHE_LINE) _Atomic uint64_t head;
	_Atomic uint64_t events;	    /* records committed, fillers not counted */
	_Atomic uint64_t lost[VT_LOSS_MAX]; /* by enum vt_loss */
	/* consumer's line */
	_Alignas(VT_CACHE_LINE) _Atomic uint64_t tail;
	/* set while FREE, constant while LIVE or CLOSED */
	_Alignas(VT_CACHE_LINE) _Atomic uint32_t state; /* enum vt_ring_state */
	uint32_t generation;				/* raised at each take-over; starts at 1 */
	uint32_t tid;					/* kernel thread id of the producer */
	uint32_t flags;
	uint64_t data_offset;
	uint64_t data_bytes;
	uint64_t start_position; /* head at the take-over: this generation's records start here */
	char name[16];		 /* thread name when the ring was taken */
};
_Static_assert(sizeof(struct vt_ring) == 320, "struct vt_ring is shared memory ABI");

struct vt_shm {
	uint64_t magic; /* written last at creation */
	uint32_t abi;
	uint32_t events_bytes; /* VT_SHM_EVENTS_BYTES: agent and collector must have been built from one events.def */
	uint64_t file_bytes;   /* of the whole mapping */
	uint64_t rings_offset;
	uint32_t nrings_max;
	uint32_t pid;
	uint32_t parent_pid;
	int32_t rank;		  /* RANK, or -1 */
	int32_t local_rank;	  /* LOCAL_RANK, or -1 */
	int32_t world_size;	  /* WORLD_SIZE, or -1 */
	uint64_t pid_start_ticks; /* field 22 of /proc/<pid>/stat: with pid it names the process for ever */
	uint64_t start_ns;	  /* CLOCK_MONOTONIC when the agent started */
	uint64_t start_realtime_ns;
	uint64_t start_boottime_ns;
	_Atomic uint32_t state;		    /* enum vt_shm_state */
	_Atomic uint32_t nrings;	    /* rings made so far; their headers are valid */
	_Atomic uint64_t end_ns;	    /* CLOCK_MONOTONIC when state became EXITED; else 0 */
	_Atomic uint64_t lost[VT_LOSS_MAX]; /* losses that belong to no ring */
	uint32_t command_bytes;
	uint32_t executable_bytes;
	/*
	 * Written by the consumer alone, relaxed: odd while nothing is to be recorded. It only rises, so a thread that
	 * finds another number than before knows that it has missed something (C1 in thread.c).
	 */
	_Alignas(VT_CACHE_LINE) _Atomic uint32_t control;
	uint32_t reserved[15];
	char command[4096];    /* as /proc/<pid>/cmdline: arguments, NUL after each */
	char executable[1024]; /* target of /proc/<pid>/exe */
};
_Static_assert(sizeof(struct vt_shm) <= VT_SHM_HEADER_BYTES, "struct vt_shm must fit its pages");

/* A cheap fingerprint of all record layouts. */
/* clang-format off */
#define EVENT(id, class, name, since, doc) + (uint32_t)sizeof(struct vt_##name) * (id)
static const uint32_t VT_SHM_EVENTS_BYTES = 0u
#include "schema/events.def"
	;
/* clang-format on */

/* The whole file: header pages, ring headers, all rings at full size (a sparse file: only LIVE rings take memory). */
static inline uint64_t vt_shm_rings_bytes(void)
{
	return vt_align_up(sizeof(struct vt_ring) * VT_SHM_RINGS_MAX, 4096);
}

/* The sum of the rings before it; asked for each record that is read, so without a loop. */
static inline uint64_t vt_ring_data_offset(uint32_t index)
{
	uint64_t large = index < 4 ? index : 4;
	uint64_t middle = index < 4 ? 0 : index < 20 ? index - 4 : 16;
	uint64_t small = index < 20 ? 0 : index - 20;

	return VT_SHM_HEADER_BYTES + vt_shm_rings_bytes() + large * vt_ring_bytes(0) + middle * vt_ring_bytes(4) +
	       small * vt_ring_bytes(20);
}

static inline uint64_t vt_shm_file_bytes(void)
{
	return vt_ring_data_offset(VT_SHM_RINGS_MAX);
}

/* Environment between the recorder and the agents of its children. */
#define VT_ENV_SESSION                                                                                                 \
	"VRAMTRACE_SESSION" /* session directory: agents make <pid>-<start ticks>.ring in it, after an
					      * exec in the same process <pid>-<start ticks>.1.ring and so on */
/* A file of this name in the session directory: processes that begin now begin with control = 1. */
#define VT_SESSION_PAUSED "paused"
#define VT_ENV_HOST "VRAMTRACE_HOST"	       /* "1": host (CPU) tensors too */
#define VT_ENV_STACKS "VRAMTRACE_STACKS"       /* comma list: python, none */
#define VT_ENV_OPS "VRAMTRACE_OPS"	       /* "0": no op capture */
#define VT_ENV_KERNELS "VRAMTRACE_KERNELS"     /* "1": kernels, copies, launches and waits too */
#define VT_ENV_CUPTI "VRAMTRACE_CUPTI"	       /* "0": never touch CUPTI; else a path of libcupti to prefer */
#define VT_ENV_REQUESTED "VRAMTRACE_REQUESTED" /* "0": the allocator's own objects stay untouched: no bytes asked for */
#define VT_ENV_DEBUG "VRAMTRACE_DEBUG"	       /* path of a file the agent may append its complaints to */

#endif
