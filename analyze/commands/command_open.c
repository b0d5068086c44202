/* command_open.c - vramtrace open: traces in ui.perfetto.dev, handed over by this program. */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/commands/command.h"
#include "analyze/commands/export_perfetto.h"
#include "analyze/commands/options.h"
#include "analyze/serve/serve.h"
#include "analyze/serve/tar.h"
#include "analyze/views/session.h"
#include "schema/base/cleanup.h"

#define UI "https://ui.perfetto.dev"
/* The one port of this machine that the UI's own policy lets it ask. */
#define PORT 9001
/* Off by default there: kernels by process and stream, and the tab on one kernel. */
#define PLUGINS "dev.perfetto.GpuByProcess,com.meta.GpuCompute"
#define FILES_MAX 1024

static const struct vt_usage usage = {
	.command = "open",
	.operands = "FILE...",
	.summary = "Opens a trace in ui.perfetto.dev: exports it, hands it to the page once, and ends.",
	.details =
		"The trace goes from this program to the browser on this machine, and nowhere else: the page works "
		"on it in\n"
		"the browser. Several files (one a rank, of one or several machines) become one timeline, by their\n"
		"real-time clocks. The browser may ask whether the page may speak to this machine: it must, once.\n\n"
		"Over ssh: run it there with --browser none, and here: ssh -N -L 9001:127.0.0.1:9001 HOST; then "
		"open the\n"
		"link here.\n\n"
		"Examples:\n"
		"  vramtrace open run.vramtrace\n"
		"  vramtrace open --browser none --detail low run.vramtrace\n"
		"  vramtrace open rank0.vramtrace rank1.vramtrace",
	.whole_file = true,
};

struct request {
	const char *browser; /* "none", or a program */
	enum vt_pf_detail detail;
	uint64_t max_bytes;
	uint16_t port;
	bool quiet;
};

static void close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

static FILE *temporary(struct vt_err *err)
{
	FILE *file = tmpfile();

	if (!file)
		vt_err_set(err, VT_E_IO, "no temporary file: %s (TMPDIR chooses where)", strerror(errno));
	return file;
}

static int export_one(const char *path, const struct request *request, FILE *out, struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	const struct vt_common_options common = { .device = -1, .process = -1 };
	const struct vt_perfetto_request wanted = { .detail = request->detail, .max_bytes = request->max_bytes };
	struct vt_perfetto_result result;
	int r = vt_session_open(&session, path, &common, "end", err);

	if (!r)
		r = vt_export_perfetto(&session, out, &wanted, &result, err);
	if (!r && fflush(out) != 0)
		r = vt_err_set(err, VT_E_IO, "a temporary file cannot be written: %s", strerror(errno));
	return r;
}

/* run.vramtrace becomes run.pftrace, without its directories. */
static void trace_name(const char *path, char *out, size_t room)
{
	static const char own[] = ".vramtrace";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name);

	if (length > sizeof(own) - 1 && !strcmp(name + length - (sizeof(own) - 1), own))
		length -= sizeof(own) - 1;
	(void)snprintf(out, room, "%.*s.pftrace", (int)(length < 60 ? length : 60), name);
}

/* Perfetto's manifest: which files, and that their real-time clocks are one. */
static int add_manifest(FILE *tar, char **paths, int count, struct vt_err *err)
{
	char *text = NULL, name[80];
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	struct vt_json json;
	int r;

	if (!memory)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a manifest");
	vt_json_init(&json, memory, true);
	vt_json_object(&json);
	vt_json_put_object(&json, "perfetto_manifest");
	vt_json_put_u64(&json, "version", 1);
	vt_json_put_object(&json, "trace_time");
	vt_json_put_string(&json, "clock", "REALTIME");
	vt_json_object_end(&json);
	vt_json_put_array(&json, "files");
	for (int i = 0; i < count; i++) {
		char member[96];

		trace_name(paths[i], name, sizeof(name));
		(void)snprintf(member, sizeof(member), "%d_%s", i, name);
		vt_json_object(&json);
		vt_json_put_string(&json, "path", member);
		vt_json_put_object(&json, "machine");
		vt_json_put_string(&json, "name", name);
		vt_json_object_end(&json);
		vt_json_object_end(&json);
	}
	vt_json_array_end(&json);
	vt_json_object_end(&json);
	vt_json_object_end(&json);
	r = vt_json_done(&json) < 0 || fclose(memory) ? vt_err_set(err, VT_E_NOMEM, "no memory for a manifest") : 0;
	if (!r)
		r = vt_tar_add_text(tar, "perfetto_manifest.json", text, bytes, err);
	free(text);
	return r;
}

