/* functions.c - SQL functions that say what an id of a trace stands for, and numbers as people read them. See sql.h. */
#include <stdlib.h>

#include "analyze/sql/sql.h"
#include "schema/base/bits.h"
#include "schema/base/format.h"

#define DEPTH_MAX 4096

/* The context of a call, opened; NULL where it failed and the call has its error. */
static struct vt_sql_context *need(sqlite3_context *result)
{
	struct vt_sql_context *context = sqlite3_user_data(result);
	struct vt_err err;

	if (vt_sql_context_need(context, &err) == 0)
		return context;
	sqlite3_result_error(result, err.msg, -1);
	return NULL;
}

static uint32_t id_at(sqlite3_value **argv, int place)
{
	return (uint32_t)sqlite3_value_int64(argv[place]);
}

static void finish_text(sqlite3_context *result, sqlite3_str *text)
{
	char *done;

	if (sqlite3_str_length(text) == 0) {
		sqlite3_free(sqlite3_str_finish(text));
		return;
	}
	done = sqlite3_str_finish(text);
	if (done)
		sqlite3_result_text(result, done, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(result);
}

static void text_of_string(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct vt_sql_context *context = need(result);

	(void)argc;
	if (context && id_at(argv, 1))
		sqlite3_result_text(result, vt_symbols_string(context->symbols, id_at(argv, 0), id_at(argv, 1)), -1,
				    SQLITE_TRANSIENT);
}

static void op_name(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct vt_sql_context *context = need(result);

	(void)argc;
	if (context)
		vt_sql_result_op(result, context, id_at(argv, 0), id_at(argv, 1));
}

/* Outermost first: "Optimizer.step#SGD.step > aten::add_". */
static void op_path(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct vt_sql_context *context = need(result);
	const char *names[64];
	struct vt_op_info op;
	sqlite3_str *text;
	uint32_t node;
	int n = 0;

	(void)argc;
	if (!context)
		return;
	for (node = id_at(argv, 1);
	     n < (int)VT_ARRAY_SIZE(names) && vt_symbols_op(context->symbols, id_at(argv, 0), node, &op);
	     node = op.parent)
		names[n++] = op.name;
	text = sqlite3_str_new(NULL);
	while (n--)
		sqlite3_str_appendf(text, n ? "%s > " : "%s", names[n]);
	finish_text(result, text);
}

static void stack_line(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct vt_sql_context *context = need(result);

	(void)argc;
	if (context)
		vt_sql_result_line(result, context, id_at(argv, 0), id_at(argv, 1));
}

/* Innermost first, a line for each frame. */
static void stack_text(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct vt_sql_context *context = need(result);
	struct vt_frame_info frame;
	sqlite3_str *text;
	uint32_t stack;
	int depth = 0;

	(void)argc;
	if (!context)
		return;
	text = sqlite3_str_new(NULL);
	for (stack = id_at(argv, 1);
	     depth < DEPTH_MAX && vt_symbols_frame(context->symbols, id_at(argv, 0), stack, &frame);
	     stack = frame.parent, depth++)
		sqlite3_str_appendf(text, "%s%s:%u %s", depth ? "\n" : "", frame.file, frame.line, frame.function);
	finish_text(result, text);
}

static void enum_text(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const char *name = (const char *)sqlite3_value_text(argv[0]);
	const char *text = name ? vt_enum_text(name, sqlite3_value_int64(argv[1])) : NULL;

	(void)argc;
	if (text)
		sqlite3_result_text(result, text, -1, SQLITE_STATIC);
}

static void format_bytes(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	char out[VT_FORMAT_MAX];

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_text(result, vt_format_signed_bytes(out, sqlite3_value_int64(argv[0])), -1,
				    SQLITE_TRANSIENT);
}

static void format_ns(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	sqlite3_int64 ns = sqlite3_value_int64(argv[0]);
	char out[VT_FORMAT_MAX];

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_text(result, vt_format_ns(out, ns < 0 ? 0 : (uint64_t)ns), -1, SQLITE_TRANSIENT);
}

static void release(void *context)
{
	vt_sql_context_release(context);
}

int vt_sql_register_functions(struct vt_sql_context *context)
{
	static const struct {
		const char *name;
		int arguments;
		void (*fn)(sqlite3_context *result, int argc, sqlite3_value **argv);
	} functions[] = {
		{ "string_text", 2, text_of_string }, { "op_name", 2, op_name },       { "op_path", 2, op_path },
		{ "stack_line", 2, stack_line },      { "stack_text", 2, stack_text }, { "enum_text", 2, enum_text },
		{ "format_bytes", 1, format_bytes },  { "format_ns", 1, format_ns },
	};
	int code = SQLITE_OK;

	for (size_t i = 0; i < VT_ARRAY_SIZE(functions) && code == SQLITE_OK; i++) {
		context->references++;
		/* Calls release itself where it fails. INNOCUOUS: they read the open trace and nothing else. */
		code = sqlite3_create_function_v2(context->db, functions[i].name, functions[i].arguments,
						  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, context,
						  functions[i].fn, NULL, NULL, release);
	}
	return code;
}
