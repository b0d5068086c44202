/* command_export.c - vramtrace export: a trace for other tools. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/commands/command.h"
#include "analyze/commands/export_flame.h"
#include "analyze/commands/export_perfetto.h"
#include "analyze/commands/options.h"
#include "analyze/export/export.h"
#include "analyze/views/session.h"
#include "analyze/views/time_text.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

#define KINDS_MAX 16

static const struct vt_usage usage = {
	.command = "export",
	.operands = "FILE",
	.summary = "Writes a trace in a form that other tools read.",
	.details =
		"Formats:\n"
		"  json      JSON lines: one object per event, in time order, with every column by its name; ids of "
		"texts\n"
		"            and numbers of enumerations have the text beside them. --all adds the tables: processes,\n"
		"            threads, clocks, losses, strings, op nodes, frames, stacks\n"
		"  csv       one kind of event (--kind), with a header row\n"
		"  folded, pprof, speedscope\n"
		"            flame graphs of the memory by call stack: live at --at (peak, oom, end or a time; the "
		"peak if not\n"
		"            given), or with --what total all that the run allocated, or temporary what of that soon "
		"went\n"
		"            (estimated). folded is for flamegraph.pl and its kin; docs/flamegraphs.md\n"
		"  perfetto  for ui.perfetto.dev: memory over time, allocations and frees with call stacks, ops, "
		"driver calls,\n"
		"            kernels and copies, heap profiles at the peak, at each OOM and at the end; "
		"docs/perfetto.md\n"
		"Times for --from and --to count from the start of the first process: 1.5s, 200ms, 2min.\n\n"
		"Examples:\n"
		"  vramtrace export --format perfetto run.vramtrace\n"
		"  vramtrace export --format json run.vramtrace | jq 'select(.event == \"oom\")'\n"
		"  vramtrace export --format csv --kind tensor -o tensors.csv run.vramtrace\n"
		"  vramtrace export --format pprof -o run.pb.gz run.vramtrace && pprof -http=: run.pb.gz\n"
		"  vramtrace export --format folded --what total run.vramtrace | flamegraph.pl --countname bytes > "
		"run.svg",
};

struct request {
	const char *format;
	const char *output;
	const char *kinds;
	const char *from;
	const char *to;
	const char *detail;
	const char *what;
	uint64_t max_bytes;
	bool definitions;
	bool stacks;
	bool quiet;
};

void vt_close_output(FILE **file)
{
	if (*file && *file != stdout)
		(void)fclose(*file);
}

/* "tensor,op" to event ids. */
static int parse_kinds(const char *text, uint32_t kinds[KINDS_MAX], uint32_t *ret_count, struct vt_err *err)
{
	VT_CLEANUP(vt_freep) char *copy = strdup(text);
	char *rest = copy;
	char *name;

	*ret_count = 0;
	if (!copy)
		return vt_err_set(err, VT_E_NOMEM, "out of memory");
	while ((name = strsep(&rest, ",")) != NULL) {
		const struct vt_event *event = vt_event_find_name(name);
		bool is_kind = event && (event->class == VT_CLASS_CHUNK || event->id == VT_EVENT_oom ||
					 event->id == VT_EVENT_note);

		if (!is_kind)
			return vt_err_set(err, VT_E_USAGE,
					  "--kind: '%.40s' is no kind of event; 'vramtrace info' lists those of a file",
					  name);
		if (*ret_count == KINDS_MAX)
			return vt_err_set(err, VT_E_USAGE, "--kind takes at most %d kinds", KINDS_MAX);
		kinds[(*ret_count)++] = event->id;
	}
	return 0; /* NOLINT(clang-analyzer-unix.Malloc): VT_CLEANUP frees it */
}

static int parse_window(const struct request *request, uint64_t origin_ns, struct vt_cursor_options *cursor,
			struct vt_err *err)
{
	uint64_t ns;

