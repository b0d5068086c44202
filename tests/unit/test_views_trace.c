/* test_views_trace.c - the reports over the trace of views_scenario.h; every number here is from the table there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/views/oom.h"
#include "analyze/views/ops_print.h"
#include "analyze/views/report.h"
#include "schema/base/bits.h"
#include "tests/unit/views_scenario.h"

#define MIB (UINT64_C(1) << 20)
#define MS(ms) ((uint64_t)((ms)*1000000) + 1)

static char path[] = "/tmp/test_views_XXXXXX";

static int make_trace(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	vt_views_scenario(path);
	return 0;
}

static int drop_trace(void **state)
{
	(void)state;
	return unlink(path);
}

static void open_session(struct vt_session *session, const char *at)
{
	const struct vt_common_options options = { .color = "never", .device = -1, .process = -1, .top = 10, .at = at };
	struct vt_err err = { .code = VT_E_OK };

	if (vt_session_open(session, path, &options, "peak", &err) < 0)
		fail_msg("%s", err.msg);
}

static void check_holder(const struct vt_holder *holder, const char *op, const char *where, uint64_t bytes,
			 uint64_t blocks)
{
	char text[VT_PLACE_MAX];

	assert_string_equal(vt_place_op(&holder->place), op);
	assert_string_equal(vt_place_where(text, &holder->place, 200), where);
	assert_int_equal(holder->bytes, bytes);
	assert_int_equal(holder->blocks, blocks);
}

static void check_sum(const struct vt_holders *holders, uint64_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < holders->count; i++)
		sum += holders->list[i].bytes;
	assert_int_equal(sum, bytes);
	assert_int_equal(holders->bytes, bytes);
}

static void test_report_at_peak(void **state)
{
	struct vt_session session;
	struct vt_report report;
	struct vt_err err;

	(void)state;
	open_session(&session, NULL);
	assert_int_equal(vt_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ndevices, 1);
	assert_int_equal(session.ooms, 1);

	const struct vt_report_device *device = &report.devices[0];
	const struct vt_device *counts = vt_replay_device(session.replay, device->index);

	assert_int_equal(counts->peak_allocated_bytes, 410 * MIB + MIB / 2);
	assert_int_equal(counts->peak_allocated_ns, MS(30));
	assert_int_equal(counts->allocs, 8);
	assert_int_equal(counts->frees, 2);
	assert_int_equal(counts->allocated_total_bytes, 762 * MIB + MIB / 2);
	assert_int_equal(counts->mismatches, 0);
	/* 15 ms and 10 ms. */
	assert_int_equal(device->mean_lifetime_ns, 12500000);
	assert_int_equal(device->holders.count, 5);
	check_sum(&device->holders, 410 * MIB + MIB / 2);
	check_holder(&device->holders.list[0], "aten::mm", "/home/me/project/nets/model.py:21 Net.forward", 200 * MIB,
		     1);
	check_holder(&device->holders.list[1], "aten::mm", "in MmBackward0", 200 * MIB, 1);
	check_holder(&device->holders.list[2], "aten::empty", "/home/me/project/nets/model.py:12 Net.__init__", 8 * MIB,
		     1);
	check_holder(&device->holders.list[3], "aten::clone", "/home/me/project/train.py:40 main", 2 * MIB, 1);
	check_holder(&device->holders.list[4], "(no op)", "", MIB / 2, 1);

	assert_true(vt_levels_simultaneous(&device->levels));
	assert_int_equal(device->levels.free_bytes, 478 * MIB);
	assert_int_equal(device->levels.process_bytes, 482 * MIB);
	assert_int_equal(device->levels.driver_bytes, 422 * MIB);
	assert_int_equal(device->levels.reserved_bytes, 422 * MIB);
	assert_int_equal(vt_calls_count(report.calls, device->index, VT_driver_api_MEM_ALLOC).calls, 6);
	assert_int_equal(vt_calls_count(report.calls, device->index, VT_driver_api_MEM_ALLOC).out_of_memory, 2);
	assert_int_equal(vt_calls_count(report.calls, device->index, VT_driver_api_MEM_ALLOC).time_ns, 600000);
	vt_report_done(&report);
	vt_session_done(&session);
}

static void check_moment(const char *at, uint64_t bytes, size_t holders)
{
	struct vt_session session;
	struct vt_report report;
	struct vt_err err;

	open_session(&session, at);
	assert_int_equal(vt_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ndevices, 1);
	assert_int_equal(report.devices[0].holders.count, holders);
	check_sum(&report.devices[0].holders, bytes);
	vt_report_done(&report);
	vt_session_done(&session);
}

static void test_report_at_moments(void **state)
{
	(void)state;
	check_moment("end", 362 * MIB + MIB / 2, 5);
	check_moment("oom", 362 * MIB + MIB / 2, 5);
	check_moment("10ms", 8 * MIB, 1);
	check_moment("9.99ms", 0, 0);
	check_moment("0.021s", 208 * MIB + MIB / 2, 3);
	check_moment("36ms", 210 * MIB + MIB / 2, 4);
	check_moment("45ms", 10 * MIB + MIB / 2, 3);
}

