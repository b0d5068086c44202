/*
 * options.h - the command line of one subcommand: a table of options, the help text made from it, the shared options.
 * Built on getopt_long.
 */
#ifndef VT_ANALYZE_OPTIONS_H
#define VT_ANALYZE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/base/err.h"

/* Version of the names in the JSON that reports print: raised when one changes its meaning. */
#define VT_JSON_SCHEMA 1

enum vt_option_kind {
	VT_OPTION_FLAG,	  /* bool: becomes true */
	VT_OPTION_STRING, /* const char * */
	VT_OPTION_COUNT,  /* uint64_t: a plain number */
	VT_OPTION_BYTES,  /* uint64_t: 1536, 64K, 1.5G, 2GiB */
	VT_OPTION_INDEX,  /* int64_t: a number, or -1 where not given */
};

struct vt_option {
	const char *name; /* long name, without dashes; NULL ends the table */
	char letter;	  /* short name or 0 */
	enum vt_option_kind kind;
	void *value;
	const char *argument; /* name of the argument in the help; NULL for flags */
	const char *help;
};

struct vt_usage {
	const char *command;  /* "report" */
	const char *operands; /* "FILE" */
	const char *summary;  /* one sentence */
	const char *details;  /* paragraphs and examples for --help; may be NULL */
	bool whole_file;      /* --device, --process, --at and --top have no meaning for it and are not taken */
};

/* What every report takes; vt_options_parse adds these rows to the command's own and sets the defaults first. */
struct vt_common_options {
	bool json;
	bool quiet;
	const char *color; /* "auto", "always", "never" */
	int64_t device;	   /* -1: all */
	int64_t process;   /* -1: all; id as `info` prints it, or pid */
	uint64_t top;	   /* rows in tables; 10 */
	const char *at;	   /* "peak", "oom", "end" or a time such as 1.5s; NULL: the command's own default */
};

/*
 * Parses argv (argv[0] is the command's name; own and common may be NULL); operands are left at
 * argv[*ret_operand ...], wherever they stood between options. --help prints to stdout and returns 1: the caller exits
 * with 0. An error returns -VT_E_USAGE with a message that names the option and shows how to get help.
 */
/* NOLINTNEXTLINE(readability-function-size): a command line has this many sides. */
int vt_options_parse(const struct vt_usage *usage, const struct vt_option *own, struct vt_common_options *common,
		     int argc, char **argv, int *ret_operand, struct vt_err *err);

/* Prints "vramtrace <command>: <message>" to stderr and returns the exit status that belongs to err. */
int vt_command_fail(const char *command, const struct vt_err *err);

#endif
