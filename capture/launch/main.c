/* main.c - vramtrace-record: the part of `vramtrace` that runs programs. People call it as `vramtrace record`. */
#include <stdio.h>
#include <string.h>

#include "capture/launch/launch.h"
#include "schema/base/err.h"

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (!strcmp(command, "record"))
		return vt_launch_record(argc - 1, argv + 1);
	if (!strcmp(command, "collect"))
		return vt_launch_collect(argc - 1, argv + 1);
	if (!strcmp(command, "ctl"))
		return vt_launch_ctl(argc - 1, argv + 1);
	if (!strcmp(command, "doctor"))
		return vt_launch_doctor(argc - 1, argv + 1);
	if (!strcmp(command, "--version")) {
		(void)puts("vramtrace-record " VT_VERSION);
		return 0;
	}
	(void)fputs("vramtrace-record: run `vramtrace record --help` or `vramtrace collect --help`\n", stderr);
	return vt_errc_exit_status(VT_E_USAGE);
}
