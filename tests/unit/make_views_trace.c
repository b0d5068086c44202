/* make_views_trace.c - writes the trace of views_scenario.h to the file named. */
#include <stdio.h>

#include "tests/unit/views_scenario.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_views_trace FILE\n");
		return 2;
	}
	vt_views_scenario(argv[1]);
	return 0;
}
