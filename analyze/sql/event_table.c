/*
 * event_table.c - a table for each kind of event that is kept in chunks: its columns as events.def has them, and behind
 * each id or number that stands for a text, that text. See sql.h.
 *
 * Constraints on process and on the event's time (its first column) choose which chunks are read, and where in a chunk
 * to begin and end; SQLite itself checks them again for each row. Chunks are decoded ahead by worker threads.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/sql/sql.h"
#include "analyze/store/prefetch.h"
#include "schema/base/bits.h"

#define COLUMNS_MAX (1 + 2 * VT_COLS_MAX)
/* Of a table whose file cannot be looked at while a query is planned. */
#define ROWS_GUESS 1000000
/* What a query wants in idxNum, and in this order as arguments. */
enum { WANT_PROCESS = 1, WANT_AT = 2, WANT_FROM = 4, WANT_TO = 8 };

enum column_kind { COLUMN_PROCESS, COLUMN_NUMBER, COLUMN_TEXT };

struct column {
	const struct vt_col *col; /* NULL: process */
	enum column_kind kind;
	const char *enum_name; /* COLUMN_TEXT: of an enumeration; else NULL */
};

struct module {
	struct vt_sql_context *context;
	const struct vt_event *event;
};

struct table {
	sqlite3_vtab base;
	struct vt_sql_context *context;
	const struct vt_event *event;
	struct column columns[COLUMNS_MAX];
	int ncolumns;
};

struct scan {
	sqlite3_vtab_cursor base;
	struct vt_prefetch prefetch;
	struct vt_chunk_info *chunks; /* of this scan */
	struct vt_slot *slot;	      /* NULL: at the end */
	const uint8_t *record;
	const uint8_t *end;
	uint64_t from_ns, to_ns;
	bool prefetching;
};

/* ------------------------------------------------------------------ the columns */

static bool has_text(const struct vt_event *event, const struct vt_col *col)
{
	return col->type == VT_TYPE_STR || col->type == VT_TYPE_OPNODE || col->type == VT_TYPE_STACK ||
	       col->type == VT_TYPE_CONFIG || vt_export_enum(event, col) != NULL;
}

/* The same endings as in the JSON export. */
static const char *text_ending(const struct vt_col *col)
{
	return col->type == VT_TYPE_OPNODE || col->type == VT_TYPE_CONFIG ? "name"
	       : col->type == VT_TYPE_STACK				  ? "line"
									  : "text";
}

static char *declare(struct table *table)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendall(sql, "CREATE TABLE x(process INTEGER");
	table->columns[table->ncolumns++] = (struct column){ NULL, COLUMN_PROCESS, NULL };
	for (uint32_t i = 0; i < table->event->ncols; i++) {
		const struct vt_col *col = &table->event->cols[i];

		if (vt_col_is_pad(col))
			continue;
		sqlite3_str_appendf(sql, ", \"%w\" INTEGER", col->name);
		table->columns[table->ncolumns++] = (struct column){ col, COLUMN_NUMBER, NULL };
		if (!has_text(table->event, col))
			continue;
		sqlite3_str_appendf(sql, ", \"%w_%s\" TEXT", col->name, text_ending(col));
		table->columns[table->ncolumns++] =
			(struct column){ col, COLUMN_TEXT, vt_export_enum(table->event, col) };
	}
	sqlite3_str_appendall(sql, ")");
	return sqlite3_str_finish(sql);
}

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret,
			 char **ret_error)
{
	const struct module *module = aux;
	struct table *table = calloc(1, sizeof(*table));
	char *sql;
	int code;

	(void)argc;
	(void)argv;
	(void)ret_error;
	if (!table)
		return SQLITE_NOMEM;
	table->context = module->context;
	table->event = module->event;
	sql = declare(table);
	code = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (code == SQLITE_OK)
		*ret = &table->base;
	else
		free(table);
	return code;
}

