/* fragmentation_print.c - see fragmentation.h: the report for people. */
#include <inttypes.h>

#include "analyze/render/losses.h"
#include "analyze/views/fragmentation.h"
#include "analyze/views/place.h"

static void print_head(const struct vt_fragmentation *report, const struct vt_screen *screen,
		       const struct vt_fragmentation_moment *moment)
{
	char at[VT_FORMAT_MAX];
	const char *what = moment->when == VT_FRAGMENTATION_PEAK  ? "At the peak of what is allocated"
			   : moment->when == VT_FRAGMENTATION_OOM ? "At the out-of-memory error"
								  : "At the moment asked for";

	vt_session_print_device(report->session, screen, moment->device);
	vt_screen_text(screen, 0, "%s, %s after the start.", what,
		       vt_session_time(report->session, at, moment->time_ns));
}

static int print_pools(const struct vt_screen *screen, const struct vt_space *space)
{
	struct vt_table *table = vt_table_new();
	char text[VT_FORMAT_MAX];

	vt_table_column(table, "Pool", VT_ALIGN_LEFT, false);
	vt_table_column(table, "Segments", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Bytes", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Free", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Pinned", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Ranges", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Largest", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Fragm.", VT_ALIGN_RIGHT, false);
	for (unsigned i = 2; i-- > 0;) {
		const struct vt_space_pool *pool = &space->pools[i];

		vt_table_cell(table, "%s", vt_fragmentation_pool_name(i));
		vt_table_cell(table, "%s", vt_format_count(text, pool->segments));
		vt_table_cell(table, "%s", vt_format_bytes(text, pool->segment_bytes));
		vt_table_cell(table, "%s", vt_format_bytes(text, pool->free_bytes));
		vt_table_cell(table, "%s", vt_format_bytes(text, vt_space_pinned_bytes(pool)));
		vt_table_cell(table, "%s", vt_format_count(text, pool->free_ranges));
		vt_table_cell(table, "%s", vt_format_bytes(text, pool->largest_free_bytes));
		vt_table_cell(table, "%.0f%%", 100 * vt_space_fragmentation(pool));
	}
	return vt_table_print(table, screen);
}

static int print_classes(const struct vt_screen *screen, const struct vt_space *space)
{
	struct vt_table *table = vt_table_new();
	char text[VT_FORMAT_MAX], below[VT_FORMAT_MAX];

	vt_table_column(table, "Free ranges", VT_ALIGN_LEFT, false);
	vt_table_column(table, "In large", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Bytes", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "In small", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Bytes", VT_ALIGN_RIGHT, false);
	for (unsigned i = 0; i < VT_SPACE_CLASSES; i++) {
		if (!space->pools[0].class_ranges[i] && !space->pools[1].class_ranges[i])
			continue;
		if (i + 1 < VT_SPACE_CLASSES)
			vt_table_cell(table, "below %s", vt_format_bytes(below, vt_space_class_below[i]));
		else
			vt_table_cell(table, "%s and more", vt_format_bytes(below, vt_space_class_below[i - 1]));
		for (unsigned pool = 2; pool-- > 0;) {
			vt_table_cell(table, "%s", vt_format_count(text, space->pools[pool].class_ranges[i]));
			vt_table_cell(table, "%s", vt_format_bytes(text, space->pools[pool].class_bytes[i]));
		}
	}
	return vt_table_print(table, screen);
}

static void block_columns(struct vt_table *table)
{
	vt_table_column(table, "Block", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Age", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Made by", VT_ALIGN_LEFT, true);
}

static void block_cells(const struct vt_fragmentation *report, const struct vt_fragmentation_moment *moment,
			struct vt_table *table, const struct vt_space_block *block)
{
	uint32_t process = vt_replay_device(report->session->replay, moment->device)->process;
	char text[VT_FORMAT_MAX], made_by[VT_PLACE_MAX];
	struct vt_place place;

	vt_place_find(report->session->symbols, process, block->op, block->stack, &place);
	vt_table_cell(table, "%s", vt_format_bytes(text, block->bytes));
	vt_table_cell(table, "%s", vt_format_ns(text, moment->time_ns - block->alloc_ns));
	vt_table_cell(table, "%s", vt_place_sentence(made_by, &place));
}

/* The largest block of a segment: of several small ones the one that matters most. */
static const struct vt_space_block *largest_block(const struct vt_space *space, const struct vt_space_segment *segment)
{
	const struct vt_space_block *best = &space->blocks[segment->first_block];

	for (size_t i = 1; i < segment->nblocks; i++)
		if (space->blocks[segment->first_block + i].bytes > best->bytes)
			best = &space->blocks[segment->first_block + i];
	return best;
}

