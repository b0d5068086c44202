/*
 * table.h - text for people: tables that fit the terminal, headings, colour, small pictures.
 *
 * Width: COLUMNS or the terminal's; 80 where stdout is not a terminal. Colour only where `color` asks for it or
 * stdout is a terminal and NO_COLOR is not set. Cells are UTF-8; widths are counted in columns, not bytes; text from a
 * trace must have gone through symbols.h (no control characters).
 */
#ifndef VT_ANALYZE_TABLE_H
#define VT_ANALYZE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct vt_screen {
	FILE *out;
	int width;
	bool color;
	bool unicode; /* the locale's encoding is UTF-8, or stdout is not a terminal; setlocale was called by main */
};

void vt_screen_init(struct vt_screen *screen, FILE *out, const char *color);
void vt_screen_heading(const struct vt_screen *screen, const char *text);
/* A wrapped paragraph, printf-like, and its line end; indent columns at the left. Line breaks in the text are kept. */
__attribute__((format(printf, 3, 4))) void vt_screen_text(const struct vt_screen *screen, int indent,
							  const char *format, ...);

enum vt_align { VT_ALIGN_LEFT, VT_ALIGN_RIGHT };

struct vt_table;
/* Columns are added first, then cells row by row. One column may be elastic: it takes what width is left, and is cut in
 * the middle with an ellipsis where it does not fit. */
struct vt_table *vt_table_new(void); /* NULL: no memory; the functions below take that, print reports it */
void vt_table_column(struct vt_table *table, const char *heading, enum vt_align align, bool elastic);
__attribute__((format(printf, 2, 3))) void vt_table_cell(struct vt_table *table, const char *format, ...);
/* Prints and frees; headings are left out where all are empty. -VT_E_NOMEM if any step before ran out of memory. */
int vt_table_print(struct vt_table *table, const struct vt_screen *screen);

/* One line of block characters, one a value, and its line end: values[n] against the maximum `full` (0: their own). */
void vt_screen_spark(const struct vt_screen *screen, const uint64_t *values, uint32_t n, uint64_t full);

#endif
