/* summary.c - see summary.h. */
#include "capture/launch/summary.h"

#include <stdbool.h>
#include <string.h>

#include "capture/collector/quote.h"
#include "schema/base/cleanup.h"
#include "schema/base/format.h"
#include "schema/store.h"

struct totals {
	uint64_t events;
	uint64_t ooms;
	uint64_t processes;
	uint64_t lost[VT_loss_END];
};

static int count_chunk(void *arg, const struct vt_chunk_info *info)
{
	((struct totals *)arg)->events += info->events;
	return 0;
}

static int count_oom(void *arg, uint32_t process, const struct vt_rec *rec)
{
	(void)process;
	(void)rec;
	((struct totals *)arg)->ooms++;
	return 0;
}

static int count_process(void *arg, const struct vt_process_row *row)
{
	(void)row;
	((struct totals *)arg)->processes++;
	return 0;
}

static int count_loss(void *arg, const struct vt_loss_row *row)
{
	if (row->kind < VT_loss_END)
		((struct totals *)arg)->lost[row->kind] += row->count;
	return 0;
}

static void close_storep(struct vt_store **store)
{
	vt_store_close(*store);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_losses(FILE *out, const struct totals *totals)
{
	char number[VT_FORMAT_MAX];
	bool any = false;

	for (unsigned kind = 0; kind < VT_loss_END; kind++) {
		if (!totals->lost[kind])
			continue;
		(void)fprintf(out, "%s%s (%s)",
			      any ? ", " : "  not recorded: ", vt_format_count(number, totals->lost[kind]),
			      vt_enum_text("loss", (int64_t)kind));
		any = true;
	}
	(void)fputs(any ? "\n" : "  nothing lost\n", out);
}

static void print_totals(FILE *out, const struct totals *totals, const char *path, uint64_t file_bytes)
{
	char size[VT_FORMAT_MAX], events[VT_FORMAT_MAX];

	(void)fprintf(out, "vramtrace: %s, %s: %s event%s of %llu process%s\n", path, vt_format_bytes(size, file_bytes),
		      vt_format_count(events, totals->events), plural(totals->events),
		      (unsigned long long)totals->processes, totals->processes == 1 ? "" : "es");
	if (totals->processes == 0)
		(void)fputs("  nothing was captured: no process used CUDA or PyTorch (CPU tensors: --host)\n", out);
	else
		print_losses(out, totals);
}

int vt_summary_print(FILE *out, const char *path, uint32_t still_running, struct vt_err *err)
{
	VT_CLEANUP(close_storep) struct vt_store *store = NULL;
	VT_CLEANUP(vt_buf_done) struct vt_buf quoted = { 0 };
	struct totals totals = { 0 };
	const char *name;
	int r = vt_store_open(&store, path, err);

	if (r == 0)
		r = vt_store_each_chunk(store, count_chunk, &totals, err);
	if (r == 0)
		r = vt_store_each_process(store, count_process, &totals, err);
	if (r == 0)
		r = vt_store_each_loss(store, count_loss, &totals, err);
	if (r == 0)
		r = vt_store_each_record(store, vt_event_find(VT_EVENT_oom), count_oom, &totals, err);
	if (r < 0)
		return r;
	if (vt_quote_command(path, strlen(path), &quoted) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a file name");
	name = (const char *)quoted.data;
	if (totals.ooms)
		(void)fprintf(out, "vramtrace: %llu out-of-memory error%s: run `vramtrace oom %s`\n",
			      (unsigned long long)totals.ooms, plural(totals.ooms), name);
	print_totals(out, &totals, path, vt_store_file_bytes(store));
	if (still_running)
		(void)fprintf(out, "  %u process%s ran on: the trace holds what they did until now\n", still_running,
			      still_running == 1 ? "" : "es");
	if (totals.processes)
		(void)fprintf(out, "  next: `vramtrace report %s`\n", name);
	return 0;
}
