/* timeline_by.c - see timeline_by.h. */
#include "analyze/views/timeline_by.h"

#include <stdlib.h>
#include <string.h>

#include "schema/base/utf8.h"

#define NAME_COLUMNS 30
#define FRAME_COLUMNS (NAME_COLUMNS + 15) /* and a size, and a bar */
#define WIDEST 240

struct band {
	const char *name;
	uint64_t *values; /* by column: the greatest */
	uint64_t most;
};

int vt_timeline_by_parse(const char *text, enum vt_page_by *ret, struct vt_err *err)
{
	for (unsigned i = 0; i < VT_PAGE_BYS; i++)
		if (!strcmp(text, vt_page_by_name((enum vt_page_by)i))) {
			*ret = (enum vt_page_by)i;
			return 0;
		}
	return vt_err_set(err, VT_E_USAGE, "--by takes category, op, module or line, not '%.40s'", text);
}

/* The columns that a bin's value stands in: until the next bin begins. */
static void draw(struct band *band, const struct vt_page_bins_device *bins, const uint64_t *changes,
		 const struct vt_timeline_picture *picture)
{
	uint64_t end_ns = picture->start_ns + picture->columns * picture->column_ns, value = 0;

	for (size_t i = 0; i < bins->count; i++) {
		uint64_t from_ns = bins->list[i].first_ns;
		uint64_t to_ns = i + 1 < bins->count ? bins->list[i + 1].first_ns : end_ns;

		value += changes[i];
		if (to_ns <= picture->start_ns || from_ns >= end_ns)
			continue;
		from_ns = from_ns > picture->start_ns ? from_ns - picture->start_ns : 0;
		to_ns = (to_ns < end_ns ? to_ns : end_ns) - picture->start_ns;
		for (uint64_t column = from_ns / picture->column_ns;
		     column < picture->columns &&
		     (column == from_ns / picture->column_ns || column * picture->column_ns < to_ns);
		     column++)
			band->values[column] = value > band->values[column] ? value : band->values[column];
		band->most = value > band->most ? value : band->most;
	}
}

static int by_most(const void *a, const void *b)
{
	const struct band *x = a, *y = b;

	if (x->most != y->most)
		return x->most < y->most ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void print_band(const struct vt_screen *screen, const struct band *band, uint32_t columns)
{
	char size[VT_FORMAT_MAX], name[VT_PLACE_MAX];
	const char *clipped = vt_place_clip(name, band->name, NAME_COLUMNS);
	int pad = NAME_COLUMNS - (int)vt_utf8_columns(clipped, strlen(clipped));

	(void)fprintf(screen->out, "%s%*s %11s %s", clipped, pad > 0 ? pad : 0, "", vt_format_bytes(size, band->most),
		      screen->unicode ? "│" : "|");
	vt_screen_spark(screen, band->values, columns, band->most ? band->most : 1);
}

static void print_bands(const struct vt_timeline_by *rows, const struct vt_screen *screen, uint32_t device,
			const struct vt_timeline_picture *picture)
{
	const struct vt_page *page = rows->page;
	const struct vt_page_kind *kind = &page->series.kinds[rows->by];
	struct band bands[VT_PAGE_SERIES_MAX] = { { .name = "" } };
	size_t count = 0;

	for (unsigned i = 0; i < kind->count; i++) {
		const uint64_t *changes = page->series.devices[device].changes[rows->by][i];
		uint64_t *values = changes ? calloc(picture->columns, sizeof(*values)) : NULL;

		if (!changes)
			continue;
		if (!values)
			break;
		bands[count] = (struct band){ vt_texts_get(&page->series.texts, kind->labels[i]), values, 0 };
		draw(&bands[count++], &page->bins.devices[device], changes, picture);
	}
	qsort(bands, count, sizeof(*bands), by_most);
	for (size_t i = 0; i < count; i++) {
		if (i < rows->top && bands[i].most)
			print_band(screen, &bands[i], picture->columns);
		free(bands[i].values);
	}
	if (count > rows->top)
		vt_screen_text(screen, 0, "and %zu more", count - (size_t)rows->top);
}

int vt_timeline_by_print(const struct vt_timeline_by *rows, const struct vt_timeline *timeline,
			 const struct vt_screen *screen, uint32_t device, struct vt_err *err)
{
	int room = screen->width - FRAME_COLUMNS;
	struct vt_timeline_picture picture;
	int r;

	if (device >= rows->page->series.device_room || device >= rows->page->bins.room)
		return 0;
	r = vt_timeline_draw(timeline, device,
			     (uint32_t)(room < 10	? 10
					: room > WIDEST ? WIDEST
							: room),
			     &picture, err);
	if (r < 0 || !picture.columns)
		return r;
	vt_screen_heading(screen,
			  rows->by == VT_PAGE_CATEGORY
				  ? "By category, estimated by scope and lifetime (each row against its own maximum)"
				  : "The largest places (each row against its own maximum)");
	print_bands(rows, screen, device, &picture);
	(void)putc('\n', screen->out);
	vt_timeline_picture_done(&picture);
	return 0;
}
