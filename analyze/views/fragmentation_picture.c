/* fragmentation_picture.c - segments as bars: one cell stands for so many bytes, its height for what is live in it. */
#include <inttypes.h>

#include "analyze/views/fragmentation.h"
#include "schema/base/bits.h"

/* The large segments' cells take at most this many lines. */
#define LINES_MAX 12
#define INDENT 2

struct canvas {
	const struct vt_screen *screen;
	int used; /* columns of the line */
};

static void put(struct canvas *canvas, const char *mark)
{
	if (canvas->used == 0)
		(void)fprintf(canvas->screen->out, "%*s", INDENT, "");
	(void)fputs(mark, canvas->screen->out);
	if (++canvas->used == canvas->screen->width - INDENT) {
		(void)putc('\n', canvas->screen->out);
		canvas->used = 0;
	}
}

static const char *mark_of(const struct vt_screen *screen, uint64_t live, uint64_t bytes)
{
	static const char *const blocks[] = { "·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { "_", ".", ":", "-", "=", "+", "*", "%", "#" };
	size_t top = VT_ARRAY_SIZE(blocks) - 1, level;

	level = bytes ? (size_t)((double)live / (double)bytes * (double)top + 0.5) : 0;
	/* Something is never drawn as nothing, and not quite full never as full. */
	if (live && !level)
		level = 1;
	if (live < bytes && level == top)
		level = top - 1;
	return screen->unicode ? blocks[level] : ascii[level];
}

/* Live bytes of [start, end); *next is the first block that may lie in it. */
static uint64_t live_in(const struct vt_space *space, const struct vt_space_segment *segment, size_t *next,
			uint64_t start, uint64_t end)
{
	uint64_t live = 0;

	for (; *next < segment->first_block + segment->nblocks; ++*next) {
		const struct vt_space_block *block = &space->blocks[*next];
		uint64_t from = block->start > start ? block->start : start;
		uint64_t block_end = block->start + block->bytes, to = block_end < end ? block_end : end;

		if (block->start >= end)
			break;
		live += to > from ? to - from : 0;
		if (block_end > end)
			break;
	}
	return live;
}

static void draw_segment(struct canvas *canvas, const struct vt_space *space, const struct vt_space_segment *segment,
			 uint64_t cell)
{
	size_t next = segment->first_block;

	for (uint64_t at = 0; at < segment->bytes; at += cell) {
		uint64_t bytes = segment->bytes - at < cell ? segment->bytes - at : cell;
		uint64_t start = segment->start + at;

		put(canvas, mark_of(canvas->screen, live_in(space, segment, &next, start, start + bytes), bytes));
	}
}

/* Cells of all segments of a pool, with the marks between large ones; *ret_largest: of the largest one. */
static uint64_t count_cells(const struct vt_space *space, bool small, uint64_t cell, uint64_t *ret_largest)
{
	uint64_t cells = 0;

	*ret_largest = 0;
	for (size_t i = 0; i < space->nsegments; i++) {
		uint64_t own = (space->segments[i].bytes + cell - 1) / cell;

		if (space->segments[i].small != small)
			continue;
		cells += own + !small;
		*ret_largest = own > *ret_largest ? own : *ret_largest;
	}
	return cells;
}

/* The smallest power of two with which the segments need at most `room` cells; no larger than a segment need be. */
static uint64_t choose_cell(const struct vt_space *space, bool small, uint64_t room)
{
	uint64_t cell = VT_TORCH_SMALL_SEGMENT, largest;

	while (count_cells(space, small, cell, &largest) > room && largest > 1)
		cell *= 2;
	return cell;
}

static void draw_pool(const struct vt_screen *screen, const struct vt_space *space, bool small)
{
	uint64_t room = (uint64_t)(screen->width - INDENT) * LINES_MAX, cell = choose_cell(space, small, room);
	uint64_t drawn = 0;
	size_t next = 0;
	struct canvas canvas = { screen, 0 };
	char size[VT_FORMAT_MAX], count[VT_FORMAT_MAX];

	vt_screen_text(screen, 0, "%s segments: %s; a cell is %s", small ? "Small" : "Large",
		       vt_format_count(count, space->pools[!small].segments), vt_format_bytes(size, cell));
	for (; next < space->nsegments && drawn < room; next++) {
		const struct vt_space_segment *segment = &space->segments[next];

		if (segment->small != small)
			continue;
		draw_segment(&canvas, space, segment, cell);
		if (!small)
			put(&canvas, screen->unicode ? "│" : "|");
		drawn += (segment->bytes + cell - 1) / cell + !small;
	}
	if (canvas.used)
		(void)putc('\n', screen->out);
	if (next < space->nsegments)
		vt_screen_text(screen, INDENT, "... (the rest is not drawn)");
}

void vt_fragmentation_picture(const struct vt_screen *screen, const struct vt_space *space)
{
	if (space->pools[1].segments)
		draw_pool(screen, space, false);
	if (space->pools[0].segments)
		draw_pool(screen, space, true);
	vt_screen_text(screen, 0,
		       screen->unicode ? "█ all live, ▄ half, · all free" : "# all live, = half, _ all free");
}