	if (request->from) {
		if (vt_parse_time(request->from, &ns) < 0)
			return vt_err_set(err, VT_E_USAGE, "--from: '%.40s' is no time; try 1.5s or 200ms",
					  request->from);
		cursor->from_ns = origin_ns + ns;
	}
	if (request->to) {
		if (vt_parse_time(request->to, &ns) < 0)
			return vt_err_set(err, VT_E_USAGE, "--to: '%.40s' is no time; try 1.5s or 200ms", request->to);
		cursor->to_ns = origin_ns + ns;
	}
	return 0;
}

int vt_open_output(const char *path, FILE **ret, struct vt_err *err)
{
	if (!path || !strcmp(path, "-")) {
		*ret = stdout;
		return 0;
	}
	*ret = fopen(path, "we");
	return *ret ? 0 : vt_err_set(err, VT_E_IO, "%s: cannot be written: %s", path, strerror(errno));
}

static int export_text(const struct vt_session *session, const struct request *request,
		       struct vt_export_options *export, struct vt_err *err)
{
	VT_CLEANUP(vt_close_output) FILE *out = NULL;
	bool is_csv = !strcmp(request->format, "csv");
	int r;

	if (is_csv && export->cursor.nkinds != 1)
		return vt_err_set(err, VT_E_USAGE, "csv is of one kind: give --kind tensor, --kind op, ...");
	r = vt_open_output(request->output, &out, err);
	if (r == 0)
		r = is_csv ? vt_export_csv(out, session->store, export, err)
			   : vt_export_json(out, session->store, export, err);
	if (r == 0 && fflush(out) != 0)
		r = vt_err_set(err, VT_E_IO, "%s: cannot be written: %s",
			       request->output ? request->output : "standard output", strerror(errno));
	return r;
}

/* run.vramtrace becomes run.pftrace, in the same place. */
static void default_name(const char *path, char *name, size_t room)
{
	static const char own[] = ".vramtrace";
	size_t length = strlen(path);

	if (length > sizeof(own) - 1 && !strcmp(path + length - (sizeof(own) - 1), own))
		length -= sizeof(own) - 1;
	(void)snprintf(name, room, "%.*s.pftrace", (int)length, path);
}

static int export_perfetto(struct vt_session *session, const struct request *request,
			   const struct vt_export_options *export, struct vt_err *err)
{
	static const char *const details[] = { "low", "normal", "full" };
	VT_CLEANUP(vt_close_output) FILE *out = NULL;
	struct vt_perfetto_request wanted = { .cursor = export->cursor,
					      .detail = VT_PF_NORMAL,
					      .max_bytes = request->max_bytes };
	struct vt_perfetto_result result = { 0 };
	char bytes[VT_FORMAT_MAX], name[4096];
	const char *path = request->output;
	int r = request->detail ? vt_pf_detail_parse(request->detail, &wanted.detail, err) : 0;

	if (!path) {
		default_name(vt_store_path(session->store), name, sizeof(name));
		path = name;
	}
	if (r == 0 && !strcmp(path, "-") && isatty(STDOUT_FILENO))
		r = vt_err_set(err, VT_E_USAGE, "a Perfetto trace is not for a terminal: give -o FILE");
	if (r == 0)
		r = vt_open_output(path, &out, err);
	if (r == 0)
		r = vt_export_perfetto(session, out, &wanted, &result, err);
	if (r == 0 && (result.detail != wanted.detail || result.coarse) && !request->quiet)
		(void)fprintf(stderr, "%s: of detail %s%s, to fit into --max-size\n", path, details[result.detail],
			      result.coarse ? ", and totals at the greatest moments of some events in a row" : "");
	if (r == 0 && out != stdout && !request->quiet)
		(void)fprintf(stderr, "%s: %s. To look at it: open https://ui.perfetto.dev and drop the file in.\n",
			      path, vt_format_bytes(bytes, result.bytes));
	return r;
}

