/* process.c - see process.h: what is known about a process. What its rings hold is drain.c's. */
#include "capture/collector/process.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/collector/quote.h"
#include "capture/collector/sigbus.h"
#include "schema/base/cleanup.h"

/* Numbers of the producer may be anything; sums of them wrap and harm nobody. */
static void sum_losses(const struct vt_process *process, uint64_t sums[VT_LOSS_MAX])
{
	uint32_t nrings = vt_ring_file_count(&process->file);

	for (unsigned kind = 0; kind < VT_loss_END; kind++) {
		sums[kind] = atomic_load_explicit(&process->file.shm->lost[kind], memory_order_relaxed);
		for (uint32_t i = 0; i < nrings; i++)
			sums[kind] += atomic_load_explicit(&vt_ring_file_ring(&process->file, i)->lost[kind],
							   memory_order_relaxed);
	}
}

/* ------------------------------------------------------------------ a process that an earlier collector knew */

static int match_process(void *arg, const struct vt_process_row *row)
{
	struct vt_process *process = arg;

	/* After an exec pid and start ticks are as before; the agent's start is not. */
	if (row->pid == process->pid && row->pid_start_ticks == process->pid_start_ticks &&
	    row->start_ns == process->start_ns)
		process->id = row->id;
	return 0;
}

/* What the earlier collector could not take is what the trace says beyond the producer's own counts. */
static int match_loss(void *arg, const struct vt_loss_row *row)
{
	struct vt_process *process = arg;

	if (row->process == process->id && row->kind < VT_loss_END)
		process->known_loss[row->kind] = row->count;
	return 0;
}

/* A FREE ring has nobody in, and its generation is the last one that left. */
static bool is_free(const struct vt_ring *ring)
{
	return atomic_load_explicit(&ring->state, memory_order_acquire) == VT_RING_FREE; /* A3 */
}

/* The stays before the present one, so that their records are not counted as its own. */
static int match_thread(void *arg, const struct vt_thread_row *row)
{
	struct vt_process *process = arg;
	const struct vt_ring *ring;
	bool free;

	if (row->process != process->id || row->ring >= VT_SHM_RINGS_MAX)
		return 0;
	ring = vt_ring_file_ring(&process->file, row->ring);
	free = is_free(ring);
	if (row->generation < ring->generation || free)
		process->stays[row->ring].events_base += row->events;
	return 0;
}

/* Whether the earlier collector has said that the process is paused. */
static int match_note(void *arg, uint32_t id, const struct vt_rec *rec)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)rec;
	struct vt_process *process = arg;

	if (id == process->id && note->thread == 0 &&
	    (note->code == VT_note_code_GAP_BEGIN || note->code == VT_note_code_GAP_END))
		process->gap = note->code == VT_note_code_GAP_BEGIN;
	return 0;
}

static int resume_rings(struct vt_process *process, struct vt_store *store, struct vt_err *err)
{
	uint32_t nrings = vt_ring_file_count(&process->file);

	for (uint32_t i = 0; i < nrings; i++) {
		const struct vt_ring *ring = vt_ring_file_ring(&process->file, i);
		struct vt_stay *stay = &process->stays[i];
		uint64_t position;
		int r;

		if (is_free(ring))
			continue;
		r = vt_store_find_ring_position(store, process->id, i, ring->generation, &position, err);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		stay->generation = ring->generation;
		stay->position = position;
		stay->definitions = position;
		stay->head = position;
	}
	return 0;
}

static int resume(struct vt_process *process, struct vt_store *store, struct vt_err *err)
{
	uint64_t sums[VT_LOSS_MAX];
	int r = vt_store_each_loss(store, match_loss, process, err);

	if (r == 0)
		r = vt_store_each_thread(store, match_thread, process, err);
	if (r == 0)
		r = vt_store_each_record(store, vt_event_find(VT_EVENT_note), match_note, process, err);
	if (r == 0)
		r = resume_rings(process, store, err);
	if (r < 0)
		return r;
	sum_losses(process, sums);
	for (unsigned kind = 0; kind < VT_loss_END; kind++)
		if (process->known_loss[kind] > sums[kind])
			process->own_loss[kind] = process->known_loss[kind] - sums[kind];
	return 0;
}

/* ------------------------------------------------------------------ open and free */

