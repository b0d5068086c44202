/* test_views_groups.c - groups and timeline against sums made the slow way, over random streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/views/groups.h"
#include "analyze/views/levels.h"
#include "analyze/views/timeline.h"
#include "tests/unit/array_cursor.h"

#define DEVICES 2
#define PLACES 40 /* addresses in use */
#define OPS 3
#define STACKS 3
#define EVENTS 3000

static uint64_t rng_state;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(rng_state >> 33) % below;
}

struct slot {
	bool live;
	uint64_t bytes;
	uint32_t op, stack;
};

/* The truth, kept by plain loops. */
struct model {
	struct slot slots[DEVICES][PLACES];
	uint64_t live[DEVICES], peak[DEVICES];
	uint64_t at_peak[DEVICES][OPS][STACKS];
};

static void model_peak(struct model *model, uint32_t device)
{
	if (model->live[device] <= model->peak[device])
		return;
	model->peak[device] = model->live[device];
	memset(model->at_peak[device], 0, sizeof(model->at_peak[device]));
	for (int i = 0; i < PLACES; i++) {
		struct slot *slot = &model->slots[device][i];

		if (slot->live)
			model->at_peak[device][slot->op][slot->stack] += slot->bytes;
	}
}

static void random_event(struct model *model, struct vt_array *array, uint64_t time_ns)
{
	uint32_t device = rng(DEVICES), place = rng(PLACES);
	struct slot *slot = &model->slots[device][place];
	struct vt_tensor rec = { .time_ns = time_ns,
				 .address = 0x1000 + place * 0x100000,
				 .thread = 1,
				 .device = (int16_t)device,
				 .device_type = VT_device_type_CUDA };

	if (slot->live) {
		slot->live = false;
		model->live[device] -= slot->bytes;
		rec.size_bytes = -(int64_t)slot->bytes;
		rec.op = rng(OPS);
	} else {
		*slot = (struct slot){ true, 512 * (uint64_t)(1 + rng(64)), rng(OPS), rng(STACKS) };
		model->live[device] += slot->bytes;
		rec.size_bytes = (int64_t)slot->bytes;
		rec.op = slot->op;
		rec.stack = slot->stack;
	}
	rec.allocated_bytes = model->live[device];
	rec.reserved_bytes = 64 << 20;
	vt_array_add(array, 1, VT_EVENT_tensor, &rec);
	model_peak(model, device);
}

struct checker {
	const struct vt_groups *groups;
	uint64_t checks;
};

/* At every event: the groups add up to the live bytes, and at the peak to the peak. */
static int check_sums(void *self, const struct vt_replay *replay, const struct vt_item *item,
		      const struct vt_block *block, struct vt_err *err)
{
	struct checker *checker = self;
	uint64_t live[DEVICES] = { 0 }, peak[DEVICES] = { 0 }, blocks[DEVICES] = { 0 };

	(void)item;
	(void)block;
	(void)err;
	for (uint32_t i = 0; i < vt_groups_count(checker->groups); i++) {
		struct vt_group group = vt_groups_get(checker->groups, i);

		live[group.device] += group.live_bytes;
		blocks[group.device] += group.live_blocks;
		peak[group.device] += group.peak_bytes;
	}
	for (uint32_t i = 0; i < vt_replay_device_count(replay); i++) {
		const struct vt_device *device = vt_replay_device(replay, i);

		assert_int_equal(live[i], device->allocated_bytes);
		assert_int_equal(blocks[i], device->live_blocks);
		assert_int_equal(peak[i], device->peak_allocated_bytes);
	}
	checker->checks++;
	return 0;
}

