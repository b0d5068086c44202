/* session_dir.c - see session_dir.h. */
#include "capture/launch/session_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHM "/dev/shm"

static bool has_room(const char *path)
{
	struct statvfs fs;

	return access(path, W_OK | X_OK) == 0 && statvfs(path, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize >= VT_SESSION_FREE_BYTES_MIN;
}

static const char *choose_place(void)
{
	const char *tmp = getenv("TMPDIR");

	if (has_room(SHM))
		return SHM;
	return tmp && *tmp == '/' && access(tmp, W_OK | X_OK) == 0 ? tmp : "/tmp";
}

int vt_session_dir_make(char ret_path[PATH_MAX], struct vt_err *err)
{
	const char *place = choose_place();
	int n = snprintf(ret_path, PATH_MAX, "%s/vramtrace-%u-XXXXXX", place, (unsigned)geteuid());

	/* mkdtemp makes it with mode 0700. */
	if (n >= PATH_MAX || !mkdtemp(ret_path))
		return vt_err_set(
			err, VT_E_IO,
			"%s: cannot make a session directory: %s; set TMPDIR to a place that you can write to", place,
			n >= PATH_MAX ? "the name is too long" : strerror(errno));
	return 0;
}

static bool is_ring_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".ring") == 0;
}

void vt_session_dir_remove(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		if (is_ring_file(entry->d_name))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		(void)closedir(dir);
	(void)rmdir(path);
}
