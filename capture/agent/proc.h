/* proc.h - what the kernel says about this process, without stdio or malloc. */
#ifndef VT_AGENT_PROC_H
#define VT_AGENT_PROC_H

#include <stddef.h>
#include <stdint.h>

/* Reads up to size bytes of a file; the number read, 0 where it cannot be read. */
size_t vt_proc_read(const char *path, char *buffer, size_t size);

/* Field 22 of /proc/self/stat, start of the process in clock ticks since boot; 0 where it cannot be read. */
uint64_t vt_proc_start_ticks(void);

/* A decimal environment variable, or fallback where it is missing or not a number. */
int32_t vt_proc_env_number(const char *name, int32_t fallback);

/* Appends value in decimal at `to`; the byte behind it. Needs 20 bytes. */
char *vt_proc_put_number(char *to, uint64_t value);

#endif
