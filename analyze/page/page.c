/* page.c - see page.h: the passes, and the file around their result. */
#include "analyze/page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/gzip.h"
#include "analyze/page/page_assets.h"
#include "analyze/views/fragmentation.h"
#include "analyze/views/oom.h"
#include "analyze/views/report.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"

#define BINS_MOST 32768
#define BINS_LEAST 512
#define BLOCKS_MOST 5000
/* A silence is this part of the trace. */
#define SILENCE_PARTS 1024
#define ROWS 100 /* of tables in the reports' JSON */
#define FRAGMENTATION_ROWS 10
#define RECORD_SEPARATOR '\x1e'

void vt_page_done(struct vt_page *page)
{
	vt_page_bins_done(&page->bins);
	vt_page_series_done(&page->series);
	vt_page_blocks_done(&page->blocks);
	vt_page_touches_done(&page->touches);
	vt_page_steps_done(&page->steps);
	vt_page_space_done(&page->space);
	vt_flame_done(&page->flame);
	vt_attribution_free(page->attribution);
	vt_segments_free(page->segments);
	*page = (struct vt_page){ .session = NULL };
}

/* ---------------------------------------------------------------- how much there is */

struct extent {
	uint32_t process; /* 0: all */
	uint64_t events;
	uint64_t first_ns, last_ns;
};

static int take_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct extent *extent = arg;

	if (extent->process && info->process != extent->process)
		return 0;
	if (info->kind != VT_EVENT_tensor && info->kind != VT_EVENT_driver_memory &&
	    info->kind != VT_EVENT_device_sample)
		return 0;
	extent->events += info->events;
	extent->first_ns = info->first_ns < extent->first_ns ? info->first_ns : extent->first_ns;
	extent->last_ns = info->last_ns > extent->last_ns ? info->last_ns : extent->last_ns;
	return 0;
}

static int plan(struct vt_page *page, uint64_t bins, struct vt_err *err)
{
	struct extent extent = { .process = page->session->process, .first_ns = UINT64_MAX };
	uint64_t span_ns;
	int r = vt_store_each_chunk(page->session->store, take_chunk, &extent, err);

	span_ns = extent.last_ns > extent.first_ns ? extent.last_ns - extent.first_ns : 0;
	page->last_ns = extent.last_ns;
	page->bins.events_per_bin = (extent.events + bins - 1) / bins;
	page->bins.events_per_bin += !page->bins.events_per_bin;
	page->bins.silence_ns = span_ns / SILENCE_PARTS + 1;
	page->blocks.most = (size_t)(BLOCKS_MOST * bins / BINS_MOST);
	return r;
}

/* ---------------------------------------------------------------- the passes */

/* A pass with a replay of its own, which the session keeps until the next one. */
static int run_pass(struct vt_page *page, const struct vt_listener *listeners, size_t nlisteners, const uint32_t *kinds,
		    uint32_t nkinds, struct vt_err *err)
{
	const struct vt_cursor_options options = { .kinds = kinds,
						   .nkinds = nkinds,
						   .process = page->session->process };
	struct vt_replay *replay = NULL;
	struct vt_cursor *cursor = NULL;
	int r = vt_replay_new(&replay, err);

	vt_replay_free(page->session->replay);
	page->session->replay = replay;
	for (size_t i = 0; i < nlisteners && !r; i++)
		r = vt_replay_add(replay, &listeners[i], err);
	if (!r)
		r = vt_cursor_open(&cursor, page->session->store, &options, err);
	if (!r)
		r = vt_replay_run(replay, cursor, err);
	vt_cursor_close(cursor);
	return r;
}

static int first_pass(struct vt_page *page, struct vt_err *err)
{
	static const uint32_t kinds[] = { VT_EVENT_tensor, VT_EVENT_driver_memory, VT_EVENT_device_sample, VT_EVENT_oom,
					  VT_EVENT_note };
	const struct vt_listener listeners[] = { vt_page_bins_listener(&page->bins),
						 vt_page_series_scout(&page->series) };
	int r = run_pass(page, listeners, VT_ARRAY_SIZE(listeners), kinds, VT_ARRAY_SIZE(kinds), err);

	return r ? r : vt_page_series_choose(&page->series, err);
}

