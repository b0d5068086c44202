/* session_dir.h - the directory in which the agents of a recording make their ring files. */
#ifndef VT_LAUNCH_SESSION_DIR_H
#define VT_LAUNCH_SESSION_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "schema/base/err.h"

/* The socket by which a running recording is controlled: control.h. */
#define VT_SESSION_CONTROL "control"

/* Less free space than this in /dev/shm (small in some containers), and another place is taken. */
#define VT_SESSION_FREE_BYTES_MIN (UINT64_C(128) << 20)

/*
 * Makes <place>/vramtrace-<uid>-XXXXXX, mode 0700, in /dev/shm, else in $TMPDIR or /tmp: then *ret_in_memory is false,
 * and a busy disk may slow the program down.
 */
int vt_session_dir_make(char ret_path[PATH_MAX], bool *ret_in_memory, struct vt_err *err);
/*
 * A session of this user that no collector holds and that still has ring files: its recorder was killed. False where
 * there is none. *ret_bytes: the memory its ring files take.
 */
bool vt_session_dir_find_orphan(char ret_path[PATH_MAX], uint64_t *ret_bytes);
/*
 * Every session directory of this user, live or not, in the places where they are made, until fn returns nonzero: that
 * is returned too.
 */
int vt_session_dir_each(int (*fn)(void *arg, const char *path), void *arg);
/* Removes the directory and the ring files in it; anything else stays, and then the directory does too. */
void vt_session_dir_remove(const char *path);

#endif
