/*
 * block_table.c - allocation: every block of the framework's allocator with its whole life; live_at(moment): those that
 * were live at a moment. A column list serves both. See sql.h.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/sql/block_pass.h"
#include "analyze/sql/sql.h"
#include "analyze/views/time_text.h"
#include "schema/base/bits.h"

/* What a query wants in idxNum, and in this order as arguments. */
enum { WANT_PROCESS = 1, WANT_MOMENT = 2 };

/* COLUMN(name, type) in the order of the table. */
#define BLOCK_COLUMNS(COLUMN)                                                                                          \
	COLUMN(process, INTEGER)                                                                                       \
	COLUMN(device_type, TEXT)                                                                                      \
	COLUMN(device, INTEGER)                                                                                        \
	COLUMN(address, INTEGER)                                                                                       \
	COLUMN(size_bytes, INTEGER)                                                                                    \
	COLUMN(alloc_ns, INTEGER)                                                                                      \
	COLUMN(free_ns, INTEGER)                                                                                       \
	COLUMN(lifetime_ns, INTEGER)                                                                                   \
	COLUMN(thread, INTEGER)                                                                                        \
	COLUMN(op, INTEGER)                                                                                            \
	COLUMN(op_name, TEXT)                                                                                          \
	COLUMN(stack, INTEGER)                                                                                         \
	COLUMN(stack_line, TEXT)                                                                                       \
	COLUMN(step, INTEGER)                                                                                          \
	COLUMN(phase, TEXT)                                                                                            \
	COLUMN(category, TEXT)                                                                                         \
	COLUMN(confidence, TEXT)                                                                                       \
	COLUMN(forward_op, INTEGER)                                                                                    \
	COLUMN(forward_op_name, TEXT)                                                                                  \
	COLUMN(forward_stack, INTEGER)                                                                                 \
	COLUMN(forward_line, TEXT)

enum {
#define COLUMN(name, type) BLOCK_##name,
	BLOCK_COLUMNS(COLUMN)
#undef COLUMN
		BLOCK_moment
};

struct module {
	struct vt_sql_context *context;
	bool live; /* live_at */
};

struct table {
	sqlite3_vtab base;
	struct vt_sql_context *context;
	bool live;
};

struct scan {
	sqlite3_vtab_cursor base;
	struct vt_block_pass *pass;
	const struct vt_block_row *row; /* NULL: at the end */
	sqlite3_int64 number;
};

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret,
			 char **ret_error)
{
#define COLUMN(name, type) #name " " #type ","
	static const char all[] = "CREATE TABLE x(" BLOCK_COLUMNS(COLUMN) "CHECK (1))";
	static const char live[] = "CREATE TABLE x(" BLOCK_COLUMNS(COLUMN) "moment HIDDEN)";
#undef COLUMN
	const struct module *module = aux;
	struct table *table = calloc(1, sizeof(*table));
	int code;

	(void)argc;
	(void)argv;
	(void)ret_error;
	if (!table)
		return SQLITE_NOMEM;
	table->context = module->context;
	table->live = module->live;
	code = sqlite3_declare_vtab(db, module->live ? live : all);
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
	const struct table *table = (const struct table *)(void *)base;
	int process = -1, moment = -1, arguments = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		bool is_moment = info->aConstraint[i].iColumn == BLOCK_moment;

		if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable) {
			/* The moment must be known before the pass: this order of joining will not do. */
			if (is_moment)
				return SQLITE_CONSTRAINT;
			continue;
		}
		if (info->aConstraint[i].iColumn == BLOCK_process)
			process = i;
		if (is_moment)
			moment = i;
	}
	if (process >= 0) {
		info->idxNum |= WANT_PROCESS;
		info->aConstraintUsage[process].argvIndex = ++arguments;
	}
	if (moment >= 0) {
		info->idxNum |= WANT_MOMENT;
		info->aConstraintUsage[moment].argvIndex = ++arguments;
		info->aConstraintUsage[moment].omit = 1;
	}
	info->estimatedRows = table->live ? 1000 : 1000000;
	/* A pass over the whole trace, whatever comes out of it. */
	info->estimatedCost = 1e7;
	return SQLITE_OK;
}

