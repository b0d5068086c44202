/* table.c - see table.h: tables with one elastic column. */
#include "analyze/render/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/buf.h"
#include "schema/base/err.h"
#include "schema/base/utf8.h"

#define COLUMNS_MAX 24
#define GAP 2		 /* columns between two cells */
#define ELASTIC_LEAST 12 /* an elastic column is never cut below this */

struct column {
	char *heading;
	enum vt_align align;
	bool elastic;
	size_t width;
};

struct vt_table {
	struct column columns[COLUMNS_MAX];
	unsigned ncolumns;
	size_t ncells;
	struct vt_buf text; /* the cells one after the other, each with its NUL */
	bool no_memory;
};

struct vt_table *vt_table_new(void)
{
	return calloc(1, sizeof(struct vt_table));
}

void vt_table_column(struct vt_table *table, const char *heading, enum vt_align align, bool elastic)
{
	struct column *column;

	if (!table)
		return;
	if (table->ncolumns == COLUMNS_MAX) {
		table->no_memory = true;
		return;
	}
	column = &table->columns[table->ncolumns++];
	column->heading = strdup(heading);
	column->align = align;
	column->elastic = elastic;
	if (!column->heading)
		table->no_memory = true;
	else
		column->width = vt_utf8_columns(heading, strlen(heading));
}

void vt_table_cell(struct vt_table *table, const char *format, ...)
{
	struct column *column;
	char *text = NULL;
	size_t columns;
	va_list args;
	int n;

	if (!table || table->no_memory || !table->ncolumns)
		return;
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0 || vt_buf_append(&table->text, text, (size_t)n + 1) < 0) {
		table->no_memory = true;
		if (n >= 0)
			free(text);
		return;
	}
	column = &table->columns[table->ncells++ % table->ncolumns];
	columns = vt_utf8_columns(text, (size_t)n);
	if (columns > column->width)
		column->width = columns;
	free(text);
}

/* Takes from the elastic column what does not fit the screen. */
static void fit_width(struct vt_table *table, const struct vt_screen *screen)
{
	size_t total = 0, over;

	for (unsigned i = 0; i < table->ncolumns; i++)
		total += table->columns[i].width + (i ? GAP : 0);
	if (total <= (size_t)screen->width)
		return;
	over = total - (size_t)screen->width;
	for (unsigned i = 0; i < table->ncolumns; i++) {
		struct column *column = &table->columns[i];

		if (!column->elastic || column->width <= ELASTIC_LEAST)
			continue;
		column->width = column->width - ELASTIC_LEAST > over ? column->width - over : ELASTIC_LEAST;
		return;
	}
}

static void print_spaces(FILE *out, size_t n)
{
	while (n--)
		(void)putc(' ', out);
}

/* Where text[at ...) has at most `columns` columns left: the longest such tail. */
static size_t tail_start(const char *text, size_t bytes, size_t columns)
{
	size_t left = vt_utf8_columns(text, bytes);
	size_t at = 0;
	uint32_t codepoint;

	while (at < bytes && left > columns) {
		at += vt_utf8_decode(text + at, bytes - at, &codepoint);
		left -= (size_t)vt_utf8_width(codepoint);
	}
	return at;
}

static size_t head_end(const char *text, size_t bytes, size_t columns, size_t *ret_used)
{
	size_t used = 0, at = 0, length;
	uint32_t codepoint;

	while (at < bytes) {
		length = vt_utf8_decode(text + at, bytes - at, &codepoint);
		if (used + (size_t)vt_utf8_width(codepoint) > columns)
			break;
		used += (size_t)vt_utf8_width(codepoint);
		at += length;
	}
	*ret_used = used;
	return at;
}

/* Returns the columns printed: text, or its head and tail with an ellipsis between. */
static size_t print_cut(const struct vt_screen *screen, const char *text, size_t width)
{
	size_t bytes = strlen(text), columns = vt_utf8_columns(text, bytes), used, start, end, dots;

	if (columns <= width) {
		(void)fputs(text, screen->out);
		return columns;
	}
	dots = screen->unicode ? 1 : 3;
	end = head_end(text, bytes, (width - dots) / 2, &used);
	start = tail_start(text, bytes, width - dots - used);
	(void)fwrite(text, 1, end, screen->out);
	(void)fputs(screen->unicode ? "…" : "...", screen->out);
	(void)fputs(text + start, screen->out);
	return used + dots + vt_utf8_columns(text + start, bytes - start);
}

static void print_cell(const struct vt_table *table, const struct vt_screen *screen, unsigned index, const char *text)
{
	const struct column *column = &table->columns[index];
	size_t columns = vt_utf8_columns(text, strlen(text));
	bool last = index + 1 == table->ncolumns;

	if (index)
		print_spaces(screen->out, GAP);
	if (column->align == VT_ALIGN_RIGHT && columns < column->width)
		print_spaces(screen->out, column->width - columns);
	columns = print_cut(screen, text, column->width);
	if (column->align == VT_ALIGN_LEFT && columns < column->width && !last)
		print_spaces(screen->out, column->width - columns);
	if (last)
		(void)putc('\n', screen->out);
}

static void print_headings(const struct vt_table *table, const struct vt_screen *screen)
{
	bool any = false;

	for (unsigned i = 0; i < table->ncolumns; i++)
		any |= table->columns[i].heading[0] != 0;
	if (!any)
		return;
	if (screen->color)
		(void)fputs("\033[1m", screen->out);
	for (unsigned i = 0; i < table->ncolumns; i++)
		print_cell(table, screen, i, table->columns[i].heading);
	if (screen->color)
		(void)fputs("\033[0m", screen->out);
}

static void table_free(struct vt_table *table)
{
	for (unsigned i = 0; i < table->ncolumns; i++)
		free(table->columns[i].heading);
	vt_buf_done(&table->text);
	free(table);
}

int vt_table_print(struct vt_table *table, const struct vt_screen *screen)
{
	const char *cell;

	if (!table)
		return -VT_E_NOMEM;
	if (table->no_memory) {
		table_free(table);
		return -VT_E_NOMEM;
	}
	fit_width(table, screen);
	print_headings(table, screen);
	cell = (const char *)table->text.data;
	for (size_t i = 0; i < table->ncells; i++) {
		print_cell(table, screen, (unsigned)(i % table->ncolumns), cell);
		cell += strlen(cell) + 1;
	}
	/* A last row that lacks cells still ends its line. */
	if (table->ncells % (table->ncolumns ? table->ncolumns : 1))
		(void)putc('\n', screen->out);
	table_free(table);
	return 0;
}
