/*
 * control.h - a running recording takes requests: a socket in the session directory, which is the user's alone.
 *
 * One message, one answer, the connection ends. A request is a word: pause, resume, flush or status. An answer is
 * "ok\n" and, for status, lines of "key value\n"; or "error TEXT". A client that says nothing is waited for no longer
 * than VT_CONTROL_WAIT_MS; the rings have room for seconds.
 */
#ifndef VT_LAUNCH_CONTROL_H
#define VT_LAUNCH_CONTROL_H

#include <stddef.h>

#include "capture/launch/keeper.h"

#define VT_CONTROL_WAIT_MS 100
#define VT_CONTROL_BYTES_MAX 8192

struct vt_control {
	int fd; /* listens; readable when somebody asks; -1: there is no socket */
	const char *session;
};

/* The session string must outlive it. */
int vt_control_open(struct vt_control *ret, const char *session, struct vt_err *err);
/* Answers those who ask now. */
void vt_control_serve(struct vt_control *control, struct vt_keeper *keeper);
/* Removes the socket too. */
void vt_control_done(struct vt_control *control);

/*
 * The other side: asks the recorder of a session. 0 with what follows "ok\n" in `reply`; -VT_E_INPUT: nobody is there;
 * -VT_E_IO: it could not do it, in its words.
 */
int vt_control_ask(const char *session, const char *request, char reply[VT_CONTROL_BYTES_MAX], struct vt_err *err);

#endif
