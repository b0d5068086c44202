/* store_open.c - opens, makes and closes trace files. See store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/base/bits.h"
#include "schema/base/cleanup.h"
#include "schema/store_int.h"

/* SQLite file format: offsets into the 100-byte header (sqlite.org/fileformat.html, 1.3). */
#define SQLITE_MAGIC "SQLite format 3"
#define SQLITE_HEADER_BYTES 100
#define SQLITE_WRITE_VERSION_AT 18 /* 2: changes go to a log */
#define SQLITE_APPLICATION_ID_AT 68

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)

/* ------------------------------------------------------------------ what both sides use */

int vt_store_fail(struct vt_store *store, const char *doing, struct vt_err *err)
{
	int code = sqlite3_errcode(store->db);
	/* What a reader asks is right for every trace: where SQLite refuses it, the tables are not those of one. */
	bool is_corrupt = code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
			  (store->is_reader && (code == SQLITE_ERROR || code == SQLITE_TOOBIG));

	if (code == SQLITE_NOMEM)
		return vt_err_set(err, VT_E_NOMEM, "%s: %s: out of memory", store->path, doing);
	return vt_err_set(err, is_corrupt ? VT_E_CORRUPT : VT_E_DB, "%s: %s: %s", store->path, doing,
			  sqlite3_errmsg(store->db));
}

int vt_store_exec(struct vt_store *store, const char *sql, const char *doing, struct vt_err *err)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : vt_store_fail(store, doing, err);
}

sqlite3_stmt *vt_store_statement(struct vt_store *store, enum vt_store_statement which, struct vt_err *err)
{
	static const char *const texts[VT_SQL_COUNT] = {
		[VT_SQL_BEGIN] = "BEGIN IMMEDIATE",
		[VT_SQL_COMMIT] = "COMMIT",
		[VT_SQL_SET_META] = "INSERT OR REPLACE INTO meta(key, value) VALUES(?1, ?2)",
		[VT_SQL_PUT_PROCESS] =
			"INSERT OR REPLACE INTO process(id, pid, parent_pid, rank, local_rank, world_size,"
			" pid_start_ticks, start_ns, end_ns, end_state, executable, command)"
			" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
		[VT_SQL_PUT_THREAD] = "INSERT OR REPLACE INTO thread(process, ring, generation, tid, name, events)"
				      " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
		[VT_SQL_ADD_CLOCK] = "INSERT INTO clock(monotonic_ns, realtime_ns, boottime_ns) VALUES(?1, ?2, ?3)",
		[VT_SQL_PUT_LOSS] = "INSERT OR REPLACE INTO loss(process, kind, count) VALUES(?1, ?2, ?3)",
		[VT_SQL_ADD_CHUNK] =
			"INSERT INTO chunk(process, kind, first_ns, last_ns, events, raw_bytes, checksum, data)"
			" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
		[VT_SQL_DELETE_CHUNK] = "DELETE FROM chunk WHERE id = ?1",
		[VT_SQL_PUT_POSITION] = "INSERT OR REPLACE INTO ring_position(process, ring, generation, position)"
					" VALUES(?1, ?2, ?3, ?4)",
		[VT_SQL_FIND_POSITION] =
			"SELECT position FROM ring_position WHERE process = ?1 AND ring = ?2 AND generation = ?3",
		[VT_SQL_FIND_PROCESS] = "SELECT id FROM process WHERE pid = ?1 AND pid_start_ticks = ?2",
		[VT_SQL_READ_CHUNK] = "SELECT checksum, data FROM chunk WHERE id = ?1",
		[VT_SQL_READ_META] = "SELECT value FROM meta WHERE key = ?1",
	};
	sqlite3_stmt **slot = &store->statements[which];

	if (!*slot &&
	    sqlite3_prepare_v3(store->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT, slot, NULL) != SQLITE_OK) {
		(void)vt_store_fail(store, "reading the trace's tables", err);
		return NULL;
	}
	(void)sqlite3_reset(*slot);
	(void)sqlite3_clear_bindings(*slot);
	return *slot;
}

int vt_store_run(struct vt_store *store, sqlite3_stmt *statement, const char *doing, struct vt_err *err)
{
	int r = sqlite3_step(statement);

	if (r != SQLITE_DONE && r != SQLITE_ROW) {
		r = vt_store_fail(store, doing, err);
		(void)sqlite3_reset(statement);
		return r;
	}
	(void)sqlite3_reset(statement);
	return 0;
}

