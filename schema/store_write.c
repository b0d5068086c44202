/* store_write.c - the writing half of store.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/crc32.h"
#include "schema/base/utf8.h"
#include "schema/store_int.h"

/* Measured on recorded traces (docs/benchmarks.md): higher levels cost much more time than they save bytes. */
#define CHUNK_LEVEL 3

int vt_store_begin(struct vt_store *store, struct vt_err *err)
{
	sqlite3_stmt *statement = vt_store_statement(store, VT_SQL_BEGIN, err);

	return statement ? vt_store_run(store, statement, "beginning a transaction", err) : -VT_E_DB;
}

int vt_store_commit(struct vt_store *store, struct vt_err *err)
{
	sqlite3_stmt *statement = vt_store_statement(store, VT_SQL_COMMIT, err);
	int r = statement ? vt_store_run(store, statement, "committing", err) : -VT_E_DB;

	if (r < 0 && !sqlite3_get_autocommit(store->db))
		(void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

/* Text where it is UTF-8 without NUL, else a blob: SQL users see words where there are words. */
static void bind_bytes(sqlite3_stmt *statement, int place, const char *bytes, size_t size)
{
	if (vt_utf8_is_valid(bytes, size) && !memchr(bytes, '\0', size))
		(void)sqlite3_bind_text64(statement, place, bytes, size, SQLITE_STATIC, SQLITE_UTF8);
	else
		(void)sqlite3_bind_blob64(statement, place, bytes, size, SQLITE_STATIC);
}

static void bind_numbers(sqlite3_stmt *statement, const int64_t *numbers, int count)
{
	for (int i = 0; i < count; i++)
		(void)sqlite3_bind_int64(statement, i + 1, numbers[i]);
}

/* The common course of all rows of numbers. */
static int put_numbers(struct vt_store *store, enum vt_store_statement which, const int64_t *numbers, int count,
		       const char *doing, struct vt_err *err)
{
	sqlite3_stmt *statement = vt_store_statement(store, which, err);

	if (!statement)
		return -VT_E_DB;
	bind_numbers(statement, numbers, count);
	return vt_store_run(store, statement, doing, err);
}

int vt_store_set_meta(struct vt_store *store, const char *key, const char *value, struct vt_err *err)
{
	sqlite3_stmt *statement = vt_store_statement(store, VT_SQL_SET_META, err);

	if (!statement)
		return -VT_E_DB;
	(void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 2, value, -1, SQLITE_STATIC);
	return vt_store_run(store, statement, "writing meta", err);
}

int vt_store_put_process(struct vt_store *store, const struct vt_process_row *row, uint32_t *ret_id, struct vt_err *err)
{
	const int64_t numbers[] = { row->id,
				    row->pid,
				    row->parent_pid,
				    row->rank,
				    row->local_rank,
				    row->world_size,
				    (int64_t)row->pid_start_ticks,
				    (int64_t)row->start_ns,
				    (int64_t)row->end_ns,
				    row->end_state };
	sqlite3_stmt *statement = vt_store_statement(store, VT_SQL_PUT_PROCESS, err);
	int r;

	if (!statement)
		return -VT_E_DB;
	bind_numbers(statement, numbers, 10);
	if (row->id == 0)
		(void)sqlite3_bind_null(statement, 1);
	bind_bytes(statement, 11, row->executable, strlen(row->executable));
	bind_bytes(statement, 12, row->command, strlen(row->command));
	r = vt_store_run(store, statement, "writing a process", err);
	if (r == 0 && ret_id)
		*ret_id = row->id ? row->id : (uint32_t)sqlite3_last_insert_rowid(store->db);
	return r;
}

int vt_store_put_thread(struct vt_store *store, const struct vt_thread_row *row, struct vt_err *err)
{
	const int64_t numbers[] = { row->process, row->ring, row->generation, row->tid };
	sqlite3_stmt *statement = vt_store_statement(store, VT_SQL_PUT_THREAD, err);

	if (!statement)
		return -VT_E_DB;
	bind_numbers(statement, numbers, 4);
	bind_bytes(statement, 5, row->name, strlen(row->name));
	(void)sqlite3_bind_int64(statement, 6, (int64_t)row->events);
	return vt_store_run(store, statement, "writing a thread", err);
}

int vt_store_add_clock(struct vt_store *store, const struct vt_clock_row *row, struct vt_err *err)
{
	const int64_t numbers[] = { (int64_t)row->monotonic_ns, (int64_t)row->realtime_ns, (int64_t)row->boottime_ns };

	return put_numbers(store, VT_SQL_ADD_CLOCK, numbers, 3, "writing clocks", err);
}

int vt_store_put_loss(struct vt_store *store, const struct vt_loss_row *row, struct vt_err *err)
{
	const int64_t numbers[] = { row->process, row->kind, (int64_t)row->count };

	return row->count ? put_numbers(store, VT_SQL_PUT_LOSS, numbers, 3, "writing losses", err) : 0;
}

int vt_store_put_ring_position(struct vt_store *store, uint32_t process, uint32_t ring, uint32_t generation,
			       uint64_t position, struct vt_err *err)
{
	const int64_t numbers[] = { process, ring, generation, (int64_t)position };

	return put_numbers(store, VT_SQL_PUT_POSITION, numbers, 4, "writing a ring's position", err);
}

/* Steps to the one row of a look-up: 1 with its first column, 0 where there is none. */
static int find_number(struct vt_store *store, enum vt_store_statement which, const int64_t *numbers, int count,
		       uint64_t *ret, struct vt_err *err)
{
	sqlite3_stmt *statement = vt_store_statement(store, which, err);
	int r;

	if (!statement)
		return -VT_E_DB;
	bind_numbers(statement, numbers, count);
	r = sqlite3_step(statement);
	if (r == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(statement, 0);
	else if (r != SQLITE_DONE)
		return vt_store_fail(store, "looking up a row", err);
	(void)sqlite3_reset(statement);
	return r == SQLITE_ROW;
}

int vt_store_find_ring_position(struct vt_store *store, uint32_t process, uint32_t ring, uint32_t generation,
				uint64_t *ret_position, struct vt_err *err)
{
	const int64_t numbers[] = { process, ring, generation };

	return find_number(store, VT_SQL_FIND_POSITION, numbers, 3, ret_position, err);
}

int vt_store_find_process(struct vt_store *store, uint32_t pid, uint64_t pid_start_ticks, uint32_t *ret_id,
			  struct vt_err *err)
{
	const int64_t numbers[] = { pid, (int64_t)pid_start_ticks };
	uint64_t id = 0;
	int r = find_number(store, VT_SQL_FIND_PROCESS, numbers, 2, &id, err);

	if (r > 0)
		*ret_id = (uint32_t)id;
	return r;
}

/* ------------------------------------------------------------------ records */

static sqlite3_stmt *record_statement(struct vt_store *store, const struct vt_event *event, struct vt_err *err)
{
	sqlite3_stmt **slot = &store->record_inserts[event - vt_events];
	char sql[2048];
	int places = 1;
	size_t n;

	if (*slot)
		return *slot; /* cppcheck-suppress identicalInnerCondition; it takes this for two conditions */
	n = (size_t)snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO \"%s\"(process", event->name);
	for (uint32_t i = 0; i < event->ncols && n < sizeof(sql); i++)
		if (!vt_col_is_pad(&event->cols[i])) {
			n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", \"%s\"", event->cols[i].name);
			places++;
		}
	if (event->class == VT_CLASS_BLOB && n < sizeof(sql)) {
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", bytes");
		places++;
	}
	for (int i = 0; i < places && n < sizeof(sql); i++)
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, i ? ", ?" : ") VALUES(?");
	if (n + 2 > sizeof(sql)) {
		(void)vt_err_set(err, VT_E_NOMEM, "%s has too many columns", event->name);
		return NULL;
	}
	memcpy(sql + n, ")", 2);
	if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, slot, NULL) != SQLITE_OK)
		(void)vt_store_fail(store, "writing a definition", err);
	return *slot;
}

