/* options.c - see options.h. */
#include "capture/launch/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"

/* Longer than any machine runs; in nanoseconds it still fits. */
#define SECONDS_MAX 1e9

/* Values of getopt_long for options without a letter. */
enum {
	OPT_FORCE = 256,
	OPT_HOST,
	OPT_STACKS,
	OPT_OPS,
	OPT_KERNELS,
	OPT_NO_CUPTI,
	OPT_GRACE,
	OPT_START_AFTER,
	OPT_DURATION,
	OPT_KEEP_SESSION,
	OPT_SESSION,
};

static const char record_help[] =
	"vramtrace record: run a program and write down what happens to its GPU memory\n"
	"\n"
	"  vramtrace record [options] [--] PROGRAM [ARGUMENTS]\n"
	"\n"
	"The program runs as it would by itself: terminal, signals and exit status are its own.\n"
	"Its child processes are recorded too, into the same file.\n"
	"\n"
	"  -o, --output FILE    the trace (default: vramtrace-<program>-<pid>.vramtrace)\n"
	"      --force          replace FILE if it is a trace already\n"
	"      --host           CPU tensors too: works on a machine without a GPU\n"
	"      --stacks WHAT    Python line of each allocation: python (default) or none\n"
	"      --ops on|off     which op allocates (default: on)\n"
	"      --kernels on|off kernels, copies and waits on the device (default: off)\n"
	"      --no-cupti       do not record driver calls (cuMemAlloc, ...)\n"
	"      --start-after T  record nothing in the first T of the run: 90s, 10m, 1.5h\n"
	"      --duration T     record for T, then let the program run on unrecorded\n"
	"      --grace SECONDS  follow processes that outlive the program this long (default: 5)\n"
	"      --keep-session   keep the session directory when done\n"
	"  -q, --quiet          no summary at the end\n"
	"  -h, --help           this text\n"
	"\n"
	"Examples\n"
	"  vramtrace record python train.py --epochs 1\n"
	"      records a training; then `vramtrace report vramtrace-python-<pid>.vramtrace` explains it\n"
	"  vramtrace record -o run.vramtrace -- torchrun --nproc-per-node 8 train.py\n"
	"      all ranks in one file\n"
	"  vramtrace record --host python -c 'import torch; torch.randn(1000, 1000) @ torch.randn(1000, 1000)'\n"
	"      no GPU needed\n"
	"  vramtrace record --stacks none --ops off -o light.vramtrace -- ./my_cuda_program\n"
	"      the least that capture can cost\n"
	"\n"
	"If the program runs out of memory, `vramtrace oom FILE` says what happened and what to do.\n"
	"Exit status: the program's (128 + n when signal n ended it); 127 not found, 126 cannot be run,\n"
	"2 wrong usage, 4 recording could not start.\n";

static const char collect_help[] =
	"vramtrace collect: go on where a killed `vramtrace record` stopped\n"
	"\n"
	"  vramtrace collect --session DIRECTORY -o FILE [options]\n"
	"\n"
	"The recorded program does not notice when its recorder dies; what it goes on to do waits in the\n"
	"session directory (/dev/shm/vramtrace-<uid>-...). This moves it into the trace, nothing lost or\n"
	"twice, and stays until the program has ended.\n"
	"\n"
	"      --session DIR    the session directory\n"
	"  -o, --output FILE    the trace of that recording; made if there is none\n"
	"      --keep-session   keep the session directory when done\n"
	"  -q, --quiet          no summary at the end\n"
	"  -h, --help           this text\n"
	"\n"
	"Example\n"
	"  vramtrace collect --session /dev/shm/vramtrace-1000-Xb3k2P -o run.vramtrace\n";

static int usage_error(struct vt_err *err, const char *command, const char *what, const char *detail)
{
	return vt_err_set(err, VT_E_USAGE, "%s%s; see `vramtrace %s --help`", what, detail, command);
}

/* After getopt_long gave '?' or ':': names the option as it was typed. */
static int option_error(struct vt_err *err, const char *command, int code, char **argv)
{
	char letter[3] = { '-', (char)optopt, '\0' };
	const char *name = optopt && optopt < OPT_FORCE ? letter : argv[optind - 1];

	return usage_error(err, command, code == ':' ? "a value is missing behind " : "wrong option ", name);
}

static int parse_choice(const char *value, const char *yes, const char *no, bool *ret)
{
	if (strcmp(value, yes) != 0 && strcmp(value, no) != 0)
		return -VT_E_USAGE;
	*ret = strcmp(value, yes) == 0;
	return 0;
}

/* A time such as 90s, 10m, 1.5h; without a unit, seconds. */
static int parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 }
	};
	char *end = NULL;
	double seconds, unit = 0;

	errno = 0;
	seconds = strtod(text, &end);
	for (size_t i = 0; i < VT_ARRAY_SIZE(units); i++)
		if (strcmp(end, units[i].name) == 0)
			unit = units[i].seconds;
	if (errno || end == text || unit == 0 || !isfinite(seconds) || seconds < 0)
		return -VT_E_USAGE;
	*ret_ns = (uint64_t)(fmin(seconds * unit, SECONDS_MAX) * 1e9);
	return 0;
}

