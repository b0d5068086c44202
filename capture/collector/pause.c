/* pause.c - see pause.h. */
#include "capture/collector/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Ids that no agent gives away: its tables are far smaller. */
#define TEXT_ID UINT32_C(0xffffff01)
#define TEXT "paused from outside: nothing is recorded"

static int add_text(const struct vt_process *process, struct vt_store *store, struct vt_err *err)
{
	struct {
		struct vt_string string;
		char bytes[(sizeof(TEXT) + 7) & ~(size_t)7];
	} record = { .string = { .rec = { .type = VT_EVENT_string, .len8 = sizeof(record) / 8 },
				 .id = TEXT_ID,
				 .size_bytes = sizeof(TEXT) - 1 },
		     .bytes = TEXT };

	return vt_store_add_record(store, process->id, &record.string.rec, err);
}

static int add_note(const struct vt_process *process, struct vt_store *store, enum vt_note_code code, uint64_t time_ns,
		    struct vt_err *err)
{
	struct vt_note note = {
		.rec = { .type = VT_EVENT_note, .len8 = sizeof(note) / 8 },
		.time_ns = time_ns,
		.text = TEXT_ID,
		.code = code,
	};
	int r = add_text(process, store, err);

	return r == 0 ? vt_store_add_record(store, process->id, &note.rec, err) : r;
}

int vt_process_set_paused(struct vt_process *process, struct vt_store *store, bool paused, uint64_t now_ns,
			  struct vt_err *err)
{
	struct vt_shm *shm = process->file.shm;
	uint32_t control = atomic_load_explicit(&shm->control, memory_order_relaxed);
	bool since_start = (control & 1) && !process->gap;
	int r = 0;

	if (((control & 1) != 0) != paused)
		atomic_store_explicit(&shm->control, control + 1, memory_order_relaxed); /* C1 */
	/* It may have begun paused and be resumed before anybody saw it: then nothing but the gap is known. */
	if (since_start)
		r = add_note(process, store, VT_note_code_GAP_BEGIN, process->start_ns, err);
	else if (paused && !process->gap)
		r = add_note(process, store, VT_note_code_GAP_BEGIN, now_ns, err);
	if (r == 0 && !paused && (process->gap || since_start))
		r = add_note(process, store, VT_note_code_GAP_END, now_ns, err);
	process->gap = paused;
	return r;
}

static int make_path(char path[PATH_MAX], const char *session)
{
	int n = snprintf(path, PATH_MAX, "%s/" VT_SESSION_PAUSED, session);

	return n > 0 && n < PATH_MAX ? 0 : -VT_E_INPUT;
}

int vt_pause_mark(const char *session, bool paused, struct vt_err *err)
{
	char path[PATH_MAX];
	int fd;

	if (make_path(path, session) < 0)
		return vt_err_set(err, VT_E_INPUT, "%s: the name is too long", session);
	if (!paused) {
		if (unlink(path) < 0 && errno != ENOENT)
			return vt_err_set(err, VT_E_IO, "%s: cannot remove: %s", path, strerror(errno));
		return 0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return vt_err_set(err, VT_E_IO, "%s: cannot make: %s", path, strerror(errno));
	(void)close(fd);
	return 0;
}

bool vt_pause_is_marked(const char *session)
{
	char path[PATH_MAX];

	return make_path(path, session) == 0 && access(path, F_OK) == 0;
}
