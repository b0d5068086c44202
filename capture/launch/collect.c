/* collect.c - `vramtrace collect`: goes on with a session whose recorder died. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "capture/launch/control.h"
#include "capture/launch/keeper.h"
#include "capture/launch/launch.h"
#include "capture/launch/options.h"
#include "capture/launch/session_dir.h"
#include "capture/launch/summary.h"

/* A session without a living process for this long is over: one may just be starting the next. */
#define QUIET_NS UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void follow(struct vt_keeper *keeper, struct vt_control *control)
{
	uint64_t seen_ns = now_ns();

	while (now_ns() - seen_ns < QUIET_NS) {
		struct pollfd fds[] = { { .events = POLLIN }, { .fd = control->fd, .events = POLLIN } };
		int wait_ms;

		vt_control_serve(control, keeper);
		wait_ms = vt_keeper_poll(keeper);

		if (vt_keeper_running(keeper) || !keeper->collector)
			seen_ns = now_ns();
		fds[0].fd = vt_keeper_fd(keeper);
		(void)poll(fds, 2, wait_ms);
	}
}

static int collect(const struct vt_collect_options *options, struct vt_err *err)
{
	struct vt_keeper keeper = { .command = "collect", .session = options->session, .path = options->output };
	struct vt_control control;
	struct stat st;
	int r;

	r = vt_keeper_start(&keeper, stat(options->output, &st) == 0 ? VT_STORE_RESUME : VT_STORE_NEW, err);
	if (r < 0)
		return r;
	/* Without a socket it is collected all the same; only `vramtrace ctl` cannot be used. */
	if (vt_control_open(&control, options->session, err) < 0)
		control.fd = -1;
	follow(&keeper, &control);
	vt_control_done(&control);
	if (!vt_keeper_finish(&keeper))
		return vt_err_set(err, VT_E_IO, "%s: not whole; the session is kept in %s", options->output,
				  options->session);
	if (!options->keep_session)
		vt_session_dir_remove(options->session);
	return options->quiet ? 0 : vt_summary_print(stderr, options->output, keeper.running, err);
}

int vt_launch_collect(int argc, char **argv)
{
	struct vt_collect_options options;
	struct vt_err err;
	int r = vt_collect_options_parse(&options, argc, argv, &err);

	if (r == 0)
		r = collect(&options, &err);
	if (r >= 0)
		return 0;
	(void)fprintf(stderr, "vramtrace collect: %s\n", err.msg);
	return vt_errc_exit_status(err.code);
}
