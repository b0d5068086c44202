/* kernel_name.h - what a kernel is called, for people. */
#ifndef VT_ANALYZE_KERNEL_NAME_H
#define VT_ANALYZE_KERNEL_NAME_H

#include <stddef.h>

/*
 * The readable part of a mangled C++ name: its namespaces and its own name, without template arguments and parameters.
 * What is not a mangled name stays as it is, cut between characters where it does not fit. Returns out.
 */
const char *vt_kernel_short_name(const char *name, char *out, size_t room);

#endif
