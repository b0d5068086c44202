/* doctor.c - `vramtrace doctor`: will capture work here and, if not, what is to be done? */
#include "capture/launch/doctor.h"

#include <assert.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/launch/launch.h"
#include "capture/launch/locate.h"
#include "schema/base/json.h"

#define JSON_SCHEMA 1

enum { OPT_STRICT = 256 };

struct options {
	const char *python;
	bool json;
	bool strict;
};

static const char help[] =
	"vramtrace doctor: will capture work here and, if not, what is to be done?\n"
	"\n"
	"  vramtrace doctor [options] [-- PYTHON]\n"
	"\n"
	"Looks at driver, permissions, other tools, room and limits, and runs a small program of some seconds in\n"
	"PYTHON (default: python3) under capture: what it says of CUPTI, PyTorch and Python is what the agent did "
	"there.\n"
	"One line for each check: ok; limited (the rest is captured); no (capture cannot work).\n"
	"\n"
	"      --strict         exit status 1 if anything is limited\n"
	"  -j, --json           one JSON object\n"
	"  -h, --help           this text\n"
	"\n"
	"Examples\n"
	"  vramtrace doctor\n"
	"  vramtrace doctor -- ~/venv/bin/python\n"
	"      the interpreter that the program uses\n"
	"  vramtrace doctor --strict --json > doctor.json\n"
	"      in a script\n"
	"Exit status: 0, or 1 with --strict and something limited, 2 wrong usage, 4 capture cannot work.\n";

static const char *const level_names[] = { "ok", "limited", "no" };

void vt_doctor_add(struct vt_doctor *doctor, const char *name, enum vt_check_level level, const char *next,
		   const char *found, ...)
{
	struct vt_check *check = &doctor->checks[doctor->count];
	va_list arguments;

	assert(doctor->count < VT_CHECKS_MAX);
	doctor->count++;
	*check = (struct vt_check){ .name = name, .level = level, .next = next };
	va_start(arguments, found);
	(void)vsnprintf(check->found, sizeof(check->found), found, arguments);
	va_end(arguments);
}

/* 0, 1 for help, or an error. */
static int parse(struct options *ret, int argc, char **argv, struct vt_err *err)
{
	static const struct option names[] = {
		{ "strict", no_argument, NULL, OPT_STRICT },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int code;

	*ret = (struct options){ .python = "python3" };
	optind = 0;
	while ((code = getopt_long(argc, argv, "+:jh", names, NULL)) != -1) {
		switch (code) {
		case OPT_STRICT:
			ret->strict = true;
			break;
		case 'j':
			ret->json = true;
			break;
		case 'h':
			(void)fputs(help, stdout);
			return 1;
		default:
			return vt_err_set(err, VT_E_USAGE, "wrong option %s; see `vramtrace doctor --help`",
					  argv[optind - 1]);
		}
	}
	if (argc - optind > 1)
		return vt_err_set(err, VT_E_USAGE, "one interpreter, without arguments; not %s", argv[optind + 1]);
	if (optind < argc)
		ret->python = argv[optind];
	return 0;
}

static void print_text(const struct vt_doctor *doctor)
{
	for (unsigned i = 0; i < doctor->count; i++) {
		const struct vt_check *check = &doctor->checks[i];

		(void)printf("%-8s %-14s %s%s%s\n", level_names[check->level], check->name, check->found,
			     check->next ? "; next: " : "", check->next ? check->next : "");
	}
}

static int print_json(const struct vt_doctor *doctor, enum vt_check_level worst)
{
	struct vt_json json;

	vt_json_init(&json, stdout, false);
	vt_json_object(&json);
	vt_json_put_object(&json, "vramtrace");
	vt_json_put_u64(&json, "schema", JSON_SCHEMA);
	vt_json_put_string(&json, "command", "doctor");
	vt_json_object_end(&json);
	vt_json_put_string(&json, "status", level_names[worst]);
	vt_json_put_array(&json, "checks");
	for (unsigned i = 0; i < doctor->count; i++) {
		const struct vt_check *check = &doctor->checks[i];

		vt_json_object(&json);
		vt_json_put_string(&json, "name", check->name);
		vt_json_put_string(&json, "status", level_names[check->level]);
		vt_json_put_string(&json, "found", check->found);
		vt_json_name(&json, "next");
		if (check->next)
			vt_json_string(&json, check->next);
		else
			vt_json_null(&json);
		vt_json_object_end(&json);
	}
	vt_json_array_end(&json);
	vt_json_object_end(&json);
	return vt_json_done(&json);
}

/* The interpreter and the agent are looked for first: without one of them there is nothing to try. */
static void try_capture(struct vt_probe *probe, const char *python)
{
	char path[PATH_MAX];
	struct vt_err err = { .code = VT_E_OK };
	int ignored = 0, r;

	*probe = (struct vt_probe){ .notes_count = 0 };
	r = vt_locate_agent(path, &err);
	if (r == 0)
		r = vt_locate_program(python, path, &ignored, &err);
	if (r == 0)
		r = vt_probe_run(probe, path, &err);
	if (r < 0)
		(void)snprintf(probe->failure, sizeof(probe->failure), "%.300s", err.msg);
}

static int run(const struct options *options, enum vt_check_level *ret_worst, struct vt_err *err)
{
	struct vt_doctor doctor = { .count = 0 };
	struct vt_probe probe;
	int r = 0;

	try_capture(&probe, options->python);
	vt_doctor_look_at_host(&doctor, &probe);
	vt_doctor_look_at_probe(&doctor, &probe);
	*ret_worst = VT_CHECK_OK;
	for (unsigned i = 0; i < doctor.count; i++)
		if (doctor.checks[i].level > *ret_worst)
			*ret_worst = doctor.checks[i].level;
	if (options->json)
		r = print_json(&doctor, *ret_worst);
	else
		print_text(&doctor);
	return r == 0 && fflush(stdout) == 0 ? 0 : vt_err_set(err, VT_E_IO, "standard output cannot be written");
}

int vt_launch_doctor(int argc, char **argv)
{
	enum vt_check_level worst = VT_CHECK_OK;
	struct options options;
	struct vt_err err;
	int r = parse(&options, argc, argv, &err);

	if (r > 0)
		return 0;
	if (r == 0)
		r = run(&options, &worst, &err);
	if (r < 0) {
		(void)fprintf(stderr, "vramtrace doctor: %s\n", err.msg);
		return vt_errc_exit_status(err.code);
	}
	if (worst == VT_CHECK_NO)
		return vt_errc_exit_status(VT_E_IO);
	return worst == VT_CHECK_LIMITED && options.strict ? vt_errc_exit_status(VT_E_FINDING) : 0;
}