static int run(const char *path, const struct vt_common_options *options, const struct request *request,
	       struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	struct vt_export_options export = { .definitions = request->definitions, .stacks = request->stacks };
	uint32_t kinds[KINDS_MAX];
	int r = vt_session_open(&session, path, options, "end", err);

	if (r == 0 && request->kinds)
		r = parse_kinds(request->kinds, kinds, &export.cursor.nkinds, err);
	export.cursor.kinds = kinds;
	export.cursor.process = session.process;
	if (r == 0)
		r = parse_window(request, session.origin_ns, &export.cursor, err);
	if (r == 0)
		r = !strcmp(request->format, "perfetto") ? export_perfetto(&session, request, &export, err)
							 : export_text(&session, request, &export, err);
	return r;
}

static int export_flame(const char *path, const struct vt_common_options *options, const struct request *request,
			struct vt_err *err)
{
	const struct vt_flame_request flame = { request->format, request->what, request->output };

	if (request->kinds || request->from || request->to || request->detail || request->max_bytes ||
	    request->definitions || request->stacks)
		return vt_err_set(err, VT_E_USAGE,
				  "flame graphs take --at, --what, --device and --process of export's options");
	return vt_export_flame(path, options, &flame, err);
}

static int check_format(const struct request *request, const struct vt_common_options *options, struct vt_err *err)
{
	static const char *const formats[] = { "perfetto", "json", "csv", "folded", "pprof", "speedscope" };

	if (!request->format)
		return vt_err_set(err, VT_E_USAGE,
				  "--format is missing: perfetto, json, csv, folded, pprof or speedscope");
	for (size_t i = 0; i < VT_ARRAY_SIZE(formats); i++) {
		if (strcmp(request->format, formats[i]) != 0)
			continue;
		if (!vt_is_flame_format(request->format) && (request->what || options->at))
			return vt_err_set(err, VT_E_USAGE,
					  "--what and --at are for flame graphs: folded, pprof, speedscope");
		return 0;
	}
	return vt_err_set(err, VT_E_USAGE,
			  "--format takes perfetto, json, csv, folded, pprof or speedscope, not '%.40s'",
			  request->format);
}

int vt_command_export(int argc, char **argv)
{
	struct vt_common_options options;
	struct request request = { .format = NULL };
	const struct vt_option own[] = {
		{ "format", 'f', VT_OPTION_STRING, &request.format, "FORMAT",
		  "perfetto, json, csv, folded, pprof or speedscope" },
		{ "output", 'o', VT_OPTION_STRING, &request.output, "FILE",
		  "where to; standard output if not given (perfetto: FILE.pftrace)" },
		{ "kind", 'k', VT_OPTION_STRING, &request.kinds, "LIST",
		  "kinds of events, with commas between; all if not given" },
		{ "from", 0, VT_OPTION_STRING, &request.from, "TIME", "leave out what comes before" },
		{ "to", 0, VT_OPTION_STRING, &request.to, "TIME", "leave out what comes after" },
		{ "detail", 0, VT_OPTION_STRING, &request.detail, "LEVEL",
		  "perfetto: low, normal (the default) or full" },
		{ "max-size", 0, VT_OPTION_BYTES, &request.max_bytes, "BYTES",
		  "perfetto: less detail where it would become larger" },
		{ "what", 0, VT_OPTION_STRING, &request.what, "WHAT",
		  "flame graphs: live (the default), total or temporary" },
		{ "all", 'a', VT_OPTION_FLAG, &request.definitions, NULL, "json: the tables too" },
		{ "stacks", 0, VT_OPTION_FLAG, &request.stacks, NULL, "json: the frames beside each Python stack" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	int operand;
	int r = vt_options_parse(&usage, own, &options, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	request.quiet = options.quiet;
	if (r == 0)
		r = check_format(&request, &options, &err);
	if (r == 0)
		r = vt_session_operand(argc, argv, operand, &err);
	if (r == 0)
		r = vt_is_flame_format(request.format) ? export_flame(argv[operand], &options, &request, &err)
						       : run(argv[operand], &options, &request, &err);
	return r < 0 ? vt_command_fail("export", &err) : 0;
}
