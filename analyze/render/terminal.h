/*
 * terminal.h - the whole screen of a terminal for a program that redraws it: keys without Enter, the user's screen back at
 * the end, however it comes. Plain ANSI sequences that any terminal of the last decades knows, over ssh and in tmux.
 */
#ifndef VT_ANALYZE_TERMINAL_H
#define VT_ANALYZE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct vt_terminal {
	bool screen; /* standard output is a terminal: it is taken over */
	bool keys;   /* standard input too */
	struct termios saved;
};

enum vt_terminal_event { VT_TERMINAL_TIME, VT_TERMINAL_QUIT, VT_TERMINAL_RESIZED, VT_TERMINAL_KEY };

/* Takes the terminal over where there is one. The caller ends it in any case. */
void vt_terminal_begin(struct vt_terminal *terminal);
void vt_terminal_end(struct vt_terminal *terminal);
/* Lines and columns of the screen; 24 and 80 where nobody knows. */
void vt_terminal_size(int *ret_lines, int *ret_columns);
/*
 * Until so many milliseconds are over or something happens. QUIT: q, Ctrl-C, or a signal that asks to end. A stop (Ctrl-Z)
 * gives the terminal back and takes it again.
 */
enum vt_terminal_event vt_terminal_wait(struct vt_terminal *terminal, int milliseconds, char *ret_key);
/* Shows a text from the top left corner on, at most so many lines as there are; what was there before goes. */
void vt_terminal_show(const struct vt_terminal *terminal, const char *text, size_t bytes);

#endif
