/*
 * pause.h - stops and resumes the recording of a process by its control word (schema/ring.h), and says so in the trace.
 *
 * The trace holds GAP_BEGIN and GAP_END notes with thread 0: between them nothing of the process was recorded, so what
 * is live after the gap is known only in total.
 */
#ifndef VT_COLLECTOR_PAUSE_H
#define VT_COLLECTOR_PAUSE_H

#include "capture/collector/process.h"

/*
 * Has the process record, or not; nothing happens where it is as wanted and the trace says so. After vt_process_enter;
 * needs a transaction. now_ns: CLOCK_MONOTONIC.
 */
int vt_process_set_paused(struct vt_process *process, struct vt_store *store, bool paused, uint64_t now_ns,
			  struct vt_err *err);

/* The marker for processes to come (VT_SESSION_PAUSED), in a session directory. */
int vt_pause_mark(const char *session, bool paused, struct vt_err *err);
bool vt_pause_is_marked(const char *session);

#endif