static void check_stream(uint64_t seed)
{
	struct model model;
	struct vt_array array = { .count = 0 };
	struct vt_replay *replay;
	struct vt_groups *groups;
	struct vt_err err;

	rng_state = seed;
	memset(&model, 0, sizeof(model));
	for (uint64_t i = 0; i < EVENTS; i++)
		random_event(&model, &array, 1000 + 10 * i);
	assert_int_equal(vt_replay_new(&replay, &err), 0);
	assert_int_equal(vt_groups_new(&groups, &err), 0);
	struct checker checker = { .groups = groups };
	struct vt_listener listener = vt_groups_listener(groups);
	struct vt_listener check = { .self = &checker, .alloc = check_sums, .free = check_sums };

	assert_int_equal(vt_replay_add(replay, &listener, &err), 0);
	assert_int_equal(vt_replay_add(replay, &check, &err), 0);
	vt_array_replay(&array, replay);
	assert_int_equal(checker.checks, EVENTS);
	/* Devices of the replay come in the order of their first events. */
	for (uint32_t i = 0; i < vt_groups_count(groups); i++) {
		struct vt_group group = vt_groups_get(groups, i);
		int16_t device = vt_replay_device(replay, group.device)->device;

		assert_int_equal(group.peak_bytes, model.at_peak[device][group.op][group.stack]);
	}
	vt_groups_free(groups);
	vt_replay_free(replay);
	vt_array_done(&array);
}

static void test_random_streams(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		check_stream(seed);
}

static void add_tensor(struct vt_array *array, uint64_t time_ns, uint64_t address, int64_t bytes, uint64_t total)
{
	vt_array_add(array, 1, VT_EVENT_tensor,
		     &(struct vt_tensor){ .time_ns = time_ns,
					  .address = address,
					  .size_bytes = bytes,
					  .allocated_bytes = total,
					  .thread = 1,
					  .op = 7,
					  .stack = 9,
					  .device_type = VT_device_type_CUDA });
}

/*
 * By hand: a block is freed unseen and its address handed out again. 1024 lives from 10; at 30 its place is taken by
 * 512; freed at 70. Lifetimes: 30 - 10 and 70 - 30.
 */
static void test_lost_free(void **state)
{
	struct vt_array array = { .count = 0 };
	struct vt_replay *replay;
	struct vt_groups *groups;
	struct vt_listener listener;
	struct vt_group group;
	struct vt_err err;

	(void)state;
	add_tensor(&array, 10, 0x1000, 1024, 1024);
	add_tensor(&array, 30, 0x1000, 512, 512);
	add_tensor(&array, 70, 0x1000, -512, 0);
	assert_int_equal(vt_replay_new(&replay, &err), 0);
	assert_int_equal(vt_groups_new(&groups, &err), 0);
	listener = vt_groups_listener(groups);
	assert_int_equal(vt_replay_add(replay, &listener, &err), 0);
	vt_array_replay(&array, replay);
	assert_int_equal(vt_groups_count(groups), 1);
	group = vt_groups_get(groups, 0);
	assert_int_equal(group.op, 7);
	assert_int_equal(group.stack, 9);
	assert_int_equal(group.allocs, 2);
	assert_int_equal(group.allocated_bytes, 1536);
	assert_int_equal(group.frees, 2);
	assert_int_equal((uint64_t)group.lifetime_ns, 60);
	assert_int_equal(group.live_bytes, 0);
	assert_int_equal(group.peak_bytes, 1024);
	assert_int_equal(group.peak_blocks, 1);
	vt_groups_free(groups);
	vt_replay_free(replay);
	vt_array_done(&array);
}

/*
 * By hand: the capture began late. 9000 bytes are allocated already when the first event frees 1000 of them: that is
 * the peak so far, and nothing of it is known. Then 512 come and make the next peak, of which 512 are known.
 */
