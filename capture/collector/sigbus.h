/*
 * sigbus.h - reading a mapped file that somebody else cuts short must not end the collector.
 *
 * A page of a watched mapping that lost its file becomes a private page of zeros; the reader then sees records that
 * make no sense, counts them and goes on. One table for the process, because a signal handler has no argument.
 */
#ifndef VT_COLLECTOR_SIGBUS_H
#define VT_COLLECTOR_SIGBUS_H

#include <stddef.h>

/* Sets the handler, too. With more mappings than the table holds, the rest are not watched. */
void vt_sigbus_watch(const void *map, size_t bytes);
/* Before the mapping goes. Nothing happens where it is not watched. */
void vt_sigbus_unwatch(const void *map);

#endif
