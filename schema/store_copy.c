/* store_copy.c - a consistent copy of a trace that is perhaps being written. See store.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/base/cleanup.h"
#include "schema/store_int.h"

static void close_db(sqlite3 **db)
{
	(void)sqlite3_close(*db);
}

/* SQLite reads from one moment of the source, whoever writes to it meanwhile. */
static int copy(sqlite3 *db, const char *from, const char *to, struct vt_err *err)
{
	sqlite3_stmt *statement = NULL;
	int r = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &statement, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_bind_text(statement, 1, to, -1, SQLITE_STATIC);
	if (r == SQLITE_OK)
		r = sqlite3_step(statement);
	(void)sqlite3_finalize(statement);
	return r == SQLITE_DONE
		       ? 0
		       : vt_err_set(err, VT_E_DB, "%s: cannot copy it to %s: %s", from, to, sqlite3_errmsg(db));
}

int vt_store_copy(const char *from, const char *to, bool replace, struct vt_err *err)
{
	VT_CLEANUP(close_db) sqlite3 *db = NULL;
	VT_CLEANUP(vt_freep) char *part = NULL;
	struct vt_store *trace = NULL;
	int r;

	if (!replace && access(to, F_OK) == 0)
		return vt_err_set(err, VT_E_INPUT, "%s: exists; choose another name or use --force", to);
	/* Refuses what is no trace. */
	r = vt_store_open(&trace, from, err);
	vt_store_close(trace);
	if (r < 0)
		return r;
	if (asprintf(&part, "%s.part-%d", to, (int)getpid()) < 0) {
		part = NULL;
		return vt_err_set(err, VT_E_NOMEM, "no memory for a file name");
	}
	if (sqlite3_open_v2(from, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return vt_err_set(err, VT_E_DB, "%s: cannot be read: %s", from, sqlite3_errmsg(db));
	(void)sqlite3_busy_timeout(db, 2000);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)unlink(part);
	r = copy(db, from, part, err);
	if (r == 0 && rename(part, to) < 0)
		r = vt_err_set(err, VT_E_IO, "%s: cannot make it: %s", to, strerror(errno));
	if (r < 0)
		(void)unlink(part);
	return r;
}
