/*
 * store.h - the trace file: one SQLite database. This header is its whole interface; schema/format.md its document.
 *
 * Tables (store.sql): meta, process, thread, clock, loss, ring_position, schema_event, schema_column, chunk, and one
 * table per TABLE and BLOB event of events.def (made from the descriptors): oom, note, string, op_node, code, frame,
 * stack. Rows of those carry `process`; their ids are local to it.
 *
 * A store object belongs to one thread. The writer holds the file alone; readers may open a file while it is written
 * (WAL) and see what was committed.
 */
#ifndef VT_SCHEMA_STORE_H
#define VT_SCHEMA_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/base/err.h"
#include "schema/chunk.h"
#include "schema/event.h"

#define VT_STORE_APPLICATION_ID 0x56545243 /* "VTRC" */
#define VT_STORE_VERSION 1		   /* PRAGMA user_version; readers take every version up to their own */

struct vt_store;

/* ------------------------------------------------------------------ both sides */

void vt_store_close(struct vt_store *store); /* NULL is fine */

struct vt_process_row {
	uint32_t id;
	uint32_t pid;
	uint32_t parent_pid;
	int32_t rank, local_rank, world_size; /* -1: none */
	uint64_t pid_start_ticks;
	uint64_t start_ns;
	uint64_t end_ns;	/* 0: not known to have ended */
	int32_t end_state;	/* enum vt_shm_state; -1: killed or still running */
	const char *executable; /* UTF-8 or raw bytes; never NULL */
	const char *command;	/* arguments joined as a shell would need them; never NULL */
};

struct vt_thread_row {
	uint32_t process;
	uint32_t ring; /* index and generation name the thread's stay in a ring */
	uint32_t generation;
	uint32_t tid;
	const char *name;
	uint64_t events; /* committed by the producer, as far as known */
};

struct vt_clock_row {
	uint64_t monotonic_ns, realtime_ns, boottime_ns;
};

struct vt_loss_row {
	uint32_t process;
	uint32_t kind; /* enum vt_loss */
	uint64_t count;
};

/* ------------------------------------------------------------------ writing */

enum vt_store_mode {
	VT_STORE_NEW,	  /* path must not exist */
	VT_STORE_REPLACE, /* an existing file is replaced, if it is a vramtrace file or empty; others are refused */
	VT_STORE_RESUME,  /* path must be a vramtrace file; a torn tail is cut */
};

int vt_store_create(struct vt_store **ret, const char *path, enum vt_store_mode mode, struct vt_err *err);
/* Everything between begin and commit is one transaction; commit makes it durable against the death of any process. */
int vt_store_begin(struct vt_store *store, struct vt_err *err);
int vt_store_commit(struct vt_store *store, struct vt_err *err);

int vt_store_set_meta(struct vt_store *store, const char *key, const char *value, struct vt_err *err);
/* row->id 0: a new id is given, in *ret_id. Otherwise the row of that id is replaced. */
int vt_store_put_process(struct vt_store *store, const struct vt_process_row *row, uint32_t *ret_id,
			 struct vt_err *err);
int vt_store_put_thread(struct vt_store *store, const struct vt_thread_row *row, struct vt_err *err);
int vt_store_add_clock(struct vt_store *store, const struct vt_clock_row *row, struct vt_err *err);
/* Sets (not adds to) the count of (process, kind); 0 rows are not written. */
int vt_store_put_loss(struct vt_store *store, const struct vt_loss_row *row, struct vt_err *err);
/* A record of a TABLE or BLOB event, of rec->len8 * 8 bytes. A definition whose id is there already is left alone. */
int vt_store_add_record(struct vt_store *store, uint32_t process, const struct vt_rec *rec, struct vt_err *err);

struct vt_chunk_info {
	int64_t id; /* rowid */
	uint32_t process;
	uint32_t kind;	   /* event id */
	uint64_t first_ns; /* least and greatest column 1 */
	uint64_t last_ns;
	uint32_t events;
	uint64_t raw_bytes;
	uint64_t blob_bytes;
};

struct vt_chunk_ids {
	const int64_t *ids;
	size_t count;
};

/*
 * rows: sorted by column 1. They become one new chunk row; *ret_id (NULL is fine) is its id.
 * replaces: earlier chunks whose events these rows contain (NULL: none); they are deleted in the same transaction (this
 * is how the small chunks of a low rate grow into full ones).
 */