static int map_file(struct vt_process *process, const char *path, struct vt_err *err)
{
	const struct vt_shm *shm;
	struct stat st;
	int r = vt_ring_file_open(&process->file, path, err);

	if (r < 0)
		return r;
	vt_sigbus_watch(process->file.shm, process->file.bytes);
	if (fstat(process->file.fd, &st) < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot stat: %s", path, strerror(errno));
	shm = process->file.shm;
	process->inode = st.st_ino;
	process->pid = shm->pid;
	process->pid_start_ticks = shm->pid_start_ticks;
	process->start_ns = shm->start_ns;
	return 0;
}

static struct vt_process *new_process(const char *path)
{
	struct vt_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->file.fd = -1;
	process->path = strdup(path);
	process->batches = calloc(vt_nevents, sizeof(*process->batches));
	if (!process->path || !process->batches) {
		vt_process_free(process);
		return NULL;
	}
	for (size_t i = 0; i < vt_nevents; i++)
		process->batches[i].event = &vt_events[i];
	return process;
}

static void free_processp(struct vt_process **process)
{
	vt_process_free(*process);
}

int vt_process_open(struct vt_process **ret, const char *path, struct vt_err *err)
{
	VT_CLEANUP(free_processp) struct vt_process *process = new_process(path);
	int r;

	if (!process)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the process of %s", path);
	r = map_file(process, path, err);
	if (r < 0)
		return r;
	*ret = vt_steal_ptr(&process);
	return 0;
}

int vt_process_enter(struct vt_process *process, struct vt_store *store, struct vt_err *err)
{
	int r = vt_store_each_process(store, match_process, process, err);

	if (r < 0)
		return r;
	return process->id ? resume(process, store, err) : vt_process_write_rows(process, store, err);
}

void vt_process_free(struct vt_process *process)
{
	if (!process)
		return;
	for (size_t i = 0; process->batches && i < vt_nevents; i++)
		vt_batch_done(&process->batches[i]);
	free(process->batches);
	if (process->file.shm)
		vt_sigbus_unwatch(process->file.shm);
	vt_ring_file_close(&process->file);
	free(process->path);
	free(process);
}

/* ------------------------------------------------------------------ rows */

static bool losses_changed(const struct vt_process *process)
{
	uint64_t sums[VT_LOSS_MAX];

	sum_losses(process, sums);
	for (unsigned kind = 0; kind < VT_loss_END; kind++)
		if (sums[kind] + process->own_loss[kind] != process->known_loss[kind])
			return true;
	return false;
}

bool vt_process_has_news(const struct vt_process *process)
{
	return !process->announced || process->gone_ns || losses_changed(process);
}

/* When it ended and how: by its own word if it came to say it. */
static void set_end(const struct vt_process *process, struct vt_process_row *row)
{
	const struct vt_shm *shm = process->file.shm;
	uint32_t state = atomic_load_explicit(&shm->state, memory_order_acquire);

	row->end_state = -1;
	if (!process->gone_ns)
		return;
	row->end_ns = process->gone_ns;
	if (state != VT_SHM_EXITED && state != VT_SHM_OFF)
		return;
	row->end_state = (int32_t)state;
	if (state == VT_SHM_EXITED)
		row->end_ns = atomic_load_explicit(&shm->end_ns, memory_order_relaxed);
}

static int write_process(struct vt_process *process, struct vt_store *store, struct vt_err *err)
{
	const struct vt_shm *shm = process->file.shm;
	struct vt_process_row row = {
		.id = process->id,
		.pid = process->pid,
		.parent_pid = shm->parent_pid,
		.rank = shm->rank,
		.local_rank = shm->local_rank,
		.world_size = shm->world_size,
		.pid_start_ticks = process->pid_start_ticks,
		.start_ns = process->start_ns,
	};
	uint32_t command_bytes = shm->command_bytes, executable_bytes = shm->executable_bytes;
	VT_CLEANUP(vt_buf_done) struct vt_buf command = { 0 };
	char executable[sizeof(shm->executable) + 1] = { 0 };
	int r;

	if (executable_bytes < sizeof(executable))
		memcpy(executable, shm->executable, executable_bytes);
	if (command_bytes > sizeof(shm->command))
		command_bytes = 0;
	if (vt_quote_command(shm->command, command_bytes, &command) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a command line");
	row.executable = executable;
	row.command = (const char *)command.data;
	set_end(process, &row);
	r = vt_store_put_process(store, &row, &process->id, err);
	if (r == 0)
		process->announced = true;
	return r;
}

int vt_process_write_rows(struct vt_process *process, struct vt_store *store, struct vt_err *err)
{
	uint64_t sums[VT_LOSS_MAX];
	int r = 0;

	if (!process->announced || process->gone_ns)
		r = write_process(process, store, err);
	sum_losses(process, sums);
	for (unsigned kind = 0; kind < VT_loss_END && r == 0; kind++) {
		struct vt_loss_row row = { .process = process->id, .kind = kind };

		row.count = sums[kind] + process->own_loss[kind];
		if (row.count == process->known_loss[kind])
			continue;
		r = vt_store_put_loss(store, &row, err);
		process->known_loss[kind] = row.count;
	}
	return r;
}
