/* gzip.h - bytes to gzip's format. */
#ifndef VT_ANALYZE_GZIP_H
#define VT_ANALYZE_GZIP_H

#include "schema/base/buf.h"
#include "schema/base/err.h"

/* Appends a whole gzip stream (RFC 1952, no time in it) to *ret. */
int vt_gzip(const void *data, size_t bytes, struct vt_buf *ret, struct vt_err *err);

#endif
