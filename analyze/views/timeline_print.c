/* timeline_print.c - see timeline_print.h. */
#include "analyze/views/timeline_print.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 12 /* left of the picture: a size and a bar */
#define PICTURE_WIDEST 240

static void print_label(const struct vt_screen *screen, const char *text)
{
	(void)fprintf(screen->out, "%*s %s", LABEL_WIDTH - 2, text, screen->unicode ? "│" : "|");
}

/* Rows of blocks from the top down; each shows the part of the values that lies in its band. */
static void draw_rows(const struct vt_screen *screen, const struct vt_timeline_picture *picture, unsigned rows,
		      uint64_t full, uint64_t *band)
{
	uint64_t step = full / rows + (full % rows != 0);
	char size[VT_FORMAT_MAX];

	for (unsigned row = rows; row-- > 0;) {
		uint64_t low = step * row;

		for (uint32_t i = 0; i < picture->columns; i++) {
			uint64_t above = picture->allocated[i] > low ? picture->allocated[i] - low : 0;

			band[i] = above < step ? above : step;
		}
		print_label(screen, row == rows - 1 ? vt_format_bytes(size, full) : row ? "" : "allocated");
		vt_screen_spark(screen, band, picture->columns, step ? step : 1);
	}
}

static uint64_t greatest(const uint64_t *values, uint32_t n)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

static void print_ends(const struct vt_session *session, const struct vt_screen *screen,
		       const struct vt_timeline_picture *picture)
{
	uint64_t end_ns = picture->start_ns + picture->columns * picture->column_ns;
	char start[VT_FORMAT_MAX], end[VT_FORMAT_MAX];
	int gap;

	vt_session_time(session, start, picture->start_ns);
	vt_session_time(session, end, end_ns);
	gap = (int)picture->columns - (int)strlen(start);
	(void)fprintf(screen->out, "%*s%s%*s\n", LABEL_WIDTH, "", start, gap > (int)strlen(end) ? gap : 0, end);
}

/* Under the picture: where the device's peak is, if it is in it. */
static void print_peak(const struct vt_session *session, const struct vt_screen *screen,
		       const struct vt_timeline_picture *picture, const struct vt_device *state)
{
	char peak[VT_FORMAT_MAX], mark[VT_FORMAT_MAX + 8];
	uint64_t column;

	if (state->peak_allocated_ns < picture->start_ns)
		return;
	column = (state->peak_allocated_ns - picture->start_ns) / picture->column_ns;
	(void)snprintf(mark, sizeof(mark), "peak, %s", vt_session_time(session, peak, state->peak_allocated_ns));
	if (column >= picture->columns)
		return;
	/* Beside the mark, on the side where there is room. */
	if (column + 2 + strlen(mark) <= picture->columns)
		(void)fprintf(screen->out, "%*s^ %s\n", LABEL_WIDTH + (int)column, "", mark);
	else
		(void)fprintf(screen->out, "%*s ^\n", LABEL_WIDTH + (int)column - 1, mark);
}

int vt_timeline_print(const struct vt_timeline *timeline, const struct vt_session *session,
		      const struct vt_screen *screen, uint32_t device, unsigned rows, struct vt_err *err)
{
	int room = screen->width - LABEL_WIDTH;
	uint64_t allocated, reserved, *band;
	struct vt_timeline_picture picture;
	char span[VT_FORMAT_MAX], text[128];
	int r = vt_timeline_draw(timeline, device, (uint32_t)(room > PICTURE_WIDEST ? PICTURE_WIDEST : room), &picture,
				 err);

	if (r < 0 || !picture.columns)
		return r;
	band = calloc(picture.columns, sizeof(*band));
	if (!band) {
		vt_timeline_picture_done(&picture);
		return vt_err_set(err, VT_E_NOMEM, "no memory for the timeline's picture");
	}
	allocated = greatest(picture.allocated, picture.columns);
	reserved = greatest(picture.reserved, picture.columns);
	(void)snprintf(text, sizeof(text), "Over time (each column: the maximum of %s)",
		       vt_format_ns(span, picture.column_ns));
	vt_screen_heading(screen, text);
	draw_rows(screen, &picture, rows, allocated > reserved ? allocated : reserved, band);
	if (reserved) {
		print_label(screen, "reserved");
		vt_screen_spark(screen, picture.reserved, picture.columns, reserved);
	}
	print_ends(session, screen, &picture);
	print_peak(session, screen, &picture, vt_replay_device(session->replay, device));
	(void)putc('\n', screen->out);
	free(band);
	vt_timeline_picture_done(&picture);
	return 0;
}
