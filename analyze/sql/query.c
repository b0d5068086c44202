/* query.c - see query.h. */
#include "analyze/sql/query.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/commands/options.h"
#include "analyze/export/export.h"
#include "analyze/sql/sql.h"
#include "analyze/symbols/text.h"
#include "schema/base/cleanup.h"
#include "schema/base/json.h"

struct printer {
	const struct vt_query *query;
	sqlite3_stmt *statement;
	struct vt_json json;
	struct vt_table *table; /* of the piece under way */
	struct vt_texts texts;	/* of that piece, fit for a terminal */
	uint64_t rows;		/* of the statement */
};

static void close_db(sqlite3 **db)
{
	(void)sqlite3_close(*db);
}

static void finalize(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}

static bool is_number(int type)
{
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* A value as text, made fit to print; blobs as x'...' would be no help to anybody: their length. */
static const char *cell_text(struct printer *printer, int column, char number[40])
{
	int type = sqlite3_column_type(printer->statement, column);
	uint32_t text;

	if (type == SQLITE_NULL)
		return "";
	if (type == SQLITE_BLOB) {
		(void)snprintf(number, 40, "(%d bytes)", sqlite3_column_bytes(printer->statement, column));
		return number;
	}
	if (vt_texts_add(&printer->texts, sqlite3_column_text(printer->statement, column),
			 (size_t)sqlite3_column_bytes(printer->statement, column), &text) < 0)
		return "?";
	return vt_texts_get(&printer->texts, text);
}

/* ------------------------------------------------------------------ a table */

static int end_piece(struct printer *printer, struct vt_err *err)
{
	struct vt_table *table = printer->table;

	printer->table = NULL;
	vt_texts_done(&printer->texts);
	printer->texts = (struct vt_texts){ .bytes = { 0 } };
	if (table && vt_table_print(table, printer->query->screen) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	return 0;
}

/* Columns take their side from the first row: SQLite has no types of columns. Headings come from the query's author. */
static void begin_piece(struct printer *printer, int columns)
{
	printer->table = vt_table_new();
	for (int i = 0; i < columns; i++)
		vt_table_column(printer->table, sqlite3_column_name(printer->statement, i),
				is_number(sqlite3_column_type(printer->statement, i)) ? VT_ALIGN_RIGHT : VT_ALIGN_LEFT,
				i == columns - 1);
}

static int put_table_row(struct printer *printer, int columns, struct vt_err *err)
{
	char number[40];
	int r = 0;

	if (printer->rows % VT_QUERY_PIECE == 0) {
		r = end_piece(printer, err);
		begin_piece(printer, columns);
	}
	for (int i = 0; i < columns; i++)
		vt_table_cell(printer->table, "%s", cell_text(printer, i, number));
	return r;
}

/* ------------------------------------------------------------------ CSV and JSON */

static void put_csv_row(struct printer *printer, int columns)
{
	FILE *out = printer->query->screen->out;
	char number[40];

	for (int i = 0; i < columns && printer->rows == 0; i++) {
		(void)fputs(i ? "," : "", out);
		vt_export_csv_text(out, sqlite3_column_name(printer->statement, i));
	}
	if (printer->rows == 0)
		(void)fputs("\r\n", out);
	for (int i = 0; i < columns; i++) {
		(void)fputs(i ? "," : "", out);
		vt_export_csv_text(out, cell_text(printer, i, number));
	}
	(void)fputs("\r\n", out);
	/* Of each row anew: a CSV may have any length. */
	vt_texts_done(&printer->texts);
	printer->texts = (struct vt_texts){ .bytes = { 0 } };
}

static void put_json_value(struct printer *printer, int column)
{
	switch (sqlite3_column_type(printer->statement, column)) {
	case SQLITE_INTEGER:
		vt_json_i64(&printer->json, sqlite3_column_int64(printer->statement, column));
		break;
	case SQLITE_FLOAT:
		vt_json_double(&printer->json, sqlite3_column_double(printer->statement, column));
		break;
	case SQLITE_TEXT:
		vt_json_bytes(&printer->json, (const char *)sqlite3_column_text(printer->statement, column),
			      (size_t)sqlite3_column_bytes(printer->statement, column));
		break;
	default:
		vt_json_null(&printer->json);
		break;
	}
}

static void put_json_row(struct printer *printer, int columns)
{
	vt_json_object(&printer->json);
	for (int i = 0; i < columns; i++) {
		vt_json_name(&printer->json, sqlite3_column_name(printer->statement, i));
		put_json_value(printer, i);
	}
	vt_json_object_end(&printer->json);
}

/* ------------------------------------------------------------------ statements */

static int put_row(struct printer *printer, struct vt_err *err)
{
	int columns = sqlite3_column_count(printer->statement);
	int r = 0;

	switch (printer->query->format) {
	case VT_QUERY_TABLE:
		r = put_table_row(printer, columns, err);
		break;
	case VT_QUERY_CSV:
		put_csv_row(printer, columns);
		break;
	case VT_QUERY_JSON:
		put_json_row(printer, columns);
		break;
	}
	printer->rows++;
	return r;
}

static int run_statement(struct printer *printer, sqlite3 *db, struct vt_err *err)
{
	int code, r = 0;

	printer->rows = 0;
	while (r == 0 && (code = sqlite3_step(printer->statement)) == SQLITE_ROW)
		r = put_row(printer, err);
	if (r == 0 && code != SQLITE_DONE)
		r = vt_err_set(err, VT_E_USAGE, "%s", sqlite3_errmsg(db));
	if (end_piece(printer, r < 0 ? NULL : err) < 0 && r == 0)
		r = -VT_E_NOMEM;
	return r;
}

static int run_all(struct printer *printer, sqlite3 *db, struct vt_err *err)
{
	const char *rest = printer->query->sql;
	int r = 0;

	while (r == 0 && *rest) {
		VT_CLEANUP(finalize) sqlite3_stmt *statement = NULL;

		if (sqlite3_prepare_v2(db, rest, -1, &statement, &rest) != SQLITE_OK)
			return vt_err_set(err, VT_E_USAGE,
					  "%s; the tables and their columns: vramtrace query --tables FILE",
					  sqlite3_errmsg(db));
		printer->statement = statement;
		/* NULL: a comment, or blanks at the end. */
		if (statement)
			r = run_statement(printer, db, err);
	}
	return r;
}

static int open_db(sqlite3 **ret, const char *path, struct vt_err *err)
{
	if (sqlite3_open_v2(path, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return vt_err_set(err, VT_E_INPUT, "%s: cannot be read: %s", path, sqlite3_errmsg(*ret));
	(void)sqlite3_db_config(*ret, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(*ret, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (sqlite3_exec(*ret, "PRAGMA temp_store = memory", NULL, NULL, NULL) != SQLITE_OK ||
	    vt_sql_register(*ret) != SQLITE_OK)
		return vt_err_set(err, VT_E_DB, "%s: the tables cannot be set up: %s", path, sqlite3_errmsg(*ret));
	return 0;
}

int vt_query_run(const struct vt_query *query, struct vt_err *err)
{
	VT_CLEANUP(close_db) sqlite3 *db = NULL;
	struct printer printer = { .query = query };
	FILE *out = query->screen->out;
	int r = open_db(&db, query->path, err);

	if (r < 0)
		return r;
	if (query->format == VT_QUERY_JSON) {
		vt_json_init(&printer.json, out, false);
		vt_json_object(&printer.json);
		vt_json_put_object(&printer.json, "vramtrace");
		vt_json_put_u64(&printer.json, "schema", VT_JSON_SCHEMA);
		vt_json_put_string(&printer.json, "command", "query");
		vt_json_object_end(&printer.json);
		vt_json_put_array(&printer.json, "rows");
	}
	r = run_all(&printer, db, err);
	if (query->format == VT_QUERY_JSON && r == 0) {
		vt_json_array_end(&printer.json);
		vt_json_object_end(&printer.json);
		if (vt_json_done(&printer.json) < 0)
			r = vt_err_set(err, VT_E_IO, "the output cannot be written");
	}
	if (r == 0 && (fflush(out) != 0 || ferror(out)))
		r = vt_err_set(err, VT_E_IO, "the output cannot be written");
	return r;
}
