/* context.c - see sql.h: what the tables of a connection share. */
#include <stdlib.h>
#include <string.h>

#include "analyze/sql/sql.h"
#include "analyze/views/idmap.h"
#include "schema/base/hash.h"

const char *vt_sql_context_path(const struct vt_sql_context *context)
{
	const char *path = sqlite3_db_filename(context->db, "main");

	return path && *path ? path : NULL;
}

static int keep_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct vt_sql_context *context = arg;

	if (vt_array_reach((void **)&context->chunks, &context->chunk_room, context->nchunks,
			   sizeof(*context->chunks)) < 0)
		return -VT_E_NOMEM;
	context->chunks[context->nchunks++] = *info;
	return 0;
}

static uint64_t config_key(uint32_t process, uint32_t config)
{
	return (uint64_t)process << 32 | config;
}

static int keep_kernel(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct vt_sql_context *context = arg;
	struct vt_kernel_config config;

	memcpy(&config, rec, sizeof(config));
	return config.name == VT_MAP_NONE
		       ? 0
		       : vt_map_put(&context->kernel_names, config_key(process, config.id), config.name);
}

const char *vt_sql_kernel_name(const struct vt_sql_context *context, uint32_t process, uint32_t config)
{
	uint32_t name = vt_map_find(&context->kernel_names, config_key(process, config));

	return name == VT_MAP_NONE ? "" : vt_symbols_string(context->symbols, process, name);
}

static void forget(struct vt_sql_context *context)
{
	vt_symbols_close(context->symbols);
	vt_store_close(context->store);
	vt_map_done(&context->kernel_names);
	free(context->chunks);
	context->symbols = NULL;
	context->store = NULL;
	context->chunks = NULL;
	context->kernel_names = (struct vt_map){ NULL };
	context->nchunks = context->chunk_room = 0;
}

int vt_sql_context_need(struct vt_sql_context *context, struct vt_err *err)
{
	const char *path = vt_sql_context_path(context);
	int r;

	if (context->store)
		return 0;
	if (!path)
		return vt_err_set(err, VT_E_USAGE, "the database is in memory; open a trace: sqlite3 run.vramtrace");
	r = vt_store_open(&context->store, path, err);
	if (r == 0)
		r = vt_symbols_open(&context->symbols, context->store, err);
	if (r == 0)
		r = vt_store_each_chunk(context->store, keep_chunk, context, err);
	if (r == 0)
		r = vt_store_each_record(context->store, vt_event_find(VT_EVENT_kernel_config), keep_kernel, context,
					 err);
	if (r < 0)
		forget(context);
	return r;
}

void vt_sql_context_release(struct vt_sql_context *context)
{
	if (--context->references)
		return;
	forget(context);
	free(context);
}

int vt_sql_table_fail(sqlite3_vtab *table, const struct vt_err *err)
{
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s", err->msg);
	return err->code == VT_E_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

void vt_sql_result_line(sqlite3_context *result, const struct vt_sql_context *context, uint32_t process, uint32_t stack)
{
	struct vt_frame_info frame;
	const char *slash;
	char *text;

	if (!vt_symbols_user_frame(context->symbols, process, stack, &frame))
		return;
	slash = strrchr(frame.file, '/');
	text = sqlite3_mprintf("%s:%u %s", slash && slash[1] ? slash + 1 : frame.file, frame.line, frame.function);
	if (text)
		sqlite3_result_text(result, text, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(result);
}

void vt_sql_result_op(sqlite3_context *result, const struct vt_sql_context *context, uint32_t process, uint32_t node)
{
	struct vt_op_info op;

	/* Texts of symbols live as long as the context, which a prepared statement may outlive no row of. */
	if (vt_symbols_op(context->symbols, process, node, &op))
		sqlite3_result_text(result, op.name, -1, SQLITE_TRANSIENT);
}

int vt_sql_register(sqlite3 *db)
{
	struct vt_sql_context *context = calloc(1, sizeof(*context));
	int code;

	if (!context)
		return SQLITE_NOMEM;
	context->db = db;
	context->references = 1;
	code = vt_sql_register_events(context);
	if (code == SQLITE_OK)
		code = vt_sql_register_blocks(context);
	if (code == SQLITE_OK)
		code = vt_sql_register_frames(context);
	if (code == SQLITE_OK)
		code = vt_sql_register_functions(context);
	vt_sql_context_release(context);
	return code == SQLITE_OK ? vt_sql_make_views(db) : code;
}
