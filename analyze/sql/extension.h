/*
 * extension.h - put before every file of the loadable module by the build: sqlite3.h's names become entries of the
 * table that the host hands over, so that there is one SQLite in the process and its locks hold.
 */
#ifndef VT_ANALYZE_SQL_EXTENSION_H
#define VT_ANALYZE_SQL_EXTENSION_H

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;

#endif
