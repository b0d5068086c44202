/* user_file.h - whether a source file is the user's own. Part of symbols. */
#ifndef VT_ANALYZE_USER_FILE_H
#define VT_ANALYZE_USER_FILE_H

#include <stdbool.h>

/* Not of torch, of the Python library or of an installed package, nor generated or frozen code. Judged by the path. */
bool vt_is_user_file(const char *path);

#endif
