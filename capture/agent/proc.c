/* proc.c - see proc.h. */
#include "capture/agent/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t vt_proc_read(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t total = 0;

	if (fd < 0)
		return 0;
	while (total < size) {
		ssize_t n = read(fd, buffer + total, size - total);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		total += (size_t)n;
	}
	(void)close(fd);
	return total;
}

uint64_t vt_proc_start_ticks(void)
{
	char text[1024];
	size_t n = vt_proc_read("/proc/self/stat", text, sizeof(text) - 1);
	const char *at;

	text[n] = '\0';
	/* Field 2 is the program's name in parentheses and may hold anything; field 3 follows its last parenthesis. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

int32_t vt_proc_env_number(const char *name, int32_t fallback)
{
	const char *text = secure_getenv(name);
	char *end = NULL;
	long value;

	if (!text || !*text)
		return fallback;
	value = strtol(text, &end, 10);
	return *end || value < 0 || value > INT32_MAX ? fallback : (int32_t)value;
}

char *vt_proc_put_number(char *to, uint64_t value)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n > 0)
		*to++ = digits[--n];
	return to;
}
