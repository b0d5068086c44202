/* format.c - see format.h. */
#include "schema/base/format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "schema/base/bits.h"
#include "schema/base/err.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)

const char *vt_format_bytes(char out[VT_FORMAT_MAX], uint64_t bytes)
{
	/* The bounds are "at most", as c10's are: 1024 is "1024 bytes", 1 MiB is "1024.00 KiB". */
	if (bytes <= KIB)
		(void)snprintf(out, VT_FORMAT_MAX, "%" PRIu64 " bytes", bytes);
	else if (bytes <= MIB)
		(void)snprintf(out, VT_FORMAT_MAX, "%.2f KiB", (double)bytes / (double)KIB);
	else if (bytes <= GIB)
		(void)snprintf(out, VT_FORMAT_MAX, "%.2f MiB", (double)bytes / (double)MIB);
	else
		(void)snprintf(out, VT_FORMAT_MAX, "%.2f GiB", (double)bytes / (double)GIB);
	return out;
}

const char *vt_format_signed_bytes(char out[VT_FORMAT_MAX], int64_t bytes)
{
	char magnitude[VT_FORMAT_MAX];

	vt_format_bytes(magnitude, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
	(void)snprintf(out, VT_FORMAT_MAX, "%s%.*s", bytes < 0 ? "-" : "", VT_FORMAT_MAX - 2, magnitude);
	return out;
}

const char *vt_format_count(char out[VT_FORMAT_MAX], uint64_t count)
{
	char digits[24];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = 0;
	return out;
}

const char *vt_format_ns(char out[VT_FORMAT_MAX], uint64_t ns)
{
	/* Each bound lies where the next smaller unit would round up to a fourth digit before the point. */
	if (ns < 1000)
		(void)snprintf(out, VT_FORMAT_MAX, "%" PRIu64 " ns", ns);
	else if (ns < 999950)
		(void)snprintf(out, VT_FORMAT_MAX, "%.1f us", (double)ns / 1e3);
	else if (ns < 999995000)
		(void)snprintf(out, VT_FORMAT_MAX, "%.2f ms", (double)ns / 1e6);
	else if (ns < UINT64_C(59999500000))
		(void)snprintf(out, VT_FORMAT_MAX, "%.3f s", (double)ns / 1e9);
	else {
		uint64_t s = ns / 1000000000 + (ns % 1000000000 >= 500000000);

		if (s < 3600)
			(void)snprintf(out, VT_FORMAT_MAX, "%" PRIu64 " min %02" PRIu64 " s", s / 60, s % 60);
		else
			(void)snprintf(out, VT_FORMAT_MAX, "%" PRIu64 " h %02" PRIu64 " min", s / 3600, s % 3600 / 60);
	}
	return out;
}

/* The factor of a unit as people write it, all of them binary; 0: not a unit. */
static uint64_t unit_factor(const char *unit)
{
	static const struct {
		const char *names[3];
		uint64_t factor;
	} units[] = {
		{ { "", "B", "bytes" }, 1 },   { { "K", "KB", "KiB" }, KIB }, { { "M", "MB", "MiB" }, MIB },
		{ { "G", "GB", "GiB" }, GIB }, { { "T", "TB", "TiB" }, TIB },
	};

	for (size_t i = 0; i < VT_ARRAY_SIZE(units); i++)
		for (size_t j = 0; j < VT_ARRAY_SIZE(units[i].names); j++)
			if (!strcasecmp(unit, units[i].names[j]))
				return units[i].factor;
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int vt_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	uint64_t whole = 0, fraction = 0, scale = 1, factor;
	unsigned __int128 bytes;
	const char *p = text;

	if (!is_digit(*p))
		return -VT_E_USAGE;
	for (; is_digit(*p); p++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			return -VT_E_USAGE;
	if (*p == '.') {
		/* Digits beyond the ninth are below a byte of any unit worth writing with a point. */
		for (p++; is_digit(*p); p++)
			if (scale < 1000000000) {
				fraction = fraction * 10 + (uint64_t)(*p - '0');
				scale *= 10;
			}
	}
	while (*p == ' ')
		p++;
	factor = unit_factor(p);
	if (!factor)
		return -VT_E_USAGE;
	bytes = (unsigned __int128)whole * factor + (unsigned __int128)fraction * factor / scale;
	if (bytes > UINT64_MAX)
		return -VT_E_USAGE;
	*ret_bytes = (uint64_t)bytes;
	return 0;
}
