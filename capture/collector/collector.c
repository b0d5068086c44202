/* collector.c - see collector.h. */
#include "capture/collector/collector.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "capture/collector/pause.h"
#include "capture/collector/proc_stat.h"
#include "capture/collector/process.h"
#include "capture/collector/session.h"
#include "schema/base/cleanup.h"

#define NS_PER_MS UINT64_C(1000000)
#define WAIT_BUSY_MS 5
#define WAIT_IDLE_MS 50
/* More than a quarter of a ring: commit now. */
#define FILL_HIGH 64u
#define REFUSED_MAX 64u

struct vt_collector {
	struct vt_session session;
	struct vt_store *store;
	struct vt_sort sort;
	struct vt_process *processes[VT_COLLECTOR_PROCESSES_MAX];
	uint32_t nprocesses;
	bool rescan; /* a ring file is in the making, or waits for a place */
	bool paused;
	uint64_t records;
	bool in_transaction;	    /* only meta rows are in it, between polls */
	ino_t refused[REFUSED_MAX]; /* ring files that cannot be read, told once */
	uint32_t nrefused;
	bool warned;
	char warning[sizeof(((struct vt_err *)NULL)->msg)];
	uint64_t commit_ns; /* of the last commit */
	uint64_t clock_ns;  /* of the last clock row */
	uint64_t alive_ns;  /* when the processes were last looked up in /proc */
	uint64_t active_ns; /* when records were last found */
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* ------------------------------------------------------------------ transactions */

static int begin(struct vt_collector *collector, struct vt_err *err)
{
	int r = collector->in_transaction ? 0 : vt_store_begin(collector->store, err);

	if (r == 0)
		collector->in_transaction = true;
	return r;
}

static int commit(struct vt_collector *collector, struct vt_err *err)
{
	int r = collector->in_transaction ? vt_store_commit(collector->store, err) : 0;

	if (r == 0)
		collector->in_transaction = false;
	return r;
}

static int add_clock(struct vt_collector *collector, struct vt_err *err)
{
	struct vt_clock_row row = {
		.monotonic_ns = now_ns(CLOCK_MONOTONIC),
		.realtime_ns = now_ns(CLOCK_REALTIME),
		.boottime_ns = now_ns(CLOCK_BOOTTIME),
	};
	int r = begin(collector, err);

	if (r == 0)
		r = vt_store_add_clock(collector->store, &row, err);
	collector->clock_ns = row.monotonic_ns;
	return r;
}

/* ------------------------------------------------------------------ processes come */

/* After an exec the agent makes a new file; nobody writes to the old one any more. */
static void end_replaced(struct vt_collector *collector, const struct vt_process *newer, uint64_t now)
{
	for (uint32_t i = 0; i < collector->nprocesses; i++) {
		struct vt_process *process = collector->processes[i];

		if (process->pid == newer->pid && process->pid_start_ticks == newer->pid_start_ticks &&
		    process->start_ns < newer->start_ns && process->gone_ns == 0)
			process->gone_ns = now;
	}
}

/*
 * A file that could not be opened: in the making, left half made by a process that died, or not for us. 1 where there
 * is something to say; the scan then ends, so that it is said before the next one.
 */
static int judge_refused(struct vt_collector *collector, const char *path, ino_t inode, const struct vt_err *why)
{
	uint64_t start_ticks;
	uint32_t pid;

	if (why->code == VT_E_CORRUPT && vt_session_parse_name(path, &pid, &start_ticks) &&
	    vt_proc_is_alive(pid, start_ticks)) {
		collector->rescan = true;
		return 0;
	}
	collector->refused[collector->nrefused++ % REFUSED_MAX] = inode;
	(void)snprintf(collector->warning, sizeof(collector->warning), "a process is not recorded: %.400s", why->msg);
	collector->warned = true;
	collector->rescan = true;
	return 1;
}

static bool is_known(const struct vt_collector *collector, ino_t inode)
{
	for (uint32_t i = 0; i < collector->nprocesses; i++)
		if (collector->processes[i]->inode == inode)
			return true;
	for (uint32_t i = 0; i < collector->nrefused && i < REFUSED_MAX; i++)
		if (collector->refused[i] == inode)
			return true;
	return false;
}

struct find_arg {
	struct vt_collector *collector;
	struct vt_err *err;
};

static int find_process(void *arg_ptr, const char *path, ino_t inode)
{
	struct find_arg *arg = arg_ptr;
	struct vt_collector *collector = arg->collector;
	struct vt_process *process;
	int r;

	if (is_known(collector, inode))
		return 0;
	if (collector->nprocesses == VT_COLLECTOR_PROCESSES_MAX) {
		collector->rescan = true;
		return 0;
	}
	if (vt_process_open(&process, path, arg->err) < 0)
		return judge_refused(collector, path, inode, arg->err);
	collector->processes[collector->nprocesses++] = process;
	r = begin(collector, arg->err);
	if (r == 0)
		r = vt_process_enter(process, collector->store, arg->err);
	if (r == 0)
		r = vt_process_set_paused(process, collector->store, collector->paused, now_ns(CLOCK_MONOTONIC),
					  arg->err);
	if (r < 0)
		return r;
	end_replaced(collector, process, now_ns(CLOCK_MONOTONIC));
	return 0;
}

static int find_processes(struct vt_collector *collector, struct vt_err *err)
{
	struct find_arg arg = { .collector = collector, .err = err };
	int r;

	if (!vt_session_changed(&collector->session) && !collector->rescan)
		return 0;
	collector->rescan = false;
	r = vt_session_each(&collector->session, find_process, &arg, err);
	return r < 0 ? r : 0;
}

/* ------------------------------------------------------------------ processes go */

/* Before look, so that the heads that look reads are the last ones. */
static void find_ended(struct vt_collector *collector, uint64_t now)
{
	if (now - collector->alive_ns < VT_COLLECTOR_COMMIT_NS)
		return;
	collector->alive_ns = now;
	for (uint32_t i = 0; i < collector->nprocesses; i++) {
		struct vt_process *process = collector->processes[i];

		if (process->gone_ns == 0 && !vt_proc_is_alive(process->pid, process->pid_start_ticks))
			process->gone_ns = now;
	}
}

/* The file is removed only if it is still the one that was read. */
static void remove_ring_file(const struct vt_process *process)
{
	struct stat st;

	if (stat(process->path, &st) == 0 && st.st_ino == process->inode)
		(void)unlink(process->path);
}

static void drop_ended(struct vt_collector *collector)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < collector->nprocesses; i++) {
		struct vt_process *process = collector->processes[i];

		if (process->gone_ns) {
			remove_ring_file(process);
			vt_process_free(process);
		} else {
			collector->processes[left++] = process;
		}
	}
	collector->nprocesses = left;
}

