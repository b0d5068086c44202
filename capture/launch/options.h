/* options.h - the command lines of `record` and `collect`. */
#ifndef VT_LAUNCH_OPTIONS_H
#define VT_LAUNCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/base/err.h"

struct vt_record_options {
	const char *output;	 /* NULL: vramtrace-<program>-<pid>.vramtrace */
	const char *stacks;	 /* "python" or "none" */
	char **program;		 /* the program and its arguments, NULL at the end; points into argv */
	uint64_t start_after_ns; /* nothing is recorded before */
	uint64_t duration_ns;	 /* of the recording; 0: to the end */
	uint64_t grace_ns;	 /* how long processes are followed that outlive the program */
	bool ops;
	bool host;
	bool kernels;
	bool cupti;
	bool force;
	bool keep_session;
	bool quiet;
};

struct vt_collect_options {
	const char *session;
	const char *output;
	bool keep_session;
	bool quiet;
};

/*
 * argv[0] is "record" or "collect". --help prints to stdout and returns 1: the caller exits with 0. An error is
 * -VT_E_USAGE with a message that says how to get help. Strings point into argv.
 */
int vt_record_options_parse(struct vt_record_options *ret, int argc, char **argv, struct vt_err *err);
int vt_collect_options_parse(struct vt_collect_options *ret, int argc, char **argv, struct vt_err *err);

#endif
