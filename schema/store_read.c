/*
 * store_read.c - the reading half of store.h. Whatever a row holds is checked against the type it is given out as:
 * SQLite columns have no types of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/base/buf.h"
#include "schema/base/cleanup.h"
#include "schema/base/crc32.h"
#include "schema/store_int.h"

static void finalize(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}

int vt_store_has_table(struct vt_store *store, const char *table, struct vt_err *err)
{
	static const char sql[] = "SELECT type = 'table' AND rootpage > 0 FROM sqlite_schema"
				  " WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE";
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r;

	if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
		return vt_store_fail(store, table, err);
	(void)sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	r = sqlite3_step(s);
	if (r == SQLITE_DONE)
		return 0;
	if (r != SQLITE_ROW)
		return vt_store_fail(store, table, err);
	if (!sqlite3_column_int(s, 0))
		return vt_err_set(err, VT_E_CORRUPT,
				  "%s: %s is a view or a virtual table; a trace has ordinary tables alone", store->path,
				  table);
	return 1;
}

/* Of a table that vt_store_has_table knows. */
static bool has_column(struct vt_store *store, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(store->db, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* ------------------------------------------------------------------ rows */

/* A table under way. The values of a row are taken one by one; the first that is not what it must be is remembered. */
struct scan {
	struct vt_store *store;
	const char *table;
	sqlite3_stmt *statement;
	const char *bad; /* column of the row, or NULL */
};

static void end_scan(struct scan *scan)
{
	(void)sqlite3_finalize(scan->statement);
}

/* 1 prepared, 0 the table is absent. */
static int begin_scan(struct scan *scan, const char *sql, struct vt_err *err)
{
	int r = vt_store_has_table(scan->store, scan->table, err);

	if (r > 0 && sqlite3_prepare_v2(scan->store->db, sql, -1, &scan->statement, NULL) != SQLITE_OK)
		r = vt_store_fail(scan->store, scan->table, err);
	return r;
}

/* 1 a row, 0 the end. */
static int next_row(struct scan *scan, struct vt_err *err)
{
	int r = sqlite3_step(scan->statement);

	scan->bad = NULL;
	if (r == SQLITE_ROW)
		return 1;
	return r == SQLITE_DONE ? 0 : vt_store_fail(scan->store, scan->table, err);
}

/* After the values of a row were taken. */
static int check_row(const struct scan *scan, struct vt_err *err)
{
	if (!scan->bad)
		return 0;
	return vt_err_set(err, VT_E_CORRUPT, "%s: table %s: %s is of the wrong type or out of its range",
			  scan->store->path, scan->table, scan->bad);
}

static void refuse(struct scan *scan, int column)
{
	if (!scan->bad)
		scan->bad = sqlite3_column_name(scan->statement, column);
	if (!scan->bad)
		scan->bad = "a value";
}

static int64_t take_within(struct scan *scan, int column, int64_t least, int64_t most)
{
	int64_t value = sqlite3_column_int64(scan->statement, column);

	if (sqlite3_column_type(scan->statement, column) == SQLITE_INTEGER && value >= least && value <= most)
		return value;
	refuse(scan, column);
	return least;
}

static uint32_t take_u32(struct scan *scan, int column)
{
	return (uint32_t)take_within(scan, column, 0, UINT32_MAX);
}

static int32_t take_i32(struct scan *scan, int column)
{
	return (int32_t)take_within(scan, column, INT32_MIN, INT32_MAX);
}

/* Numbers of 64 bits without a sign are stored as SQLite's signed ones. */
static uint64_t take_u64(struct scan *scan, int column)
{
	return (uint64_t)take_within(scan, column, INT64_MIN, INT64_MAX);
}

/* Rank and the like: NULL is as good as -1. */
static int32_t take_rank(struct scan *scan, int column)
{
	return sqlite3_column_type(scan->statement, column) == SQLITE_NULL ? -1 : take_i32(scan, column);
}

static const char *take_text(struct scan *scan, int column)
{
	int type = sqlite3_column_type(scan->statement, column);
	const char *text = "";

	if (type == SQLITE_TEXT || type == SQLITE_BLOB)
		text = (const char *)sqlite3_column_text(scan->statement, column);
	else
		refuse(scan, column);
	if (sqlite3_column_bytes(scan->statement, column) > VT_STORE_TEXT_MAX)
		refuse(scan, column);
	return text ? text : "";
}

/* ------------------------------------------------------------------ fixed tables */

/* The text of a key, kept with the store, or NULL. */
static char *read_meta(struct vt_store *store, const char *key)
{
	size_t key_bytes = strlen(key) + 1;
	struct vt_store_meta_text *meta = NULL;
	sqlite3_stmt *s;

	if (vt_store_has_table(store, "meta", NULL) <= 0)
		return NULL;
	s = vt_store_statement(store, VT_SQL_READ_META, NULL);
	if (!s)
		return NULL;
	(void)sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_bytes(s, 0) <= VT_STORE_TEXT_MAX) {
		const char *text = (const char *)sqlite3_column_text(s, 0);
		size_t bytes = text ? strlen(text) + 1 : 1;

		meta = malloc(sizeof(*meta) + key_bytes + bytes);
		if (meta) {
			meta->value = meta->key + key_bytes;
			memcpy(meta->key, key, key_bytes);
			memcpy(meta->value, text ? text : "", bytes);
			meta->next = store->metas;
			store->metas = meta;
		}
	}
	(void)sqlite3_reset(s);
	return meta ? meta->value : NULL;
}

const char *vt_store_meta(struct vt_store *store, const char *key)
{
	for (const struct vt_store_meta_text *meta = store->metas; meta; meta = meta->next)
		if (!strcmp(meta->key, key))
			return meta->value;
	return read_meta(store, key);
}

int vt_store_each_process(struct vt_store *store, int (*fn)(void *arg, const struct vt_process_row *row), void *arg,
			  struct vt_err *err)
{
	static const char sql[] =
		"SELECT id, pid, parent_pid, rank, local_rank, world_size, pid_start_ticks, start_ns, end_ns,"
		" end_state, executable, command FROM process ORDER BY id";
	VT_CLEANUP(end_scan) struct scan scan = { .store = store, .table = "process" };
	int r = begin_scan(&scan, sql, err);

	while (r > 0 && (r = next_row(&scan, err)) > 0) {
		const struct vt_process_row row = { .id = take_u32(&scan, 0),
						    .pid = take_u32(&scan, 1),
						    .parent_pid = take_u32(&scan, 2),
						    .rank = take_rank(&scan, 3),
						    .local_rank = take_rank(&scan, 4),
						    .world_size = take_rank(&scan, 5),
						    .pid_start_ticks = take_u64(&scan, 6),
						    .start_ns = take_u64(&scan, 7),
						    .end_ns = take_u64(&scan, 8),
						    .end_state = take_i32(&scan, 9),
						    .executable = take_text(&scan, 10),
						    .command = take_text(&scan, 11) };

		r = check_row(&scan, err);
		if (r == 0)
			r = fn(arg, &row);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

int vt_store_each_thread(struct vt_store *store, int (*fn)(void *arg, const struct vt_thread_row *row), void *arg,
			 struct vt_err *err)
{
	VT_CLEANUP(end_scan) struct scan scan = { .store = store, .table = "thread" };
	int r = begin_scan(&scan, "SELECT process, ring, generation, tid, events, name FROM thread", err);

	while (r > 0 && (r = next_row(&scan, err)) > 0) {
		const struct vt_thread_row row = { .process = take_u32(&scan, 0),
						   .ring = take_u32(&scan, 1),
						   .generation = take_u32(&scan, 2),
						   .tid = take_u32(&scan, 3),
						   .events = take_u64(&scan, 4),
						   .name = take_text(&scan, 5) };

		r = check_row(&scan, err);
		if (r == 0)
			r = fn(arg, &row);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

int vt_store_each_clock(struct vt_store *store, int (*fn)(void *arg, const struct vt_clock_row *row), void *arg,
			struct vt_err *err)
{
	static const char sql[] = "SELECT monotonic_ns, realtime_ns, boottime_ns FROM clock ORDER BY monotonic_ns";
	VT_CLEANUP(end_scan) struct scan scan = { .store = store, .table = "clock" };
	int r = begin_scan(&scan, sql, err);

	while (r > 0 && (r = next_row(&scan, err)) > 0) {
		const struct vt_clock_row row = { take_u64(&scan, 0), take_u64(&scan, 1), take_u64(&scan, 2) };

		r = check_row(&scan, err);
		if (r == 0)
			r = fn(arg, &row);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

int vt_store_each_loss(struct vt_store *store, int (*fn)(void *arg, const struct vt_loss_row *row), void *arg,
		       struct vt_err *err)
{
	VT_CLEANUP(end_scan) struct scan scan = { .store = store, .table = "loss" };
	int r = begin_scan(&scan, "SELECT process, kind, count FROM loss", err);

	while (r > 0 && (r = next_row(&scan, err)) > 0) {
		const struct vt_loss_row row = { take_u32(&scan, 0), take_u32(&scan, 1), take_u64(&scan, 2) };

		r = check_row(&scan, err);
		if (r == 0)
			r = fn(arg, &row);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

/* ------------------------------------------------------------------ records */

/* Columns that an older file lacks read as 0. */
static int begin_records(struct scan *scan, const struct vt_event *event, struct vt_err *err)
{
	char sql[2048];
	size_t n = (size_t)snprintf(sql, sizeof(sql), "SELECT process");
	int r = vt_store_has_table(scan->store, event->name, err);

	if (r <= 0)
		return r;
	for (uint32_t i = 0; i < event->ncols && n < sizeof(sql); i++) {
		const char *name = event->cols[i].name;

		if (vt_col_is_pad(&event->cols[i]))
			continue;
		n += (size_t)snprintf(sql + n, sizeof(sql) - n,
				      has_column(scan->store, event->name, name) ? ", \"%s\"" : ", 0", name);
	}
	if (event->class == VT_CLASS_BLOB && n < sizeof(sql))
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", bytes");
	if (n < sizeof(sql))
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, " FROM \"%s\"", event->name);
	if (n >= sizeof(sql))
		return vt_err_set(err, VT_E_NOMEM, "%s has too many columns", event->name);
	return begin_scan(scan, sql, err);
}

/* false where the number is not one of the column's type. */
static bool set_column(struct vt_rec *rec, const struct vt_col *col, int64_t value)
{
	char *at = (char *)rec + col->offset;
	bool is_signed = vt_col_is_signed(col);
	uint16_t v16 = (uint16_t)value;
	uint32_t v32 = (uint32_t)value;

	if (col->width == 2) {
		memcpy(at, &v16, 2);
		return is_signed ? value == (int16_t)value : value == (uint16_t)value;
	}
	if (col->width == 4) {
		memcpy(at, &v32, 4);
		return is_signed ? value == (int32_t)value : value == (uint32_t)value;
	}
	memcpy(at, &value, 8);
	return true;
}

static int fill_record(struct scan *scan, const struct vt_event *event, struct vt_buf *buf, struct vt_err *err)
{
	struct vt_rec *rec;
	int place = 1;

	vt_buf_clear(buf);
	if (vt_buf_reserve(buf, event->size) < 0)
		return vt_err_set(err, VT_E_NOMEM, "%s: out of memory", scan->store->path);
	rec = (struct vt_rec *)(void *)buf->data;
	memset(rec, 0, event->size);
	rec->type = event->id;
	rec->len8 = (uint16_t)(event->size / 8);
	for (uint32_t i = 0; i < event->ncols; i++) {
		const struct vt_col *col = &event->cols[i];

		if (vt_col_is_pad(col))
			continue;
		if (!set_column(rec, col, take_within(scan, place, INT64_MIN, INT64_MAX)))
			refuse(scan, place);
		place++;
	}
	buf->bytes = event->size;
	return place;
}

/* Puts a BLOB's bytes behind its record; size_bytes becomes what is really there. */
static int fill_bytes(struct scan *scan, const struct vt_event *event, int place, struct vt_buf *buf,
		      struct vt_err *err)
{
	const struct vt_col *size = vt_event_col_name(event, "size_bytes");
	sqlite3_stmt *s = scan->statement;
	int type = sqlite3_column_type(s, place);
	bool is_text = type == SQLITE_TEXT;
	const void *bytes = is_text ? (const void *)sqlite3_column_text(s, place) : sqlite3_column_blob(s, place);
	size_t count = (size_t)sqlite3_column_bytes(s, place);
	size_t padded = vt_align_up(count, 8);
	struct vt_rec *rec;

	if ((!is_text && type != SQLITE_BLOB) || count > VT_STORE_BLOB_MAX) {
		refuse(scan, place);
		return 0;
	}
	if (vt_buf_reserve(buf, padded) < 0)
		return vt_err_set(err, VT_E_NOMEM, "%s: out of memory for a %s of %zu bytes", scan->store->path,
				  event->name, count);
	rec = (struct vt_rec *)(void *)buf->data;
	if (count)
		memcpy(buf->data + buf->bytes, bytes, count);
	memset(buf->data + buf->bytes + count, 0, padded - count);
	buf->bytes += padded;
	(void)set_column(rec, size, (int64_t)count);
	rec->len8 = buf->bytes / 8 <= UINT16_MAX ? (uint16_t)(buf->bytes / 8) : 0;
	return 0;
}

int vt_store_each_record(struct vt_store *store, const struct vt_event *event,
			 int (*fn)(void *arg, uint32_t process, const struct vt_rec *rec), void *arg,
			 struct vt_err *err)
{
	VT_CLEANUP(end_scan) struct scan scan = { .store = store, .table = event->name };
	VT_CLEANUP(vt_buf_done) struct vt_buf buf = { 0 };
	int r;

	if (event->class == VT_CLASS_CHUNK)
		return vt_err_set(err, VT_E_USAGE, "%s events are in chunks", event->name);
	r = begin_records(&scan, event, err);
	while (r > 0 && (r = next_row(&scan, err)) > 0) {
		uint32_t process = take_u32(&scan, 0);
		int place = fill_record(&scan, event, &buf, err);

		r = place < 0 ? place : 0;
		if (r == 0 && event->class == VT_CLASS_BLOB)
			r = fill_bytes(&scan, event, place, &buf, err);
		if (r == 0)
			r = check_row(&scan, err);
		if (r == 0)
			r = fn(arg, process, (const struct vt_rec *)(const void *)buf.data);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

/* ------------------------------------------------------------------ chunks */

int vt_store_each_chunk(struct vt_store *store, int (*fn)(void *arg, const struct vt_chunk_info *info), void *arg,
			struct vt_err *err)
{
	/* first_ns has no sign: what SQLite takes for negative comes last. */
	static const char sql[] =
		"SELECT id, process, kind, first_ns, last_ns, events, raw_bytes, length(data) FROM chunk"
		" ORDER BY first_ns < 0, first_ns, id";
	VT_CLEANUP(end_scan) struct scan scan = { .store = store, .table = "chunk" };
	int r = begin_scan(&scan, sql, err);

	while (r > 0 && (r = next_row(&scan, err)) > 0) {
		const struct vt_chunk_info info = { .id = (int64_t)take_u64(&scan, 0),
						    .process = take_u32(&scan, 1),
						    .kind = take_u32(&scan, 2),
						    .first_ns = take_u64(&scan, 3),
						    .last_ns = take_u64(&scan, 4),
						    .events = (uint32_t)take_within(&scan, 5, 1, VT_CHUNK_ROWS_MAX),
						    .raw_bytes = (uint64_t)take_within(&scan, 6, 0, INT64_MAX),
						    .blob_bytes = (uint64_t)take_within(&scan, 7, 0, INT64_MAX) };

		r = check_row(&scan, err);
		if (r == 0 && info.last_ns < info.first_ns)
			r = vt_err_set(err, VT_E_CORRUPT,
				       "%s: chunk %lld: ends at %llu ns, before it begins at %llu ns", store->path,
				       (long long)info.id, (unsigned long long)info.last_ns,
				       (unsigned long long)info.first_ns);
		if (r == 0)
			r = fn(arg, &info);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

int vt_store_read_chunk(struct vt_store *store, int64_t id, const void **ret_blob, size_t *ret_bytes,
			struct vt_err *err)
{
	sqlite3_stmt *s = vt_store_statement(store, VT_SQL_READ_CHUNK, err);
	int r;

	if (!s)
		return -VT_E_DB;
	(void)sqlite3_bind_int64(s, 1, id);
	r = sqlite3_step(s);
	if (r == SQLITE_DONE)
		return vt_err_set(err, VT_E_CORRUPT, "%s: chunk %lld is gone", store->path, (long long)id);
	if (r != SQLITE_ROW)
		return vt_store_fail(store, "reading a chunk", err);
	if (sqlite3_column_type(s, 1) != SQLITE_BLOB)
		return vt_err_set(err, VT_E_CORRUPT, "%s: chunk %lld: its data is no blob", store->path, (long long)id);
	*ret_blob = sqlite3_column_blob(s, 1);
	*ret_bytes = (size_t)sqlite3_column_bytes(s, 1);
	if ((int64_t)vt_crc32(*ret_blob, *ret_bytes) != sqlite3_column_int64(s, 0))
		return vt_err_set(err, VT_E_CORRUPT, "%s: chunk %lld: its bytes do not match its checksum", store->path,
				  (long long)id);
	return 0;
}

/* ------------------------------------------------------------------ checks */

static int each_unknown_column(struct vt_store *store, int (*fn)(void *arg, const char *name), void *arg,
			       struct vt_err *err)
{
	static const char sql[] = "SELECT c.event, c.id, e.name || '.' || c.name FROM schema_column AS c"
				  " JOIN schema_event AS e ON e.id = c.event";
	VT_CLEANUP(end_scan) struct scan scan = { .store = store, .table = "schema_column" };
	int r = begin_scan(&scan, sql, err);

	while (r > 0 && (r = next_row(&scan, err)) > 0) {
		const struct vt_event *event = vt_event_find(take_u32(&scan, 0));
		bool is_known = !event || vt_event_col(event, take_u32(&scan, 1));
		const char *name = take_text(&scan, 2);

		r = check_row(&scan, err);
		if (r == 0 && !is_known)
			r = fn(arg, name);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

int vt_store_each_unknown(struct vt_store *store, int (*fn)(void *arg, const char *name), void *arg, struct vt_err *err)
{
	VT_CLEANUP(end_scan) struct scan scan = { .store = store, .table = "schema_event" };
	int r = begin_scan(&scan, "SELECT id, name FROM schema_event", err);

	while (r > 0 && (r = next_row(&scan, err)) > 0) {
		bool is_known = vt_event_find(take_u32(&scan, 0)) != NULL;
		const char *name = take_text(&scan, 1);

		r = check_row(&scan, err);
		if (r == 0 && !is_known)
			r = fn(arg, name);
		if (r < 0)
			return r;
		r = 1;
	}
	/* Joined with the table just read: without that one there is nothing to name a column by. */
	if (r == 0)
		r = vt_store_has_table(store, "schema_event", err);
	return r <= 0 ? r : each_unknown_column(store, fn, arg, err);
}

int vt_store_check(struct vt_store *store, struct vt_err *err)
{
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	const char *text;
	int r;

	if (sqlite3_prepare_v2(store->db, "PRAGMA integrity_check(1)", -1, &s, NULL) != SQLITE_OK)
		return vt_store_fail(store, "integrity check", err);
	r = sqlite3_step(s);
	if (r == SQLITE_DONE)
		return 0;
	if (r != SQLITE_ROW)
		return vt_store_fail(store, "integrity check", err);
	text = (const char *)sqlite3_column_text(s, 0);
	if (!text || strcmp(text, "ok") != 0)
		return vt_err_set(err, VT_E_CORRUPT, "%s: SQLite finds: %.200s", store->path, text ? text : "damage");
	return 0;
}