/* An option of record that has a value. */
static int take_record_value(struct vt_record_options *options, int code, const char *value, struct vt_err *err)
{
	bool python;

	switch (code) {
	case OPT_STACKS:
		if (parse_choice(value, "python", "none", &python) < 0)
			return usage_error(err, "record", "--stacks is python or none, not ", value);
		options->stacks = value;
		return 0;
	case OPT_OPS:
		if (parse_choice(value, "on", "off", &options->ops) < 0)
			return usage_error(err, "record", "--ops is on or off, not ", value);
		return 0;
	case OPT_KERNELS:
		if (parse_choice(value, "on", "off", &options->kernels) < 0)
			return usage_error(err, "record", "--kernels is on or off, not ", value);
		return 0;
	case OPT_GRACE:
		if (parse_time(value, &options->grace_ns) < 0)
			return usage_error(err, "record", "--grace is a number of seconds, not ", value);
		return 0;
	case OPT_START_AFTER:
		if (parse_time(value, &options->start_after_ns) < 0)
			return usage_error(err, "record", "--start-after is a time such as 90s or 10m, not ", value);
		return 0;
	case OPT_DURATION:
		if (parse_time(value, &options->duration_ns) < 0 || options->duration_ns == 0)
			return usage_error(err, "record", "--duration is a time such as 90s or 10m, not ", value);
		return 0;
	default:
		options->output = value;
		return *value ? 0 : usage_error(err, "record", "the name behind -o is empty", "");
	}
}

/* 0, 1 for help, or an error. */
static int take_record_option(struct vt_record_options *options, int code, char **argv, struct vt_err *err)
{
	switch (code) {
	case 'h':
		(void)fputs(record_help, stdout);
		return 1;
	case 'q':
		options->quiet = true;
		return 0;
	case OPT_FORCE:
		options->force = true;
		return 0;
	case OPT_HOST:
		options->host = true;
		return 0;
	case OPT_NO_CUPTI:
		options->cupti = false;
		return 0;
	case OPT_KEEP_SESSION:
		options->keep_session = true;
		return 0;
	case '?':
	case ':':
		return option_error(err, "record", code, argv);
	default:
		return take_record_value(options, code, optarg, err);
	}
}

int vt_record_options_parse(struct vt_record_options *ret, int argc, char **argv, struct vt_err *err)
{
	static const struct option names[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "force", no_argument, NULL, OPT_FORCE },
		{ "host", no_argument, NULL, OPT_HOST },
		{ "stacks", required_argument, NULL, OPT_STACKS },
		{ "ops", required_argument, NULL, OPT_OPS },
		{ "kernels", required_argument, NULL, OPT_KERNELS },
		{ "no-cupti", no_argument, NULL, OPT_NO_CUPTI },
		{ "grace", required_argument, NULL, OPT_GRACE },
		{ "start-after", required_argument, NULL, OPT_START_AFTER },
		{ "duration", required_argument, NULL, OPT_DURATION },
		{ "keep-session", no_argument, NULL, OPT_KEEP_SESSION },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct vt_record_options options = { .stacks = "python", .ops = true, .cupti = true, .grace_ns = 5000000000u };
	int code;

	optind = 0;
	/* '+': the program's own options are not ours; ':': errors are told by us. */
	while ((code = getopt_long(argc, argv, "+:o:qh", names, NULL)) != -1) {
		int r = take_record_option(&options, code, argv, err);

		if (r != 0)
			return r;
	}
	if (optind >= argc)
		return usage_error(err, "record", "which program is to be run?", "");
	options.program = argv + optind;
	*ret = options;
	return 0;
}

static int take_collect_option(struct vt_collect_options *options, int code, char **argv, struct vt_err *err)
{
	switch (code) {
	case 'h':
		(void)fputs(collect_help, stdout);
		return 1;
	case 'q':
		options->quiet = true;
		return 0;
	case 'o':
		options->output = optarg;
		return 0;
	case OPT_SESSION:
		options->session = optarg;
		return 0;
	case OPT_KEEP_SESSION:
		options->keep_session = true;
		return 0;
	default:
		return option_error(err, "collect", code, argv);
	}
}

int vt_collect_options_parse(struct vt_collect_options *ret, int argc, char **argv, struct vt_err *err)
{
	static const struct option names[] = {
		{ "session", required_argument, NULL, OPT_SESSION },
		{ "output", required_argument, NULL, 'o' },
		{ "keep-session", no_argument, NULL, OPT_KEEP_SESSION },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct vt_collect_options options = { 0 };
	int code;

	optind = 0;
	while ((code = getopt_long(argc, argv, ":o:qh", names, NULL)) != -1) {
		int r = take_collect_option(&options, code, argv, err);

		if (r != 0)
			return r;
	}
	if (!options.session || !options.output || optind < argc)
		return usage_error(err, "collect", "--session DIRECTORY and -o FILE are needed, and nothing else", "");
	*ret = options;
	return 0;
}
