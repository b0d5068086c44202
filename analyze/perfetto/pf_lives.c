/* pf_lives.c - see pf_lives.h. */
#include "analyze/perfetto/pf_lives.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/perfetto/pf_args.h"
#include "schema/base/cleanup.h"

#define RANK_CATEGORIES 7
#define RANK_BLOCKS 8

static bool is_inside(const struct vt_pf_lives *lives, uint64_t time_ns)
{
	return time_ns >= lives->from_ns && (!lives->to_ns || time_ns <= lives->to_ns);
}

static void write_edge(struct vt_pf_sequence *sequence, uint64_t track, uint64_t time_ns)
{
	struct vt_pf_event event;

	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_SLICE_END, track);
	vt_pf_write_event(sequence, VT_PF_TRACK_EVENT, &event, time_ns);
}

/* ---------------------------------------------------------------- steps */

/* Of each process the steps that its first device with any saw. */
static void write_steps(const struct vt_pf_lives *lives, struct vt_pf_sequence *sequence, uint32_t device,
			uint32_t process)
{
	const struct vt_page_device_steps *steps = &lives->page->steps.devices[device];
	const char *how = vt_steps_how_text(vt_attribution_steps_how(lives->page->attribution, process));
	uint64_t track = vt_pf_tracks_steps(lives->tracks, process, how);

	for (size_t i = 0; i < steps->count && track; i++) {
		const struct vt_page_step *step = &steps->list[i];
		uint64_t end_ns = i + 1 < steps->count ? steps->list[i + 1].first_ns : step->last_ns + 1;
		struct vt_pf_event event;
		char name[48] = "before the first step";

		if (!is_inside(lives, step->first_ns))
			continue;
		if (step->step)
			(void)snprintf(name, sizeof(name), "step %" PRIu32, step->step);
		if (step->step == VT_STEP_UNKNOWN)
			(void)snprintf(name, sizeof(name), "later steps");
		vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track);
		vt_pf_event_name(sequence, &event, name);
		vt_pf_arg_number(sequence, &event, "peak_allocated_bytes", step->peak_bytes);
		vt_pf_arg_number(sequence, &event, "allocated_bytes_at_its_end", step->end_bytes);
		vt_pf_arg_number(sequence, &event, "allocations", step->allocs);
		vt_pf_write_event(sequence, VT_PF_TRACK_EVENT, &event, step->first_ns);
		write_edge(sequence, track, end_ns);
	}
}

/* ---------------------------------------------------------------- categories */

static void write_category(const struct vt_pf_lives *lives, struct vt_pf_sequence *sequence, uint64_t group,
			   uint32_t device, unsigned number)
{
	const struct vt_page_kind *kind = &lives->page->series.kinds[VT_PAGE_CATEGORY];
	const uint64_t *changes = lives->page->series.devices[device].changes[VT_PAGE_CATEGORY][number];
	const struct vt_page_bins_device *bins = &lives->page->bins.devices[device];
	const char *name = vt_texts_get(&lives->page->series.texts, kind->labels[number]);
	uint64_t track, value = 0;
	bool written = false;

	if (!changes)
		return;
	track = vt_pf_tracks_counter(lives->tracks, group, (int32_t)number, name,
				     "Estimated by scope and lifetime; at the greatest moment of some events in a row");
	for (size_t i = 0; i < bins->count && track; i++) {
		struct vt_pf_event event;

		value += changes[i];
		if (!is_inside(lives, bins->list[i].at_ns) || (written && !changes[i]))
			continue;
		written = true;
		vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_COUNTER, track);
		vt_pf_put_number(&event, VT_PF_COUNTER_VALUE, value);
		vt_pf_write_event(sequence, VT_PF_TRACK_EVENT, &event, bins->list[i].at_ns);
	}
}

static void write_categories(const struct vt_pf_lives *lives, struct vt_pf_sequence *sequence, uint32_t device,
			     uint64_t parent)
{
	uint64_t group;

	if (device >= lives->page->series.device_room)
		return;
	group = vt_pf_tracks_group(lives->tracks, parent, RANK_CATEGORIES, "By category",
				   "What the blocks are for: estimated by scope and lifetime");
	for (unsigned i = 0; i < lives->page->series.kinds[VT_PAGE_CATEGORY].count; i++)
		write_category(lives, sequence, group, device, i);
}

/* ---------------------------------------------------------------- totals, where single events take too much room */

static void write_value(struct vt_pf_sequence *sequence, uint64_t track, uint64_t value, uint64_t unit,
			uint64_t time_ns)
{
	struct vt_pf_event event;

	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_COUNTER, track);
	if (value % unit)
		vt_pf_put_double(&event, VT_PF_DOUBLE_COUNTER_VALUE, (double)value / (double)unit);
	else
		vt_pf_put_number(&event, VT_PF_COUNTER_VALUE, value / unit);
	vt_pf_write_event(sequence, VT_PF_TRACK_EVENT, &event, time_ns);
}

