/* frame_table.c - stack_frame(process, stack): the frames of a Python stack, innermost first. See sql.h. */
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/sql/sql.h"

/* A stack deeper than this is cut: see symbols/tree.h. */
#define DEPTH_MAX 4096

enum { FRAME_depth, FRAME_function, FRAME_file, FRAME_line, FRAME_process, FRAME_stack };

struct table {
	sqlite3_vtab base;
	struct vt_sql_context *context;
};

struct scan {
	sqlite3_vtab_cursor base;
	struct vt_frame_info frame;
	uint32_t process;
	int depth;
	bool there; /* frame holds a row */
};

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret,
			 char **ret_error)
{
	struct table *table = calloc(1, sizeof(*table));
	int code;

	(void)argc;
	(void)argv;
	(void)ret_error;
	if (!table)
		return SQLITE_NOMEM;
	table->context = aux;
	code = sqlite3_declare_vtab(db, "CREATE TABLE x(depth INTEGER, function TEXT, file TEXT, line INTEGER, "
					"process INTEGER HIDDEN, stack INTEGER HIDDEN)");
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

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	int places[2] = { -1, -1 };

	(void)base;
	for (int i = 0; i < info->nConstraint; i++) {
		int which = info->aConstraint[i].iColumn - FRAME_process;

		if (which < 0 || which > 1 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable)
			return SQLITE_CONSTRAINT;
		places[which] = i;
	}
	for (int which = 0; which < 2; which++) {
		if (places[which] < 0)
			continue;
		info->aConstraintUsage[places[which]].argvIndex = which + 1;
		info->aConstraintUsage[places[which]].omit = 1;
	}
	info->idxNum = places[0] >= 0 && places[1] >= 0;
	/* A gap in the arguments is not allowed; such a query fails in filter with words. */
	if (!info->idxNum && places[1] >= 0)
		info->aConstraintUsage[places[1]].argvIndex = 1;
	info->estimatedRows = 30;
	info->estimatedCost = 30;
	return SQLITE_OK;
}

static int open_scan(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct scan *scan = calloc(1, sizeof(*scan));

	(void)base;
	*ret = scan ? &scan->base : NULL;
	return scan ? SQLITE_OK : SQLITE_NOMEM;
}

static int close_scan(sqlite3_vtab_cursor *base)
{
	free(base);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int wanted, const char *unused, int argc, sqlite3_value **argv)
{
	struct scan *scan = (struct scan *)(void *)base;
	struct vt_sql_context *context = ((struct table *)(void *)base->pVtab)->context;
	struct vt_err err;
	int r = vt_sql_context_need(context, &err);

	(void)unused;
	(void)argc;
	if (r == 0 && !wanted)
		r = vt_err_set(&err, VT_E_USAGE, "of which stack? stack_frame(process, stack)");
	if (r < 0)
		return vt_sql_table_fail(base->pVtab, &err);
	scan->process = (uint32_t)sqlite3_value_int64(argv[0]);
	scan->depth = 0;
	scan->there =
		vt_symbols_frame(context->symbols, scan->process, (uint32_t)sqlite3_value_int64(argv[1]), &scan->frame);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct scan *scan = (struct scan *)(void *)base;
	const struct vt_sql_context *context = ((struct table *)(void *)base->pVtab)->context;

	scan->there = ++scan->depth < DEPTH_MAX &&
		      vt_symbols_frame(context->symbols, scan->process, scan->frame.parent, &scan->frame);
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return !((struct scan *)(void *)base)->there;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int n)
{
	const struct scan *scan = (const struct scan *)(void *)base;

	switch (n) {
	case FRAME_depth:
		sqlite3_result_int(result, scan->depth);
		break;
	case FRAME_function:
		sqlite3_result_text(result, scan->frame.function, -1, SQLITE_TRANSIENT);
		break;
	case FRAME_file:
		sqlite3_result_text(result, scan->frame.file, -1, SQLITE_TRANSIENT);
		break;
	case FRAME_line:
		if (scan->frame.line)
			sqlite3_result_int64(result, scan->frame.line);
		break;
	default:
		break;
	}
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct scan *)(void *)base)->depth;
	return SQLITE_OK;
}

static const sqlite3_module frame_module = {
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

static void release(void *aux)
{
	vt_sql_context_release(aux);
}

int vt_sql_register_frames(struct vt_sql_context *context)
{
	context->references++;
	return sqlite3_create_module_v2(context->db, "stack_frame", &frame_module, context, release);
}
