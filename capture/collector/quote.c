/* quote.c - see quote.h. */
#include "capture/collector/quote.h"

#include <stdbool.h>
#include <string.h>

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=,./:@%"

static bool is_plain(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!memchr(PLAIN, text[i], sizeof(PLAIN) - 1))
			return false;
	return bytes > 0;
}

static int append_quoted(const char *text, size_t bytes, struct vt_buf *out)
{
	int r = vt_buf_append(out, "'", 1);

	for (size_t i = 0; i < bytes && r == 0; i++)
		r = text[i] == '\'' ? vt_buf_append(out, "'\\''", 4) : vt_buf_append(out, text + i, 1);
	return r < 0 ? r : vt_buf_append(out, "'", 1);
}

int vt_quote_command(const char *cmdline, size_t bytes, struct vt_buf *out)
{
	size_t at = 0;
	int r = 0;

	while (at < bytes && r == 0) {
		size_t length = strnlen(cmdline + at, bytes - at);

		if (at > 0)
			r = vt_buf_append(out, " ", 1);
		if (r == 0)
			r = is_plain(cmdline + at, length) ? vt_buf_append(out, cmdline + at, length)
							   : append_quoted(cmdline + at, length, out);
		at += length + 1;
	}
	return r < 0 ? r : vt_buf_append(out, "", 1);
}