static int export_many(char **paths, int count, const struct request *request, FILE *tar, struct vt_err *err)
{
	int r = add_manifest(tar, paths, count, err);

	for (int i = 0; i < count && !r; i++) {
		VT_CLEANUP(close_file) FILE *file = temporary(err);
		char name[80], member[96];

		if (!file)
			return -VT_E_IO;
		trace_name(paths[i], name, sizeof(name));
		(void)snprintf(member, sizeof(member), "%d_%s", i, name);
		r = export_one(paths[i], request, file, err);
		if (!r)
			r = vt_tar_add_file(tar, member, file, err);
	}
	if (!r)
		r = vt_tar_end(tar, err);
	if (!r && fflush(tar) != 0)
		r = vt_err_set(err, VT_E_IO, "a temporary file cannot be written: %s", strerror(errno));
	return r;
}

static void start_browser(const struct request *request, char *link)
{
	char program[4096];
	char *argv[] = { program, link, NULL };
	pid_t pid;

	if (!strcmp(request->browser, "none"))
		return;
	(void)snprintf(program, sizeof(program), "%s", request->browser);
	if (posix_spawnp(&pid, program, NULL, NULL, argv, environ) != 0)
		(void)fprintf(stderr, "%s cannot be started: open the link yourself\n", program);
}

static int serve(const struct request *request, const char *name, FILE *file, struct vt_err *err)
{
	VT_CLEANUP(vt_closep) int listener = -1;
	struct vt_served served = { .origin = UI, .file = file };
	char link[VT_SERVE_PATH_MAX + 256];
	int r = vt_serve_path(served.path, name, err);

	if (!r)
		r = vt_serve_listen(request->port, &listener, &served.port, err);
	if (r)
		return r;
	(void)snprintf(link, sizeof(link),
		       UI "/#!/?url=http://127.0.0.1:%u%s&referrer=vramtrace&enablePlugins=" PLUGINS, served.port,
		       served.path);
	(void)printf("%s\n", link);
	(void)fflush(stdout);
	if (!request->quiet)
		(void)fputs("waiting for the page to fetch the trace; Ctrl-C ends it\n", stderr);
	start_browser(request, link);
	r = vt_serve_once(listener, &served, err);
	if (!r && !request->quiet)
		(void)fputs("the page has the trace\n", stderr);
	return r;
}

static int run(char **paths, int count, const struct request *request, struct vt_err *err)
{
	VT_CLEANUP(close_file) FILE *file = temporary(err);
	char name[80];
	int r;

	if (!file)
		return -VT_E_IO;
	if (count > 1) {
		r = export_many(paths, count, request, file, err);
		return r ? r : serve(request, "traces.tar", file, err);
	}
	trace_name(paths[0], name, sizeof(name));
	r = export_one(paths[0], request, file, err);
	return r ? r : serve(request, name, file, err);
}

/* Where a window can open, and by what. */
static const char *default_browser(void)
{
	bool has_screen = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");

	return has_screen && !getenv("SSH_CONNECTION") ? "xdg-open" : "none";
}

int vt_command_open(int argc, char **argv)
{
	struct vt_common_options common;
	const char *browser = NULL, *detail = NULL;
	struct request request = { .detail = VT_PF_NORMAL };
	uint64_t port = PORT;
	const struct vt_option own[] = {
		{ "browser", 'b', VT_OPTION_STRING, &browser, "PROGRAM",
		  "what opens the link (xdg-open); none: the link is printed and no more" },
		{ "detail", 0, VT_OPTION_STRING, &detail, "LEVEL", "low, normal (the default) or full, as in export" },
		{ "max-size", 0, VT_OPTION_BYTES, &request.max_bytes, "BYTES",
		  "less detail where a trace would become larger" },
		{ "port", 0, VT_OPTION_COUNT, &port, "N",
		  "another port than 9001, which the page asks only with its flag cspAllowAnyWebsocketPort" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand, r = vt_options_parse(&usage, own, &common, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	request.browser = browser ? browser : default_browser();
	request.port = (uint16_t)port;
	request.quiet = common.quiet;
	if (!r && port > UINT16_MAX)
		r = vt_err_set(&err, VT_E_USAGE, "--port takes a number below 65536, not %" PRIu64, port);
	if (!r && detail)
		r = vt_pf_detail_parse(detail, &request.detail, &err);
	if (!r && operand == argc)
		r = vt_err_set(&err, VT_E_USAGE, "which trace? vramtrace open FILE...");
	if (!r && argc - operand > FILES_MAX)
		r = vt_err_set(&err, VT_E_USAGE, "at most %d traces at a time", FILES_MAX);
	if (!r)
		r = run(argv + operand, argc - operand, &request, &err);
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
