/* screen.c - see table.h: what the terminal can do; headings, paragraphs and small pictures. */
#include "analyze/render/table.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "schema/base/bits.h"
#include "schema/base/utf8.h"

#define WIDTH_DEFAULT 80
#define WIDTH_LEAST 40
#define WIDTH_MOST 1000

static int screen_width(int fd, bool terminal)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = { 0 };
	long width = columns ? strtol(columns, NULL, 10) : 0;

	if (width <= 0 && terminal && !ioctl(fd, TIOCGWINSZ, &size))
		width = size.ws_col;
	if (width <= 0)
		return WIDTH_DEFAULT;
	return width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : (int)width;
}

static bool screen_color(const char *color, bool terminal)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (color && !strcmp(color, "always"))
		return true;
	if (color && !strcmp(color, "never"))
		return false;
	return terminal && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

void vt_screen_init(struct vt_screen *screen, FILE *out, const char *color)
{
	int fd = fileno(out);
	bool terminal = fd >= 0 && isatty(fd);

	screen->out = out;
	screen->width = screen_width(fd, terminal);
	screen->color = screen_color(color, terminal);
	screen->unicode = !terminal || !strcmp(nl_langinfo(CODESET), "UTF-8");
}

void vt_screen_heading(const struct vt_screen *screen, const char *text)
{
	if (screen->color)
		(void)fprintf(screen->out, "\033[1m%s\033[0m\n", text);
	else
		(void)fprintf(screen->out, "%s\n", text);
}

/* One paragraph without line breaks. */
static void wrap(const struct vt_screen *screen, int indent, const char *text, size_t bytes)
{
	size_t room = (size_t)(screen->width > indent + 20 ? screen->width - indent : 20);
	size_t used = 0, word, columns;

	(void)fprintf(screen->out, "%*s", indent, "");
	for (size_t at = 0; at < bytes; at += word) {
		while (at < bytes && text[at] == ' ')
			at++;
		word = 0;
		while (at + word < bytes && text[at + word] != ' ')
			word++;
		columns = vt_utf8_columns(text + at, word);
		if (used && columns && used + 1 + columns > room) {
			(void)fprintf(screen->out, "\n%*s", indent, "");
			used = 0;
		}
		if (used && columns) {
			(void)putc(' ', screen->out);
			used++;
		}
		(void)fwrite(text + at, 1, word, screen->out);
		used += columns;
	}
	(void)putc('\n', screen->out);
}

void vt_screen_text(const struct vt_screen *screen, int indent, const char *format, ...)
{
	char *text = NULL, *line;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return;
	line = text;
	for (;;) {
		size_t bytes = strcspn(line, "\n");

		wrap(screen, indent, line, bytes);
		if (!line[bytes] || !line[bytes + 1])
			break;
		line += bytes + 1;
	}
	free(text);
}

void vt_screen_spark(const struct vt_screen *screen, const uint64_t *values, uint32_t n, uint64_t full)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	const char *const *marks = screen->unicode ? blocks : ascii;
	size_t top = VT_ARRAY_SIZE(blocks) - 1;

	if (!full)
		for (uint32_t i = 0; i < n; i++)
			full = values[i] > full ? values[i] : full;
	for (uint32_t i = 0; i < n; i++) {
		double share = full ? (double)values[i] / (double)full : 0;
		size_t level = share >= 1 ? top : (size_t)(share * (double)top + 0.5);

		/* Something is never drawn as nothing. */
		(void)fputs(marks[values[i] && !level ? 1 : level], screen->out);
	}
	(void)putc('\n', screen->out);
}