static void test_oom(void **state)
{
	struct vt_session session;
	struct vt_oom_report report;
	struct vt_err err;
	uint64_t others;

	(void)state;
	open_session(&session, "end");
	assert_int_equal(vt_oom_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ooms, 1);
	assert_int_equal(report.nstories, 1);
	assert_false(report.growing);

	const struct vt_oom_facts *facts = &report.stories[0].facts;

	assert_int_equal(facts->requested_bytes, 300 * MIB);
	assert_int_equal(facts->tried_bytes, 300 * MIB);
	assert_int_equal(facts->attempt.failures, 2);
	assert_int_equal(facts->attempt.size_bytes, 300 * MIB);
	assert_int_equal(facts->attempt.api, VT_driver_api_MEM_ALLOC);
	assert_int_equal(facts->released_bytes, 0);
	assert_true(vt_oom_others(facts, &others));
	assert_int_equal(others, 500 * MIB);
	assert_int_equal(vt_oom_unallocated(facts), 59 * MIB + MIB / 2);
	assert_true(facts->has_segments);
	assert_int_equal(facts->space.segments, 4);
	assert_int_equal(facts->space.segment_bytes, 422 * MIB);
	assert_int_equal(facts->space.free_bytes, 58 * MIB);
	assert_int_equal(facts->space.free_ranges, 2);
	assert_int_equal(facts->space.largest_bytes, 50 * MIB);
	assert_int_equal(facts->space.other_free_bytes, 3 * MIB / 2);
	assert_int_equal(facts->space.stray_blocks, 0);
	/* Alive since before the step that ended at 41 ms: weight, workspace, the first of what is kept. */
	assert_int_equal(facts->growth.steps, 1);
	assert_int_equal(facts->survived_bytes, 10 * MIB + MIB / 2);
	check_sum(&report.stories[0].holders, 362 * MIB + MIB / 2);
	check_holder(&report.stories[0].holders.list[0], "aten::mm", "/home/me/project/nets/model.py:21 Net.forward",
		     200 * MIB, 1);
	check_holder(&report.stories[0].holders.list[3], "aten::clone", "/home/me/project/train.py:40 main", 4 * MIB,
		     2);
	assert_string_equal(report.stories[0].asker.op, "aten::mm");
	assert_int_equal(report.stories[0].asker.frame.line, 21);
	vt_oom_report_done(&report);
	vt_session_done(&session);
}

static const struct vt_ops_row *find_op(const struct vt_ops_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->rows[i].place.op, name))
			return &table->rows[i];
	fail_msg("no op %s", name);
	return NULL;
}

static void check_op(const struct vt_ops_table *table, const char *name, uint64_t calls, int64_t self_mib,
		     int64_t total_mib)
{
	const struct vt_ops_row *row = find_op(table, name);

	assert_int_equal(row->calls, calls);
	assert_int_equal(row->self_bytes, self_mib * (int64_t)MIB);
	assert_int_equal(row->total_bytes, total_mib * (int64_t)MIB);
}

static void test_ops(void **state)
{
	struct vt_ops_report report = { .by = VT_OPS_BY_NAME };
	struct vt_session session;
	struct vt_ops_table table;
	struct vt_err err;
	int64_t sum = 0;

	(void)state;
	open_session(&session, NULL);
	assert_int_equal(vt_ops_report_run(&report, &session, true, &err), 0);

	struct vt_lens lens = { session.replay, session.symbols, report.groups, 0, VT_MOMENT_PEAK };

	assert_int_equal(vt_ops_build(&table, report.ops, &lens, &err), 0);
	assert_int_equal(table.count, 7);
	/* aten::mm: 200 + 200 below aten::linear, 200 + 150 below MmBackward0, which itself freed 200. */
	check_op(&table, "aten::mm", 4, 750, 750);
	check_op(&table, "aten::linear", 2, 0, 400);
	check_op(&table, "MmBackward0", 2, -200, 150);
	check_op(&table, "aten::empty", 1, 8, 8);
	check_op(&table, "aten::clone", 2, 4, 4);
	check_op(&table, "Optimizer.step#SGD.step", 1, 0, 0);
	/* Out of all ops: the workspace came, the gradient went. */
	assert_int_equal(find_op(&table, "")->self_bytes, (int64_t)(MIB / 2) - 200 * (int64_t)MIB);
	assert_int_equal(find_op(&table, "aten::mm")->live_bytes, 400 * MIB);
	assert_int_equal(find_op(&table, "aten::mm")->allocated_bytes, 750 * MIB);
	assert_int_equal(find_op(&table, "aten::mm")->frees, 2);
	assert_int_equal((uint64_t)find_op(&table, "aten::mm")->lifetime_ns, 25000000);
	assert_int_equal(table.live_bytes, 410 * MIB + MIB / 2);
	for (size_t i = 0; i < table.count; i++)
		sum += table.rows[i].self_bytes;
	assert_int_equal(sum, 362 * MIB + MIB / 2);
	vt_ops_table_done(&table);
	vt_ops_report_done(&report);
	vt_session_done(&session);

	report = (struct vt_ops_report){ .by = VT_OPS_BY_STACK };
	open_session(&session, NULL);
	assert_int_equal(vt_ops_report_run(&report, &session, true, &err), 0);
	lens = (struct vt_lens){ session.replay, session.symbols, report.groups, 0, VT_MOMENT_PEAK };
	assert_int_equal(vt_ops_build_lines(&table, &report.lines, &lens, &err), 0);
	assert_int_equal(table.count, 5);
	assert_int_equal(table.live_bytes, 410 * MIB + MIB / 2);
	assert_int_equal(find_op(&table, "aten::clone")->allocs, 2);
	assert_int_equal(find_op(&table, "aten::clone")->place.frame.line, 40);
	vt_ops_table_done(&table);
	vt_ops_report_done(&report);
	vt_session_done(&session);
}

