/* command_live.c - vramtrace live: a running recording, looked at again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/commands/command.h"
#include "analyze/commands/options.h"
#include "analyze/commands/recorder.h"
#include "analyze/render/terminal.h"
#include "analyze/views/live.h"
#include "analyze/views/time_text.h"
#include "schema/base/cleanup.h"

#define INTERVAL_NS UINT64_C(1000000000)
#define INTERVAL_LEAST_NS UINT64_C(50000000)
#define LINES_ELSEWHERE 40

static const struct vt_usage usage = {
	.command = "live",
	.operands = "FILE|PID",
	.summary = "Shows a running recording: levels, who holds memory, growth, rate of events, losses.",
	.details = "FILE is the trace that is being written, PID a process that is being recorded. In a terminal the "
		   "screen is\n"
		   "redrawn until the recording is over, or q or Ctrl-C; elsewhere each look is printed. Times, "
		   "--interval too:\n"
		   "1s, 200ms.\n\n"
		   "Examples:\n"
		   "  vramtrace record -o run.vramtrace -- python train.py &\n"
		   "  vramtrace live run.vramtrace\n"
		   "  vramtrace live --once 4242\n"
		   "  vramtrace live --json --interval 10s run.vramtrace >> memory.jsonl",
};

struct request {
	const char *interval;
	uint64_t interval_ns;
	bool once;
};

/* One look, shown. */
static int show(const struct vt_live *live, const struct vt_common_options *common, const struct vt_terminal *terminal,
		struct vt_err *err)
{
	struct vt_screen screen;
	char *text = NULL;
	size_t bytes = 0;
	int lines = LINES_ELSEWHERE, columns;
	FILE *memory;
	int r;

	if (common->json)
		return vt_live_json(live, stdout, err);
	memory = open_memstream(&text, &bytes);
	if (!memory)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the screen");
	vt_screen_init(&screen, stdout, common->color);
	screen.out = memory;
	if (terminal->screen) {
		vt_terminal_size(&lines, &columns);
		screen.width = columns;
	}
	r = vt_live_print(live, &screen, lines, err);
	if (terminal->screen)
		(void)fputs("\nq: quit", memory);
	else
		(void)putc('\n', memory);
	if (fclose(memory) != 0 && !r)
		r = vt_err_set(err, VT_E_NOMEM, "no memory for the screen");
	if (!r)
		vt_terminal_show(terminal, text, bytes);
	free(text);
	return r;
}

/* Until the next look: 1 where the user has seen enough. What he resizes is redrawn. */
static int rest(const struct vt_live *live, const struct vt_common_options *common, struct vt_terminal *terminal,
		const struct request *request, struct vt_err *err)
{
	char key;
	int r;

	for (;;) {
		switch (vt_terminal_wait(terminal, (int)(request->interval_ns / 1000000), &key)) {
		case VT_TERMINAL_QUIT:
			return 1;
		case VT_TERMINAL_TIME:
			return 0;
		case VT_TERMINAL_RESIZED:
		case VT_TERMINAL_KEY:
			r = show(live, common, terminal, err);
			if (r < 0)
				return r;
		}
	}
}

static int run(const char *path, const struct vt_common_options *common, const struct request *request,
	       struct vt_err *err)
{
	VT_CLEANUP(vt_terminal_end) struct vt_terminal terminal = { .screen = false };
	const struct vt_terminal plain = { .screen = false };
	struct vt_live live;
	int r = vt_live_begin(&live, path, common, err);

	if (!r)
		r = vt_live_look(&live, err);
	if (!r && !request->once && !common->json && !live.ended)
		vt_terminal_begin(&terminal);
	while (!r && !request->once && !live.ended) {
		r = show(&live, common, &terminal, err);
		if (!r)
			r = rest(&live, common, &terminal, request, err);
		if (!r)
			r = vt_live_look(&live, err);
	}
	vt_terminal_end(&terminal);
	/* The last look stays on the user's own screen. */
	if (r >= 0)
		r = show(&live, common, &plain, err);
	vt_live_done(&live);
	return r;
}

static bool is_number(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n && n < 12 && !text[n];
}

int vt_command_live(int argc, char **argv)
{
	VT_CLEANUP(vt_freep) char *found = NULL;
	struct request request = { .interval_ns = INTERVAL_NS };
	struct vt_common_options common;
	const struct vt_option own[] = {
		{ "interval", 'i', VT_OPTION_STRING, &request.interval, "TIME", "how often to look (1s)" },
		{ "once", 0, VT_OPTION_FLAG, &request.once, NULL, "one look and no more" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &common, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	if (!r && request.interval &&
	    (vt_parse_time(request.interval, &request.interval_ns) < 0 || request.interval_ns < INTERVAL_LEAST_NS ||
	     request.interval_ns > 3600 * INTERVAL_NS))
		r = vt_err_set(&err, VT_E_USAGE, "--interval takes a time from 50ms to 1 hour, not '%.40s'",
			       request.interval);
	if (!r && common.at)
		r = vt_err_set(&err, VT_E_USAGE, "--at: live is about now");
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r && is_number(argv[operand]) && access(argv[operand], F_OK))
		r = vt_recorder_output_of(argv[operand], &found, &err);
	if (!r)
		r = run(found ? found : argv[operand], &common, &request, &err);
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