static int on_attributed(void *self, const struct vt_attributed *block, struct vt_err *err)
{
	struct vt_page *page = self;
	int r = vt_page_series_add(&page->series, block, err);

	if (!r)
		r = vt_flame_add_run(&page->flame, block, err);
	if (!r && vt_session_wants(page->session, block->device) &&
	    vt_page_blocks_add(&page->blocks, block, page->last_ns) < 0)
		r = vt_err_set(err, VT_E_NOMEM, "no memory for the blocks of the page");
	return r;
}

static int second_pass(struct vt_page *page, struct vt_err *err)
{
	const uint64_t until_ns = page->session->until_ns ? page->session->until_ns : UINT64_MAX;
	static const uint32_t kinds[] = { VT_EVENT_tensor, VT_EVENT_driver_memory, VT_EVENT_device_sample,
					  VT_EVENT_oom,	   VT_EVENT_note,	   VT_EVENT_op,
					  VT_EVENT_mark };
	struct vt_listener listener;
	int r = vt_attribution_new(&page->attribution, page->session->symbols, err);

	if (r < 0)
		return r;
	vt_attribution_each(page->attribution, on_attributed, page);
	if (page->session->moment == VT_MOMENT_NOW)
		r = vt_attribution_mark_at(page->attribution, until_ns, &page->mark, err);
	listener = vt_attribution_listener(page->attribution);
	if (!r)
		r = run_pass(page, &listener, 1, kinds, VT_ARRAY_SIZE(kinds), err);
	if (!r)
		r = vt_flame_add_live(&page->flame, page->attribution, page->mark, err);
	return r ? r : vt_page_blocks_finish(&page->blocks, err);
}

static int third_pass(struct vt_page *page, struct vt_err *err)
{
	static const uint32_t kinds[] = { VT_EVENT_tensor, VT_EVENT_driver_memory, VT_EVENT_device_sample, VT_EVENT_oom,
					  VT_EVENT_note,   VT_EVENT_launch,	   VT_EVENT_kernel };
	int r = vt_segments_new(&page->segments, err);

	page->space.bins = &page->bins;
	page->space.of = page->segments;
	page->steps.attribution = page->attribution;
	page->touches.blocks = &page->blocks;
	if (!r)
		r = vt_page_touches_begin(&page->touches, page->session->store, err);
	if (!r) {
		const struct vt_listener listeners[] = { vt_segments_listener(page->segments),
							 vt_page_space_listener(&page->space),
							 vt_page_steps_listener(&page->steps),
							 vt_page_touches_listener(&page->touches) };

		r = run_pass(page, listeners, VT_ARRAY_SIZE(listeners), kinds, VT_ARRAY_SIZE(kinds), err);
	}
	return r;
}

int vt_page_gather(struct vt_page *page, uint64_t bins, struct vt_err *err)
{
	int r = plan(page, bins, err);

	page->series.session = page->session;
	page->series.bins = &page->bins;
	page->flame.session = page->session;
	if (!r)
		r = first_pass(page, err);
	if (!r)
		r = second_pass(page, err);
	if (!r && page->last_ns < vt_replay_last_ns(page->session->replay))
		page->last_ns = vt_replay_last_ns(page->session->replay);
	return r ? r : third_pass(page, err);
}

/* ---------------------------------------------------------------- the other reports' JSON */

static int put_report(const struct vt_page_options *options, FILE *out, struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	VT_CLEANUP(vt_report_done) struct vt_report report = { .session = NULL };
	int r = vt_session_open(&session, options->path, options->common, "peak", err);

	if (!r)
		r = vt_report_run(&report, &session, true, err);
	return r ? r : vt_report_json(&report, out, ROWS, err);
}

static int put_oom(const struct vt_page_options *options, FILE *out, struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	VT_CLEANUP(vt_oom_report_done) struct vt_oom_report report = { .session = NULL };
	struct vt_common_options common = *options->common;
	int r;

	common.at = NULL;
	r = vt_session_open(&session, options->path, &common, "end", err);
	if (!r)
		r = vt_oom_report_run(&report, &session, true, err);
	return r ? r : vt_oom_report_json(&report, out, ROWS, err);
}