static int64_t column_value(const struct vt_rec *rec, const struct vt_col *col)
{
	const char *at = (const char *)rec + col->offset;
	uint16_t v16;
	uint32_t v32;
	int64_t v64;

	if (col->width == 2) {
		memcpy(&v16, at, 2);
		return vt_col_is_signed(col) ? (int16_t)v16 : (int64_t)v16;
	}
	if (col->width == 4) {
		memcpy(&v32, at, 4);
		return vt_col_is_signed(col) ? (int32_t)v32 : (int64_t)v32;
	}
	memcpy(&v64, at, 8);
	return v64;
}

int vt_store_add_record(struct vt_store *store, uint32_t process, const struct vt_rec *rec, struct vt_err *err)
{
	const struct vt_event *event = vt_event_find(rec->type);
	size_t bytes = (size_t)rec->len8 * 8;
	sqlite3_stmt *statement;
	int place = 2;

	if (!event || event->class == VT_CLASS_CHUNK || bytes < event->size)
		return vt_err_set(err, VT_E_CORRUPT, "a record of type %u and %zu bytes is no definition", rec->type,
				  bytes);
	statement = record_statement(store, event, err);
	if (!statement)
		return -VT_E_DB;
	(void)sqlite3_bind_int64(statement, 1, process);
	for (uint32_t i = 0; i < event->ncols; i++)
		if (!vt_col_is_pad(&event->cols[i]))
			(void)sqlite3_bind_int64(statement, place++, column_value(rec, &event->cols[i]));
	if (event->class == VT_CLASS_BLOB) {
		const struct vt_col *size = vt_event_col_name(event, "size_bytes");
		size_t blob_bytes = (size_t)column_value(rec, size);

		if (blob_bytes > bytes - event->size)
			return vt_err_set(err, VT_E_CORRUPT, "a %s of %zu bytes in a record of %zu", event->name,
					  blob_bytes, bytes);
		bind_bytes(statement, place, (const char *)rec + event->size, blob_bytes);
	}
	return vt_store_run(store, statement, "writing a definition", err);
}

