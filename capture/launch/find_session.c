/* find_session.c - see find_session.h. */
#include "capture/launch/find_session.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/collector/session.h"
#include "capture/launch/control.h"
#include "capture/launch/session_dir.h"
#include "schema/base/cleanup.h"

struct search {
	const char *what;  /* NULL: any */
	unsigned long pid; /* 0: `what` is no number */
	struct stat file;  /* of `what`, where it is a file */
	bool is_file;
	unsigned found;
	char *session;	/* the last one found */
	char list[512]; /* those found, for people */
};

static void close_dirp(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static bool has_process(const char *session, unsigned long pid)
{
	VT_CLEANUP(close_dirp) DIR *dir = opendir(session);
	const struct dirent *entry;
	uint64_t start_ticks;
	uint32_t found;

	while (dir && (entry = readdir(dir)) != NULL)
		if (vt_session_parse_name(entry->d_name, &found, &start_ticks) && found == pid)
			return true;
	return false;
}

/* The value of a line "key value" in a status, up to the line's end; false where there is none. */
static bool find_value(const char *status, const char *key, char *ret, size_t bytes)
{
	size_t length = strlen(key);

	for (const char *line = status; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, key, length) == 0 && line[length] == ' ') {
			(void)snprintf(ret, bytes, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
			return true;
		}
	return false;
}

static bool is_meant(const struct search *search, const char *session, const char *status)
{
	char value[PATH_MAX];
	struct stat st;

	if (!search->what)
		return true;
	if (search->pid &&
	    (has_process(session, search->pid) ||
	     (find_value(status, "recorder", value, sizeof(value)) && strtoul(value, NULL, 10) == search->pid)))
		return true;
	return search->is_file && find_value(status, "output", value, sizeof(value)) && stat(value, &st) == 0 &&
	       st.st_dev == search->file.st_dev && st.st_ino == search->file.st_ino;
}

static int look_at(void *arg, const char *session)
{
	struct search *search = arg;
	char status[VT_CONTROL_BYTES_MAX], output[PATH_MAX] = "";
	size_t used = strlen(search->list);
	struct vt_err err;

	if (vt_control_ask(session, "status", status, &err) < 0 || !is_meant(search, session, status))
		return 0;
	(void)find_value(status, "output", output, sizeof(output));
	search->found++;
	(void)snprintf(search->session, PATH_MAX, "%s", session);
	(void)snprintf(search->list + used, sizeof(search->list) - used, "\n  %s (%s)", session, output);
	return 0;
}

int vt_find_session(const char *what, char ret_session[PATH_MAX], struct vt_err *err)
{
	struct search search = { .what = what, .session = ret_session };
	char *end = NULL;

	if (what && stat(what, &search.file) == 0) {
		if (S_ISDIR(search.file.st_mode)) {
			if (snprintf(ret_session, PATH_MAX, "%s", what) >= PATH_MAX)
				return vt_err_set(err, VT_E_INPUT, "the name of the session is too long");
			return 0;
		}
		search.is_file = true;
	}
	if (what && !search.is_file) {
		search.pid = strtoul(what, &end, 10);
		if (*end || !search.pid)
			return vt_err_set(err, VT_E_INPUT, "%s: no session directory, no trace and no pid", what);
	}
	(void)vt_session_dir_each(look_at, &search);
	if (search.found == 1)
		return 0;
	if (search.found == 0)
		return vt_err_set(err, VT_E_INPUT,
				  what ? "%s: no running recording has this process or file"
				       : "%sno recording of yours is running",
				  what ? what : "");
	return vt_err_set(err, VT_E_INPUT, "more than one recording is running; choose one with --session:%s",
			  search.list);
}
