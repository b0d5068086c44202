/* store_int.h - what the store's sources share. */
#ifndef VT_SCHEMA_STORE_INT_H
#define VT_SCHEMA_STORE_INT_H

#include <sqlite3.h>

#include "schema/chunk.h"
#include "schema/store.h"

/* Statements that are used again and again; prepared at first use. */
enum vt_store_statement {
	VT_SQL_BEGIN,
	VT_SQL_COMMIT,
	VT_SQL_SET_META,
	VT_SQL_PUT_PROCESS,
	VT_SQL_PUT_THREAD,
	VT_SQL_ADD_CLOCK,
	VT_SQL_PUT_LOSS,
	VT_SQL_ADD_CHUNK,
	VT_SQL_DELETE_CHUNK,
	VT_SQL_PUT_POSITION,
	VT_SQL_FIND_POSITION,
	VT_SQL_FIND_PROCESS,
	VT_SQL_READ_CHUNK,
	VT_SQL_READ_META,
	VT_SQL_COUNT
};

enum {
#define EVENT(id, class, name, since, doc) VT_STORE_EVENT_##name,
#include "schema/events.def"
	VT_STORE_NEVENTS
};

/* A text handed out by vt_store_meta. */
struct vt_store_meta_text {
	struct vt_store_meta_text *next;
	char *value; /* behind the key */
	char key[];
};

struct vt_store {
	sqlite3 *db;
	char *path;
	bool is_reader;
	sqlite3_stmt *statements[VT_SQL_COUNT];
	sqlite3_stmt *record_inserts[VT_STORE_NEVENTS]; /* by place in vt_events */
	struct vt_chunk_coder *coder;			/* writers: made at the first chunk */
	struct vt_store_meta_text *metas;
	char warning[256]; /* what opening could not read; "" for nothing */
};

/* -VT_E_DB (or -VT_E_CORRUPT where SQLite says so) with the file and SQLite's words. */
int vt_store_fail(struct vt_store *store, const char *doing, struct vt_err *err);
/* The statement, reset and without bindings; NULL with err. Not to be finalized. */
sqlite3_stmt *vt_store_statement(struct vt_store *store, enum vt_store_statement which, struct vt_err *err);
/* Steps a statement that gives no rows, and resets it. */
int vt_store_run(struct vt_store *store, sqlite3_stmt *statement, const char *doing, struct vt_err *err);
int vt_store_exec(struct vt_store *store, const char *sql, const char *doing, struct vt_err *err);

/*
 * 1 where the database has an ordinary table of that name, 0 where it has nothing; VT_E_CORRUPT where a view or a virtual
 * table bears the name: those can run what a stranger wrote.
 */
int vt_store_has_table(struct vt_store *store, const char *table, struct vt_err *err);

/* All tables, and the rows that describe this build's schema. Inside a transaction. */
int vt_store_make_tables(struct vt_store *store, struct vt_err *err);

#endif