static void write_totals(const struct vt_pf_lives *lives, struct vt_pf_sequence *sequence,
			 const struct vt_pf_device_tracks *rows, uint32_t device)
{
	const struct vt_page_bins_device *bins = &lives->page->bins.devices[device];
	struct vt_page_bin last = { .allocated_bytes = UINT64_MAX };

	for (size_t i = 0; i < bins->count; i++) {
		const struct vt_page_bin *bin = &bins->list[i];

		if (!is_inside(lives, bin->at_ns))
			continue;
		if (bin->allocated_bytes != last.allocated_bytes)
			write_value(sequence, rows->allocated, bin->allocated_bytes, rows->allocated_unit, bin->at_ns);
		if (bin->reserved_bytes != last.reserved_bytes)
			write_value(sequence, rows->reserved, bin->reserved_bytes, 1, bin->at_ns);
		if (bin->driver_bytes != last.driver_bytes)
			write_value(sequence, rows->driver, bin->driver_bytes, 1, bin->at_ns);
		last = *bin;
	}
}

/* ---------------------------------------------------------------- blocks */

struct lanes {
	uint64_t *ends; /* of the last block in it */
	uint64_t *tracks;
	size_t count;
};

static uint64_t end_of(const struct vt_pf_lives *lives, const struct vt_page_block *block)
{
	return block->block.free_ns == UINT64_MAX ? lives->page->last_ns : block->block.free_ns;
}

static double weight_of(const struct vt_pf_lives *lives, const struct vt_page_block *block)
{
	uint64_t end_ns = end_of(lives, block);

	return (double)block->block.size_bytes *
	       (double)(end_ns > block->block.alloc_ns ? end_ns - block->block.alloc_ns : 0);
}

static int by_weight(const void *a, const void *b, void *arg)
{
	const struct vt_page_block *x = *(const struct vt_page_block *const *)a;
	const struct vt_page_block *y = *(const struct vt_page_block *const *)b;
	double first = weight_of(arg, x), second = weight_of(arg, y);

	if (first != second)
		return first < second ? 1 : -1;
	return (x->block.serial > y->block.serial) - (x->block.serial < y->block.serial);
}

static int by_begin(const void *a, const void *b)
{
	const struct vt_page_block *x = *(const struct vt_page_block *const *)a;
	const struct vt_page_block *y = *(const struct vt_page_block *const *)b;

	return (x->block.serial > y->block.serial) - (x->block.serial < y->block.serial);
}

/* The first lane that is free by then. */
static size_t find_lane(const struct vt_pf_lives *lives, struct lanes *lanes, uint64_t group, uint64_t begin_ns)
{
	size_t i = 0;
	char name[32];

	while (i < lanes->count && lanes->ends[i] > begin_ns)
		i++;
	if (i < lanes->count)
		return i;
	(void)snprintf(name, sizeof(name), "lane %zu", i + 1);
	lanes->tracks[i] = vt_pf_tracks_plain(lives->tracks, group, (int32_t)i, name, NULL);
	lanes->count++;
	return i;
}

static void write_touches(struct vt_pf_sequence *sequence, const struct vt_page_block *block, uint64_t track,
			  uint64_t end_ns)
{
	uint64_t last_ns = block->last_touch_ns < end_ns ? block->last_touch_ns : end_ns;
	struct vt_pf_event event;

	if (!block->touches || block->first_touch_ns >= last_ns)
		return;
	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track);
	vt_pf_event_name(sequence, &event, "in use by kernels");
	vt_pf_arg_number(sequence, &event, "launches", block->touches);
	vt_pf_write_event(sequence, VT_PF_TRACK_EVENT, &event, block->first_touch_ns);
	write_edge(sequence, track, last_ns);
}

