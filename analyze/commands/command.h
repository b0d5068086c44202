/*
 * command.h - a subcommand of vramtrace.
 *
 * To add one: write analyze/commands/command_<name>.c (listed in analyze/CMakeLists.txt) with `int
 * vt_command_<name>(int argc, char **argv)`, declare it in commands.def with its one line of help, and add a page to
 * docs and a case to tests/e2e. It parses its own options (analyze/commands/options.h gives the ones all commands
 * share), prints data to stdout, everything else to stderr, and returns an exit status from schema/base/err.def.
 */
#ifndef VT_ANALYZE_COMMAND_H
#define VT_ANALYZE_COMMAND_H

/* clang-format off */
#define COMMAND(name, help) int vt_command_##name(int argc, char **argv);
#include "analyze/commands/commands.def"
/* clang-format on */

#endif