static int disconnect_table(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

/* ------------------------------------------------------------------ planning */

static double count_rows(const struct table *table)
{
	double rows = 1;

	for (size_t i = 0; i < table->context->nchunks; i++)
		if (table->context->chunks[i].kind == table->event->id)
			rows += table->context->chunks[i].events;
	return rows;
}

/* Which of the above a constraint is; 0: none that helps. */
static int constraint_of(const struct table *table, int column, unsigned char op)
{
	const struct column *what = column >= 0 ? &table->columns[column] : NULL;

	if (what && what->kind == COLUMN_PROCESS)
		return op == SQLITE_INDEX_CONSTRAINT_EQ ? WANT_PROCESS : 0;
	if (!what || what->kind != COLUMN_NUMBER || what->col != &table->event->cols[0])
		return 0;
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return WANT_AT;
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return WANT_FROM;
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return WANT_TO;
	default:
		return 0;
	}
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct table *table = (struct table *)(void *)base;
	int places[WANT_TO + 1] = { 0 };
	struct vt_err err;
	double rows = ROWS_GUESS;
	int arguments = 0;

	if (vt_sql_context_need(table->context, &err) == 0)
		rows = count_rows(table);
	for (int i = 0; i < info->nConstraint; i++) {
		int want = info->aConstraint[i].usable
				   ? constraint_of(table, info->aConstraint[i].iColumn, info->aConstraint[i].op)
				   : 0;

		if (want && !(info->idxNum & want)) {
			info->idxNum |= want;
			places[want] = i;
		}
	}
	for (int want = WANT_PROCESS; want <= WANT_TO; want *= 2) {
		if (!(info->idxNum & want))
			continue;
		info->aConstraintUsage[places[want]].argvIndex = ++arguments;
		rows = want == WANT_AT ? 1 + rows / 1000 : 1 + rows / 4;
	}
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows;
	return SQLITE_OK;
}

/* ------------------------------------------------------------------ scanning */

static int open_scan(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct scan *scan = calloc(1, sizeof(*scan));

	(void)base;
	*ret = scan ? &scan->base : NULL;
	return scan ? SQLITE_OK : SQLITE_NOMEM;
}

static void end_scan(struct scan *scan)
{
	if (scan->slot)
		vt_prefetch_recycle(&scan->prefetch, scan->slot);
	scan->slot = NULL;
	if (scan->prefetching)
		vt_prefetch_done(&scan->prefetch);
	scan->prefetching = false;
	free(scan->chunks);
	scan->chunks = NULL;
}

static int close_scan(sqlite3_vtab_cursor *base)
{
	struct scan *scan = (struct scan *)(void *)base;

	end_scan(scan);
	free(scan);
	return SQLITE_OK;
}

/* The first record whose time is not below `time`. */
static const uint8_t *find_time(const struct vt_chunk_rows *rows, uint64_t time)
{
	size_t low = 0, high = rows->nrecords, size = rows->event->size;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (vt_record_time((const uint8_t *)rows->records + middle * size) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return (const uint8_t *)rows->records + low * size;
}

/* Goes on to the first record of the next chunk that has one in the window; slot NULL where there is none. */
static int next_chunk(struct scan *scan)
{
	struct vt_err err;
	int r = 1;

	do {
		if (scan->slot)
			vt_prefetch_recycle(&scan->prefetch, scan->slot);
		scan->slot = NULL;
		r = vt_prefetch_take(&scan->prefetch, &scan->slot, &err);
		if (r <= 0) {
			scan->slot = NULL;
			return r < 0 ? vt_sql_table_fail(scan->base.pVtab, &err) : SQLITE_OK;
		}
		scan->record = find_time(&scan->slot->rows, scan->from_ns);
		scan->end = scan->to_ns < UINT64_MAX
				    ? find_time(&scan->slot->rows, scan->to_ns + 1)
				    : (const uint8_t *)scan->slot->rows.records +
					      (size_t)scan->slot->rows.nrecords * scan->slot->rows.event->size;
	} while (scan->record >= scan->end);
	return SQLITE_OK;
}

/* A bound that is no whole number is left to SQLite, which checks every row all the same. */
static bool whole(sqlite3_value *value, uint64_t *ret)
{
	if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER)
		return false;
	*ret = sqlite3_value_int64(value) < 0 ? 0 : (uint64_t)sqlite3_value_int64(value);
	return true;
}