/* ------------------------------------------------------------------ chunks */

static uint64_t first_column(const void *records, const struct vt_event *event, uint32_t row)
{
	uint64_t value;

	memcpy(&value, (const char *)records + (size_t)row * event->size + event->cols[0].offset, sizeof(value));
	return value;
}

static int delete_chunks(struct vt_store *store, const struct vt_chunk_ids *chunks, struct vt_err *err)
{
	int r = 0;

	for (size_t i = 0; chunks && i < chunks->count && r == 0; i++)
		r = put_numbers(store, VT_SQL_DELETE_CHUNK, &chunks->ids[i], 1, "replacing a chunk", err);
	return r;
}

int vt_store_add_chunk(struct vt_store *store, uint32_t process, const struct vt_chunk_rows *rows,
		       const struct vt_chunk_ids *replaces, int64_t *ret_id, struct vt_err *err)
{
	struct vt_chunk_blob blob = { NULL, 0, 0 };
	sqlite3_stmt *statement;
	int r;

	if (!store->coder)
		store->coder = vt_chunk_coder_new();
	if (!store->coder)
		return vt_err_set(err, VT_E_NOMEM, "%s: out of memory for a chunk", store->path);
	r = vt_chunk_encode(store->coder, rows, CHUNK_LEVEL, &blob, err);
	if (r == 0)
		r = delete_chunks(store, replaces, err);
	if (r < 0)
		return r;
	statement = vt_store_statement(store, VT_SQL_ADD_CHUNK, err);
	if (!statement)
		return -VT_E_DB;
	const int64_t numbers[] = { process,
				    rows->event->id,
				    (int64_t)first_column(rows->records, rows->event, 0),
				    (int64_t)first_column(rows->records, rows->event, rows->nrecords - 1),
				    rows->nrecords,
				    (int64_t)blob.raw_bytes,
				    vt_crc32(blob.data, blob.bytes) };
	bind_numbers(statement, numbers, 7);
	(void)sqlite3_bind_blob64(statement, 8, blob.data, blob.bytes, SQLITE_STATIC);
	r = vt_store_run(store, statement, "writing a chunk", err);
	if (r == 0 && ret_id)
		*ret_id = sqlite3_last_insert_rowid(store->db);
	return r;
}
