/* record.c - `vramtrace record`: starts the program, collects while it runs, passes its exit status on. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "capture/collector/quote.h"
#include "capture/launch/child.h"
#include "capture/launch/control.h"
#include "capture/launch/environ.h"
#include "capture/launch/keeper.h"
#include "capture/launch/launch.h"
#include "capture/launch/locate.h"
#include "capture/launch/options.h"
#include "capture/launch/schedule.h"
#include "capture/launch/session_dir.h"
#include "capture/launch/summary.h"
#include "schema/base/cleanup.h"
#include "schema/base/format.h"

struct record {
	struct vt_record_options options;
	struct vt_child child;
	struct vt_keeper keeper;
	struct vt_control control;
	struct vt_schedule schedule;
	char session[PATH_MAX];
	char output[PATH_MAX];
};

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static int complain(const struct vt_err *err)
{
	(void)fprintf(stderr, "vramtrace record: %s\n", err->msg);
	return vt_errc_exit_status(err->code);
}

/* ------------------------------------------------------------------ before the program runs */

static int name_output(struct record *record, struct vt_err *err)
{
	const char *program = strrchr(record->options.program[0], '/');
	int n;

	program = program ? program + 1 : record->options.program[0];
	if (record->options.output)
		n = snprintf(record->output, sizeof(record->output), "%s", record->options.output);
	else
		n = snprintf(record->output, sizeof(record->output), "vramtrace-%s-%d.vramtrace", program,
			     (int)record->child.pid);
	if (n < 0 || (size_t)n >= sizeof(record->output))
		return vt_err_set(err, VT_E_USAGE, "the name of the output file is too long");
	return 0;
}

static int prepare_environment(struct record *record, struct vt_err *err)
{
	char agent[PATH_MAX];
	struct vt_environ_taken taken = { .cuda = false };
	bool in_memory = true;
	int r = vt_locate_agent(agent, err);

	if (r == 0)
		r = vt_session_dir_make(record->session, &in_memory, err);
	if (r == 0)
		r = vt_environ_prepare(&record->options, record->session, agent, &taken, err);
	if (!in_memory && !record->options.quiet)
		(void)fprintf(stderr,
			      "vramtrace record: /dev/shm has less than %u MiB free, so events go through %s, which "
			      "may be slower;\n"
			      "  give a container more with --shm-size=1g\n",
			      (unsigned)(VT_SESSION_FREE_BYTES_MIN >> 20), record->session);
	if (taken.nvtx && !record->options.quiet)
		(void)fprintf(stderr,
			      "vramtrace record: NVTX_INJECTION64_PATH is set already and stays: NVTX ranges are not "
			      "recorded\n");
	if (taken.cuda)
		(void)fprintf(stderr,
			      "vramtrace record: CUDA_INJECTION64_PATH is set already and stays: driver calls are not "
			      "recorded\n");
	return r;
}

static void describe(struct record *record)
{
	VT_CLEANUP(vt_buf_done) struct vt_buf command = { 0 };
	int r = 0;

	for (char **word = record->options.program; *word && r == 0; word++) {
		if (command.bytes > 0)
			command.data[command.bytes - 1] = ' ';
		r = vt_quote_command(*word, **word ? strlen(*word) : 1, &command);
	}
	if (r == 0)
		vt_keeper_set_meta(&record->keeper, "command", (const char *)command.data);
}

/* What a killed recorder left behind takes memory until somebody saves or removes it. */
static void tell_orphan(const struct record *record)
{
	char path[PATH_MAX], size[VT_FORMAT_MAX];
	uint64_t bytes;

	if (record->options.quiet || !vt_session_dir_find_orphan(path, &bytes))
		return;
	(void)fprintf(stderr,
		      "vramtrace record: an earlier recording was cut off; %s of it are in %s\n"
		      "  save it: vramtrace collect --session %s -o FILE; or remove it: rm -r %s\n",
		      vt_format_bytes(size, bytes), path, path, path);
}

static int open_output(struct record *record, struct vt_err *err)
{
	int r = name_output(record, err);

	if (r < 0)
		return r;
	record->keeper = (struct vt_keeper){ .command = "record", .session = record->session, .path = record->output };
	return vt_keeper_start(&record->keeper, record->options.force ? VT_STORE_REPLACE : VT_STORE_NEW, err);
}

