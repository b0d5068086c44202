/* recorder.h - the program that records: it is one of its own, installed beside this one. */
#ifndef VT_ANALYZE_RECORDER_H
#define VT_ANALYZE_RECORDER_H

#include <limits.h>

#include "schema/base/err.h"

/* Its path, as far as there may be one to execute. */
int vt_recorder_find(char ret_path[PATH_MAX + 64], struct vt_err *err);
/* The trace that a running recording writes: of the recorded process, or the recorder, of this pid. Free with free(). */
int vt_recorder_output_of(const char *pid, char **ret_path, struct vt_err *err);

#endif
