/*
 * store_tables.c - the tables of a trace file. The fixed ones stand here; those of TABLE and BLOB events are made from
 * their descriptors. schema/format.md explains them.
 */
#include <stdio.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/store_int.h"

static const char fixed_tables[] =
	"CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS process(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, parent_pid INTEGER NOT NULL,"
	" rank INTEGER, local_rank INTEGER, world_size INTEGER, pid_start_ticks INTEGER NOT NULL, start_ns INTEGER NOT "
	"NULL,"
	" end_ns INTEGER NOT NULL, end_state INTEGER NOT NULL, executable TEXT NOT NULL, command TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS thread(process INTEGER NOT NULL, ring INTEGER NOT NULL, generation INTEGER NOT "
	"NULL,"
	" tid INTEGER NOT NULL, name TEXT NOT NULL, events INTEGER NOT NULL,"
	" PRIMARY KEY(process, ring, generation)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS clock(monotonic_ns INTEGER NOT NULL, realtime_ns INTEGER NOT NULL,"
	" boottime_ns INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS loss(process INTEGER NOT NULL, kind INTEGER NOT NULL, count INTEGER NOT NULL,"
	" PRIMARY KEY(process, kind)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS ring_position(process INTEGER NOT NULL, ring INTEGER NOT NULL,"
	" generation INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY(process, ring)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS schema_event(id INTEGER PRIMARY KEY, name TEXT NOT NULL, class TEXT NOT NULL,"
	" since INTEGER NOT NULL, doc TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS schema_column(event INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL,"
	" type TEXT NOT NULL, codec TEXT NOT NULL, unit TEXT NOT NULL, since INTEGER NOT NULL, doc TEXT NOT NULL,"
	" PRIMARY KEY(event, id)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS schema_enum(name TEXT NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL,"
	" PRIMARY KEY(name, number)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS chunk(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, kind INTEGER NOT NULL,"
	" first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, events INTEGER NOT NULL, raw_bytes INTEGER NOT NULL,"
	" checksum INTEGER NOT NULL, data BLOB NOT NULL);";

static const char *const class_names[] = { "CHUNK", "TABLE", "BLOB" };

static int make_event_table(struct vt_store *store, const struct vt_event *event, struct vt_err *err)
{
	char sql[2048];
	bool has_id = vt_event_col_name(event, "id") != NULL;
	size_t n = (size_t)snprintf(sql, sizeof(sql), "CREATE TABLE IF NOT EXISTS \"%s\"(process INTEGER NOT NULL",
				    event->name);

	for (uint32_t i = 0; i < event->ncols && n < sizeof(sql); i++)
		if (!vt_col_is_pad(&event->cols[i]))
			n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", \"%s\" INTEGER NOT NULL",
					      event->cols[i].name);
	if (event->class == VT_CLASS_BLOB && n < sizeof(sql))
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", bytes NOT NULL");
	if (n < sizeof(sql))
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, "%s",
				      has_id ? ", PRIMARY KEY(process, id)) WITHOUT ROWID" : ")");
	if (n >= sizeof(sql))
		return vt_err_set(err, VT_E_NOMEM, "the table of %s is too long to write", event->name);
	return vt_store_exec(store, sql, "making tables", err);
}

/* A row: its numbers, then its texts. */
struct row {
	int64_t numbers[3];
	const char *texts[5];
	int nnumbers, ntexts;
};

static int put_row(struct vt_store *store, sqlite3_stmt *statement, const struct row *row, struct vt_err *err)
{
	(void)sqlite3_reset(statement);
	for (int i = 0; i < row->nnumbers; i++)
		(void)sqlite3_bind_int64(statement, i + 1, row->numbers[i]);
	for (int i = 0; i < row->ntexts; i++)
		(void)sqlite3_bind_text(statement, row->nnumbers + i + 1, row->texts[i], -1, SQLITE_STATIC);
	return vt_store_run(store, statement, "describing the schema", err);
}

static int describe_event(struct vt_store *store, const struct vt_event *event, sqlite3_stmt *events,
			  sqlite3_stmt *columns, struct vt_err *err)
{
	const struct row event_row = {
		{ event->id, event->since }, { event->name, class_names[event->class], event->doc }, 2, 3
	};
	int r = put_row(store, events, &event_row, err);

	for (uint32_t i = 0; i < event->ncols && r == 0; i++) {
		const struct vt_col *col = &event->cols[i];
		const struct row row = { { event->id, col->id, col->since },
					 { col->name, vt_type_name(col->type), vt_codec_name(col->codec),
					   vt_unit_name(col->unit), col->doc },
					 3,
					 5 };

		if (!vt_col_is_pad(col))
			r = put_row(store, columns, &row, err);
	}
	return r;
}

static int describe_enums(struct vt_store *store, struct vt_err *err)
{
	static const struct {
		const char *name;
		int64_t number;
		const char *text;
	} values[] = {
/* clang-format off */
#define VALUE(enum_name, NAME, number, text) { #enum_name, (number), text },
#include "schema/enums.def"
		/* clang-format on */
	};
	sqlite3_stmt *statement = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(store->db, "INSERT OR REPLACE INTO schema_enum(number, name, text) VALUES(?1, ?2, ?3)",
			       -1, &statement, NULL) != SQLITE_OK)
		return vt_store_fail(store, "describing the schema", err);
	for (size_t i = 0; i < VT_ARRAY_SIZE(values) && r == 0; i++) {
		const struct row row = { { values[i].number }, { values[i].name, values[i].text }, 1, 2 };

		r = put_row(store, statement, &row, err);
	}
	(void)sqlite3_finalize(statement);
	return r;
}

static int describe_schema(struct vt_store *store, struct vt_err *err)
{
	sqlite3_stmt *events = NULL;
	sqlite3_stmt *columns = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(
		    store->db,
		    "INSERT OR REPLACE INTO schema_event(id, since, name, class, doc) VALUES(?1, ?2, ?3, ?4, ?5)", -1,
		    &events, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(store->db,
			       "INSERT OR REPLACE INTO schema_column(event, id, since, name, type, codec, unit, doc)"
			       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
			       -1, &columns, NULL) != SQLITE_OK)
		r = vt_store_fail(store, "describing the schema", err);
	for (size_t i = 0; i < vt_nevents && r == 0; i++)
		r = describe_event(store, &vt_events[i], events, columns, err);
	(void)sqlite3_finalize(events);
	(void)sqlite3_finalize(columns);
	return r;
}

int vt_store_make_tables(struct vt_store *store, struct vt_err *err)
{
	int r = vt_store_exec(store, fixed_tables, "making tables", err);

	for (size_t i = 0; i < vt_nevents && r == 0; i++)
		if (vt_events[i].class != VT_CLASS_CHUNK)
			r = make_event_table(store, &vt_events[i], err);
	if (r == 0)
		r = describe_schema(store, err);
	if (r == 0)
		r = describe_enums(store, err);
	return r;
}
