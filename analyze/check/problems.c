/* problems.c - see problems.h. */
#include "analyze/check/problems.h"

#include <stdarg.h>
#include <stdio.h>

void vt_problems_add(struct vt_problems *problems, const char *place, const char *advice, const char *format, ...)
{
	struct vt_problem *problem;
	va_list args;

	if (problems->count++ >= VT_PROBLEMS_MAX)
		return;
	problem = &problems->first[problems->count - 1];
	(void)snprintf(problem->place, sizeof(problem->place), "%s", place);
	va_start(args, format);
	(void)vsnprintf(problem->what, sizeof(problem->what), format, args);
	va_end(args);
	problem->advice = advice;
}
