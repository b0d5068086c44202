/*
 * process.h - one captured process: its ring file, how far each ring was read, its batches and its losses.
 *
 * A round, all within one transaction of the store, in the order that ring.h's essay asks for:
 *   look      reads the heads of all rings (H1), after the states: a ring seen CLOSED has its last head
 *   drain     each ring: reads its head again (H2), takes everything up to H1, and the definitions alone up to H2.
 *             H2 of every ring is read after H1 of every ring, so each definition that an event below any H1 refers to
 *             lies below some H2 and is in this transaction or in the file already.
 *   commit    the caller's
 *   release   gives the rings' memory back (R2) and frees the rings of ended threads (R5)
 * Ring positions go into the same transaction as the events below them. Definitions between H1 and H2 may be read
 * again after a restart; the store knows their ids and leaves them alone.
 *
 * Everything in the ring file is the target's word: what contradicts itself is counted as a loss and skipped.
 */
#ifndef VT_COLLECTOR_PROCESS_H
#define VT_COLLECTOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/collector/batch.h"
#include "schema/ring_read.h"

/* One thread's stay in a ring. */
struct vt_stay {
	uint32_t generation;  /* 0: nobody is in */
	bool closed;	      /* the thread has ended: `head` is the end of its records */
	bool bad;	      /* its head is impossible: counted once, not read */
	uint64_t position;    /* records below are in the file or in the open transaction */
	uint64_t definitions; /* likewise, for definitions; >= position */
	uint64_t head;	      /* H1 of this round */
	uint64_t events;      /* the ring's count of records, all stays together, as the file has it */
	uint64_t events_base; /* what that count was when the stay began */
};

struct vt_process {
	struct vt_ring_file file;
	char *path; /* of the ring file; owned */
	ino_t inode;
	uint32_t id; /* in the trace */
	uint32_t pid;
	uint64_t pid_start_ticks;
	uint64_t start_ns;
	uint64_t gone_ns; /* when it was found dead: it can write no more; 0: it runs */
	bool last_round;  /* no round follows this one */
	bool gap;	  /* the trace says that it is paused */
	bool announced;	  /* its row in the trace is as it should be */
	struct vt_stay stays[VT_SHM_RINGS_MAX];
	struct vt_batch *batches;	  /* [vt_nevents]; those of CHUNK events are used; owned */
	uint64_t own_loss[VT_LOSS_MAX];	  /* what the collector could not take */
	uint64_t known_loss[VT_LOSS_MAX]; /* all losses, as the trace has them */
};

/* Maps the ring file at path; errors of vt_ring_file_open as they are. The caller owns *ret. */
int vt_process_open(struct vt_process **ret, const char *path, struct vt_err *err);
/*
 * Enters the process into the trace; where it is in there already (a restarted collector), goes on where the trace
 * ends. Needs a transaction.
 */
int vt_process_enter(struct vt_process *process, struct vt_store *store, struct vt_err *err);
void vt_process_free(struct vt_process *process); /* NULL is fine */

/* How full the fullest ring is, in parts of 256, rounded up; 0: no record waits. */
uint32_t vt_process_fill(const struct vt_process *process);
/* True where the trace's rows about the process are not what its header and counters say now. */
bool vt_process_has_news(const struct vt_process *process);

/* The parts of a round; see above. *ret_records is raised by the number of records taken. */
void vt_process_look(struct vt_process *process);
int vt_process_drain(struct vt_process *process, const struct vt_batch_sink *sink, uint64_t *ret_records,
		     struct vt_err *err);
void vt_process_release(struct vt_process *process);

/* Writes the process's row and its losses where they changed; after drain, in the same transaction. */
int vt_process_write_rows(struct vt_process *process, struct vt_store *store, struct vt_err *err);

#endif
