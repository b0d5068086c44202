/*
 * child.c - see child.h.
 *
 * The child stays in our process group and so keeps the terminal. What the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z,
 * hangup) therefore reaches it without us; what somebody sends to our pid alone is for it, and is passed on. The
 * kernel says which is which: si_code is SI_KERNEL for the former.
 */
#include "capture/launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/launch/locate.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

/* A child that has not stopped by then handles the signal itself: we go on too. */
#define STOP_WAIT_NS UINT64_C(500000000)

static const int passed_signals[] = { SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGUSR1,
				      SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT };

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* ------------------------------------------------------------------ start */

/* What the program inherits as if there were no recorder. */
struct inherited {
	sigset_t mask;
	struct sigaction child, pipe, file_size;
};

/* In the child: never returns. */
__attribute__((noreturn)) static void run_program(char **program, int gate_fd, const struct inherited *inherited)
{
	char go;
	int error;

	/* Nothing comes when the recorder gave up or died. */
	if (TEMP_FAILURE_RETRY(read(gate_fd, &go, 1)) != 1)
		_exit(VT_EXIT_CANNOT_RUN);
	(void)sigaction(SIGCHLD, &inherited->child, NULL);
	(void)sigaction(SIGPIPE, &inherited->pipe, NULL);
	(void)sigaction(SIGXFSZ, &inherited->file_size, NULL);
	(void)sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
	(void)execvp(program[0], program);
	error = errno;
	(void)dprintf(STDERR_FILENO, "vramtrace record: %s: cannot run it: %s\n", program[0], strerror(error));
	_exit(error == ENOENT ? VT_EXIT_NOT_FOUND : VT_EXIT_CANNOT_RUN);
}

/* Sets this process's own mask and dispositions; *set are the signals that come through a descriptor. */
static void take_over_signals(struct inherited *inherited, sigset_t *set)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL }, ignore = { .sa_handler = SIG_IGN };

	(void)sigemptyset(set);
	(void)sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < VT_ARRAY_SIZE(passed_signals); i++)
		(void)sigaddset(set, passed_signals[i]);
	(void)sigprocmask(SIG_BLOCK, set, &inherited->mask);
	/* An ignored SIGCHLD would lose exit statuses; a full disk or a closed stderr must not end us before the
	 * program. */
	(void)sigaction(SIGCHLD, &by_default, &inherited->child);
	(void)sigaction(SIGPIPE, &ignore, &inherited->pipe);
	(void)sigaction(SIGXFSZ, &ignore, &inherited->file_size);
}

int vt_child_fork(struct vt_child *ret, char **program, struct vt_err *err)
{
	VT_CLEANUP(vt_closep) int signal_fd = -1;
	struct inherited inherited;
	int gate[2];
	sigset_t set;
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) < 0)
		return vt_err_set(err, VT_E_IO, "cannot make a pipe: %s", strerror(errno));
	take_over_signals(&inherited, &set);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	pid = signal_fd < 0 ? -1 : fork();
	if (pid == 0) {
		(void)close(gate[1]);
		run_program(program, gate[0], &inherited);
	}
	(void)close(gate[0]);
	if (pid < 0) {
		(void)close(gate[1]);
		return vt_err_set(err, VT_E_IO, "cannot start a process: %s", strerror(errno));
	}
	*ret = (struct vt_child){ .pid = pid, .gate_fd = gate[1], .signal_fd = vt_steal_fd(&signal_fd) };
	return 0;
}

void vt_child_start(struct vt_child *child)
{
	(void)!TEMP_FAILURE_RETRY(write(child->gate_fd, "", 1));
	(void)close(vt_steal_fd(&child->gate_fd));
}

void vt_child_cancel(struct vt_child *child)
{
	(void)close(vt_steal_fd(&child->gate_fd));
	(void)TEMP_FAILURE_RETRY(waitpid(child->pid, &child->wait_status, 0));
	child->ended = true;
}

void vt_child_done(struct vt_child *child)
{
	vt_closep(&child->gate_fd);
	vt_closep(&child->signal_fd);
}

/* ------------------------------------------------------------------ signals */

static bool asks_to_stop(int signal)
{
	return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void take_signal(struct vt_child *child, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD)
		return;
	if (child->ended) {
		child->interrupted |= signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP;
		return;
	}
	if (info->ssi_code != SI_KERNEL && (pid_t)info->ssi_pid != child->pid)
		(void)kill(child->pid, signal);
	if (asks_to_stop(signal))
		child->stop_asked_ns = now_ns();
}

/* The shell must see us stopped, or it would wait for a program that waits for it. */
static void stop_with_child(struct vt_child *child)
{
	if (!child->stop_asked_ns)
		return;
	if (!child->stopped) {
		if (now_ns() - child->stop_asked_ns > STOP_WAIT_NS)
			child->stop_asked_ns = 0;
		return;
	}
	child->stop_asked_ns = 0;
	(void)raise(SIGSTOP);
	/* Somebody continued us; the child too, unless it was our pid alone that they meant. */
	(void)kill(child->pid, SIGCONT);
}

void vt_child_pass_signals(struct vt_child *child)
{
	struct signalfd_siginfo info;

	while (read(child->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		take_signal(child, &info);
	stop_with_child(child);
}

bool vt_child_reap(struct vt_child *child)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
		if (pid != child->pid)
			continue;
		child->stopped = WIFSTOPPED(status);
		if (!WIFEXITED(status) && !WIFSIGNALED(status))
			continue;
		child->wait_status = status;
		child->ended = true;
	}
	return pid == 0;
}

int vt_child_exit_status(const struct vt_child *child)
{
	return WIFSIGNALED(child->wait_status) ? 128 + WTERMSIG(child->wait_status) : WEXITSTATUS(child->wait_status);
}