static int filter(sqlite3_vtab_cursor *base, int wanted, const char *text, int argc, sqlite3_value **argv)
{
	struct scan *scan = (struct scan *)(void *)base;
	struct table *table = (struct table *)(void *)base->pVtab;
	const struct vt_sql_context *context = table->context;
	uint64_t process = 0, at;
	struct vt_err err;
	size_t n = 0;

	(void)text;
	(void)argc;
	end_scan(scan);
	scan->from_ns = 0;
	scan->to_ns = UINT64_MAX;
	if (vt_sql_context_need(table->context, &err) < 0)
		return vt_sql_table_fail(base->pVtab, &err);
	if (wanted & WANT_PROCESS && !whole(*argv++, &process))
		process = 0;
	if (wanted & WANT_AT && whole(*argv++, &at))
		scan->from_ns = scan->to_ns = at;
	if (wanted & WANT_FROM && whole(*argv++, &at) && at > scan->from_ns)
		scan->from_ns = at;
	if (wanted & WANT_TO && whole(*argv, &at) && at < scan->to_ns)
		scan->to_ns = at;
	scan->chunks = malloc((context->nchunks + 1) * sizeof(*scan->chunks));
	if (!scan->chunks)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < context->nchunks; i++) {
		const struct vt_chunk_info *info = &context->chunks[i];

		if (info->kind == table->event->id && (!process || info->process == process) &&
		    info->last_ns >= scan->from_ns && info->first_ns <= scan->to_ns)
			scan->chunks[n++] = *info;
	}
	vt_prefetch_init(&scan->prefetch, context->store, scan->chunks, n);
	scan->prefetching = true;
	return next_chunk(scan);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct scan *scan = (struct scan *)(void *)base;

	scan->record += scan->slot->rows.event->size;
	return VT_LIKELY(scan->record < scan->end) ? SQLITE_OK : next_chunk(scan);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct scan *)(void *)base)->slot == NULL;
}

static void put_text(sqlite3_context *result, const struct table *table, const struct column *what, uint32_t process,
		     int64_t value)
{
	const char *text = NULL;
	uint32_t id = (uint32_t)value;

	if (what->enum_name)
		text = vt_enum_text(what->enum_name, value);
	else if (what->col->type == VT_TYPE_STR && id)
		text = vt_symbols_string(table->context->symbols, process, id);
	else if (what->col->type == VT_TYPE_CONFIG && id)
		text = vt_sql_kernel_name(table->context, process, id);
	else if (what->col->type == VT_TYPE_OPNODE)
		vt_sql_result_op(result, table->context, process, id);
	else if (what->col->type == VT_TYPE_STACK)
		vt_sql_result_line(result, table->context, process, id);
	if (text)
		sqlite3_result_text(result, text, -1, SQLITE_TRANSIENT);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int n)
{
	const struct scan *scan = (const struct scan *)(void *)base;
	const struct table *table = (const struct table *)(void *)base->pVtab;
	const struct column *what = &table->columns[n];
	int64_t value;

	if (what->kind == COLUMN_PROCESS) {
		sqlite3_result_int64(result, scan->slot->info.process);
		return SQLITE_OK;
	}
	value = vt_export_value((const struct vt_rec *)(const void *)scan->record, what->col);
	if (what->kind == COLUMN_NUMBER)
		sqlite3_result_int64(result, value);
	else
		put_text(result, table, what, scan->slot->info.process, value);
	return SQLITE_OK;
}

/* The chunk's row id and the place in it: a chunk has at most VT_CHUNK_ROWS_MAX = 2^20 rows. */
static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct scan *scan = (const struct scan *)(void *)base;
	const struct vt_chunk_rows *rows = &scan->slot->rows;
	uint64_t place = (uint64_t)(scan->record - (const uint8_t *)rows->records) / rows->event->size;

	*ret = (sqlite3_int64)((uint64_t)scan->slot->info.id << 20 | place);
	return SQLITE_OK;
}

/* No xCreate: the tables are eponymous, and only that. */
static const sqlite3_module event_module = {
	.iVersion = 0,
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xOpen = open_scan,
	.xClose = close_scan,
	.xFilter = filter,
	.xNext = next,
	.xEof = at_end,
	.xColumn = column,
	.xRowid = row_id,
};

static void destroy_module(void *aux)
{
	struct module *module = aux;

	vt_sql_context_release(module->context);
	free(module);
}

int vt_sql_register_events(struct vt_sql_context *context)
{
	int code = SQLITE_OK;

	for (size_t i = 0; i < vt_nevents && code == SQLITE_OK; i++) {
		struct module *module;

		if (vt_events[i].class != VT_CLASS_CHUNK)
			continue;
		module = malloc(sizeof(*module));
		if (!module)
			return SQLITE_NOMEM;
		*module = (struct module){ context, &vt_events[i] };
		context->references++;
		/* Calls destroy_module itself where it fails. */
		code = sqlite3_create_module_v2(context->db, vt_events[i].name, &event_module, module, destroy_module);
	}
	return code;
}
