/*
 * kernel_name.c - see kernel_name.h.
 *
 * Only the part that says who it is: <nested-name> of the Itanium C++ ABI, 5.1.3, up to its template arguments.
 * The whole name, which c++filt reads, is in the kernel's details.
 */
#include "analyze/symbols/kernel_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* <source-name>: a length and that many bytes. 0: there is none at *at. */
static size_t read_identifier(const char **at)
{
	size_t length = 0;
	const char *p = *at;

	while (*p >= '0' && *p <= '9' && length < 10000)
		length = length * 10 + (size_t)(*p++ - '0');
	if (!length || strnlen(p, length) < length)
		return 0;
	*at = p;
	return length;
}

static bool append(char *out, size_t room, size_t *used, const char *text, size_t bytes)
{
	size_t colons = *used ? 2 : 0;

	if (*used + colons + bytes + 1 > room)
		return false;
	memcpy(out + *used, "::", colons);
	memcpy(out + *used + colons, text, bytes);
	*used += colons + bytes;
	out[*used] = '\0';
	return true;
}

const char *vt_kernel_short_name(const char *name, char *out, size_t room)
{
	static const char anonymous[] = "_GLOBAL__N_";
	const char *at = name;
	size_t used = 0;
	size_t length;
	bool is_nested;

	if (strncmp(at, "_Z", 2) != 0)
		goto plain;
	at += 2;
	is_nested = *at == 'N';
	at += is_nested;
	while (is_nested && (*at == 'r' || *at == 'V' || *at == 'K')) /* qualifiers of a member function */
		at++;
	if (!strncmp(at, "St", 2)) {
		at += 2;
		if (!append(out, room, &used, "std", 3))
			goto plain;
	}
	while ((length = read_identifier(&at)) != 0) {
		bool is_anonymous = length >= sizeof(anonymous) - 1 && !memcmp(at, anonymous, sizeof(anonymous) - 1);

		if (!is_anonymous && !append(out, room, &used, at, length))
			goto plain;
		at += length;
		if (!is_nested)
			break;
	}
	if (used && used != 3)
		return out;
plain:
	used = strnlen(name, room);
	while (used >= room || (used && name[used] && ((uint8_t)name[used] & 0xc0) == 0x80))
		used--;
	(void)snprintf(out, room, "%.*s", (int)used, name);
	return out;
}
