/* ctl.c - `vramtrace ctl`: controls a running recording from outside. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/launch/control.h"
#include "capture/launch/find_session.h"
#include "capture/launch/launch.h"
#include "schema/base/json.h"
#include "schema/store.h"

#define JSON_SCHEMA 1

enum { OPT_SESSION = 256, OPT_FORCE };

struct options {
	const char *session;
	const char *request;
	const char *file; /* snapshot */
	bool json;
	bool force;
};

static const char help[] =
	"vramtrace ctl: control a running recording\n"
	"\n"
	"  vramtrace ctl [options] pause         record nothing until resume; the program runs on\n"
	"  vramtrace ctl [options] resume        record again\n"
	"  vramtrace ctl [options] flush         everything recorded so far is in the trace when this returns\n"
	"  vramtrace ctl [options] snapshot FILE a copy of the trace as it is now, to look at while it grows\n"
	"  vramtrace ctl [options] status        what is being recorded, and where to\n"
	"\n"
	"      --session WHAT   which recording: its session directory, the pid of a recorded process or of the\n"
	"                       recorder, or the trace that is being written (default: the only one there is)\n"
	"      --force          snapshot: replace FILE\n"
	"  -j, --json           status as one JSON object\n"
	"  -h, --help           this text\n"
	"\n"
	"While paused, an event of the program costs one comparison. What it allocated or freed meanwhile is not in "
	"the\n"
	"trace: reports say so, and blocks of before the pause are no longer counted as known.\n"
	"\n"
	"Examples\n"
	"  vramtrace record --start-after 10m -o run.vramtrace -- python train.py &\n"
	"  vramtrace ctl snapshot now.vramtrace && vramtrace report now.vramtrace\n"
	"  vramtrace ctl --session run.vramtrace pause\n";

static int usage_error(struct vt_err *err, const char *what, const char *detail)
{
	return vt_err_set(err, VT_E_USAGE, "%s%s; see `vramtrace ctl --help`", what, detail);
}

static int take_operands(struct options *options, int argc, char **argv, struct vt_err *err)
{
	static const char *const requests[] = { "pause", "resume", "flush", "snapshot", "status" };
	int wanted;

	if (optind == argc)
		return usage_error(err, "what is to be done: pause, resume, flush, snapshot or status?", "");
	options->request = argv[optind];
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(options->request, requests[i]) != 0)
			continue;
		wanted = strcmp(requests[i], "snapshot") == 0 ? 2 : 1;
		options->file = wanted == 2 ? argv[optind + 1] : NULL;
		if (argc - optind < wanted)
			return usage_error(err, "where is the snapshot to go? vramtrace ctl snapshot FILE", "");
		if (argc - optind > wanted)
			return usage_error(err, "one thing at a time; not ", argv[optind + wanted]);
		return 0;
	}
	return usage_error(err, "it is pause, resume, flush, snapshot or status, not ", options->request);
}

/* 0, 1 for help, or an error. */
static int parse(struct options *ret, int argc, char **argv, struct vt_err *err)
{
	static const struct option names[] = {
		{ "session", required_argument, NULL, OPT_SESSION },
		{ "force", no_argument, NULL, OPT_FORCE },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .json = false };
	int code;

	optind = 0;
	while ((code = getopt_long(argc, argv, ":jh", names, NULL)) != -1) {
		switch (code) {
		case OPT_SESSION:
			options.session = optarg;
			break;
		case OPT_FORCE:
			options.force = true;
			break;
		case 'j':
			options.json = true;
			break;
		case 'h':
			(void)fputs(help, stdout);
			return 1;
		default:
			return usage_error(err, code == ':' ? "a value is missing behind " : "wrong option ",
					   argv[optind - 1]);
		}
	}
	*ret = options;
	return take_operands(ret, argc, argv, err);
}

/* Calls fn with each "key value" line, taken apart in place. */
static void each_line(char *status, void (*fn)(void *arg, const char *key, const char *value), void *arg)
{
	char *rest = NULL;

	for (char *line = strtok_r(status, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *blank = strchr(line, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		fn(arg, line, blank + 1);
	}
}

static void print_line(void *arg, const char *key, const char *value)
{
	(void)arg;
	(void)printf("%-10s %s\n", key, value);
}

static void put_line(void *arg, const char *key, const char *value)
{
	char *end = NULL;
	unsigned long long number = strtoull(value, &end, 10);

	if (*value && !*end)
		vt_json_put_u64(arg, key, number);
	else
		vt_json_put_string(arg, key, value);
}

static int print_json(char *status)
{
	struct vt_json json;

	vt_json_init(&json, stdout, false);
	vt_json_object(&json);
	vt_json_put_object(&json, "vramtrace");
	vt_json_put_u64(&json, "schema", JSON_SCHEMA);
	vt_json_put_string(&json, "command", "ctl");
	vt_json_object_end(&json);
	each_line(status, put_line, &json);
	vt_json_object_end(&json);
	return vt_json_done(&json);
}

struct output {
	char path[VT_CONTROL_BYTES_MAX];
};

static void take_output(void *arg, const char *key, const char *value)
{
	struct output *output = arg;

	if (strcmp(key, "output") == 0)
		(void)snprintf(output->path, sizeof(output->path), "%s", value);
}

/* The copying is done here, by a reader of the file: the recorder has better things to do. */
static int make_snapshot(const struct options *options, const char *session, struct vt_err *err)
{
	struct output output = { .path = "" };
	char reply[VT_CONTROL_BYTES_MAX];
	int r = vt_control_ask(session, "flush", reply, err);

	if (r == 0)
		r = vt_control_ask(session, "status", reply, err);
	if (r < 0)
		return r;
	each_line(reply, take_output, &output);
	return vt_store_copy(output.path, options->file, options->force, err);
}

static int run(const struct options *options, struct vt_err *err)
{
	char session[PATH_MAX], reply[VT_CONTROL_BYTES_MAX];
	int r = vt_find_session(options->session, session, err);

	if (r < 0)
		return r;
	if (options->file)
		return make_snapshot(options, session, err);
	r = vt_control_ask(session, options->request, reply, err);
	if (r < 0 || strcmp(options->request, "status") != 0)
		return r;
	if (!options->json) {
		each_line(reply, print_line, NULL);
		return fflush(stdout) == 0 ? 0 : vt_err_set(err, VT_E_IO, "standard output cannot be written");
	}
	return print_json(reply) == 0 ? 0 : vt_err_set(err, VT_E_IO, "standard output cannot be written");
}

int vt_launch_ctl(int argc, char **argv)
{
	struct options options;
	struct vt_err err;
	int r = parse(&options, argc, argv, &err);

	if (r == 0)
		r = run(&options, &err);
	if (r >= 0)
		return 0;
	(void)fprintf(stderr, "vramtrace ctl: %s\n", err.msg);
	return vt_errc_exit_status(err.code);
}
