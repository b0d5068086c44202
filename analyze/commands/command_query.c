/* command_query.c - vramtrace query: a trace asked in SQL. */
#include <stdio.h>
#include <string.h>

#include "analyze/commands/command.h"
#include "analyze/commands/open.h"
#include "analyze/commands/options.h"
#include "analyze/sql/query.h"
#include "schema/base/buf.h"
#include "schema/base/cleanup.h"

/* Longest query taken from standard input. */
#define SQL_BYTES_MAX (1u << 20)

static const struct vt_usage usage = {
	.command = "query",
	.operands = "FILE [SQL]",
	.summary = "Asks a trace in SQL; without SQL on the command line it is read from standard input.",
	.details =
		"Tables (docs/sql.md describes all, with examples):\n"
		"  tensor, driver_memory, op, kernel, copy, launch, wait, mark, device_sample, ...\n"
		"                     every event, with the text of each id beside it\n"
		"  allocation         every block of the framework's allocator with its whole life and what it was "
		"for\n"
		"  live_at(MOMENT)    the blocks live at 'peak', 'oom', 'end', '1.5s' or a time in ns\n"
		"  stack_frame(P, S)  the frames of Python stack S of process P\n"
		"  process, thread, note, oom, ...  the tables of the file itself\n"
		"Views: holders_at_peak, holders_at_end, kernel_time, copy_time, step_memory, ooms, losses.\n"
		"Functions: op_name, op_path, stack_line, stack_text, string_text (each of process, id),\n"
		"enum_text, format_bytes, format_ns.\n"
		"The file is opened read-only. The same tables in the sqlite3 shell: .load .../vramtrace/vramtrace\n\n"
		"Examples:\n"
		"  vramtrace query run.vramtrace \"SELECT * FROM holders_at_peak LIMIT 10\"\n"
		"  vramtrace query run.vramtrace \"SELECT category, format_bytes(sum(size_bytes)) FROM "
		"live_at('peak')\n"
		"    GROUP BY category\"\n"
		"  vramtrace query --csv run.vramtrace <question.sql",
	.whole_file = true,
};

static const char tables[] =
	"WITH named(name) AS MATERIALIZED (VALUES ('allocation'), ('live_at'), ('stack_frame')"
	" UNION SELECT name FROM schema_event UNION SELECT name FROM sqlite_temp_master UNION SELECT name FROM"
	" sqlite_master WHERE type = 'table')"
	" SELECT name AS \"table\", (SELECT group_concat(c.name, ', ') FROM pragma_table_info(named.name) c) AS columns"
	" FROM named WHERE columns IS NOT NULL ORDER BY 1";

static int read_sql(struct vt_buf *buf, struct vt_err *err)
{
	char part[4096];
	size_t n;

	while ((n = fread(part, 1, sizeof(part), stdin)) > 0) {
		if (buf->bytes + n > SQL_BYTES_MAX)
			return vt_err_set(err, VT_E_USAGE, "standard input is longer than a query may be (1 MiB)");
		if (vt_buf_append(buf, part, n) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for the query");
	}
	if (ferror(stdin))
		return vt_err_set(err, VT_E_IO, "standard input cannot be read");
	return vt_buf_append(buf, "", 1) < 0 ? vt_err_set(err, VT_E_NOMEM, "no memory for the query") : 0;
}

static int run(struct vt_query *query, const char *color, struct vt_err *err)
{
	VT_CLEANUP(vt_buf_done) struct vt_buf typed = { 0 };
	VT_CLEANUP(vt_store_closep) struct vt_store *store = NULL;
	struct vt_screen screen;
	/* First as a trace: that it is none, or not whole, is said in our own words. */
	int r = vt_store_open(&store, query->path, err);

	if (r == 0 && !query->sql)
		r = read_sql(&typed, err);
	if (r < 0)
		return r;
	if (!query->sql)
		query->sql = (const char *)typed.data;
	vt_screen_init(&screen, stdout, color);
	query->screen = &screen;
	r = vt_query_run(query, err);
	query->screen = NULL;
	return r;
}

int vt_command_query(int argc, char **argv)
{
	struct vt_common_options common;
	struct vt_query query = { .format = VT_QUERY_TABLE };
	bool csv = false, list = false;
	const struct vt_option own[] = {
		{ "csv", 'c', VT_OPTION_FLAG, &csv, NULL, "print comma-separated values, with a header" },
		{ "tables", 't', VT_OPTION_FLAG, &list, NULL, "list the tables and views with their columns" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &common, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	if (r == 0 && (operand >= argc || operand + 2 < argc))
		r = vt_err_set(&err, VT_E_USAGE, "FILE and SQL are wanted; put the SQL in quotes");
	if (r == 0 && csv && common.json)
		r = vt_err_set(&err, VT_E_USAGE, "--csv or --json, not both");
	if (r == 0) {
		query.path = argv[operand];
		query.sql = list ? tables : operand + 1 < argc ? argv[operand + 1] : NULL;
		query.format = csv ? VT_QUERY_CSV : common.json ? VT_QUERY_JSON : VT_QUERY_TABLE;
		r = run(&query, common.color, &err);
	}
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