static int open_scan(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct scan *scan = calloc(1, sizeof(*scan));

	(void)base;
	*ret = scan ? &scan->base : NULL;
	return scan ? SQLITE_OK : SQLITE_NOMEM;
}

static void end_scan(struct scan *scan)
{
	vt_block_pass_stop(scan->pass);
	scan->pass = NULL;
	scan->row = NULL;
}

static int close_scan(sqlite3_vtab_cursor *base)
{
	struct scan *scan = (struct scan *)(void *)base;

	end_scan(scan);
	free(scan);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct scan *scan = (struct scan *)(void *)base;
	struct vt_err err;
	int r = vt_block_pass_next(scan->pass, &scan->row, &err);

	scan->number++;
	if (r <= 0)
		scan->row = NULL;
	return r < 0 ? vt_sql_table_fail(base->pVtab, &err) : SQLITE_OK;
}

/* ------------------------------------------------------------------ moments */

struct search {
	uint64_t first_ns; /* of the first process or event; 0: none */
	uint64_t last_oom_ns;
};

static int look_at_process(void *arg, const struct vt_process_row *row)
{
	struct search *search = arg;

	if (row->start_ns && (!search->first_ns || row->start_ns < search->first_ns))
		search->first_ns = row->start_ns;
	return 0;
}

static int look_at_oom(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct search *search = arg;
	struct vt_oom oom;

	(void)process;
	memcpy(&oom, rec, sizeof(oom));
	if (oom.time_ns > search->last_oom_ns)
		search->last_oom_ns = oom.time_ns;
	return 0;
}

static int find_moment(struct vt_sql_context *context, const char *text, struct vt_block_request *request,
		       struct vt_err *err)
{
	struct search search = { 0, 0 };
	uint64_t span;
	int r;

	if (!strcmp(text, "peak")) {
		request->moment = VT_BLOCKS_PEAK;
		return 0;
	}
	if (!strcmp(text, "end")) {
		request->at_ns = UINT64_MAX;
		return 0;
	}
	if (!strcmp(text, "oom")) {
		r = vt_store_each_record(context->store, vt_event_find(VT_EVENT_oom), look_at_oom, &search, err);
		if (r == 0 && !search.last_oom_ns)
			return vt_err_set(err, VT_E_USAGE, "live_at('oom'): the trace has no out-of-memory error");
		request->at_ns = search.last_oom_ns;
		return r;
	}
	if (vt_parse_time(text, &span) < 0)
		return vt_err_set(err, VT_E_USAGE,
				  "live_at takes 'peak', 'oom', 'end', a time such as '1.5s' from the first process's "
				  "start, or nanoseconds as in the tables; not '%.40s'",
				  text);
	r = vt_store_each_process(context->store, look_at_process, &search, err);
	request->at_ns = search.first_ns + span;
	return r;
}

static int request_of(struct vt_sql_context *context, sqlite3_value *moment, struct vt_block_request *request,
		      struct vt_err *err)
{
	const char *text;

	request->moment = VT_BLOCKS_AT;
	if (sqlite3_value_type(moment) == SQLITE_INTEGER) {
		request->at_ns = (uint64_t)sqlite3_value_int64(moment);
		return 0;
	}
	text = (const char *)sqlite3_value_text(moment);
	return find_moment(context, text ? text : "", request, err);
}

static int filter(sqlite3_vtab_cursor *base, int wanted, const char *unused, int argc, sqlite3_value **argv)
{
	struct scan *scan = (struct scan *)(void *)base;
	struct table *table = (struct table *)(void *)base->pVtab;
	struct vt_block_request request = { .moment = VT_BLOCKS_ALL };
	struct vt_err err;
	int r = vt_sql_context_need(table->context, &err);

	(void)unused;
	(void)argc;
	end_scan(scan);
	scan->number = 0;
	if (r == 0 && wanted & WANT_PROCESS) {
		/* Anything but a process's number has no rows, which SQLite finds out by itself. */
		sqlite3_int64 process = sqlite3_value_int64(*argv++);

		request.process = process > 0 && process <= UINT32_MAX ? (uint32_t)process : 0;
	}
	if (r == 0 && table->live)
		r = wanted & WANT_MOMENT
			    ? request_of(table->context, *argv, &request, &err)
			    : vt_err_set(&err, VT_E_USAGE, "of which moment? live_at('peak'), for example");
	if (r == 0)
		r = vt_block_pass_start(&scan->pass, vt_sql_context_path(table->context), &request, &err);
	return r < 0 ? vt_sql_table_fail(base->pVtab, &err) : next(base);
}

