/* locate.h - where things lie: the program to run, the agent's library. */
#ifndef VT_LAUNCH_LOCATE_H
#define VT_LAUNCH_LOCATE_H

#include <limits.h>

#include "schema/base/err.h"

#define VT_ENV_AGENT "VRAMTRACE_AGENT" /* path of libvramtrace-agent.so, in place of the installed one */

/* Exit statuses of a shell for a program that cannot be run. */
#define VT_EXIT_CANNOT_RUN 126
#define VT_EXIT_NOT_FOUND 127

/*
 * Finds the program as execvp would. 0 and its path, or -VT_E_INPUT with *ret_exit_status one of the two above.
 */
int vt_locate_program(const char *name, char ret_path[PATH_MAX], int *ret_exit_status, struct vt_err *err);

/* The agent of this installation or build tree, as an absolute path that LD_PRELOAD can name. */
int vt_locate_agent(char ret_path[PATH_MAX], struct vt_err *err);

#endif
