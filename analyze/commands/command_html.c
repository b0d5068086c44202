/* command_html.c - vramtrace html: a trace as one page that opens anywhere. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/commands/command.h"
#include "analyze/commands/export_flame.h"
#include "analyze/commands/options.h"
#include "analyze/page/page.h"
#include "schema/base/cleanup.h"
#include "schema/base/format.h"

#define MAX_BYTES_DEFAULT (UINT64_C(15) << 20)

static const struct vt_usage usage = {
	.command = "html",
	.operands = "FILE",
	.summary = "Writes one HTML file that shows a trace in any browser, without a network: fit for a mail.",
	.details = "Memory over time, stacked by category, op, module or line; zoom in, point at a moment and see who "
		   "holds\n"
		   "what, what lies in the segments, and the story of each large block; flame graph, steps, "
		   "out-of-memory\n"
		   "errors, findings. The file takes at most --max-size (15M): of a long trace it has less detail, and "
		   "says\n"
		   "so. --at is the moment of the flame graph's live memory (the peak).\n\n"
		   "Examples:\n"
		   "  vramtrace html run.vramtrace                    writes run.html\n"
		   "  vramtrace html --max-size 4M -o small.html run.vramtrace",
};

/* run.vramtrace becomes run.html, in the same place. */
static void default_name(const char *path, char *name, size_t room)
{
	static const char own[] = ".vramtrace";
	size_t length = strlen(path);

	if (length > sizeof(own) - 1 && !strcmp(path + length - (sizeof(own) - 1), own))
		length -= sizeof(own) - 1;
	(void)snprintf(name, room, "%.*s.html", (int)length, path);
}

static int run(const struct vt_page_options *options, const char *output, struct vt_err *err)
{
	VT_CLEANUP(vt_close_output) FILE *out = NULL;
	char name[4096], bytes[VT_FORMAT_MAX];
	struct stat info;
	int r;

	if (!output) {
		default_name(options->path, name, sizeof(name));
		output = name;
	}
	if (!strcmp(output, "-") && isatty(STDOUT_FILENO))
		return vt_err_set(err, VT_E_USAGE, "a page is not for a terminal: give -o FILE");
	r = vt_open_output(output, &out, err);
	if (!r)
		r = vt_page_write(out, options, err);
	if (!r && fflush(out) != 0)
		r = vt_err_set(err, VT_E_IO, "%s: cannot be written: %s", output, strerror(errno));
	if (!r && out != stdout && !options->common->quiet && !fstat(fileno(out), &info))
		(void)fprintf(stderr, "%s: %s; open it in a browser\n", output,
			      vt_format_bytes(bytes, (uint64_t)info.st_size));
	return r;
}

int vt_command_html(int argc, char **argv)
{
	struct vt_common_options common;
	const char *output = NULL;
	uint64_t max_bytes = MAX_BYTES_DEFAULT;
	const struct vt_option own[] = {
		{ "output", 'o', VT_OPTION_STRING, &output, "FILE", "where to (FILE.html); - is standard output" },
		{ "max-size", 0, VT_OPTION_BYTES, &max_bytes, "BYTES", "how large it may become (15M)" },
		{ 0 },
	};
	struct vt_err err = { .code = VT_E_OK };
	struct vt_page_options options = { .common = &common };
	int operand, r = vt_options_parse(&usage, own, &common, argc, argv, &operand, &err);

	if (r > 0)
		return 0;
	options.max_bytes = max_bytes;
	if (!r)
		r = vt_session_operand(argc, argv, operand, &err);
	if (!r) {
		options.path = argv[operand];
		r = run(&options, output, &err);
	}
	return r < 0 ? vt_command_fail(usage.command, &err) : 0;
}
