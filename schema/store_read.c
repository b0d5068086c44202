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

/* Only rowid tables and WITHOUT ROWID tables answer; views and missing tables do not. */
static bool has_column(struct vt_store *store, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(store->db, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* A statement over a table that may be absent: 1 prepared, 0 absent. */
static int prepare_scan(struct vt_store *store, const char *table, const char *sql, sqlite3_stmt **ret, struct vt_err *err)
{
	if (!has_column(store, table, NULL))
		return 0;
	if (sqlite3_prepare_v2(store->db, sql, -1, ret, NULL) != SQLITE_OK)
		return vt_store_fail(store, table, err);
	return 1;
}

/* 1 a row, 0 the end. */
static int next_row(struct vt_store *store, sqlite3_stmt *statement, const char *table, struct vt_err *err)
{
	int r = sqlite3_step(statement);

	if (r == SQLITE_ROW)
		return 1;
	return r == SQLITE_DONE ? 0 : vt_store_fail(store, table, err);
}

static uint32_t number_u32(sqlite3_stmt *statement, int column)
{
	return (uint32_t)sqlite3_column_int64(statement, column);
}

static uint64_t number_u64(sqlite3_stmt *statement, int column)
{
	return (uint64_t)sqlite3_column_int64(statement, column);
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text ? text : "";
}

const char *vt_store_meta(struct vt_store *store, const char *key)
{
	sqlite3_stmt *statement;
	char *copy = NULL;

	if (!has_column(store, "meta", "value") || store->nmetas == VT_ARRAY_SIZE(store->metas))
		return NULL;
	statement = vt_store_statement(store, VT_SQL_READ_META, NULL);
	if (!statement)
		return NULL;
	(void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW)
		copy = strdup(text_of(statement, 0));
	(void)sqlite3_reset(statement);
	if (copy)
		store->metas[store->nmetas++] = copy;
	return copy;
}

int vt_store_each_process(struct vt_store *store, int (*fn)(void *arg, const struct vt_process_row *row), void *arg,
			  struct vt_err *err)
{
	static const char sql[] = "SELECT id, pid, parent_pid, rank, local_rank, world_size, pid_start_ticks, start_ns, end_ns,"
				  " end_state, executable, command FROM process ORDER BY id";
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r = prepare_scan(store, "process", sql, &s, err);

	while (r > 0 && (r = next_row(store, s, "process", err)) > 0) {
		const struct vt_process_row row = { .id = number_u32(s, 0),
						    .pid = number_u32(s, 1),
						    .parent_pid = number_u32(s, 2),
						    .rank = sqlite3_column_int(s, 3),
						    .local_rank = sqlite3_column_int(s, 4),
						    .world_size = sqlite3_column_int(s, 5),
						    .pid_start_ticks = number_u64(s, 6),
						    .start_ns = number_u64(s, 7),
						    .end_ns = number_u64(s, 8),
						    .end_state = sqlite3_column_int(s, 9),
						    .executable = text_of(s, 10),
						    .command = text_of(s, 11) };

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
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r = prepare_scan(store, "thread", "SELECT process, ring, generation, tid, events, name FROM thread", &s, err);

	while (r > 0 && (r = next_row(store, s, "thread", err)) > 0) {
		const struct vt_thread_row row = { .process = number_u32(s, 0),
						   .ring = number_u32(s, 1),
						   .generation = number_u32(s, 2),
						   .tid = number_u32(s, 3),
						   .events = number_u64(s, 4),
						   .name = text_of(s, 5) };

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
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r = prepare_scan(store, "clock", sql, &s, err);

	while (r > 0 && (r = next_row(store, s, "clock", err)) > 0) {
		const struct vt_clock_row row = { number_u64(s, 0), number_u64(s, 1), number_u64(s, 2) };

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
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r = prepare_scan(store, "loss", "SELECT process, kind, count FROM loss", &s, err);

	while (r > 0 && (r = next_row(store, s, "loss", err)) > 0) {
		const struct vt_loss_row row = { number_u32(s, 0), number_u32(s, 1), number_u64(s, 2) };

		r = fn(arg, &row);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

/* ------------------------------------------------------------------ records */

/* Columns that an older file lacks read as 0. */
static int prepare_records(struct vt_store *store, const struct vt_event *event, sqlite3_stmt **ret, struct vt_err *err)
{
	char sql[2048];
	size_t n = (size_t)snprintf(sql, sizeof(sql), "SELECT process");

	for (uint32_t i = 0; i < event->ncols && n < sizeof(sql); i++) {
		const char *name = event->cols[i].name;

		if (vt_col_is_pad(&event->cols[i]))
			continue;
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, has_column(store, event->name, name) ? ", \"%s\"" : ", 0",
				      name);
	}
	if (event->class == VT_CLASS_BLOB && n < sizeof(sql))
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", bytes");
	if (n < sizeof(sql))
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, " FROM \"%s\"", event->name);
	if (n >= sizeof(sql))
		return vt_err_set(err, VT_E_NOMEM, "%s has too many columns", event->name);
	return prepare_scan(store, event->name, sql, ret, err);
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

static int fill_record(struct vt_store *store, const struct vt_event *event, sqlite3_stmt *s, struct vt_buf *buf,
		       struct vt_err *err)
{
	struct vt_rec *rec;
	int place = 1;

	vt_buf_clear(buf);
	if (vt_buf_reserve(buf, event->size) < 0)
		return vt_err_set(err, VT_E_NOMEM, "%s: out of memory", store->path);
	rec = (struct vt_rec *)(void *)buf->data;
	memset(rec, 0, event->size);
	rec->type = event->id;
	rec->len8 = (uint16_t)(event->size / 8);
	for (uint32_t i = 0; i < event->ncols; i++) {
		const struct vt_col *col = &event->cols[i];

		if (!vt_col_is_pad(col) && !set_column(rec, col, sqlite3_column_int64(s, place++)))
			return vt_err_set(err, VT_E_CORRUPT, "%s: table %s: a %s is out of its range", store->path, event->name,
					  col->name);
	}
	buf->bytes = event->size;
	return place;
}

/* Puts a BLOB's bytes behind its record; size_bytes becomes what is really there. */
static int fill_bytes(struct vt_store *store, const struct vt_event *event, sqlite3_stmt *s, int place,
		      struct vt_buf *buf, struct vt_err *err)
{
	const struct vt_col *size = vt_event_col_name(event, "size_bytes");
	bool is_text = sqlite3_column_type(s, place) == SQLITE_TEXT;
	const void *bytes = is_text ? (const void *)sqlite3_column_text(s, place) : sqlite3_column_blob(s, place);
	size_t count = (size_t)sqlite3_column_bytes(s, place);
	size_t padded = vt_align_up(count, 8);
	struct vt_rec *rec;

	if (vt_buf_reserve(buf, padded) < 0)
		return vt_err_set(err, VT_E_NOMEM, "%s: out of memory for a %s of %zu bytes", store->path, event->name, count);
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
			 int (*fn)(void *arg, uint32_t process, const struct vt_rec *rec), void *arg, struct vt_err *err)
{
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	VT_CLEANUP(vt_buf_done) struct vt_buf buf = { 0 };
	int r;

	if (event->class == VT_CLASS_CHUNK)
		return vt_err_set(err, VT_E_USAGE, "%s events are in chunks", event->name);
	r = prepare_records(store, event, &s, err);
	while (r > 0 && (r = next_row(store, s, event->name, err)) > 0) {
		int place = fill_record(store, event, s, &buf, err);

		r = place < 0 ? place : 0;
		if (r == 0 && event->class == VT_CLASS_BLOB)
			r = fill_bytes(store, event, s, place, &buf, err);
		if (r == 0)
			r = fn(arg, number_u32(s, 0), (const struct vt_rec *)(const void *)buf.data);
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
	static const char sql[] = "SELECT id, process, kind, first_ns, last_ns, events, raw_bytes, length(data) FROM chunk"
				  " ORDER BY first_ns, id";
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r = prepare_scan(store, "chunk", sql, &s, err);

	while (r > 0 && (r = next_row(store, s, "chunk", err)) > 0) {
		const struct vt_chunk_info info = { .id = sqlite3_column_int64(s, 0),
						    .process = number_u32(s, 1),
						    .kind = number_u32(s, 2),
						    .first_ns = number_u64(s, 3),
						    .last_ns = number_u64(s, 4),
						    .events = number_u32(s, 5),
						    .raw_bytes = number_u64(s, 6),
						    .blob_bytes = number_u64(s, 7) };

		if (info.events == 0 || info.events > VT_CHUNK_ROWS_MAX || info.last_ns < info.first_ns)
			return vt_err_set(err, VT_E_CORRUPT, "%s: chunk %lld: %u events from %llu to %llu ns", store->path,
					  (long long)info.id, info.events, (unsigned long long)info.first_ns,
					  (unsigned long long)info.last_ns);
		r = fn(arg, &info);
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

int vt_store_read_chunk(struct vt_store *store, int64_t id, const void **ret_blob, size_t *ret_bytes, struct vt_err *err)
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
	*ret_blob = sqlite3_column_blob(s, 1);
	*ret_bytes = (size_t)sqlite3_column_bytes(s, 1);
	if (vt_crc32(*ret_blob, *ret_bytes) != (uint32_t)sqlite3_column_int64(s, 0))
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
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r = prepare_scan(store, "schema_column", sql, &s, err);

	while (r > 0 && (r = next_row(store, s, "schema_column", err)) > 0) {
		const struct vt_event *event = vt_event_find(number_u32(s, 0));

		r = event && !vt_event_col(event, number_u32(s, 1)) ? fn(arg, text_of(s, 2)) : 0;
		if (r < 0)
			return r;
		r = 1;
	}
	return r;
}

int vt_store_each_unknown(struct vt_store *store, int (*fn)(void *arg, const char *name), void *arg, struct vt_err *err)
{
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r = prepare_scan(store, "schema_event", "SELECT id, name FROM schema_event", &s, err);

	while (r > 0 && (r = next_row(store, s, "schema_event", err)) > 0) {
		r = vt_event_find(number_u32(s, 0)) ? 0 : fn(arg, text_of(s, 1));
		if (r < 0)
			return r;
		r = 1;
	}
	return r < 0 ? r : each_unknown_column(store, fn, arg, err);
}

int vt_store_check(struct vt_store *store, struct vt_err *err)
{
	VT_CLEANUP(finalize) sqlite3_stmt *s = NULL;
	int r;

	if (sqlite3_prepare_v2(store->db, "PRAGMA integrity_check(1)", -1, &s, NULL) != SQLITE_OK)
		return vt_store_fail(store, "integrity check", err);
	r = next_row(store, s, "integrity check", err);
	if (r > 0 && strcmp(text_of(s, 0), "ok") != 0)
		return vt_err_set(err, VT_E_CORRUPT, "%s: SQLite finds: %.200s", store->path, text_of(s, 0));
	return r < 0 ? r : 0;
}
