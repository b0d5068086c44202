/* export_csv.c - one kind of event as CSV: see export.h. */
#include <inttypes.h>
#include <string.h>

#include "analyze/export/export.h"
#include "schema/base/cleanup.h"

static void close_symbols(struct vt_symbols **symbols)
{
	vt_symbols_close(*symbols);
}

static void close_cursor(struct vt_cursor **cursor)
{
	vt_cursor_close(*cursor);
}

void vt_export_csv_text(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		(void)fputs(text, out);
		return;
	}
	(void)fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			(void)fputc('"', out);
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

/* The name of the column that holds the text of an id or number, or NULL where there is none. */
static const char *text_column(const struct vt_event *event, const struct vt_col *col)
{
	if (vt_export_enum(event, col) || col->type == VT_TYPE_STR)
		return "_text";
	return col->type == VT_TYPE_OPNODE ? "_name" : NULL;
}

static void put_header(FILE *out, const struct vt_event *event)
{
	(void)fputs("process", out);
	for (uint32_t i = 0; i < event->ncols; i++) {
		const struct vt_col *col = &event->cols[i];

		if (vt_col_is_pad(col))
			continue;
		(void)fprintf(out, ",%s", col->name);
		if (text_column(event, col))
			(void)fprintf(out, ",%s%s", col->name, text_column(event, col));
	}
	(void)fputs("\r\n", out);
}

static void put_value_text(FILE *out, const struct vt_symbols *symbols, const struct vt_item *item,
			   const struct vt_col *col, int64_t value)
{
	const char *enum_name = vt_export_enum(item->event, col);
	const char *text = NULL;
	struct vt_op_info op;

	if (enum_name)
		text = vt_enum_text(enum_name, value);
	else if (col->type == VT_TYPE_STR)
		text = vt_symbols_string(symbols, item->process, (uint32_t)value);
	else if (vt_symbols_op(symbols, item->process, (uint32_t)value, &op))
		text = op.name;
	(void)fputc(',', out);
	if (text)
		vt_export_csv_text(out, text);
}

static void put_row(FILE *out, const struct vt_symbols *symbols, const struct vt_item *item)
{
	(void)fprintf(out, "%" PRIu32, item->process);
	for (uint32_t i = 0; i < item->event->ncols; i++) {
		const struct vt_col *col = &item->event->cols[i];
		int64_t value;

		if (vt_col_is_pad(col))
			continue;
		value = vt_export_value(item->rec, col);
		if (vt_col_is_signed(col))
			(void)fprintf(out, ",%" PRId64, value);
		else
			(void)fprintf(out, ",%" PRIu64, (uint64_t)value);
		if (text_column(item->event, col))
			put_value_text(out, symbols, item, col, value);
	}
	(void)fputs("\r\n", out);
}

int vt_export_csv(FILE *out, struct vt_store *store, const struct vt_export_options *options, struct vt_err *err)
{
	VT_CLEANUP(close_symbols) struct vt_symbols *symbols = NULL;
	VT_CLEANUP(close_cursor) struct vt_cursor *cursor = NULL;
	struct vt_item item;
	int r = vt_symbols_open(&symbols, store, err);

	if (r == 0)
		r = vt_cursor_open(&cursor, store, &options->cursor, err);
	if (r < 0)
		return r;
	put_header(out, vt_event_find(options->cursor.kinds[0]));
	while ((r = vt_cursor_next(cursor, &item, err)) > 0)
		put_row(out, symbols, &item);
	if (r == 0 && (fflush(out) != 0 || ferror(out)))
		r = vt_err_set(err, VT_E_IO, "the output cannot be written");
	return r;
}
