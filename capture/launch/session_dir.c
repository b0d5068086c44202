/* session_dir.c - see session_dir.h. */
#include "capture/launch/session_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "schema/base/cleanup.h"
#include "schema/ring.h"

#define SHM "/dev/shm"
#define NAME_PREFIX "vramtrace-%u-"

static void close_dirp(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

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

int vt_session_dir_make(char ret_path[PATH_MAX], bool *ret_in_memory, struct vt_err *err)
{
	const char *place = choose_place();
	int n = snprintf(ret_path, PATH_MAX, "%s/" NAME_PREFIX "XXXXXX", place, (unsigned)geteuid());

	*ret_in_memory = strcmp(place, SHM) == 0;
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

/* What the recorder and the agents themselves put there. */
static bool is_ours(const char *name)
{
	return is_ring_file(name) || strcmp(name, VT_SESSION_PAUSED) == 0 || strcmp(name, VT_SESSION_CONTROL) == 0;
}

/* Bytes that the ring files in a directory take. */
static uint64_t measure_rings(DIR *dir)
{
	const struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	while ((entry = readdir(dir)) != NULL)
		if (is_ring_file(entry->d_name) && fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_blocks * 512;
	return bytes;
}

/* 0 where a collector has the session, or where there is nothing in it, or it is somebody else's. */
static uint64_t measure_orphan(const char *path)
{
	VT_CLEANUP(close_dirp) DIR *dir = opendir(path);
	struct stat st;

	if (!dir || fstat(dirfd(dir), &st) < 0 || st.st_uid != geteuid() || flock(dirfd(dir), LOCK_SH | LOCK_NB) < 0)
		return 0;
	return measure_rings(dir);
}

/* The session directories of this user in one place. */
static int each_in(const char *place, int (*fn)(void *arg, const char *path), void *arg)
{
	VT_CLEANUP(close_dirp) DIR *dir = opendir(place);
	const struct dirent *entry;
	char prefix[64], path[PATH_MAX];
	int r = 0;

	(void)snprintf(prefix, sizeof(prefix), NAME_PREFIX, (unsigned)geteuid());
	while (dir && r == 0 && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", place, entry->d_name) < PATH_MAX)
			r = fn(arg, path);
	return r;
}

int vt_session_dir_each(int (*fn)(void *arg, const char *path), void *arg)
{
	const char *tmp = getenv("TMPDIR");
	int r = each_in(SHM, fn, arg);

	if (r == 0 && tmp && *tmp == '/' && strcmp(tmp, "/tmp") != 0)
		r = each_in(tmp, fn, arg);
	return r == 0 ? each_in("/tmp", fn, arg) : r;
}

struct orphan {
	char *path;
	uint64_t bytes;
};

static int look_for_orphan(void *arg, const char *path)
{
	struct orphan *orphan = arg;

	orphan->bytes = measure_orphan(path);
	if (!orphan->bytes)
		return 0;
	(void)snprintf(orphan->path, PATH_MAX, "%s", path);
	return 1;
}

bool vt_session_dir_find_orphan(char ret_path[PATH_MAX], uint64_t *ret_bytes)
{
	struct orphan orphan = { .path = ret_path };
	bool found = each_in(choose_place(), look_for_orphan, &orphan) == 1;

	*ret_bytes = orphan.bytes;
	return found;
}

void vt_session_dir_remove(const char *path)
{
	VT_CLEANUP(close_dirp) DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL)
		if (is_ours(entry->d_name))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	(void)rmdir(path);
}