static int read_pragma(struct vt_store *store, const char *sql, int64_t *ret, struct vt_err *err)
{
	sqlite3_stmt *statement = NULL;
	int r = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

	if (r == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
		*ret = sqlite3_column_int64(statement, 0);
	r = sqlite3_finalize(statement);
	return r == SQLITE_OK ? 0 : vt_store_fail(store, "cannot be read", err);
}

void vt_store_close(struct vt_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < VT_ARRAY_SIZE(store->statements); i++)
		(void)sqlite3_finalize(store->statements[i]);
	for (size_t i = 0; i < VT_ARRAY_SIZE(store->record_inserts); i++)
		(void)sqlite3_finalize(store->record_inserts[i]);
	while (store->metas) {
		struct vt_store_meta_text *meta = store->metas;

		store->metas = meta->next;
		free(meta);
	}
	vt_chunk_coder_free(store->coder);
	(void)sqlite3_close(store->db);
	free(store->path);
	free(store);
}

static void close_store(struct vt_store **store)
{
	vt_store_close(*store);
}

static int new_store(struct vt_store **ret, const char *path, struct vt_err *err)
{
	struct vt_store *store = calloc(1, sizeof(*store));
	char *copy = strdup(path);

	if (!store || !copy) {
		free(store);
		free(copy);
		return vt_err_set(err, VT_E_NOMEM, "%s: out of memory", path);
	}
	store->path = copy;
	*ret = store;
	return 0;
}

/* ------------------------------------------------------------------ what kind of file it is */

enum file_kind { FILE_ABSENT, FILE_EMPTY, FILE_TRACE, FILE_SQLITE, FILE_OTHER };

