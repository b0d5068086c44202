/* proc_stat.c - see proc_stat.h; fields as in proc_pid_stat(5). */
#include "capture/collector/proc_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/base/cleanup.h"

#define FIELD_STATE 3u
#define FIELD_THREADS 20u
#define FIELD_START 22u

/* Field 2 is the name in parentheses and may hold spaces and parentheses itself: all else follows the last ')'. */
bool vt_proc_stat_parse(const char *text, size_t bytes, struct vt_proc_stat *ret)
{
	char copy[1024], *at, *save = NULL;
	struct vt_proc_stat stat = { 0 };
	unsigned field = FIELD_STATE;

	if (bytes >= sizeof(copy))
		bytes = sizeof(copy) - 1;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	at = strrchr(copy, ')');
	if (!at)
		return false;
	for (at = strtok_r(at + 1, " \n", &save); at; at = strtok_r(NULL, " \n", &save), field++) {
		if (field == FIELD_STATE)
			stat.state = at[0];
		if (field == FIELD_THREADS)
			stat.threads = strtoull(at, NULL, 10);
		if (field == FIELD_START)
			stat.start_ticks = strtoull(at, NULL, 10);
	}
	if (field <= FIELD_START)
		return false;
	*ret = stat;
	return true;
}

bool vt_proc_is_alive(uint32_t pid, uint64_t start_ticks)
{
	char path[64], text[1024];
	VT_CLEANUP(vt_closep) int fd = -1;
	struct vt_proc_stat stat;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return errno != ESRCH;
	if (!vt_proc_stat_parse(text, (size_t)n, &stat))
		return true;
	if (stat.start_ticks != start_ticks)
		return false;
	return !((stat.state == 'Z' && stat.threads <= 1) || stat.state == 'X');
}
