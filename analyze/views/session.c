/* session.c - see session.h: opening, choosing, running. */
#include "analyze/views/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/symbols/text.h"
#include "analyze/views/idmap.h"
#include "analyze/views/time_text.h"

struct loader {
	struct vt_session *session;
	struct vt_err *err;
};

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for the file's tables");
}

static int load_process(void *arg, const struct vt_process_row *row)
{
	struct loader *loader = arg;
	struct vt_session *session = loader->session;
	uint32_t executable, command;

	if (vt_array_reach((void **)&session->processes, &session->processes_room, session->nprocesses, sizeof(*row)) <
		    0 ||
	    vt_texts_add(&session->texts, row->executable, strlen(row->executable), &executable) < 0 ||
	    vt_texts_add(&session->texts, row->command, strlen(row->command), &command) < 0 ||
	    vt_array_reach((void **)&session->process_texts, &session->texts_room, session->nprocesses,
			   sizeof(*session->process_texts)) < 0)
		return no_memory(loader->err);
	session->process_texts[session->nprocesses] = (struct vt_process_texts){ executable, command };
	session->processes[session->nprocesses++] = *row;
	if (row->start_ns && (!session->origin_ns || row->start_ns < session->origin_ns))
		session->origin_ns = row->start_ns;
	return 0;
}

/* Once all texts are there, and no more move. */
static void place_texts(struct vt_session *session)
{
	for (size_t i = 0; i < session->nprocesses; i++) {
		session->processes[i].executable = vt_texts_get(&session->texts, session->process_texts[i].executable);
		session->processes[i].command = vt_texts_get(&session->texts, session->process_texts[i].command);
	}
}

static int load_note(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)rec;
	struct loader *loader = arg;
	struct vt_session *session = loader->session;
	struct vt_note_text *copy;

	if (vt_array_reach((void **)&session->notes, &session->notes_room, session->nnotes, sizeof(*copy)) < 0)
		return no_memory(loader->err);
	copy = &session->notes[session->nnotes];
	*copy = (struct vt_note_text){ .process = process, .code = note->code, .value = note->value };
	copy->text = strdup(vt_symbols_string(session->symbols, process, note->text));
	if (!copy->text)
		return no_memory(loader->err);
	session->nnotes++;
	return 0;
}

static int load_oom(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_oom *oom = (const struct vt_oom *)(const void *)rec;
	struct loader *loader = arg;
	struct vt_session *session = loader->session;

	if (session->process && session->process != process)
		return 0;
	session->ooms++;
	if (oom->time_ns > session->last_oom_ns)
		session->last_oom_ns = oom->time_ns;
	return 0;
}

/* Times are shown from the start of the first process or the first event, whichever is earlier. */
static int load_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct vt_session *session = ((struct loader *)arg)->session;

	if (!session->origin_ns || info->first_ns < session->origin_ns)
		session->origin_ns = info->first_ns;
	return 0;
}

static int choose_process(struct vt_session *session, int64_t wanted, struct vt_err *err)
{
	if (wanted < 0)
		return 0;
	for (size_t i = 0; i < session->nprocesses && !session->process; i++)
		if (session->processes[i].id == wanted)
			session->process = session->processes[i].id;
	for (size_t i = 0; i < session->nprocesses && !session->process; i++)
		if (session->processes[i].pid == wanted)
			session->process = session->processes[i].id;
	if (session->process)
		return 0;
	return vt_err_set(err, VT_E_USAGE,
			  "--process %" PRId64 ": no process of this number or pid in %s; `vramtrace info` lists them",
			  wanted, vt_store_path(session->store));
}

static int choose_moment(struct vt_session *session, const char *at, struct vt_err *err)
{
	uint64_t span;

	session->moment = VT_MOMENT_NOW;
	if (!strcmp(at, "peak")) {
		session->moment = VT_MOMENT_PEAK;
		session->moment_word = "at the peak";
		return 0;
	}
	if (!strcmp(at, "end")) {
		session->moment_word = "at the end";
		return 0;
	}
	if (!strcmp(at, "oom")) {
		if (!session->ooms)
			return vt_err_set(err, VT_E_USAGE, "--at oom: %s has no out-of-memory error; use --at peak",
					  vt_store_path(session->store));
		session->until_ns = session->last_oom_ns;
		session->moment_word = "at the last out-of-memory error";
		return 0;
	}
	if (vt_parse_time(at, &span) < 0)
		return vt_err_set(err, VT_E_USAGE,
				  "--at takes peak, oom, end or a time since the start such as 1.5s or 200ms, not '%s'",
				  at);
	session->until_ns = session->origin_ns + span;
	(void)snprintf(session->moment_text, sizeof(session->moment_text), "at %.40s", at);
	session->moment_word = session->moment_text;
	return 0;
}