/* At 21.5 ms aten::mm has ended and aten::linear around it has not; at 20.5 ms neither has. */
static void check_open(const char *at, uint64_t mm_open, uint64_t linear_open)
{
	struct vt_ops_report report = { .by = VT_OPS_BY_NAME };
	struct vt_session session;
	struct vt_ops_table table;
	struct vt_err err;

	open_session(&session, at);
	assert_int_equal(vt_ops_report_run(&report, &session, true, &err), 0);

	struct vt_lens lens = { session.replay, session.symbols, report.groups, 0, VT_MOMENT_NOW };

	assert_int_equal(vt_ops_build(&table, report.ops, &lens, &err), 0);
	assert_int_equal(find_op(&table, "aten::mm")->open_calls, mm_open);
	assert_int_equal(find_op(&table, "aten::mm")->calls, 1);
	assert_int_equal(find_op(&table, "aten::linear")->open_calls, linear_open);
	assert_int_equal(find_op(&table, "aten::linear")->calls, 1);
	vt_ops_table_done(&table);
	vt_ops_report_done(&report);
	vt_session_done(&session);
}

static void test_open_calls(void **state)
{
	(void)state;
	check_open("20.5ms", 1, 1);
	check_open("21.5ms", 0, 1);
	check_open("22.5ms", 0, 0);
}

static void check_where(size_t columns, const char *wanted)
{
	const struct vt_place place = {
		.op = "aten::mm",
		.within = "",
		.has_frame = true,
		.frame = { .function = "Net.Block.forward", .file = "/home/me/project/nets/model.py", .line = 21 }
	};
	char text[VT_PLACE_MAX];

	assert_string_equal(vt_place_where(text, &place, columns), wanted);
}

static void test_where(void **state)
{
	char text[VT_PLACE_MAX];

	(void)state;
	check_where(100, "/home/me/project/nets/model.py:21 Net.Block.forward");
	check_where(51, "/home/me/project/nets/model.py:21 Net.Block.forward");
	check_where(50, "home/me/project/nets/model.py:21 Net.Block.forward");
	check_where(49, "me/project/nets/model.py:21 Net.Block.forward");
	check_where(36, "nets/model.py:21 Net.Block.forward");
	check_where(31, "model.py:21 Net.Block.forward");
	check_where(28, "model.py:21 forward");
	check_where(18, "model.py:21");
	check_where(0, "model.py:21");
	assert_string_equal(vt_place_clip(text, "autograd::engine::evaluate_function: MmBackward0", 23),
			    "autograd::...mBackward0");
	assert_string_equal(vt_place_clip(text, "aten::mm", 23), "aten::mm");
}

static void test_choices(void **state)
{
	const struct vt_common_options good = { .color = "never", .device = 3, .process = 4242, .top = 10 };
	struct vt_common_options bad = { .color = "never", .device = -1, .process = 7, .top = 10 };
	struct vt_session session;
	struct vt_report report;
	struct vt_err err;

	(void)state;
	assert_int_equal(vt_session_open(&session, path, &good, "peak", &err), 0);
	assert_int_equal(session.process, 1);
	assert_int_equal(vt_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ndevices, 0);
	vt_report_done(&report);
	vt_session_done(&session);
	assert_int_equal(vt_session_open(&session, path, &bad, "peak", &err), -VT_E_USAGE);
	vt_session_done(&session);
	bad.process = -1;
	bad.at = "noon";
	assert_int_equal(vt_session_open(&session, path, &bad, "peak", &err), -VT_E_USAGE);
	vt_session_done(&session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_at_peak),
		cmocka_unit_test(test_report_at_moments),
		cmocka_unit_test(test_oom),
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_open_calls),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_where),
	};

	return cmocka_run_group_tests(tests, make_trace, drop_trace);
}