static void test_late_capture(void **state)
{
	struct vt_array array = { .count = 0 };
	struct vt_replay *replay;
	struct vt_groups *groups;
	struct vt_levels_view *levels;
	struct vt_listener listeners[2];
	struct vt_levels peak;
	struct vt_err err;

	(void)state;
	for (size_t events = 1; events <= 2; events++) {
		array.count = 0;
		add_tensor(&array, 10, 0x5000, -1000, 8000);
		if (events == 2)
			add_tensor(&array, 20, 0x1000, 512, 8512);
		assert_int_equal(vt_replay_new(&replay, &err), 0);
		assert_int_equal(vt_groups_new(&groups, &err), 0);
		assert_int_equal(vt_levels_view_new(&levels, &err), 0);
		listeners[0] = vt_groups_listener(groups);
		listeners[1] = vt_levels_listener(levels);
		assert_int_equal(vt_replay_add(replay, &listeners[0], &err), 0);
		assert_int_equal(vt_replay_add(replay, &listeners[1], &err), 0);
		vt_array_replay(&array, replay);
		peak = vt_levels_at_peak(levels, replay, 0);
		assert_int_equal(peak.allocated_bytes, events == 1 ? 8000 : 8512);
		assert_int_equal(peak.known_bytes, events == 1 ? 0 : 512);
		assert_int_equal(peak.time_ns, events == 1 ? 10 : 20);
		assert_int_equal(vt_groups_count(groups), events - 1);
		if (events == 2)
			assert_int_equal(vt_groups_get(groups, 0).peak_bytes, 512);
		vt_levels_view_free(levels);
		vt_groups_free(groups);
		vt_replay_free(replay);
	}
	vt_array_done(&array);
}

/* What was allocated at any time of [from, to), by going through the events. */
static uint64_t slow_maximum(const struct vt_array *array, uint64_t from, uint64_t to)
{
	uint64_t now = 0, most = 0;

	for (size_t i = 0; i < array->count; i++) {
		uint64_t time = array->items[i].time_ns;

		if (time >= to)
			break;
		/* The value before the span's first event still held at its beginning. */
		if (time > from && now > most)
			most = now;
		now = array->items[i].u.tensor.allocated_bytes;
		if (time >= from && now > most)
			most = now;
	}
	return most > now ? most : now;
}

static void check_timeline(uint64_t gap_ns, uint32_t columns)
{
	struct vt_array array = { .count = 0 };
	struct vt_timeline_picture picture;
	struct vt_timeline *timeline;
	struct vt_replay *replay;
	struct vt_listener listener;
	struct vt_err err;
	uint64_t time = 5000, total = 0;

	for (int i = 0; i < 2000; i++) {
		uint64_t bytes = 512 * (uint64_t)(1 + rng(1000));

		time += rng((uint32_t)gap_ns);
		total += bytes;
		add_tensor(&array, time, 0x1000, (int64_t)bytes, total);
		time += rng((uint32_t)gap_ns);
		total -= bytes;
		add_tensor(&array, time, 0x1000, -(int64_t)bytes, total);
	}
	assert_int_equal(vt_replay_new(&replay, &err), 0);
	assert_int_equal(vt_timeline_new(&timeline, &err), 0);
	listener = vt_timeline_listener(timeline);
	assert_int_equal(vt_replay_add(replay, &listener, &err), 0);
	vt_array_replay(&array, replay);
	assert_int_equal(vt_timeline_draw(timeline, 0, columns, &picture, &err), 0);
	assert_true(picture.columns > columns / 2 && picture.columns <= columns);
	assert_int_equal(picture.start_ns, array.items[0].time_ns);
	assert_true(picture.start_ns + picture.columns * picture.column_ns > time);
	for (uint32_t i = 0; i < picture.columns; i++) {
		uint64_t from = picture.start_ns + i * picture.column_ns;

		assert_int_equal(picture.allocated[i], slow_maximum(&array, from, from + picture.column_ns));
	}
	vt_timeline_picture_done(&picture);
	vt_timeline_free(timeline);
	vt_replay_free(replay);
	vt_array_done(&array);
}

static void test_timeline(void **state)
{
	(void)state;
	rng_state = 42;
	/* From about 200 us, far inside the first spans, to about 2000 s, many mergings later. */
	check_timeline(100, 72);
	check_timeline(100000, 72);
	check_timeline(1000000000, 72);
	check_timeline(1000000000, 133);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_streams),
		cmocka_unit_test(test_lost_free),
		cmocka_unit_test(test_late_capture),
		cmocka_unit_test(test_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
