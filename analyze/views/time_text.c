/* time_text.c - see time_text.h. */
#include "analyze/views/time_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/base/err.h"

int vt_parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = { { "", 1e9 }, { "s", 1e9 },    { "ms", 1e6 }, { "us", 1e3 },
		      { "ns", 1 }, { "min", 60e9 }, { "m", 60e9 } };
	char *end;
	double value;

	if (*text < '0' || *text > '9')
		return -VT_E_USAGE;
	value = strtod(text, &end);
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < VT_ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		if (!(value * units[i].factor < 9e18))
			return -VT_E_USAGE;
		*ret_ns = (uint64_t)llround(value * units[i].factor);
		return 0;
	}
	return -VT_E_USAGE;
}
