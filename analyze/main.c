/* main.c - vramtrace: finds the command and runs it. */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/commands/command.h"
#include "analyze/commands/recorder.h"
#include "analyze/commands/suggest.h"
#include "schema/base/bits.h"
#include "schema/base/err.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* NULL: the recorder does it */
	const char *help;
} commands[] = {
/* clang-format off */
#define COMMAND(name, help) { #name, vt_command_##name, help },
#define PROGRAM(name, help) { #name, NULL, help },
#include "analyze/commands/commands.def"
	/* clang-format on */
};

static void print_help(FILE *out)
{
	(void)fprintf(
		out,
		"vramtrace: where did the GPU memory go?\n\nUsage: vramtrace COMMAND [OPTIONS] [FILE]\n\nCommands:\n");
	for (size_t i = 0; i < VT_ARRAY_SIZE(commands); i++)
		(void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	(void)fprintf(out, "  %-10s %s\n", "help", "this, or the options of one command: vramtrace help COMMAND");
	(void)fprintf(out, "\nFirst steps:\n"
			   "  vramtrace record -o run.vramtrace -- python train.py\n"
			   "  vramtrace report run.vramtrace\n");
}

/* The recorder is linked against no view. It is started as `vramtrace-record COMMAND ARGS...`. */
static int exec_recorder(char **argv)
{
	char path[PATH_MAX + 64];
	struct vt_err err = { .code = VT_E_OK };

	if (vt_recorder_find(path, &err) < 0) {
		(void)fprintf(stderr, "vramtrace %s: %s\n", argv[1], err.msg);
		return vt_errc_exit_status(VT_E_IO);
	}
	execv(path, argv);
	(void)fprintf(stderr, "vramtrace %s: %s: %s\n", argv[1], path, strerror(errno));
	return vt_errc_exit_status(VT_E_IO);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int refuse(const char *typed)
{
	const char *names[VT_ARRAY_SIZE(commands)], *near;

	for (size_t i = 0; i < VT_ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	near = vt_suggest(typed, names, VT_ARRAY_SIZE(names));
	if (near)
		(void)fprintf(stderr, "vramtrace: unknown command '%s'; did you mean '%s'?\n", typed, near);
	else if (!access(typed, F_OK))
		(void)fprintf(stderr, "vramtrace: '%s' is a file, not a command; try 'vramtrace info %s'\n", typed,
			      typed);
	else
		(void)fprintf(stderr, "vramtrace: unknown command '%s'; 'vramtrace help' lists them\n", typed);
	return vt_errc_exit_status(VT_E_USAGE);
}

static int run_command(const char *name, int argc, char **argv)
{
	const struct command *command = find_command(name);

	if (!command)
		return refuse(name);
	return command->run ? command->run(argc - 1, argv + 1) : exec_recorder(argv);
}

/* A full disk or a closed pipe shows at the latest when the last bytes leave. */
static int end_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno == EPIPE)
		return status;
	(void)fprintf(stderr, "vramtrace: standard output: %s\n", strerror(errno));
	return status ? status : vt_errc_exit_status(VT_E_IO);
}

int main(int argc, char **argv)
{
	char help[] = "--help";
	const char *name = argc > 1 ? argv[1] : NULL;

	/* Only the encoding: numbers keep their point whatever the locale. */
	(void)setlocale(LC_CTYPE, "");
	if (!name) {
		print_help(stderr);
		return vt_errc_exit_status(VT_E_USAGE);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		(void)printf("vramtrace %s\n", VT_VERSION);
		return end_output(0);
	}
	if (!strcmp(name, "help") && argc > 2) {
		char *helped[] = { argv[0], argv[2], help, NULL };

		return end_output(run_command(argv[2], 3, helped));
	}
	if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h")) {
		print_help(stdout);
		return end_output(0);
	}
	return end_output(run_command(name, argc, argv));
}
