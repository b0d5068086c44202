/*
 * collector.h - follows a session: finds the ring files of its processes, moves what is in them to the trace file.
 *
 * Everything happens in vt_collector_poll, called every few milliseconds by one thread. It commits when something new
 * has waited for VT_COLLECTOR_COMMIT_NS, or at once when a ring is more than a quarter full. One transaction holds the
 * events, the definitions they refer to and the ring positions, so a collector that dies at any moment leaves a trace
 * that another collector continues without loss or double (vt_collector_new with VT_STORE_RESUME on the same session).
 *
 * After an error (disk full, ...) the collector is of no use but for vt_collector_free. The processes do not notice:
 * their rings fill up, drop and count.
 *
 * Memory: per process and event kind at most one unfinished chunk (batch.h), about 15 MiB for a busy process; plus one
 * chunk's worth of scratch. The rings themselves are the processes' memory.
 */
#ifndef VT_COLLECTOR_H
#define VT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/store.h"

#define VT_COLLECTOR_COMMIT_NS UINT64_C(100000000)
#define VT_COLLECTOR_CLOCK_NS UINT64_C(10000000000)
/* Processes followed at the same time; the files of others wait until one has ended. */
#define VT_COLLECTOR_PROCESSES_MAX 512u

struct vt_collector;

/*
 * Opens (or makes, by mode) the trace at path and takes the session directory, which one collector holds at a time.
 * The strings are copied.
 */
int vt_collector_new(struct vt_collector **ret, const char *session, const char *path, enum vt_store_mode mode,
		     struct vt_err *err);
/* Closes without a last commit; what was committed stays. NULL is fine. */
void vt_collector_free(struct vt_collector *collector);

/* A row of the table meta; goes out with the next commit. */
int vt_collector_set_meta(struct vt_collector *collector, const char *key, const char *value, struct vt_err *err);

/*
 * Stops or resumes recording: in every process that is followed, and in those that are to come. Written with the next
 * commit. A collector that goes on with a session (VT_STORE_RESUME) leaves it as it is.
 */
int vt_collector_pause(struct vt_collector *collector, bool paused, struct vt_err *err);
bool vt_collector_is_paused(const struct vt_collector *collector);
/* Commits what the rings hold now. */
int vt_collector_flush(struct vt_collector *collector, struct vt_err *err);
/* Records moved to the trace by this collector. */
uint64_t vt_collector_records(const struct vt_collector *collector);

/* Does what is due. *ret_wait_ms: call again after that many milliseconds, or when vt_collector_fd is readable. */
int vt_collector_poll(struct vt_collector *collector, int *ret_wait_ms, struct vt_err *err);
/* Readable when the session directory changes; -1 where the kernel gives no such thing. */
int vt_collector_fd(const struct vt_collector *collector);

/* Processes that are followed and were not yet seen to end. */
uint32_t vt_collector_running(const struct vt_collector *collector);

/*
 * Moves all that is in the rings now, closes the rows and leaves one plain file; where a reader keeps that from
 * happening, the file and its log, and a warning. Then only vt_collector_take_warning and vt_collector_free.
 */
int vt_collector_finish(struct vt_collector *collector, struct vt_err *err);

/* What people should know, such as why a process is not recorded; each once. NULL: nothing new. Valid until the next poll. */
const char *vt_collector_take_warning(struct vt_collector *collector);

#endif