static void write_block(const struct vt_pf_lives *lives, struct vt_pf_sequence *sequence,
			const struct vt_page_block *block, uint64_t track)
{
	const struct vt_attributed *own = &block->block;
	char bytes[VT_FORMAT_MAX], place[VT_PLACE_MAX], name[VT_PLACE_MAX + VT_FORMAT_MAX];
	struct vt_place where;
	struct vt_pf_event event;
	uint64_t stack;

	if (own->forward_stack)
		vt_place_of_backward(sequence->symbols, own->process, own->op, own->forward_stack, &where);
	else
		vt_place_find(sequence->symbols, own->process, own->op, own->stack, &where);
	(void)snprintf(name, sizeof(name), "%s %s", vt_format_bytes(bytes, own->size_bytes),
		       vt_place_sentence(place, &where));
	vt_pf_event_begin(&event, PF__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track);
	vt_pf_event_name(sequence, &event, name);
	stack = vt_pf_callstack(sequence, own->process, own->op, own->stack);
	if (stack)
		vt_pf_put_number(&event, VT_PF_CALLSTACK_IID, stack);
	vt_pf_arg_number(sequence, &event, "bytes", own->size_bytes);
	vt_pf_arg_address(sequence, &event, "address", own->address);
	vt_pf_arg_text(sequence, &event, "category (estimated)", vt_category_name((enum vt_category)own->category));
	if (lives->page->touches.captured)
		vt_pf_arg_number(sequence, &event, "launches that name it", block->touches);
	vt_pf_write_event(sequence, VT_PF_TRACK_EVENT, &event, own->alloc_ns);
	write_touches(sequence, block, track, end_of(lives, block));
	write_edge(sequence, track, end_of(lives, block));
}

/* chosen: room for all blocks of the page. */
static size_t choose(const struct vt_pf_lives *lives, uint32_t device, const struct vt_page_block **chosen)
{
	struct vt_pf_lives copy = *lives; /* qsort_r takes no const */
	size_t count = 0;

	for (size_t i = 0; i < lives->page->blocks.count; i++) {
		const struct vt_page_block *block = &lives->page->blocks.list[i];

		if (block->block.device == device && is_inside(lives, block->block.alloc_ns))
			chosen[count++] = block;
	}
	qsort_r(chosen, count, sizeof(struct vt_page_block *), by_weight, &copy);
	count = count < VT_PF_LIVES_MAX ? count : VT_PF_LIVES_MAX;
	qsort(chosen, count, sizeof(struct vt_page_block *), by_begin);
	return count;
}

static int write_blocks(const struct vt_pf_lives *lives, struct vt_pf_sequence *sequence, uint32_t device,
			uint64_t parent, struct vt_err *err)
{
	const struct vt_page_block **chosen = calloc(lives->page->blocks.count + 1, sizeof(struct vt_page_block *));
	uint64_t ends[VT_PF_LIVES_MAX], tracks[VT_PF_LIVES_MAX];
	struct lanes lanes = { ends, tracks, 0 };
	uint64_t group;
	size_t count;

	if (!chosen)
		return vt_err_set(err, VT_E_NOMEM, "no memory for the lives of blocks");
	count = choose(lives, device, chosen);
	group = count ? vt_pf_tracks_group(lives->tracks, parent, RANK_BLOCKS, "Largest blocks",
					   "The blocks that held most, bytes times life, from allocation to free")
		      : 0;
	for (size_t i = 0; i < count; i++) {
		size_t lane = find_lane(lives, &lanes, group, chosen[i]->block.alloc_ns);

		lanes.ends[lane] = end_of(lives, chosen[i]);
		write_block(lives, sequence, chosen[i], lanes.tracks[lane]);
	}
	free(chosen);
	return 0;
}

/* The device whose steps stand for its process: the first with any. */
static bool tells_steps(const struct vt_pf_lives *lives, uint32_t device)
{
	const struct vt_replay *replay = lives->page->session->replay;
	uint32_t process = vt_replay_device(replay, device)->process;

	for (uint32_t i = 0; i < lives->page->steps.room && i <= device; i++)
		if (lives->page->steps.devices[i].count && vt_replay_device(replay, i)->process == process)
			return i == device;
	return false;
}

int vt_pf_lives_write(const struct vt_pf_lives *lives, struct vt_err *err)
{
	const struct vt_replay *replay = lives->page->session->replay;
	int r = 0;

	for (uint32_t i = 0; i < lives->page->bins.room && !r; i++) {
		const struct vt_device *state = vt_replay_device(replay, i);
		struct vt_pf_sequence sequence;
		const struct vt_pf_device_tracks *rows;

		if (!state || !lives->page->bins.devices[i].count)
			continue;
		rows = vt_pf_tracks_device(lives->tracks, state, i, "");
		if (!rows)
			return vt_err_set(err, VT_E_NOMEM, "no memory for the rows of device %u", i);
		vt_pf_sequence_begin(&sequence, lives->tracks->sequence->output, lives->tracks->sequence->symbols,
				     lives->clocks, 0);
		if (tells_steps(lives, i))
			write_steps(lives, &sequence, i, state->process);
		if (lives->coarse)
			write_totals(lives, &sequence, rows, i);
		else
			write_categories(lives, &sequence, i, rows->group);
		if (!lives->coarse)
			r = write_blocks(lives, &sequence, i, rows->group, err);
		vt_pf_sequence_done(&sequence);
	}
	return r;
}