/* ------------------------------------------------------------------ values */

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct scan *)(void *)base)->row == NULL;
}

static void put_static(sqlite3_context *result, const char *text)
{
	sqlite3_result_text(result, text, -1, SQLITE_STATIC);
}

static void put_id(sqlite3_context *result, uint32_t id)
{
	if (id)
		sqlite3_result_int64(result, id);
}

/* What the file says of the block; columns of text have their own. */
static void put_number(sqlite3_context *result, const struct vt_block_row *row, int n)
{
	const struct vt_attributed *block = &row->block;
	/* From before the recording: its time is not known. */
	uint64_t alloc_ns = block->alloc_ns, free_ns = block->free_ns;

	switch (n) {
	case BLOCK_process:
		sqlite3_result_int64(result, block->process);
		break;
	case BLOCK_device:
		sqlite3_result_int64(result, row->device);
		break;
	case BLOCK_address:
		sqlite3_result_int64(result, (sqlite3_int64)block->address);
		break;
	case BLOCK_size_bytes:
		sqlite3_result_int64(result, (sqlite3_int64)block->size_bytes);
		break;
	case BLOCK_alloc_ns:
		sqlite3_result_int64(result, (sqlite3_int64)alloc_ns);
		break;
	case BLOCK_free_ns:
		if (free_ns != UINT64_MAX)
			sqlite3_result_int64(result, (sqlite3_int64)free_ns);
		break;
	case BLOCK_lifetime_ns:
		if (free_ns != UINT64_MAX)
			sqlite3_result_int64(result, (sqlite3_int64)(free_ns - alloc_ns));
		break;
	case BLOCK_thread:
		sqlite3_result_int64(result, block->thread);
		break;
	case BLOCK_op:
		put_id(result, block->op);
		break;
	case BLOCK_stack:
		put_id(result, block->stack);
		break;
	case BLOCK_step:
		if (block->step != VT_STEP_UNKNOWN)
			sqlite3_result_int64(result, block->step);
		break;
	case BLOCK_forward_op:
		put_id(result, block->forward_op);
		break;
	case BLOCK_forward_stack:
		put_id(result, block->forward_stack);
		break;
	default:
		break;
	}
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int n)
{
	const struct scan *scan = (const struct scan *)(void *)base;
	const struct vt_sql_context *context = ((const struct table *)(void *)base->pVtab)->context;
	const struct vt_attributed *block = &scan->row->block;

	switch (n) {
	case BLOCK_device_type:
		put_static(result, vt_enum_text("device_type", scan->row->device_type));
		break;
	case BLOCK_op_name:
		vt_sql_result_op(result, context, block->process, block->op);
		break;
	case BLOCK_stack_line:
		vt_sql_result_line(result, context, block->process, block->stack);
		break;
	case BLOCK_phase:
		put_static(result, vt_phase_name((enum vt_phase)block->phase));
		break;
	case BLOCK_category:
		put_static(result, vt_category_name((enum vt_category)block->category));
		break;
	case BLOCK_confidence:
		put_static(result, vt_confidence_name((enum vt_confidence)block->confidence));
		break;
	case BLOCK_forward_op_name:
		vt_sql_result_op(result, context, block->process, block->forward_op);
		break;
	case BLOCK_forward_line:
		vt_sql_result_line(result, context, block->process, block->forward_stack);
		break;
	default:
		put_number(result, scan->row, n);
		break;
	}
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct scan *)(void *)base)->number;
	return SQLITE_OK;
}

static const sqlite3_module block_module = {
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

int vt_sql_register_blocks(struct vt_sql_context *context)
{
	static const char *const names[] = { "allocation", "live_at" };
	int code = SQLITE_OK;

	for (size_t i = 0; i < VT_ARRAY_SIZE(names) && code == SQLITE_OK; i++) {
		struct module *module = malloc(sizeof(*module));

		if (!module)
			return SQLITE_NOMEM;
		*module = (struct module){ context, i == 1 };
		context->references++;
		code = sqlite3_create_module_v2(context->db, names[i], &block_module, module, destroy_module);
	}
	return code;
}
