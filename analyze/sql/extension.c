/*
 * extension.c - the loadable module: `.load vramtrace` in the sqlite3 shell, load_extension() elsewhere. Every file of
 * it calls the SQLite of the program that loads it, through the table that is handed over here.
 */
#include "analyze/sql/sql.h"

SQLITE_EXTENSION_INIT1

__attribute__((visibility("default"))) int sqlite3_vramtrace_init(sqlite3 *db, char **ret_error,
								  const sqlite3_api_routines *api);

int sqlite3_vramtrace_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *api)
{
	int code;

	SQLITE_EXTENSION_INIT2(api);
	code = vt_sql_register(db);
	if (code != SQLITE_OK && ret_error)
		*ret_error = sqlite3_mprintf("vramtrace: %s", sqlite3_errmsg(db));
	return code;
}
