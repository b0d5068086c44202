/* export_flame.c - see export_flame.h. */
#include "analyze/commands/export_flame.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyze/flame/flame.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

static const struct {
	const char *name;
	int (*write)(const struct vt_flame *flame, FILE *out, enum vt_flame_weight weight, struct vt_err *err);
	bool binary;
} formats[] = {
	{ "folded", vt_flame_folded, false },
	{ "speedscope", vt_flame_speedscope, false },
	{ "pprof", vt_flame_pprof, true },
};

static size_t find(const char *format)
{
	size_t i = 0;

	while (i < VT_ARRAY_SIZE(formats) && strcmp(formats[i].name, format) != 0)
		i++;
	return i;
}

bool vt_is_flame_format(const char *format)
{
	return find(format) < VT_ARRAY_SIZE(formats);
}

int vt_export_flame(const char *path, const struct vt_common_options *options, const struct vt_flame_request *request,
		    struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	VT_CLEANUP(vt_flame_done) struct vt_flame flame = { .session = NULL };
	VT_CLEANUP(vt_close_output) FILE *out = NULL;
	enum vt_flame_weight weight = VT_FLAME_LIVE;
	size_t format = find(request->format);
	int r = request->what ? vt_flame_weight_parse(request->what, &weight, err) : 0;

	if (r == 0 && weight != VT_FLAME_LIVE && options->at)
		r = vt_err_set(err, VT_E_USAGE, "--at is a moment, --what %s the whole run: give one of them",
			       request->what);
	if (r == 0 && formats[format].binary && !request->output && isatty(STDOUT_FILENO))
		r = vt_err_set(err, VT_E_USAGE, "a %s profile is not for a terminal: give -o FILE", request->format);
	if (r == 0)
		r = vt_session_open(&session, path, options, "peak", err);
	if (r == 0)
		r = vt_flame_run(&flame, &session, options->quiet, err);
	if (r == 0)
		r = vt_open_output(request->output, &out, err);
	if (r == 0)
		r = formats[format].write(&flame, out, weight, err);
	if (r == 0 && fflush(out) != 0)
		r = vt_err_set(err, VT_E_IO, "%s: cannot be written: %s",
			       request->output ? request->output : "standard output", strerror(errno));
	return r;
}