/* *ret_logs: its writer put changes in a log and has not ended in order. */
static int look_at_file(const char *path, enum file_kind *ret, bool *ret_logs, struct vt_err *err)
{
	VT_CLEANUP(vt_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t header[SQLITE_HEADER_BYTES];
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == ENOENT) {
		*ret = FILE_ABSENT;
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot open: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return vt_err_set(err, VT_E_INPUT, "%s: not a regular file", path);
	n = pread(fd, header, sizeof(header), 0);
	if (n < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot read: %s", path, strerror(errno));
	*ret_logs = false;
	*ret = n == 0 ? FILE_EMPTY : FILE_OTHER;
	if (n == (ssize_t)sizeof(header) && !memcmp(header, SQLITE_MAGIC, sizeof(SQLITE_MAGIC))) {
		const uint8_t *id = header + SQLITE_APPLICATION_ID_AT;
		uint32_t got = (uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3];

		*ret = got == VT_STORE_APPLICATION_ID ? FILE_TRACE : FILE_SQLITE;
		*ret_logs = header[SQLITE_WRITE_VERSION_AT] == 2;
	}
	return 0;
}

/* ------------------------------------------------------------------ writing */

static void remove_file(const char *path, const char *suffix)
{
	char name[4200];

	if ((size_t)snprintf(name, sizeof(name), "%s%s", path, suffix) < sizeof(name))
		(void)unlink(name);
}

static int prepare_place(const char *path, enum vt_store_mode mode, struct vt_err *err)
{
	enum file_kind kind;
	bool logs;
	int r = look_at_file(path, &kind, &logs, err);

	if (r < 0)
		return r;
	if (mode == VT_STORE_RESUME) {
		if (kind != FILE_TRACE)
			return vt_err_set(err, VT_E_INPUT, "%s: not a vramtrace file: nothing to go on with", path);
		return 0;
	}
	if (kind == FILE_ABSENT)
		return 0;
	if (mode == VT_STORE_NEW)
		return vt_err_set(err, VT_E_INPUT, "%s: exists; choose another name or use --force", path);
	if (kind != FILE_TRACE && kind != FILE_EMPTY)
		return vt_err_set(err, VT_E_INPUT, "%s: exists and is not a vramtrace file; not overwritten", path);
	if (unlink(path) < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot replace: %s", path, strerror(errno));
	remove_file(path, "-wal");
	remove_file(path, "-shm");
	return 0;
}

/*
 * Pages of 4 KiB: chunks are many pages long and small tables few. synchronous=NORMAL: what is committed survives the
 * death of every process; only a power cut can take the last commits, never the file.
 */
static const char writer_setup[] =
	"PRAGMA page_size=4096;"
	"PRAGMA application_id=" QUOTE(VT_STORE_APPLICATION_ID) ";"
								"PRAGMA user_version=" QUOTE(
									VT_STORE_VERSION) ";"
											  "PRAGMA journal_mode=WAL;"
											  "PRAGMA synchronous=NORMAL;"
											  "PRAGMA temp_store=MEMORY;"
											  "PRAGMA cache_size=-4096;";

/* Triggers and views of a file to go on with are not ours; what it says a reader must know, a writer must know as well. */
static int check_resumed(struct vt_store *store, struct vt_err *err)
{
	const char *flags;
	int64_t version = 0;
	int r;

	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	r = read_pragma(store, "PRAGMA user_version", &version, err);
	if (r < 0)
		return r;
	if (version > VT_STORE_VERSION)
		return vt_err_set(err, VT_E_VERSION, "%s: of format %lld, this build writes %d", store->path,
				  (long long)version, VT_STORE_VERSION);
	flags = vt_store_meta(store, "incompatible_flags");
	if (flags && flags[0])
		return vt_err_set(err, VT_E_VERSION, "%s: needs a writer that knows \"%.100s\"; update vramtrace",
				  store->path, flags);
	return 0;
}

int vt_store_create(struct vt_store **ret, const char *path, enum vt_store_mode mode, struct vt_err *err)
{
	VT_CLEANUP(close_store) struct vt_store *store = NULL;
	int r = prepare_place(path, mode, err);

	if (r == 0)
		r = new_store(&store, path, err);
	if (r < 0)
		return r;
	if (sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return vt_store_fail(store, "cannot be made", err);
	(void)sqlite3_busy_timeout(store->db, 2000);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (mode == VT_STORE_RESUME)
		r = check_resumed(store, err);
	if (r == 0)
		r = vt_store_exec(store, writer_setup, "cannot be made", err);
	if (r == 0)
		r = vt_store_begin(store, err);
	if (r == 0)
		r = vt_store_make_tables(store, err);
	if (r == 0)
		r = vt_store_set_meta(store, "incompatible_flags", "", err);
	if (r == 0)
		r = vt_store_set_meta(store, "writer", "vramtrace " VT_VERSION, err);
	if (r == 0)
		r = vt_store_commit(store, err);
	if (r == 0)
		*ret = vt_steal_ptr(&store);
	return r;
}

int vt_store_finish(struct vt_store *store, struct vt_err *err)
{
	int r = vt_store_exec(store, "PRAGMA wal_checkpoint(TRUNCATE)", "folding the log into the file", err);

	if (r == 0)
		r = vt_store_exec(store, "PRAGMA journal_mode=DELETE", "folding the log into the file", err);
	return r;
}

/* ------------------------------------------------------------------ reading */

/* A file from somebody else: its schema runs nothing, and nothing in it is believed to be short. */
static void distrust(sqlite3 *db)
{
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)VT_CHUNK_RAW_BYTES_MAX);
	(void)sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 16);
	(void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON", NULL, NULL, NULL);
}

/* path as an URI, with what an URI would take apart escaped. NULL: no memory. */
static char *make_uri(const char *path, const char *query)
{
	size_t room = strlen(path) * 3 + strlen(query) + 16;
	char *uri = malloc(room);
	size_t n;

	if (!uri)
		return NULL;
	/* An absolute path may begin with two slashes, which without an empty host would be taken for a host. */
	n = (size_t)snprintf(uri, room, path[0] == '/' ? "file://" : "file:");
	for (const char *c = path; *c; c++) {
		if (*c == '?' || *c == '#' || *c == '%')
			n += (size_t)snprintf(uri + n, room - n, "%%%02x", (unsigned char)*c);
		else
			uri[n++] = *c;
	}
	(void)snprintf(uri + n, room - n, "%s", query);
	return uri;
}

static int open_database(struct vt_store *store, const char *query, const char *pragma)
{
	VT_CLEANUP(vt_freep) char *uri = make_uri(store->path, query);
	int r;

	if (!uri)
		return SQLITE_NOMEM;
	(void)sqlite3_close(store->db);
	store->db = NULL;
	r = sqlite3_open_v2(uri, &store->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	if (r != SQLITE_OK)
		return r;
	distrust(store->db);
	(void)sqlite3_busy_timeout(store->db, 2000);
	(void)sqlite3_exec(store->db, pragma, NULL, NULL, NULL);
	/* The first read is where a log that cannot be used shows. */
	return sqlite3_exec(store->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
}

/* Bytes of what SQLite keeps beside the file; -1: there is none. */
static int64_t companion_bytes(const char *path, const char *suffix)
{
	char name[4200];
	struct stat st;

	if ((size_t)snprintf(name, sizeof(name), "%s%s", path, suffix) >= sizeof(name) || stat(name, &st) < 0)
		return -1;
	return st.st_size;
}

static bool has_log(const char *path)
{
	return companion_bytes(path, "-wal") > 0;
}

/*
 * SQLite reads a log by way of shared memory, FILE-shm, which it cannot make in a place where it may not write. Without
 * that there is no writer either: then no lock is needed, and an index of the log in our own memory does.
 */
static int open_alone(struct vt_store *store)
{
	if (companion_bytes(store->path, "-shm") >= 0)
		return SQLITE_CANTOPEN;
	return open_database(store, "?vfs=unix-none", "PRAGMA locking_mode=EXCLUSIVE");
}

/* A trace whose writer was killed has its last part in a log beside it. */
static int open_with_or_without_log(struct vt_store *store, struct vt_err *err)
{
	int r = open_database(store, "", "");

	if (r == SQLITE_OK)
		return 0;
	if (r != SQLITE_CANTOPEN && (r & 0xff) != SQLITE_READONLY)
		return vt_store_fail(store, "cannot be read", err);
	if (has_log(store->path) && open_alone(store) == SQLITE_OK)
		return 0;
	if (open_database(store, "?immutable=1", "") != SQLITE_OK)
		return vt_store_fail(store, "cannot be read", err);
	if (has_log(store->path))
		(void)snprintf(store->warning, sizeof(store->warning),
			       "the newest events are in %.120s-wal, which cannot be used here: copy both files to a "
			       "place where you may write",
			       store->path);
	return 0;
}

/* The database's own answer: its header may be newer in the log than in the file. */
static int check_identity(struct vt_store *store, struct vt_err *err)
{
	const char *flags;
	int64_t id = 0;
	int r = read_pragma(store, "PRAGMA application_id", &id, err);

	if (r < 0)
		return r;
	if (id != VT_STORE_APPLICATION_ID)
		return vt_err_set(err, VT_E_INPUT, "%s: not a vramtrace file (an SQLite database of another program)",
				  store->path);
	r = vt_store_has_table(store, "meta", err);
	if (r < 0)
		return r;
	if (r == 0)
		return vt_err_set(
			err, VT_E_CORRUPT,
			"%s: holds no tables: its writer was killed at once, or %s-wal was not copied with it",
			store->path, store->path);
	flags = vt_store_meta(store, "incompatible_flags");
	if (flags && flags[0])
		return vt_err_set(err, VT_E_VERSION, "%s: needs a reader that knows \"%.100s\"; update vramtrace",
				  store->path, flags);
	return 0;
}

int vt_store_open(struct vt_store **ret, const char *path, struct vt_err *err)
{
	VT_CLEANUP(close_store) struct vt_store *store = NULL;
	enum file_kind kind;
	bool logs, is_bare;
	int r = look_at_file(path, &kind, &logs, err);

	if (r < 0)
		return r;
	if (kind == FILE_ABSENT)
		return vt_err_set(err, VT_E_INPUT, "%s: no such file", path);
	/* While a trace is new, its header may still be in the log alone. */
	if (kind == FILE_OTHER || (kind == FILE_EMPTY && !has_log(path)) || (kind == FILE_SQLITE && !has_log(path)))
		return vt_err_set(err, VT_E_INPUT, "%s: not a vramtrace file%s", path,
				  kind == FILE_SQLITE  ? " (an SQLite database of another program)"
				  : kind == FILE_EMPTY ? " (it is empty)"
						       : "");
	r = new_store(&store, path, err);
	if (r < 0)
		return r;
	store->is_reader = true;
	/* Before it is opened: SQLite may make both anew. */
	is_bare = logs && companion_bytes(path, "-wal") < 0 && companion_bytes(path, "-shm") < 0;
	r = open_with_or_without_log(store, err);
	if (r == 0 && is_bare)
		(void)snprintf(store->warning, sizeof(store->warning),
			       "its writer did not end in order: if it was copied without %.120s-wal, its newest "
			       "events are missing",
			       store->path);
	if (r == 0)
		r = check_identity(store, err);
	if (r == 0)
		*ret = vt_steal_ptr(&store);
	return r; /* NOLINT(clang-analyzer-unix.Malloc): VT_CLEANUP frees it */
}

const char *vt_store_path(const struct vt_store *store)
{
	return store->path;
}

const char *vt_store_warning(const struct vt_store *store)
{
	return store->warning[0] ? store->warning : NULL;
}

uint64_t vt_store_file_bytes(const struct vt_store *store)
{
	uint64_t bytes = 0;
	char name[4200];
	struct stat st;

	if (stat(store->path, &st) == 0)
		bytes = (uint64_t)st.st_size;
	if ((size_t)snprintf(name, sizeof(name), "%s-wal", store->path) < sizeof(name) && stat(name, &st) == 0)
		bytes += (uint64_t)st.st_size;
	return bytes;
}
