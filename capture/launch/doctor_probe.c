/* doctor_probe.c - see doctor_probe.h. */
#include "capture/launch/doctor_probe.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include "capture/launch/session_dir.h"
#include "schema/base/cleanup.h"
#include "schema/store.h"

#define DIRECTORY_BYTES 1024
#define POLL_US 20000
#define STOP_POLLS (10 * (1000000 / POLL_US)) /* after SIGTERM, until SIGKILL: 10 s */
#define RUN_POLLS (VT_PROBE_SECONDS * (1000000 / POLL_US))

/* For Python 3.6 and later. Each line that it writes is a key and a value. */
static const char program[] =
	"import ctypes, os, platform, sys\n"
	"out = open(sys.argv[1], 'w')\n"
	"def put(key, value):\n"
	"    out.write('%s %s\\n' % (key, ' '.join(str(value).split())[:300]))\n"
	"    out.flush()\n"
	"put('python', platform.python_implementation() + ' ' + platform.python_version())\n"
	"try:\n"
	"    put('libc', os.confstr('CS_GNU_LIBC_VERSION'))\n"
	"except (ValueError, OSError):\n"
	"    pass\n"
	"put('find_object', int(hasattr(ctypes.CDLL(None), '_dl_find_object')))\n"
	"try:\n"
	"    ctypes.CDLL('libgcc_s.so.1')\n"
	"    path = [line.split(None, 5)[5].strip() for line in open('/proc/self/maps') if '/libgcc_s' in line][0]\n"
	"    with open(path, 'rb') as file:\n"
	"        put('libgcc', int(b'_dl_find_object' in file.read()))\n"
	"except (OSError, IndexError):\n"
	"    pass\n"
	"torch = None\n"
	"try:\n"
	"    import torch\n"
	"    put('torch', torch.__version__)\n"
	"    torch.ones(1) + 1\n"
	"except ImportError as error:\n"
	"    put('torch_missing', error)\n"
	"except Exception as error:\n"
	"    put('torch_error', error)\n"
	"try:\n"
	"    cuda = ctypes.CDLL('libcuda.so.1')\n"
	"except OSError as error:\n"
	"    put('cuda_missing', error)\n"
	"else:\n"
	"    result, count = cuda.cuInit(0), ctypes.c_int(0)\n"
	"    put('cuinit', result)\n"
	"    if result == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:\n"
	"        put('devices', count.value)\n"
	"    try:\n"
	"        if count.value and torch and torch.version.cuda:\n"
	"            torch.zeros(1, device='cuda') + 1\n"
	"    except Exception as error:\n"
	"        put('cuda_error', error)\n"
	"put('done', 1)\n";

struct place {
	char directory[DIRECTORY_BYTES];
	char script[DIRECTORY_BYTES + 32], facts[DIRECTORY_BYTES + 32], log[DIRECTORY_BYTES + 32];
	char trace[DIRECTORY_BYTES + 32];
};

static int make_place(struct place *place, struct vt_err *err)
{
	const char *tmp = getenv("TMPDIR");
	FILE *file;
	int n = snprintf(place->directory, sizeof(place->directory), "%s/vramtrace-doctor-XXXXXX",
			 tmp && *tmp == '/' ? tmp : "/tmp");

	if (n >= DIRECTORY_BYTES || !mkdtemp(place->directory)) {
		n = vt_err_set(err, VT_E_IO, "%s: cannot make a directory: %s; set TMPDIR", place->directory,
			       n >= DIRECTORY_BYTES ? "the name is too long" : strerror(errno));
		place->directory[0] = '\0';
		return n;
	}
	(void)snprintf(place->script, sizeof(place->script), "%s/probe.py", place->directory);
	(void)snprintf(place->facts, sizeof(place->facts), "%s/facts", place->directory);
	(void)snprintf(place->log, sizeof(place->log), "%s/log", place->directory);
	(void)snprintf(place->trace, sizeof(place->trace), "%s/probe.vramtrace", place->directory);
	file = fopen(place->script, "we");
	if (!file)
		return vt_err_set(err, VT_E_IO, "%s: %s", place->script, strerror(errno));
	(void)fputs(program, file);
	return fclose(file) == 0 ? 0 : vt_err_set(err, VT_E_IO, "%s: %s", place->script, strerror(errno));
}

static void remove_place(struct place *place)
{
	static const char *const behind[] = { "", "-wal", "-shm" };
	char path[sizeof(place->trace) + 8];

	if (!place->directory[0])
		return;
	(void)unlink(place->script);
	(void)unlink(place->facts);
	(void)unlink(place->log);
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", place->trace, behind[i]);
		(void)unlink(path);
	}
	(void)rmdir(place->directory);
}

