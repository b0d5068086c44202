/* tar.h - writes a tar archive (POSIX ustar) of regular files, as it goes. */
#ifndef VT_ANALYZE_TAR_H
#define VT_ANALYZE_TAR_H

#include <stdint.h>
#include <stdio.h>

#include "schema/base/err.h"

/* A member from all of `from`, read from its start. name: at most 99 bytes. */
int vt_tar_add_file(FILE *tar, const char *name, FILE *from, struct vt_err *err);
int vt_tar_add_text(FILE *tar, const char *name, const char *text, size_t bytes, struct vt_err *err);
/* The two empty blocks at the end. */
int vt_tar_end(FILE *tar, struct vt_err *err);

#endif
