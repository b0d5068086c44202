/* find_session.h - which running recording somebody means. */
#ifndef VT_LAUNCH_FIND_SESSION_H
#define VT_LAUNCH_FIND_SESSION_H

#include <limits.h>

#include "schema/base/err.h"

/*
 * what: a session directory, the pid of a recorded process or of the recorder, or the trace that is being written; NULL:
 * the only recording of this user. -VT_E_INPUT where there is none, or more than one, with the choices.
 */
int vt_find_session(const char *what, char ret_session[PATH_MAX], struct vt_err *err);

#endif
