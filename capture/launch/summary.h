/* summary.h - the few lines that close a recording; all from the file itself. */
#ifndef VT_LAUNCH_SUMMARY_H
#define VT_LAUNCH_SUMMARY_H

#include <stdint.h>
#include <stdio.h>

#include "schema/base/err.h"

/* out-of-memory errors first if there were any; then file, size, events, processes, losses; then what to run next. */
int vt_summary_print(FILE *out, const char *path, uint32_t still_running, struct vt_err *err);

#endif