/* ------------------------------------------------------------------ rounds */

static int drain_process(struct vt_collector *collector, struct vt_process *process, uint64_t *ret_records,
			 struct vt_err *err)
{
	struct vt_batch_sink sink = { .store = collector->store, .sort = &collector->sort, .process = process->id };
	int r = vt_process_drain(process, &sink, ret_records, err);

	return r == 0 ? vt_process_write_rows(process, collector->store, err) : r;
}

/* Everything that the rings hold now goes into the file. */
static int make_round(struct vt_collector *collector, uint64_t now, bool last, struct vt_err *err)
{
	uint64_t records = 0;
	int r = begin(collector, err);

	for (uint32_t i = 0; i < collector->nprocesses && r == 0; i++) {
		struct vt_process *process = collector->processes[i];

		process->last_round = last || process->gone_ns;
		vt_process_look(process);
		r = drain_process(collector, process, &records, err);
	}
	if (r == 0 && now - collector->clock_ns >= VT_COLLECTOR_CLOCK_NS)
		r = add_clock(collector, err);
	if (r == 0)
		r = commit(collector, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < collector->nprocesses; i++)
		vt_process_release(collector->processes[i]);
	drop_ended(collector);
	collector->commit_ns = now;
	collector->records += records;
	if (records)
		collector->active_ns = now;
	return 0;
}

/* Parts of 256 that the fullest ring holds. */
static uint32_t measure_fill(const struct vt_collector *collector)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < collector->nprocesses; i++) {
		uint32_t fill = vt_process_fill(collector->processes[i]);

		if (fill > most)
			most = fill;
	}
	return most;
}

/* Whether there are rows to write although the rings are empty. */
static bool has_news(const struct vt_collector *collector, uint64_t now)
{
	if (collector->in_transaction || now - collector->clock_ns >= VT_COLLECTOR_CLOCK_NS)
		return true;
	for (uint32_t i = 0; i < collector->nprocesses; i++)
		if (vt_process_has_news(collector->processes[i]))
			return true;
	return false;
}