static int begin_control(struct record *record, struct vt_err *err)
{
	struct vt_err why;

	if (vt_control_open(&record->control, record->session, &why) < 0 && !record->options.quiet)
		(void)fprintf(stderr, "vramtrace record: `vramtrace ctl` cannot reach this recording: %s\n", why.msg);
	return vt_schedule_begin(&record->schedule, record->options.start_after_ns, record->options.duration_ns,
				 &record->keeper, err);
}

/* ------------------------------------------------------------------ while it runs */

/* Whether there is nothing more to wait for. */
static bool is_over(const struct record *record, bool has_children, uint64_t ended_ns)
{
	if (!record->child.ended)
		return false;
	if (record->child.interrupted || now_ns() - ended_ns >= record->options.grace_ns)
		return true;
	return !has_children && vt_keeper_running(&record->keeper) == 0;
}

static void wait_for_something(const struct record *record, int wait_ms)
{
	struct pollfd fds[] = {
		{ .fd = record->child.signal_fd, .events = POLLIN },
		{ .fd = vt_keeper_fd(&record->keeper), .events = POLLIN },
		{ .fd = record->control.fd, .events = POLLIN },
	};

	(void)poll(fds, 3, wait_ms);
}

static void follow(struct record *record)
{
	uint64_t ended_ns = 0;

	for (;;) {
		bool has_children;
		int wait_ms;

		vt_child_pass_signals(&record->child);
		has_children = vt_child_reap(&record->child);
		if (record->child.ended && !ended_ns)
			ended_ns = now_ns();
		if (vt_schedule_check(&record->schedule, &record->keeper) && !record->options.quiet)
			(void)fprintf(stderr,
				      "vramtrace record: recording has ended as --duration asked; %s is whole, "
				      "and the program runs on\n",
				      record->output);
		vt_control_serve(&record->control, &record->keeper);
		wait_ms = vt_keeper_poll(&record->keeper);
		if (is_over(record, has_children, ended_ns))
			return;
		wait_for_something(record, wait_ms);
	}
}

/* ------------------------------------------------------------------ after it */

static void finish(struct record *record)
{
	bool whole;
	struct vt_err err;
	char status[16];

	(void)snprintf(status, sizeof(status), "%d", vt_child_exit_status(&record->child));
	vt_keeper_set_meta(&record->keeper, "exit_status", status);
	whole = vt_keeper_finish(&record->keeper);
	if (!whole)
		(void)fprintf(stderr,
			      "vramtrace record: the end of the recording is not in %s; what the rings still hold can "
			      "be saved:\n"
			      "  vramtrace collect --session %s -o %s\n",
			      record->output, record->session, record->output);
	if (whole && !record->options.keep_session)
		vt_session_dir_remove(record->session);
	if (record->options.keep_session)
		(void)fprintf(stderr, "vramtrace record: the session directory is %s\n", record->session);
	if (whole && !record->options.quiet &&
	    vt_summary_print(stderr, record->output, record->keeper.running, &err) < 0)
		(void)fprintf(stderr, "vramtrace record: %s\n", err.msg);
}

static int run(struct record *record)
{
	char path[PATH_MAX];
	int exit_status = 0, r;
	struct vt_err err;

	r = vt_locate_program(record->options.program[0], path, &exit_status, &err);
	if (r < 0) {
		(void)complain(&err);
		return exit_status;
	}
	tell_orphan(record);
	if (prepare_environment(record, &err) < 0)
		return complain(&err);
	if (vt_child_fork(&record->child, record->options.program, &err) < 0) {
		vt_session_dir_remove(record->session);
		return complain(&err);
	}
	if (open_output(record, &err) < 0 || begin_control(record, &err) < 0) {
		vt_child_cancel(&record->child);
		vt_session_dir_remove(record->session);
		return complain(&err);
	}
	describe(record);
	vt_child_start(&record->child);
	follow(record);
	vt_control_done(&record->control);
	finish(record);
	return vt_child_exit_status(&record->child);
}

int vt_launch_record(int argc, char **argv)
{
	struct record record = { .child = { .gate_fd = -1, .signal_fd = -1 }, .control = { .fd = -1 } };
	struct vt_err err;
	int r = vt_record_options_parse(&record.options, argc, argv, &err);

	if (r != 0)
		return r < 0 ? complain(&err) : 0;
	r = run(&record);
	vt_child_done(&record.child);
	return r;
}