/* This program itself, as `record`. */
static int start(const struct place *place, const char *python, pid_t *ret_pid, struct vt_err *err)
{
	const char *const arguments[] = {
		"vramtrace-record", "record", "-q",   "--host",	     "--kernels",  "on", "--grace", "1", "-o",
		place->trace,	    "--",     python, place->script, place->facts, NULL,
	};
	char *copies[sizeof(arguments) / sizeof(arguments[0])];
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	/* posix_spawn changes no argument, its type does not say so. */
	memcpy(copies, arguments, sizeof(copies));
	if (r != 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory to start a program");
	r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, 1, place->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, 1, 2);
	if (r == 0)
		r = posix_spawn(ret_pid, "/proc/self/exe", &actions, NULL, copies, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? 0 : vt_err_set(err, VT_E_IO, "cannot start the recorder: %s", strerror(r));
}

/* Waits so many polls; true when it has ended. */
static bool wait_for(pid_t pid, unsigned polls, int *ret_status)
{
	for (unsigned i = 0; i < polls; i++) {
		pid_t got = waitpid(pid, ret_status, WNOHANG);

		if (got == pid || (got < 0 && errno != EINTR))
			return true;
		(void)usleep(POLL_US);
	}
	return false;
}

static void last_line(const char *path, char *ret_line, size_t bytes)
{
	FILE *file = fopen(path, "re");
	char line[300];

	ret_line[0] = '\0';
	while (file && fgets(line, sizeof(line), file))
		if (line[0] != '\n')
			(void)snprintf(ret_line, bytes, "%.*s", (int)strcspn(line, "\n"), line);
	if (file)
		(void)fclose(file);
}

static void wait_for_end(pid_t pid, const struct place *place, struct vt_probe *probe)
{
	char line[240];
	int status = 0;

	if (!wait_for(pid, RUN_POLLS, &status)) {
		(void)snprintf(probe->failure, sizeof(probe->failure), "not done after %d s", VT_PROBE_SECONDS);
		(void)kill(pid, SIGTERM);
		if (!wait_for(pid, STOP_POLLS, &status)) {
			(void)kill(pid, SIGKILL);
			(void)wait_for(pid, STOP_POLLS, &status);
		}
	} else if (status != 0) {
		last_line(place->log, line, sizeof(line));
		(void)snprintf(probe->failure, sizeof(probe->failure), "%s %d%s%s",
			       WIFSIGNALED(status) ? "killed by signal" : "exit status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), line[0] ? ": " : "", line);
	}
}

static void read_facts(const char *path, struct vt_probe *probe)
{
	FILE *file = fopen(path, "re");
	char line[400];

	while (file && probe->facts_count < VT_PROBE_FACTS_MAX && fgets(line, sizeof(line), file)) {
		struct vt_probe_fact *fact = &probe->facts[probe->facts_count];
		char *blank = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (!blank)
			continue;
		*blank = '\0';
		(void)snprintf(fact->key, sizeof(fact->key), "%.23s", line);
		(void)snprintf(fact->value, sizeof(fact->value), "%.319s", blank + 1);
		probe->facts_count++;
	}
	if (file)
		(void)fclose(file);
}

static int take_note(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)rec;
	struct vt_probe *probe = arg;

	if (probe->notes_count < VT_PROBE_NOTES_MAX)
		probe->notes[probe->notes_count++] = (struct vt_probe_note){
			.process = process, .code = note->code, .text_id = note->text, .value = note->value
		};
	return 0;
}

/* Control characters do not reach the terminal. */
static void copy_text(char *to, size_t bytes, const char *from, size_t length)
{
	size_t n = length < bytes - 1 ? length : bytes - 1;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)from[i] < ' ' || from[i] == 127)
			to[i] = ' ';
		else
			to[i] = from[i];
	}
	to[n] = '\0';
}

static int take_string(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_string *string = (const struct vt_string *)(const void *)rec;
	struct vt_probe *probe = arg;

	for (unsigned i = 0; i < probe->notes_count && rec->len8; i++) {
		struct vt_probe_note *note = &probe->notes[i];

		if (note->process == process && note->text_id == string->id && string->id)
			copy_text(note->text, sizeof(note->text), (const char *)(string + 1), string->size_bytes);
	}
	return 0;
}

static void close_storep(struct vt_store **store)
{
	vt_store_close(*store);
}

static int read_notes(const char *path, struct vt_probe *probe, struct vt_err *err)
{
	VT_CLEANUP(close_storep) struct vt_store *store = NULL;
	int r = vt_store_open(&store, path, err);

	if (r == 0)
		r = vt_store_each_record(store, vt_event_find(VT_EVENT_note), take_note, probe, err);
	if (r == 0)
		r = vt_store_each_record(store, vt_event_find(VT_EVENT_string), take_string, probe, err);
	return r;
}

int vt_probe_run(struct vt_probe *ret, const char *python, struct vt_err *err)
{
	VT_CLEANUP(remove_place) struct place place = { .directory = "" };
	struct vt_err trace_err = { .code = VT_E_OK };
	pid_t pid = 0;
	int r;

	*ret = (struct vt_probe){ .notes_count = 0 };
	r = make_place(&place, err);
	if (r == 0)
		r = start(&place, python, &pid, err);
	if (r < 0)
		return r;
	wait_for_end(pid, &place, ret);
	read_facts(place.facts, ret);
	if (read_notes(place.trace, ret, &trace_err) < 0 && !ret->failure[0])
		(void)snprintf(ret->failure, sizeof(ret->failure), "%.300s", trace_err.msg);
	return 0;
}

const struct vt_probe_note *vt_probe_note(const struct vt_probe *probe, enum vt_note_code code)
{
	for (unsigned i = 0; i < probe->notes_count; i++)
		if (probe->notes[i].code == (uint32_t)code)
			return &probe->notes[i];
	return NULL;
}

const char *vt_probe_fact(const struct vt_probe *probe, const char *key)
{
	for (unsigned i = 0; i < probe->facts_count; i++)
		if (strcmp(probe->facts[i].key, key) == 0)
			return probe->facts[i].value;
	return NULL;
}