static int put_fragmentation(const struct vt_page_options *options, FILE *out, struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	VT_CLEANUP(vt_fragmentation_done) struct vt_fragmentation report = { .session = NULL };
	int r = vt_session_open(&session, options->path, options->common, "peak", err);

	if (!r)
		r = vt_fragmentation_run(&report, &session, options->common->at, true, err);
	return r ? r : vt_fragmentation_json(&report, out, FRAGMENTATION_ROWS, err);
}

static int put_data(struct vt_page *page, const struct vt_page_options *options, FILE *out, struct vt_err *err)
{
	int r = vt_page_json(page, out, err);

	(void)putc(RECORD_SEPARATOR, out);
	if (!r)
		r = put_report(options, out, err);
	(void)putc(RECORD_SEPARATOR, out);
	if (!r)
		r = put_oom(options, out, err);
	(void)putc(RECORD_SEPARATOR, out);
	return r ? r : put_fragmentation(options, out, err);
}

/* ---------------------------------------------------------------- the file */

static void put_base64(FILE *out, const uint8_t *data, size_t bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t at = 0; at < bytes; at += 3) {
		size_t left = bytes - at;
		uint32_t word = (uint32_t)data[at] << 16 | (left > 1 ? (uint32_t)data[at + 1] << 8 : 0) |
				(left > 2 ? data[at + 2] : 0);
		char four[4] = { digits[word >> 18], digits[word >> 12 & 63], digits[word >> 6 & 63],
				 digits[word & 63] };

		if (left < 2)
			four[2] = '=';
		if (left < 3)
			four[3] = '=';
		(void)fwrite(four, 1, sizeof(four), out);
	}
}

static int put_file(FILE *out, const struct vt_buf *packed, struct vt_err *err)
{
	for (const struct vt_page_asset *asset = vt_page_assets; asset->before; asset++) {
		(void)fputs(asset->before, out);
		if (asset->is_data)
			put_base64(out, packed->data, packed->bytes);
		else if (asset->bytes)
			(void)fwrite(asset->data, 1, *asset->bytes, out);
	}
	return ferror(out) ? vt_err_set(err, VT_E_IO, "the page cannot be written: %s", strerror(errno)) : 0;
}

static uint64_t file_bytes(const struct vt_buf *packed)
{
	uint64_t bytes = 4 * ((packed->bytes + 2) / 3);

	for (const struct vt_page_asset *asset = vt_page_assets; asset->before; asset++)
		bytes += strlen(asset->before) + (asset->bytes ? *asset->bytes : 0);
	return bytes;
}

/* One try with so many bins; *ret is the data, packed. */
static int build(const struct vt_page_options *options, uint64_t bins, struct vt_buf *ret, struct vt_err *err)
{
	VT_CLEANUP(vt_session_done) struct vt_session session = { .store = NULL };
	VT_CLEANUP(vt_page_done) struct vt_page page = { .session = &session };
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	int r;

	if (!memory)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the page");
	r = vt_session_open(&session, options->path, options->common, "peak", err);
	if (!r)
		r = vt_page_gather(&page, bins, err);
	if (!r)
		r = put_data(&page, options, memory, err);
	if (fclose(memory) != 0 && !r)
		r = vt_err_set(err, VT_E_NOMEM, "no memory for the page");
	if (!r)
		r = vt_gzip(text, bytes, ret, err);
	free(text);
	return r;
}

int vt_page_write(FILE *out, const struct vt_page_options *options, struct vt_err *err)
{
	VT_CLEANUP(vt_buf_done) struct vt_buf packed = { .data = NULL };
	uint64_t bins = BINS_MOST, tried = bins;
	int r = build(options, bins, &packed, err);

	while (!r && file_bytes(&packed) > options->max_bytes && bins > BINS_LEAST) {
		/* The file grows about as the bins do. */
		do
			bins /= 2;
		while (bins > BINS_LEAST && file_bytes(&packed) / tried * bins > options->max_bytes);
		tried = bins;
		vt_buf_clear(&packed);
		r = build(options, bins, &packed, err);
	}
	if (!r && file_bytes(&packed) > options->max_bytes)
		r = vt_err_set(
			err, VT_E_USAGE,
			"the page takes %zu KiB at its least: raise --max-size, or choose with --process and --device",
			(size_t)(file_bytes(&packed) >> 10));
	return r ? r : put_file(out, &packed, err);
}