int vt_store_add_chunk(struct vt_store *store, uint32_t process, const struct vt_chunk_rows *rows,
		       const struct vt_chunk_ids *replaces, int64_t *ret_id, struct vt_err *err);

/* How far a ring was read: committed with the events themselves, so that a restarted collector neither loses nor doubles. */
int vt_store_put_ring_position(struct vt_store *store, uint32_t process, uint32_t ring, uint32_t generation,
			       uint64_t position, struct vt_err *err);
/* 1 found, 0 none. */
int vt_store_find_ring_position(struct vt_store *store, uint32_t process, uint32_t ring, uint32_t generation,
				uint64_t *ret_position, struct vt_err *err);
/* The process with this pid and start; 1 found, 0 none. */
int vt_store_find_process(struct vt_store *store, uint32_t pid, uint64_t pid_start_ticks, uint32_t *ret_id,
			  struct vt_err *err);
/* Folds the WAL into the file and leaves one plain file behind. */
int vt_store_finish(struct vt_store *store, struct vt_err *err);

/*
 * Copies a trace as it is at one moment, though another process may be writing to it. `to` appears whole or not at all;
 * replace: it may exist.
 */
int vt_store_copy(const char *from, const char *to, bool replace, struct vt_err *err);

/* ------------------------------------------------------------------ reading */

/*
 * Read-only. Refuses what is not a vramtrace file, or one that needs a newer reader (meta incompatible_flags), and says
 * what to do. Views and triggers of the file run nothing; a view or virtual table in the place of a table is VT_E_CORRUPT.
 */
int vt_store_open(struct vt_store **ret, const char *path, struct vt_err *err);
const char *vt_store_path(const struct vt_store *store);
/* What of the trace is not to be had here, in words, or NULL: the file's log may be unreadable, or left behind by a copy. */
const char *vt_store_warning(const struct vt_store *store);
uint64_t vt_store_file_bytes(const struct vt_store *store); /* with its -wal, if any */

/* NULL where the key is absent; valid until close. */
const char *vt_store_meta(struct vt_store *store, const char *key);

/*
 * Row callbacks: return 0 to go on, a negative code to stop with it. Pointers are valid during the call. A table that is
 * absent has no rows; a value of the wrong type or out of its range is VT_E_CORRUPT, and so are texts of more than
 * VT_STORE_TEXT_MAX and definitions of more than VT_STORE_BLOB_MAX bytes.
 */
#define VT_STORE_TEXT_MAX (1 << 20)
#define VT_STORE_BLOB_MAX (16 << 20)
int vt_store_each_process(struct vt_store *store, int (*fn)(void *arg, const struct vt_process_row *row), void *arg,
			  struct vt_err *err);
int vt_store_each_thread(struct vt_store *store, int (*fn)(void *arg, const struct vt_thread_row *row), void *arg,
			 struct vt_err *err);
int vt_store_each_clock(struct vt_store *store, int (*fn)(void *arg, const struct vt_clock_row *row), void *arg,
			struct vt_err *err);
int vt_store_each_loss(struct vt_store *store, int (*fn)(void *arg, const struct vt_loss_row *row), void *arg,
		       struct vt_err *err);
/*
 * Rows of a TABLE or BLOB event as records (struct vt_<event>), in rowid order; a BLOB's bytes follow its record as in
 * the ring, rec->len8 counts both (0 where too long for it: use size_bytes). Values that do not fit are VT_E_CORRUPT.
 */
int vt_store_each_record(struct vt_store *store, const struct vt_event *event,
			 int (*fn)(void *arg, uint32_t process, const struct vt_rec *rec), void *arg,
			 struct vt_err *err);
/* Chunks of all kinds, ordered by (first_ns, id). */
int vt_store_each_chunk(struct vt_store *store, int (*fn)(void *arg, const struct vt_chunk_info *info), void *arg,
			struct vt_err *err);

/*
 * The blob of a chunk, at most VT_CHUNK_RAW_BYTES_MAX bytes; valid until the next call with this store. The stored
 * checksum is verified here.
 */
int vt_store_read_chunk(struct vt_store *store, int64_t id, const void **ret_blob, size_t *ret_bytes,
			struct vt_err *err);

/* Kinds (event names) and columns ("tensor.foo") the file has and this build does not know. */
int vt_store_each_unknown(struct vt_store *store, int (*fn)(void *arg, const char *name), void *arg,
			  struct vt_err *err);
/* SQLite's own integrity check; VT_E_CORRUPT with its first complaint. */
int vt_store_check(struct vt_store *store, struct vt_err *err);

#endif
