/* control.c - see control.h. */
#include "capture/launch/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "capture/launch/session_dir.h"
#include "schema/base/cleanup.h"

#define ASK_SECONDS 60
#define BACKLOG 8

/* A socket's address holds 108 bytes, a directory's name may be longer: so the way goes through an open descriptor. */
static int make_address(struct sockaddr_un *ret, int directory_fd)
{
	int n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/" VT_SESSION_CONTROL, directory_fd);

	ret->sun_family = AF_UNIX;
	return n > 0 && (size_t)n < sizeof(ret->sun_path) ? 0 : -1;
}

static int open_directory(const char *session, struct vt_err *err)
{
	int fd = open(session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : vt_err_set(err, VT_E_INPUT, "%s: cannot open the session: %s", session, strerror(errno));
}

/* ------------------------------------------------------------------ the recorder's side */

int vt_control_open(struct vt_control *ret, const char *session, struct vt_err *err)
{
	VT_CLEANUP(vt_closep) int directory = open_directory(session, err);
	VT_CLEANUP(vt_closep) int fd = -1;
	struct sockaddr_un address = { 0 };

	*ret = (struct vt_control){ .fd = -1, .session = session };
	if (directory < 0)
		return directory;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)make_address(&address, directory);
	/* One that a killed recorder left. */
	(void)unlinkat(directory, VT_SESSION_CONTROL, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot make the control socket: %s", session, strerror(errno));
	ret->fd = vt_steal_fd(&fd);
	return 0;
}

static void set_timeout(int fd, long seconds, long microseconds)
{
	const struct timeval wait = { .tv_sec = seconds, .tv_usec = microseconds };

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

static void put_status(const struct vt_control *control, const struct vt_keeper *keeper, char *text, size_t bytes)
{
	const struct vt_collector *collector = keeper->collector;
	char path[PATH_MAX];

	(void)snprintf(text, bytes, "ok\nstate %s\nrecorder %d\nprocesses %u\nevents %llu\nsession %s\noutput %s\n",
		       !collector			   ? "failed"
		       : vt_collector_is_paused(collector) ? "paused"
							   : "recording",
		       (int)getpid(), vt_keeper_running(keeper),
		       (unsigned long long)(collector ? vt_collector_records(collector) : 0), control->session,
		       realpath(keeper->path, path) ? path : keeper->path);
}

static void answer(const struct vt_control *control, struct vt_keeper *keeper, const char *request, char *text,
		   size_t bytes)
{
	struct vt_err err = { .code = 0 };
	int r = 0;

	if (!strcmp(request, "pause"))
		r = vt_keeper_pause(keeper, true, &err);
	else if (!strcmp(request, "resume"))
		r = vt_keeper_pause(keeper, false, &err);
	else if (strcmp(request, "flush") != 0 && strcmp(request, "status") != 0)
		r = vt_err_set(&err, VT_E_USAGE, "this recorder cannot '%.40s'", request);
	/* What was asked for shows in the trace when the answer comes. */
	if (r == 0 && strcmp(request, "status") != 0)
		r = vt_keeper_flush(keeper, &err);
	if (r < 0)
		(void)snprintf(text, bytes, "error %s", err.msg);
	else if (!strcmp(request, "status"))
		put_status(control, keeper, text, bytes);
	else
		(void)snprintf(text, bytes, "ok\n");
}

static void serve_one(const struct vt_control *control, struct vt_keeper *keeper, int fd)
{
	char request[64], text[VT_CONTROL_BYTES_MAX];
	ssize_t n;

	set_timeout(fd, 0, VT_CONTROL_WAIT_MS * 1000L);
	n = recv(fd, request, sizeof(request) - 1, 0);
	if (n <= 0)
		return;
	request[n] = '\0';
	answer(control, keeper, request, text, sizeof(text));
	(void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

void vt_control_serve(struct vt_control *control, struct vt_keeper *keeper)
{
	for (int i = 0; i < BACKLOG && control->fd >= 0; i++) {
		VT_CLEANUP(vt_closep) int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return;
		serve_one(control, keeper, fd);
	}
}

void vt_control_done(struct vt_control *control)
{
	char path[PATH_MAX];

	if (control->fd < 0)
		return;
	if (snprintf(path, sizeof(path), "%s/" VT_SESSION_CONTROL, control->session) < (int)sizeof(path))
		(void)unlink(path);
	(void)close(vt_steal_fd(&control->fd));
}

/* ------------------------------------------------------------------ the other side */

static int connect_to(int directory, const char *session, struct vt_err *err)
{
	VT_CLEANUP(vt_closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { 0 };

	(void)make_address(&address, directory);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return vt_err_set(err, VT_E_INPUT, "%s: no recorder is at work on this session: %s", session,
				  strerror(errno));
	set_timeout(fd, ASK_SECONDS, 0);
	return vt_steal_fd(&fd);
}

int vt_control_ask(const char *session, const char *request, char reply[VT_CONTROL_BYTES_MAX], struct vt_err *err)
{
	VT_CLEANUP(vt_closep) int directory = open_directory(session, err);
	VT_CLEANUP(vt_closep) int fd = -1;
	ssize_t n;

	if (directory < 0)
		return directory;
	fd = connect_to(directory, session, err);
	if (fd < 0)
		return fd;
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0 ||
	    (n = recv(fd, reply, VT_CONTROL_BYTES_MAX - 1, 0)) <= 0)
		return vt_err_set(err, VT_E_IO, "%s: the recorder does not answer", session);
	reply[n] = '\0';
	if (strncmp(reply, "ok\n", 3) == 0) {
		memmove(reply, reply + 3, (size_t)n - 2);
		return 0;
	}
	return vt_err_set(err, VT_E_IO, "%s",
			  strncmp(reply, "error ", 6) == 0 ? reply + 6 : "the recorder's answer makes no sense");
}
