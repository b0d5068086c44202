/*
 * session.h - the session directory as the collector sees it: a lock, and ring files that come.
 */
#ifndef VT_COLLECTOR_SESSION_H
#define VT_COLLECTOR_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/base/err.h"

struct vt_session {
	char *path;   /* owned */
	int lock_fd;  /* holds the directory's lock as long as it is open */
	int watch_fd; /* inotify, or -1 */
};

/* VT_E_INPUT where another collector has the session, or the directory is not ours alone. */
int vt_session_open(struct vt_session *ret, const char *path, struct vt_err *err);
void vt_session_done(struct vt_session *session);

/* True when something changed since the last call, or when that cannot be known. */
bool vt_session_changed(struct vt_session *session);

/*
 * Calls fn with each ring file's path and inode, in the directory's order, until it returns nonzero: that is returned
 * too. The path is valid during the call.
 */
int vt_session_each(struct vt_session *session, int (*fn)(void *arg, const char *path, ino_t inode), void *arg,
		    struct vt_err *err);

/* Reads "<pid>-<start ticks>" off a ring file's name. False where it is another name. */
bool vt_session_parse_name(const char *path, uint32_t *ret_pid, uint64_t *ret_start_ticks);

#endif
