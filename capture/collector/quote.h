/* quote.h - a command line as a shell would need it. */
#ifndef VT_COLLECTOR_QUOTE_H
#define VT_COLLECTOR_QUOTE_H

#include <stddef.h>

#include "schema/base/buf.h"

/*
 * Appends the arguments in cmdline (each ended by NUL, the last perhaps cut short), quoted where a shell would need it
 * and with a space between, and a final NUL. 0, or -VT_E_NOMEM.
 */
int vt_quote_command(const char *cmdline, size_t bytes, struct vt_buf *out);

#endif
