/* recorder.c - see recorder.h. */
#include "analyze/commands/recorder.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

#define RECORDER "vramtrace-record"
#define OUTPUT "output "

int vt_recorder_find(char ret_path[PATH_MAX + 64], struct vt_err *err)
{
	static const char *const places[] = { "", "../libexec/vramtrace/" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return vt_err_set(err, VT_E_IO, "/proc/self/exe: %s; is /proc mounted?", strerror(errno));
	self[n] = 0;
	slash = strrchr(self, '/');
	if (slash)
		slash[1] = 0;
	for (size_t i = 0; i < VT_ARRAY_SIZE(places); i++) {
		(void)snprintf(ret_path, PATH_MAX + 64, "%s%s%s", self, places[i], RECORDER);
		if (!access(ret_path, X_OK))
			return 0;
	}
	return vt_err_set(err, VT_E_IO,
			  "no %s beside %.200svramtrace nor in ../libexec/vramtrace; install both programs", RECORDER,
			  self);
}

static void close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

/* Runs `ctl --session PID status`; its standard output in *ret. What it complains of goes to our standard error. */
static int start(const char *pid, pid_t *ret_child, FILE **ret, struct vt_err *err)
{
	char path[PATH_MAX + 64], command[] = "ctl", option[] = "--session", request[] = "status", number[32];
	char *argv[] = { path, command, option, number, request, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2];
	int r = vt_recorder_find(path, err);

	if (r < 0)
		return r;
	if (pipe(fds) < 0)
		return vt_err_set(err, VT_E_IO, "no pipe: %s", strerror(errno));
	(void)snprintf(number, sizeof(number), "%s", pid);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	(void)posix_spawn_file_actions_addclose(&actions, fds[0]);
	r = posix_spawn(ret_child, path, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(fds[1]);
	*ret = r ? NULL : fdopen(fds[0], "r");
	if (*ret)
		return 0;
	(void)close(fds[0]);
	return vt_err_set(err, VT_E_IO, "%s: %s", path, strerror(r ? r : errno));
}

int vt_recorder_output_of(const char *pid, char **ret_path, struct vt_err *err)
{
	VT_CLEANUP(close_file) FILE *output = NULL;
	VT_CLEANUP(vt_freep) char *line = NULL;
	size_t room = 0;
	pid_t child;
	int status = 0, r = start(pid, &child, &output, err);

	*ret_path = NULL;
	if (r < 0)
		return r;
	while (getline(&line, &room, output) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (!*ret_path && !strncmp(line, OUTPUT, strlen(OUTPUT)))
			*ret_path = strdup(line + strlen(OUTPUT) + strspn(line + strlen(OUTPUT), " "));
	}
	(void)waitpid(child, &status, 0);
	if (*ret_path && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	free(*ret_path);
	*ret_path = NULL;
	return vt_err_set(err, VT_E_USAGE, "process %s is not being recorded by `vramtrace record`", pid);
}