int vt_session_operand(int argc, char **argv, int operand, struct vt_err *err)
{
	if (operand == argc - 1)
		return 0;
	if (operand >= argc)
		return vt_err_set(err, VT_E_USAGE, "which trace? vramtrace %s FILE", argv[0]);
	return vt_err_set(err, VT_E_USAGE, "one trace at a time: '%.100s' and '%.100s' were given", argv[operand],
			  argv[operand + 1]);
}

static int load(struct vt_session *session, int64_t process, struct vt_err *err)
{
	struct loader loader = { session, err };
	int r = vt_symbols_open(&session->symbols, session->store, err);

	if (!r)
		r = vt_store_each_process(session->store, load_process, &loader, err);
	if (!r)
		place_texts(session);
	if (!r)
		r = choose_process(session, process, err);
	if (!r)
		r = vt_store_each_record(session->store, vt_event_find(VT_EVENT_note), load_note, &loader, err);
	if (!r)
		r = vt_store_each_record(session->store, vt_event_find(VT_EVENT_oom), load_oom, &loader, err);
	if (!r)
		r = vt_store_each_chunk(session->store, load_chunk, &loader, err);
	return r;
}

int vt_session_open(struct vt_session *session, const char *path, const struct vt_common_options *options,
		    const char *default_at, struct vt_err *err)
{
	int r;

	*session = (struct vt_session){ .device = options->device };
	r = vt_store_open(&session->store, path, err);
	if (!r)
		r = load(session, options->process, err);
	if (!r)
		r = choose_moment(session, options->at ? options->at : default_at, err);
	if (!r)
		r = vt_replay_new(&session->replay, err);
	return r;
}

void vt_session_done(struct vt_session *session)
{
	vt_replay_free(session->replay);
	vt_symbols_close(session->symbols);
	for (size_t i = 0; i < session->nnotes; i++)
		free(session->notes[i].text);
	free(session->processes);
	free(session->process_texts);
	vt_texts_done(&session->texts);
	free(session->notes);
	vt_store_close(session->store);
	*session = (struct vt_session){ .store = NULL };
}

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	(void)fprintf(stderr, "\r%3.0f%%", total ? 100.0 * (double)done / (double)total : 100.0);
}

int vt_session_run(struct vt_session *session, bool quiet, struct vt_err *err)
{
	bool progress = !quiet && isatty(STDERR_FILENO);
	struct vt_cursor_options options = {
		.process = session->process,
		.to_ns = session->until_ns,
		.progress = progress ? show_progress : NULL,
	};
	struct vt_cursor *cursor;
	int r = vt_cursor_open(&cursor, session->store, &options, err);

	if (r < 0)
		return r;
	r = vt_replay_run(session->replay, cursor, err);
	vt_cursor_close(cursor);
	if (progress)
		(void)fputs("\r    \r", stderr);
	return r < 0 ? r : 0;
}

bool vt_session_wants(const struct vt_session *session, uint32_t device)
{
	const struct vt_device *state = vt_replay_device(session->replay, device);

	return state && (session->device < 0 || state->device == session->device);
}

const struct vt_process_row *vt_session_process(const struct vt_session *session, uint32_t id)
{
	for (size_t i = 0; i < session->nprocesses; i++)
		if (session->processes[i].id == id)
			return &session->processes[i];
	return NULL;
}

const char *vt_session_note(const struct vt_session *session, uint32_t process, uint32_t code, uint64_t value)
{
	const char *found = NULL;

	for (size_t i = 0; i < session->nnotes; i++) {
		const struct vt_note_text *note = &session->notes[i];

		if (note->process == process && note->code == code && (value == UINT64_MAX || note->value == value))
			found = note->text;
	}
	return found;
}

const char *vt_session_device_name(const struct vt_session *session, const struct vt_device *device)
{
	if (device->device_type == VT_device_type_HOST || device->device < 0)
		return NULL;
	return vt_session_note(session, device->process, VT_note_code_DEVICE_NAME, (uint64_t)device->device);
}

uint64_t vt_session_relative_ns(const struct vt_session *session, uint64_t time_ns)
{
	return time_ns > session->origin_ns ? time_ns - session->origin_ns : 0;
}

const char *vt_session_time(const struct vt_session *session, char out[VT_FORMAT_MAX], uint64_t time_ns)
{
	return vt_format_ns(out, vt_session_relative_ns(session, time_ns));
}
