/* export_perfetto.c - see export_perfetto.h. */
#include "analyze/commands/export_perfetto.h"

#include <errno.h>
#include <string.h>

#include "analyze/page/page.h"
#include "schema/base/cleanup.h"

#define BINS_NORMAL 8192
#define BINS_FULL 32768
#define BINS_LEAST 256

/* One try. */
struct attempt {
	enum vt_pf_detail detail;
	bool coarse;
	uint64_t bins;
};

static void close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

/* 1: larger than asked for. */
static int try(struct vt_session *session, FILE *out, const struct vt_perfetto_request *request,
	       const struct attempt *attempt, struct vt_perfetto_result *ret, struct vt_err *err)
{
	VT_CLEANUP(vt_page_done) struct vt_page page = { .session = session };
	struct vt_pf_options options = { .cursor = request->cursor,
					 .detail = attempt->detail,
					 .coarse = attempt->coarse,
					 .max_bytes = request->max_bytes };
	struct vt_pf_summary summary = { 0 };
	int r = attempt->detail != VT_PF_LOW || attempt->coarse ? vt_page_gather(&page, attempt->bins, err) : 0;

	if (attempt->detail != VT_PF_LOW || attempt->coarse)
		options.page = &page;
	if (!r)
		r = vt_perfetto_export(out, session->store, session->symbols, &options, &summary, err);
	*ret = (struct vt_perfetto_result){ summary.bytes, attempt->detail, attempt->coarse };
	return summary.exceeded ? 1 : r;
}

/* What is tried next where the last one was too large; false: there is nothing less. */
static bool lessen(struct attempt *attempt)
{
	if (attempt->coarse) {
		attempt->bins /= 2;
		return attempt->bins >= BINS_LEAST;
	}
	if (attempt->detail == VT_PF_LOW)
		attempt->coarse = true;
	else
		attempt->detail = attempt->detail == VT_PF_FULL ? VT_PF_NORMAL : VT_PF_LOW;
	attempt->bins = BINS_NORMAL;
	return true;
}

static int copy(FILE *from, FILE *to, struct vt_err *err)
{
	char part[1 << 16];
	size_t n;

	rewind(from);
	while ((n = fread(part, 1, sizeof(part), from)) > 0)
		if (fwrite(part, 1, n, to) != n)
			break;
	return ferror(from) || ferror(to) || fflush(to)
		       ? vt_err_set(err, VT_E_IO, "the Perfetto trace cannot be written: %s", strerror(errno))
		       : 0;
}

int vt_export_perfetto(struct vt_session *session, FILE *out, const struct vt_perfetto_request *request,
		       struct vt_perfetto_result *ret, struct vt_err *err)
{
	struct attempt attempt = { .detail = request->detail,
				   .bins = request->detail == VT_PF_FULL ? BINS_FULL : BINS_NORMAL };
	int r;

	if (!request->max_bytes)
		return try(session, out, request, &attempt, ret, err);
	do {
		VT_CLEANUP(close_file) FILE *file = tmpfile();

		if (!file)
			return vt_err_set(err, VT_E_IO, "no temporary file: %s (TMPDIR chooses where)",
					  strerror(errno));
		r = try(session, file, request, &attempt, ret, err);
		if (!r)
			return copy(file, out, err);
	} while (r > 0 && lessen(&attempt));
	return r < 0 ? r
		     : vt_err_set(
			       err, VT_E_USAGE,
			       "even the least detail takes more than --max-size; choose a part with --from, --to or "
			       "--process");
}
