/* make_perfetto_trace.c - writes the trace of perfetto_scenario.h to the file named. */
#include <stdio.h>

#include "tests/unit/perfetto_scenario.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_perfetto_trace FILE\n");
		return 2;
	}
	vt_perfetto_scenario(argv[1]);
	return 0;
}
