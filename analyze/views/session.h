/*
 * session.h - what every report needs around its views: the file, its symbols and processes, what --process, --device
 * and --at choose, and the pass itself.
 */
#ifndef VT_ANALYZE_SESSION_H
#define VT_ANALYZE_SESSION_H

#include "analyze/commands/options.h"
#include "analyze/render/table.h"
#include "analyze/replay/replay.h"
#include "analyze/symbols/symbols.h"
#include "analyze/symbols/text.h"
#include "analyze/views/holders.h"
#include "schema/base/format.h"
#include "schema/base/json.h"

/* Numbers in vt_session.texts. */
struct vt_process_texts {
	uint32_t executable, command;
};

struct vt_note_text {
	uint32_t process;
	uint32_t code; /* enum vt_note_code */
	uint64_t value;
	char *text;
};

struct vt_session {
	struct vt_store *store;
	struct vt_symbols *symbols;
	struct vt_replay *replay;
	struct vt_process_row *processes; /* executable and command lie in texts, fit to print */
	struct vt_texts texts;
	struct vt_process_texts *process_texts;
	size_t texts_room;
	size_t nprocesses, processes_room;
	struct vt_note_text *notes;
	size_t nnotes, notes_room;
	uint64_t ooms, last_oom_ns; /* of the chosen process */
	uint32_t process;	    /* the one to look at; 0: all */
	int64_t device;		    /* ordinal; -1: all */
	uint64_t origin_ns;	    /* times are shown relative to this: the first process or event */
	uint64_t until_ns;	    /* the pass ends after this; 0: goes to the end */
	enum vt_moment moment;
	const char *moment_word; /* "at the peak", "at the end", "at the last OOM", "at 1.5s" */
	char moment_text[64];
};

/* Exactly one FILE must be left on the command line at argv[operand]: 0 or -VT_E_USAGE. */
int vt_session_operand(int argc, char **argv, int operand, struct vt_err *err);

/* Opens the file and takes the choices; default_at where the user gave no --at. The holder calls _done in any case. */
int vt_session_open(struct vt_session *session, const char *path, const struct vt_common_options *options,
		    const char *default_at, struct vt_err *err);
void vt_session_done(struct vt_session *session);

/* Runs the replay over what was chosen; with progress on stderr where that is a terminal and not quiet. */
int vt_session_run(struct vt_session *session, bool quiet, struct vt_err *err);

/* Whether the reports are to show this device of the replay. */
bool vt_session_wants(const struct vt_session *session, uint32_t device);
/* NULL: not in the file. */
const struct vt_process_row *vt_session_process(const struct vt_session *session, uint32_t id);
/* The text of the last such note of a process, with this value (UINT64_MAX: any); NULL: none. */
const char *vt_session_note(const struct vt_session *session, uint32_t process, uint32_t code, uint64_t value);
/* "cuda:0", "cpu" */
const char *vt_session_device_label(char out[VT_FORMAT_MAX], const struct vt_device *device);
/* "NVIDIA H200" or NULL. */
const char *vt_session_device_name(const struct vt_session *session, const struct vt_device *device);
/* "1.500 s" since the origin. */
const char *vt_session_time(const struct vt_session *session, char out[VT_FORMAT_MAX], uint64_t time_ns);
uint64_t vt_session_relative_ns(const struct vt_session *session, uint64_t time_ns);

/* The head of every report's JSON, "processes" included, with the object left open. */
void vt_session_json_begin(const struct vt_session *session, struct vt_json *json, const char *command);
/* The first fields of an entry of devices[]. */
void vt_session_json_device(const struct vt_session *session, struct vt_json *json, const struct vt_device *device);
/* "cuda:0  NVIDIA H200, process 1 (pid 4242): python train.py", as a heading. */
void vt_session_print_device(const struct vt_session *session, const struct vt_screen *screen, uint32_t index);

#endif
