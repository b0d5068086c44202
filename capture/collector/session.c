/* session.c - see session.h. */
#include "capture/collector/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "schema/base/cleanup.h"

#define SUFFIX ".ring"

static void close_dirp(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* What lies in the directory is believed to come from agents of the same user. */
static int check_owner(int fd, const char *path, struct vt_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot stat: %s", path, strerror(errno));
	if (st.st_uid != geteuid() || (st.st_mode & 0022) != 0)
		return vt_err_set(err, VT_E_INPUT, "%s: a session directory must be yours and writable by you alone",
				  path);
	return 0;
}

int vt_session_open(struct vt_session *ret, const char *path, struct vt_err *err)
{
	VT_CLEANUP(vt_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot open the session directory: %s", path, strerror(errno));
	r = check_owner(fd, path, err);
	if (r < 0)
		return r;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return vt_err_set(err, VT_E_INPUT, "%s: another collector is at work on this session", path);
	ret->path = strdup(path);
	if (!ret->path)
		return vt_err_set(err, VT_E_NOMEM, "no memory");
	ret->lock_fd = vt_steal_fd(&fd);
	ret->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (ret->watch_fd >= 0 && inotify_add_watch(ret->watch_fd, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
		(void)close(ret->watch_fd);
		ret->watch_fd = -1;
	}
	return 0;
}

void vt_session_done(struct vt_session *session)
{
	if (!session->path)
		return;
	free(session->path);
	session->path = NULL;
	vt_closep(&session->lock_fd);
	vt_closep(&session->watch_fd);
}

bool vt_session_changed(struct vt_session *session)
{
	_Alignas(struct inotify_event) char events[4096];
	bool changed = session->watch_fd < 0;

	while (session->watch_fd >= 0 && read(session->watch_fd, events, sizeof(events)) > 0)
		changed = true;
	return changed;
}

int vt_session_each(struct vt_session *session, int (*fn)(void *arg, const char *path, ino_t inode), void *arg,
		    struct vt_err *err)
{
	VT_CLEANUP(close_dirp) DIR *dir = opendir(session->path);
	const struct dirent *entry;
	char path[4096];
	int r = 0;

	if (!dir)
		return vt_err_set(err, VT_E_IO, "%s: cannot read the session directory: %s", session->path,
				  strerror(errno));
	while (r == 0 && (entry = readdir(dir)) != NULL) {
		size_t length = strlen(entry->d_name);
		int n;

		if (length < sizeof(SUFFIX) || strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		n = snprintf(path, sizeof(path), "%s/%s", session->path, entry->d_name);
		if (n > 0 && (size_t)n < sizeof(path))
			r = fn(arg, path, entry->d_ino);
	}
	return r;
}

bool vt_session_parse_name(const char *path, uint32_t *ret_pid, uint64_t *ret_start_ticks)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *end;
	unsigned long pid = strtoul(name, &end, 10);

	if (end == name || *end != '-' || pid > UINT32_MAX)
		return false;
	name = end + 1;
	*ret_pid = (uint32_t)pid;
	*ret_start_ticks = strtoull(name, &end, 10);
	return end != name && *end == '.';
}
