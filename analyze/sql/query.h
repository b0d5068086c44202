/* query.h - runs SQL statements over a trace and prints their rows. */
#ifndef VT_ANALYZE_SQL_QUERY_H
#define VT_ANALYZE_SQL_QUERY_H

#include "analyze/render/table.h"
#include "schema/base/err.h"

enum vt_query_format { VT_QUERY_TABLE, VT_QUERY_CSV, VT_QUERY_JSON };

struct vt_query {
	const char *path;
	const char *sql; /* one statement or several */
	enum vt_query_format format;
	const struct vt_screen *screen; /* where to; for all formats */
};

/*
 * The file is opened read-only; statements can make temporary tables and views, in memory. Rows are printed as they
 * come: a table in pieces of VT_QUERY_PIECE rows, each with its headings. An error of SQLite is VT_E_USAGE, with the
 * statement's part that it is about.
 */
#define VT_QUERY_PIECE 1000
int vt_query_run(const struct vt_query *query, struct vt_err *err);

#endif