static int print_pins(const struct vt_fragmentation *report, const struct vt_screen *screen,
		      const struct vt_fragmentation_moment *moment, uint64_t top)
{
	const struct vt_space *space = &moment->space;
	struct vt_table *table;
	char text[VT_FORMAT_MAX];
	int r;

	vt_screen_heading(screen, "What pins it: segments with most free bytes, and of each the largest live block");
	table = vt_table_new();
	vt_table_column(table, "Segment", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Free", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Live in", VT_ALIGN_RIGHT, false);
	block_columns(table);
	for (size_t i = 0; i < moment->npins && i < top; i++) {
		const struct vt_space_segment *segment = &space->segments[moment->pins[i].segment];

		vt_table_cell(table, "%s", vt_format_bytes(text, segment->bytes));
		vt_table_cell(table, "%s", vt_format_bytes(text, moment->pins[i].free_bytes));
		vt_table_cell(table, "%s", vt_format_count(text, segment->nblocks));
		block_cells(report, moment, table, largest_block(space, segment));
	}
	r = vt_table_print(table, screen);
	if (moment->npins > top)
		vt_screen_text(screen, 2, "(%s more segments)", vt_format_count(text, moment->npins - top));
	return r;
}

static int print_obstacles(const struct vt_fragmentation *report, const struct vt_screen *screen,
			   const struct vt_fragmentation_moment *moment, uint64_t top)
{
	const struct vt_obstacles *obstacles = &moment->obstacles;
	struct vt_table *table = vt_table_new();
	char text[VT_FORMAT_MAX];
	int r;

	vt_screen_heading(screen, "The blocks in the way");
	block_columns(table);
	for (size_t i = 0; i < obstacles->nblocks && i < top; i++)
		block_cells(report, moment, table, &moment->space.blocks[obstacles->blocks[i]]);
	r = vt_table_print(table, screen);
	if (obstacles->nblocks > top)
		vt_screen_text(screen, 2, "(%s more)", vt_format_count(text, obstacles->nblocks - top));
	return r;
}

static void print_sentence(const struct vt_screen *screen, const struct vt_fragmentation_moment *moment)
{
	bool small = moment->request.block_bytes <= VT_TORCH_SMALL_REQUEST;
	char sentence[VT_FRAGMENTATION_SENTENCE_MAX], request[VT_FORMAT_MAX];

	vt_screen_text(screen, 0, "%s", vt_fragmentation_sentence(sentence, moment));
	if (moment->when == VT_FRAGMENTATION_OOM)
		vt_screen_text(screen, 0, "%.0f%% of what is free in the %s segments lies in ranges below %s.",
			       100 * vt_space_unusable(&moment->space, small, moment->request.block_bytes),
			       small ? "small" : "large", vt_format_bytes(request, moment->request.block_bytes));
}

static int print_moment(const struct vt_fragmentation *report, const struct vt_screen *screen,
			const struct vt_fragmentation_moment *moment, uint64_t top)
{
	const struct vt_space *space = &moment->space;
	char count[VT_FORMAT_MAX], bytes[VT_FORMAT_MAX];
	int r = 0;

	print_head(report, screen, moment);
	if (!space->nsegments) {
		vt_screen_text(screen, 0,
			       "The segments are not in the trace (no driver calls were captured before this moment): "
			       "where blocks lie in them is not known.\n\n");
		return 0;
	}
	print_sentence(screen, moment);
	if (space->stray_blocks)
		vt_screen_text(screen, 0,
			       "%s blocks (%s) lie in no segment that was seen: some segments are older than the "
			       "capture.",
			       vt_format_count(count, space->stray_blocks), vt_format_bytes(bytes, space->stray_bytes));
	(void)putc('\n', screen->out);
	r = print_pools(screen, space);
	(void)putc('\n', screen->out);
	if (!r)
		r = print_classes(screen, space);
	(void)putc('\n', screen->out);
	vt_fragmentation_picture(screen, space);
	(void)putc('\n', screen->out);
	if (!r && moment->obstacles.nblocks) {
		r = print_obstacles(report, screen, moment, top);
		(void)putc('\n', screen->out);
	}
	if (!r && moment->npins) {
		r = print_pins(report, screen, moment, top);
		(void)putc('\n', screen->out);
	}
	return r;
}

int vt_fragmentation_print(const struct vt_fragmentation *report, const struct vt_screen *screen, uint64_t top,
			   struct vt_err *err)
{
	uint64_t told = 0;

	for (unsigned i = 0; i < report->nmoments; i++) {
		told += report->moments[i].when == VT_FRAGMENTATION_OOM;
		if (print_moment(report, screen, &report->moments[i], top) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	}
	if (!report->nmoments)
		vt_screen_text(screen, 0,
			       "No memory of a caching allocator on a device is in this trace: there are no segments.");
	else
		vt_screen_text(
			screen, 0,
			"Pinned: free, in segments with live blocks (memory_summary: Non-releasable). Fragm.: 1 - "
			"largest free range / free bytes. Blocks that wait for another stream look free.");
	if (report->wants_oom && report->ooms > told)
		vt_screen_text(screen, 0, "%" PRIu64 " more out-of-memory errors are not told.", report->ooms - told);
	return vt_losses_print(screen, report->session->store, err);
}
