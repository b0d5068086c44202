/*
 * sql.h - a trace as SQL tables: virtual tables of SQLite over its chunks, for `vramtrace query` and, as a loadable
 * extension, for every program that speaks SQLite. docs/sql.md is the document for users.
 *
 *   one table for each kind of event of events.def      event_table.c
 *   allocation, live_at(moment)                         block_table.c
 *   stack_frame(process, stack)                         frame_table.c
 *   views for common questions                          views.c
 *
 * All are eponymous: they exist without CREATE, over the database "main" of the connection, and read it through a
 * store of their own (read-only). Tables that the file itself has (process, thread, note, oom, ...) stay what they are.
 */
#ifndef VT_ANALYZE_SQL_H
#define VT_ANALYZE_SQL_H

/* In the loadable extension every file of it is compiled with VT_SQL_EXTENSION: it calls its host's SQLite. */
#ifdef VT_SQL_EXTENSION
#include <sqlite3ext.h>
#else
#include <sqlite3.h>
#endif

#include "analyze/symbols/symbols.h"
#include "schema/base/hash.h"
#include "schema/store.h"

/* Registers everything on a connection. SQLITE_OK or the code of what failed. */
int vt_sql_register(sqlite3 *db);

/* -------- shared by the tables */

/* What the tables of one connection share. One thread at a time, as the connection itself. */
struct vt_sql_context {
	sqlite3 *db;
	struct vt_store *store; /* NULL until first needed */
	struct vt_symbols *symbols;
	struct vt_chunk_info *chunks; /* all, in order of first_ns, as of when it was opened */
	size_t nchunks, chunk_room;
	struct vt_map kernel_names; /* process and kernel_config -> string */
	unsigned references;	    /* modules that hold it */
};

/* Opens the file of the connection's "main". */
int vt_sql_context_need(struct vt_sql_context *context, struct vt_err *err);
void vt_sql_context_release(struct vt_sql_context *context);
/* Path of the connection's "main", or NULL where it is in memory. */
const char *vt_sql_context_path(const struct vt_sql_context *context);
/* The kernel's mangled name; "" where it is not known. */
const char *vt_sql_kernel_name(const struct vt_sql_context *context, uint32_t process, uint32_t config);

/* "model.py:16 Block.forward" of the user's innermost frame; NULL where there is none. */
void vt_sql_result_line(sqlite3_context *result, const struct vt_sql_context *context, uint32_t process,
			uint32_t stack);
void vt_sql_result_op(sqlite3_context *result, const struct vt_sql_context *context, uint32_t process, uint32_t node);

/* Puts err into the table's message; SQLITE_ERROR. */
int vt_sql_table_fail(sqlite3_vtab *table, const struct vt_err *err);

int vt_sql_register_events(struct vt_sql_context *context);
int vt_sql_register_blocks(struct vt_sql_context *context);
int vt_sql_register_frames(struct vt_sql_context *context);
int vt_sql_register_functions(struct vt_sql_context *context);
/* Temporary views; to be made after the tables. */
int vt_sql_make_views(sqlite3 *db);

#endif