int vt_collector_poll(struct vt_collector *collector, int *ret_wait_ms, struct vt_err *err)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	bool due = now - collector->commit_ns >= VT_COLLECTOR_COMMIT_NS;
	uint32_t fill;
	int r = find_processes(collector, err);

	if (r < 0)
		return r;
	find_ended(collector, now);
	fill = measure_fill(collector);
	if (fill > FILL_HIGH || (due && (fill > 0 || has_news(collector, now)))) {
		r = make_round(collector, now, false, err);
		if (r < 0)
			return r;
	} else if (fill > 0) {
		collector->active_ns = now;
	}
	*ret_wait_ms = collector->rescan || now - collector->active_ns < 4 * VT_COLLECTOR_COMMIT_NS ? WAIT_BUSY_MS
												    : WAIT_IDLE_MS;
	return 0;
}

/* ------------------------------------------------------------------ life */

static void free_collectorp(struct vt_collector **collector)
{
	vt_collector_free(*collector);
}

int vt_collector_new(struct vt_collector **ret, const char *session, const char *path, enum vt_store_mode mode,
		     struct vt_err *err)
{
	VT_CLEANUP(free_collectorp) struct vt_collector *collector = calloc(1, sizeof(*collector));
	int r;

	if (!collector)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the collector");
	r = vt_session_open(&collector->session, session, err);
	if (r == 0)
		r = vt_store_create(&collector->store, path, mode, err);
	if (r == 0)
		r = add_clock(collector, err);
	if (r == 0)
		r = commit(collector, err);
	if (r < 0)
		return r;
	collector->paused = vt_pause_is_marked(session);
	collector->rescan = true;
	*ret = vt_steal_ptr(&collector);
	return 0;
}

void vt_collector_free(struct vt_collector *collector)
{
	if (!collector)
		return;
	for (uint32_t i = 0; i < collector->nprocesses; i++)
		vt_process_free(collector->processes[i]);
	vt_store_close(collector->store);
	vt_sort_done(&collector->sort);
	vt_session_done(&collector->session);
	free(collector);
}

int vt_collector_set_meta(struct vt_collector *collector, const char *key, const char *value, struct vt_err *err)
{
	int r = begin(collector, err);

	return r == 0 ? vt_store_set_meta(collector->store, key, value, err) : r;
}

int vt_collector_pause(struct vt_collector *collector, bool paused, struct vt_err *err)
{
	/* Before the processes that are there: one that begins meanwhile is found later, and set right then. */
	int r = vt_pause_mark(collector->session.path, paused, err);

	if (r == 0)
		r = begin(collector, err);
	for (uint32_t i = 0; i < collector->nprocesses && r == 0; i++)
		r = vt_process_set_paused(collector->processes[i], collector->store, paused, now_ns(CLOCK_MONOTONIC),
					  err);
	if (r == 0)
		collector->paused = paused;
	return r;
}

bool vt_collector_is_paused(const struct vt_collector *collector)
{
	return collector->paused;
}

int vt_collector_flush(struct vt_collector *collector, struct vt_err *err)
{
	int r = find_processes(collector, err);

	return r == 0 ? make_round(collector, now_ns(CLOCK_MONOTONIC), false, err) : r;
}

uint64_t vt_collector_records(const struct vt_collector *collector)
{
	return collector->records;
}

int vt_collector_fd(const struct vt_collector *collector)
{
	return collector->session.watch_fd;
}

uint32_t vt_collector_running(const struct vt_collector *collector)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < collector->nprocesses; i++)
		n += collector->processes[i]->gone_ns == 0;
	return n;
}

const char *vt_collector_take_warning(struct vt_collector *collector)
{
	bool warned = collector->warned;

	collector->warned = false;
	return warned ? collector->warning : NULL;
}

/* The trace is whole by now; only its log may have to stay beside it. */
static void fold_log(struct vt_collector *collector)
{
	struct vt_err err;

	if (vt_store_finish(collector->store, &err) == 0)
		return;
	(void)snprintf(collector->warning, sizeof(collector->warning),
		       "%.300s; the trace is whole, together with the -wal file beside it", err.msg);
	collector->warned = true;
}

int vt_collector_finish(struct vt_collector *collector, struct vt_err *err)
{
	int r = find_processes(collector, err);

	collector->alive_ns = 0;
	find_ended(collector, now_ns(CLOCK_MONOTONIC));
	if (r == 0)
		r = add_clock(collector, err);
	if (r == 0)
		r = make_round(collector, now_ns(CLOCK_MONOTONIC), true, err);
	if (r == 0)
		fold_log(collector);
	return r;
}
