/* marks.c - see marks.h. */
#include "analyze/attribute/marks.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"
#include "schema/base/bits.h"
#include "schema/base/err.h"

/* The mark of a device's last peak. */
struct vt_peak {
	struct vt_moment_mark mark;
	bool announced;
};

static struct vt_moment_mark *mark_at(const struct vt_marks *marks, size_t number)
{
	return (struct vt_moment_mark *)(void *)marks->list.data + number;
}

static size_t mark_count(const struct vt_marks *marks)
{
	return marks->list.bytes / sizeof(struct vt_moment_mark);
}

int vt_marks_add(struct vt_marks *marks, const struct vt_moment_mark *mark, uint32_t *ret)
{
	for (*ret = 0; *ret < mark_count(marks); ++*ret)
		if (mark_at(marks, *ret)->unused) {
			uint32_t generation = mark_at(marks, *ret)->generation;

			*mark_at(marks, *ret) = *mark;
			mark_at(marks, *ret)->generation = generation + 1;
			return 0;
		}
	return vt_buf_append(&marks->list, mark, sizeof(*mark));
}

void vt_marks_forget(struct vt_marks *marks, uint32_t mark)
{
	uint32_t generation = mark_at(marks, mark)->generation;

	vt_buf_done(&mark_at(marks, mark)->blocks);
	*mark_at(marks, mark) =
		(struct vt_moment_mark){ .begin_ns = UINT64_MAX, .unused = true, .generation = generation + 1 };
}

static void begin(struct vt_moment_mark *mark, uint64_t last_serial)
{
	mark->begun = true;
	mark->generation++;
	mark->last_serial = last_serial;
	vt_buf_clear(&mark->blocks);
}

void vt_marks_begin_due(struct vt_marks *marks, uint64_t time_ns, uint64_t last_serial)
{
	struct vt_moment_mark *mark = mark_at(marks, 0);

	for (size_t n = mark_count(marks); n; n--, mark++)
		if (VT_UNLIKELY(!mark->begun && mark->begin_ns < time_ns))
			begin(mark, last_serial);
}

void vt_marks_begin_rest(struct vt_marks *marks, uint64_t last_serial)
{
	for (uint32_t i = 0; i < marks->peaks_room; i++)
		vt_marks_end_announced(marks, i, last_serial);
	for (size_t i = 0; i < mark_count(marks); i++)
		if (!mark_at(marks, i)->begun)
			begin(mark_at(marks, i), last_serial);
}

int vt_marks_announce(struct vt_marks *marks, uint32_t device)
{
	if (vt_array_reach((void **)&marks->peaks, &marks->peaks_room, device, sizeof(*marks->peaks)) < 0)
		return -VT_E_NOMEM;
	marks->peaks[device].announced = true;
	marks->peaks[device].mark.device = device;
	return 0;
}

void vt_marks_end_announced(struct vt_marks *marks, uint32_t device, uint64_t last_serial)
{
	if (device >= marks->peaks_room || !marks->peaks[device].announced)
		return;
	marks->peaks[device].announced = false;
	begin(&marks->peaks[device].mark, last_serial);
}

void vt_marks_before_free(struct vt_marks *marks, uint32_t device)
{
	if (device < marks->peaks_room && marks->peaks[device].announced)
		marks->peaks[device].mark.begun = false;
}

static int keep(struct vt_moment_mark *mark, uint32_t number, const struct vt_attributed *block,
		struct vt_mark_places *places)
{
	if (!mark->begun || mark->unused || block->serial > mark->last_serial ||
	    (mark->device != UINT32_MAX && mark->device != block->device))
		return 0;
	if (places && places->count < VT_MARK_PLACES_MAX) {
		places->list[places->count].mark = number;
		places->list[places->count].generation = mark->generation;
		places->list[places->count++].position = mark->blocks.bytes / sizeof(*block);
	}
	return vt_buf_append(&mark->blocks, block, sizeof(*block));
}

int vt_marks_keep(struct vt_marks *marks, const struct vt_attributed *block, struct vt_mark_places *places)
{
	int r = 0;

	if (block->device < marks->peaks_room)
		r = keep(&marks->peaks[block->device].mark, VT_MARK_PEAK | block->device, block, places);
	for (uint32_t i = 0; i < mark_count(marks) && !r; i++)
		r = keep(mark_at(marks, i), i, block, places);
	return r;
}

void vt_marks_complete(struct vt_marks *marks, const struct vt_mark_places *places, const struct vt_attributed *block)
{
	for (uint32_t i = 0; i < places->count; i++) {
		uint32_t number = places->list[i].mark;
		struct vt_moment_mark *mark =
			number & VT_MARK_PEAK ? &marks->peaks[number & ~VT_MARK_PEAK].mark : mark_at(marks, number);

		if (mark->generation == places->list[i].generation)
			((struct vt_attributed *)(void *)mark->blocks.data)[places->list[i].position] = *block;
	}
}

static void each_of(struct vt_moment_mark *mark, void (*fn)(void *self, struct vt_attributed *block), void *self)
{
	struct vt_attributed *block = (struct vt_attributed *)(void *)mark->blocks.data;

	for (size_t n = mark->blocks.bytes / sizeof(*block); n; n--)
		fn(self, block++);
}

void vt_marks_each(struct vt_marks *marks, void (*fn)(void *self, struct vt_attributed *block), void *self)
{
	for (size_t i = 0; i < mark_count(marks); i++)
		each_of(mark_at(marks, i), fn, self);
	for (size_t i = 0; i < marks->peaks_room; i++)
		each_of(&marks->peaks[i].mark, fn, self);
}

static struct vt_attributed_list list_of(const struct vt_moment_mark *mark)
{
	return (struct vt_attributed_list){
		(const struct vt_attributed *)(const void *)mark->blocks.data,
		mark->blocks.bytes / sizeof(struct vt_attributed),
	};
}

struct vt_attributed_list vt_marks_blocks(const struct vt_marks *marks, uint32_t mark)
{
	return list_of(mark_at(marks, mark));
}

struct vt_attributed_list vt_marks_peak(const struct vt_marks *marks, uint32_t device)
{
	return device < marks->peaks_room ? list_of(&marks->peaks[device].mark)
					  : (struct vt_attributed_list){ NULL, 0 };
}

void vt_marks_done(struct vt_marks *marks)
{
	for (size_t i = 0; i < marks->peaks_room; i++)
		vt_buf_done(&marks->peaks[i].mark.blocks);
	for (size_t i = 0; i < mark_count(marks); i++)
		vt_buf_done(&mark_at(marks, i)->blocks);
	free(marks->peaks);
	vt_buf_done(&marks->list);
	*marks = (struct vt_marks){ .peaks = NULL };
}
