/* locate.c - see locate.h. */
#include "capture/launch/locate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/base/bits.h"

#define AGENT "libvramtrace-agent.so"
/* What execvp takes where PATH is not set. */
#define DEFAULT_PATH "/bin:/usr/bin"

/* 0 where path is a file that may be executed, else an errno. */
static int try_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return access(path, X_OK) < 0 ? errno : 0;
}

static int refuse_program(const char *name, int error, int *ret_exit_status, struct vt_err *err)
{
	*ret_exit_status = error == EACCES ? VT_EXIT_CANNOT_RUN : VT_EXIT_NOT_FOUND;
	return vt_err_set(err, VT_E_INPUT, "%s: cannot run it: %s", name,
			  error == ENOENT ? "there is no such program" : strerror(error));
}

int vt_locate_program(const char *name, char ret_path[PATH_MAX], int *ret_exit_status, struct vt_err *err)
{
	const char *dirs = getenv("PATH");
	int error = ENOENT;

	if (strchr(name, '/')) {
		error = try_program(name);
		if (error == 0 && (size_t)snprintf(ret_path, PATH_MAX, "%s", name) < PATH_MAX)
			return 0;
		return refuse_program(name, error, ret_exit_status, err);
	}
	for (const char *at = dirs ? dirs : DEFAULT_PATH; *name && at;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t length = strcspn(at, ":");
		int r;

		if ((size_t)snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "", name) >=
		    PATH_MAX)
			continue;
		r = try_program(ret_path);
		if (r == 0)
			return 0;
		if (r == EACCES)
			error = r;
	}
	return refuse_program(name, error, ret_exit_status, err);
}

/* The directory of this program's own file, with a slash at the end. */
static int own_directory(char ret_path[PATH_MAX], struct vt_err *err)
{
	ssize_t n = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return vt_err_set(err, VT_E_IO, "/proc/self/exe: %s; is /proc mounted?", strerror(errno));
	ret_path[n] = '\0';
	slash = strrchr(ret_path, '/');
	if (slash)
		slash[1] = '\0';
	return 0;
}

/* ld.so splits LD_PRELOAD at colons and blanks, and there is no way to quote them. */
static int check_preloadable(const char *path, struct vt_err *err)
{
	if (access(path, R_OK) < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot read the agent: %s", path, strerror(errno));
	if (strpbrk(path, ": \t\n"))
		return vt_err_set(
			err, VT_E_INPUT,
			"%s: LD_PRELOAD cannot name a path with blanks or colons; install vramtrace elsewhere", path);
	return 0;
}

int vt_locate_agent(char ret_path[PATH_MAX], struct vt_err *err)
{
	static const char *const places[] = { "../lib/" AGENT, VT_AGENT_FROM_LIBEXEC "/" AGENT,
					      VT_AGENT_FROM_BIN "/" AGENT };
	const char *own = getenv(VT_ENV_AGENT);
	char directory[PATH_MAX], path[2 * PATH_MAX];
	int r;

	if (own && *own) {
		if (!realpath(own, ret_path))
			return vt_err_set(err, VT_E_IO, "%s (from " VT_ENV_AGENT "): %s", own, strerror(errno));
		return check_preloadable(ret_path, err);
	}
	r = own_directory(directory, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < VT_ARRAY_SIZE(places); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", directory, places[i]);
		if (realpath(path, ret_path))
			return check_preloadable(ret_path, err);
	}
	return vt_err_set(err, VT_E_INPUT,
			  "%s is not installed beside %svramtrace-record; install it or name it in " VT_ENV_AGENT,
			  AGENT, directory);
}
