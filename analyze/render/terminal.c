/* terminal.c - see terminal.h. */
#include "analyze/render/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "schema/base/bits.h"

/* Alternate screen, cursor: xterm's, understood since by all. */
#define SCREEN_TAKE "\033[?1049h\033[?25l"
#define SCREEN_GIVE "\033[?25h\033[?1049l"
#define CTRL_C '\003'

static volatile sig_atomic_t asked_to_end, resized, asked_to_stop;

static void on_signal(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else if (number == SIGTSTP)
		asked_to_stop = 1;
	else
		asked_to_end = 1;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };

static void write_text(const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(STDOUT_FILENO, text, bytes);

		if (n < 0 && errno != EINTR)
			return;
		text += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
}

static void take(struct vt_terminal *terminal)
{
	struct termios raw = terminal->saved;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (terminal->keys)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	if (terminal->screen)
		write_text(SCREEN_TAKE, strlen(SCREEN_TAKE));
}

static void give(const struct vt_terminal *terminal)
{
	if (terminal->screen)
		write_text(SCREEN_GIVE, strlen(SCREEN_GIVE));
	if (terminal->keys)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->saved);
}

void vt_terminal_begin(struct vt_terminal *terminal)
{
	struct sigaction action = { .sa_handler = on_signal };

	*terminal = (struct vt_terminal){ .screen = isatty(STDOUT_FILENO) };
	terminal->keys = terminal->screen && isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &terminal->saved);
	if (!terminal->screen)
		return;
	for (size_t i = 0; i < VT_ARRAY_SIZE(signals); i++)
		(void)sigaction(signals[i], &action, NULL);
	take(terminal);
}

void vt_terminal_end(struct vt_terminal *terminal)
{
	if (terminal->screen)
		give(terminal);
	*terminal = (struct vt_terminal){ .screen = false };
}

void vt_terminal_size(int *ret_lines, int *ret_columns)
{
	struct winsize size = { 0 };
	bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);

	*ret_lines = known && size.ws_row ? size.ws_row : 24;
	*ret_columns = known && size.ws_col ? size.ws_col : 80;
}

/* The shell gets its screen, and we are stopped as anybody is. */
static void stop(struct vt_terminal *terminal)
{
	asked_to_stop = 0;
	give(terminal);
	(void)raise(SIGSTOP);
	take(terminal);
	resized = 1;
}

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static enum vt_terminal_event read_key(struct vt_terminal *terminal, char *ret_key)
{
	if (read(STDIN_FILENO, ret_key, 1) != 1) {
		/* The other end is gone. */
		terminal->keys = false;
		return VT_TERMINAL_QUIT;
	}
	return *ret_key == 'q' || *ret_key == 'Q' || *ret_key == CTRL_C ? VT_TERMINAL_QUIT : VT_TERMINAL_KEY;
}

enum vt_terminal_event vt_terminal_wait(struct vt_terminal *terminal, int milliseconds, char *ret_key)
{
	const int64_t end_ms = now_ms() + milliseconds;

	*ret_key = 0;
	for (;;) {
		struct pollfd input = { .fd = terminal->keys ? STDIN_FILENO : -1, .events = POLLIN };
		int64_t left_ms = end_ms - now_ms();

		if (asked_to_end)
			return VT_TERMINAL_QUIT;
		if (asked_to_stop)
			stop(terminal);
		if (resized) {
			resized = 0;
			return VT_TERMINAL_RESIZED;
		}
		if (left_ms <= 0)
			return VT_TERMINAL_TIME;
		/* A signal between the looks above and here is seen at the latest then. */
		if (poll(&input, 1, left_ms < 200 ? (int)left_ms : 200) > 0)
			return read_key(terminal, ret_key);
	}
}

void vt_terminal_show(const struct vt_terminal *terminal, const char *text, size_t bytes)
{
	int lines, columns;

	if (!terminal->screen) {
		write_text(text, bytes);
		return;
	}
	vt_terminal_size(&lines, &columns);
	write_text("\033[H", 3);
	for (int line = 0; line < lines && bytes; line++) {
		const char *end = memchr(text, '\n', bytes);
		size_t length = end ? (size_t)(end - text) : bytes;

		write_text(text, length);
		write_text("\033[K", 3);
		text += length + (end != NULL);
		bytes -= length + (end != NULL);
		if (bytes && line + 1 < lines)
			write_text("\r\n", 2);
	}
	write_text("\033[J", 3);
}
