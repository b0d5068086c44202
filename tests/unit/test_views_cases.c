/* test_views_cases.c - small traces, one for each thing that the scenario of views_scenario.h does not have. */
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
#include "trace_builder.h"

#define MIB (UINT64_C(1) << 20)

static char path[] = "/tmp/test_views_cases_XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int drop_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void alloc(struct vt_builder *builder, uint32_t process, uint64_t time_ns, int16_t device, uint64_t address,
		  uint64_t bytes)
{
	vt_builder_alloc(builder, process,
			 &(struct vt_tensor){ .time_ns = time_ns,
					      .address = address,
					      .size_bytes = (int64_t)bytes,
					      .device = device,
					      .device_type = VT_device_type_CUDA });
}

static void open_session(struct vt_session *session, struct vt_common_options options)
{
	struct vt_err err = { .code = VT_E_OK };

	options.color = "never";
	if (vt_session_open(session, path, &options, "peak", &err) < 0)
		fail_msg("%s", err.msg);
}

#define ALL ((struct vt_common_options){ .device = -1, .process = -1, .top = 10 })

/* PyTorch is in it: refused driver calls are the business of its allocator. */
static uint32_t torch_process(struct vt_builder *builder, const char *command)
{
	uint32_t process = vt_builder_process(builder, 10, -1, command);

	vt_builder_note(builder, process, 1, VT_note_code_TORCH_FOUND, 0, "2.11.0");
	return process;
}

static void end_step(struct vt_builder *builder, uint32_t process, uint32_t node, uint64_t time_ns)
{
	vt_builder_event(builder, process, VT_EVENT_op,
			 &(struct vt_op){ .start_ns = time_ns - 1, .end_ns = time_ns, .node = node, .thread = 1 });
}

static void oom(struct vt_builder *builder, uint32_t process, uint64_t time_ns, int16_t device)
{
	vt_builder_event(builder, process, VT_EVENT_oom,
			 &(struct vt_oom){ .time_ns = time_ns,
					   .requested_bytes = 4 * MIB,
					   .allocated_bytes = 6 * MIB,
					   .reserved_bytes = 8 * MIB,
					   .thread = 1,
					   .device = device,
					   .device_type = VT_device_type_CUDA });
}

/* Six steps, each of which keeps 1 MiB: at their ends 1, 2, ... 6. fall: before the fourth ends, the first two are
 * freed. */
static struct vt_growth growth_of(bool fall, bool *ret_growing)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = vt_builder_process(builder, 10, -1, "leak");
	uint32_t step = vt_builder_op(builder, process, 0, "Optimizer.step#Adam.step", VT_op_scope_USER);
	uint32_t other = vt_builder_op(builder, process, 0, "Optimizer.step#Adam.step", VT_op_scope_FUNCTION);
	struct vt_oom_report report;
	struct vt_session session;
	struct vt_growth growth;
	struct vt_err err;

	for (uint64_t i = 0; i < 6; i++) {
		uint64_t now = 1000 * (i + 1);

		alloc(builder, process, now, 0, MIB * (100 + i), MIB);
		alloc(builder, process, now + 10, 0, MIB * 200, 50 * MIB);
		vt_builder_free(builder, process, now + 20, 0, MIB * 200);
		if (fall && i == 3) {
			vt_builder_free(builder, process, now + 21, 0, MIB * 100);
			vt_builder_free(builder, process, now + 22, 0, MIB * 101);
		}
		end_step(builder, process, step, now + 30);
		/* Of the same name, but no range: not a step. */
		end_step(builder, process, other, now + 40);
	}
	oom(builder, process, 9000, 0);
	vt_builder_close(builder);
	open_session(&session, ALL);
	assert_int_equal(vt_oom_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.nstories, 1);
	growth = report.stories[0].facts.growth;
	*ret_growing = report.growing;
	vt_oom_report_done(&report);
	vt_session_done(&session);
	return growth;
}

static void test_growth(void **state)
{
	struct vt_growth growth;
	bool growing;

	(void)state;
	growth = growth_of(false, &growing);
	assert_int_equal(growth.steps, 6);
	assert_int_equal(growth.rising, 5);
	assert_int_equal(growth.rise_bytes, 5 * MIB);
	assert_int_equal(growth.last_ns, 6030);
	assert_true(growing);
	growth = growth_of(true, &growing);
	assert_int_equal(growth.steps, 6);
	assert_int_equal(growth.rising, 2);
	assert_int_equal(growth.rise_bytes, 2 * MIB);
	assert_false(growing);
}

/* Two processes, of which the second has two devices: nothing is added up over them. */
static void test_processes_and_devices(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t first = vt_builder_process(builder, 10, 0, "rank 0");
	uint32_t second = vt_builder_process(builder, 11, 1, "rank 1");
	struct vt_common_options options = ALL;
	struct vt_session session;
	struct vt_report report;
	struct vt_err err;

	(void)state;
	alloc(builder, first, 10, 0, 0x100000, 3 * MIB);
	alloc(builder, second, 11, 0, 0x100000, 5 * MIB);
	alloc(builder, second, 12, 1, 0x100000, 7 * MIB);
	alloc(builder, second, 13, 1, 0x900000, 1 * MIB);
	vt_builder_close(builder);

	open_session(&session, options);
	assert_int_equal(vt_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ndevices, 3);
	assert_int_equal(report.devices[0].holders.bytes, 8 * MIB);
	assert_int_equal(report.devices[1].holders.bytes, 5 * MIB);
	assert_int_equal(report.devices[2].holders.bytes, 3 * MIB);
	vt_report_done(&report);
	vt_session_done(&session);

	options.process = 11; /* a pid */
	options.device = 0;
	open_session(&session, options);
	assert_int_equal(vt_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ndevices, 1);
	assert_int_equal(report.devices[0].holders.bytes, 5 * MIB);
	vt_report_done(&report);
	vt_session_done(&session);
}

/* Ten errors: the first seven and the last are told. Each has its own failed calls. */
static void test_many_errors(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = torch_process(builder, "retries");
	struct vt_oom_report report;
	struct vt_session session;
	struct vt_err err;

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		for (uint64_t call = 0; call <= i; call++)
			vt_builder_event(builder, process, VT_EVENT_driver_memory,
					 &(struct vt_driver_memory){ .time_ns = 1000 * (i + 1) + call,
								     .start_ns = 1000 * (i + 1) + call,
								     .size_bytes = 20 * MIB,
								     .result = 2,
								     .api = VT_driver_api_MEM_ALLOC });
		oom(builder, process, 1000 * (i + 1) + 500, 0);
	}
	vt_builder_close(builder);
	open_session(&session, ALL);
	assert_int_equal(vt_oom_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ooms, 10);
	assert_int_equal(report.nstories, VT_OOM_FULL_MAX);
	for (unsigned i = 0; i < VT_OOM_FULL_MAX; i++) {
		uint64_t number = i + 1 < VT_OOM_FULL_MAX ? i + 1 : 10;

		assert_int_equal(report.stories[i].number, number);
		assert_int_equal(report.stories[i].facts.attempt.failures, number);
		assert_int_equal(report.stories[i].facts.tried_bytes, 20 * MIB);
		assert_false(report.stories[i].facts.has_segments);
	}
	vt_oom_report_done(&report);
	vt_session_done(&session);
}

/* PyTorch gives a cached segment back between its two tries. */
static void test_released(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = torch_process(builder, "release");
	struct vt_driver_memory call = { .size_bytes = 64 * MIB,
					 .address = 0x10000000,
					 .api = VT_driver_api_MEM_ALLOC };
	struct vt_oom_report report;
	struct vt_session session;
	struct vt_err err;

	(void)state;
	call.time_ns = call.start_ns = 10;
	vt_builder_event(builder, process, VT_EVENT_driver_memory, &call);
	call = (struct vt_driver_memory){
		.time_ns = 20, .start_ns = 20, .size_bytes = 128 * MIB, .result = 2, .api = VT_driver_api_MEM_ALLOC
	};
	vt_builder_event(builder, process, VT_EVENT_driver_memory, &call);
	vt_builder_event(builder, process, VT_EVENT_driver_memory,
			 &(struct vt_driver_memory){
				 .time_ns = 30, .start_ns = 30, .address = 0x10000000, .api = VT_driver_api_MEM_FREE });
	call.time_ns = call.start_ns = 40;
	vt_builder_event(builder, process, VT_EVENT_driver_memory, &call);
	oom(builder, process, 50, 0);
	vt_builder_close(builder);
	open_session(&session, ALL);
	assert_int_equal(vt_oom_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.stories[0].facts.attempt.failures, 2);
	assert_int_equal(report.stories[0].facts.released_bytes, 64 * MIB);
	assert_int_equal(report.stories[0].facts.tried_bytes, 128 * MIB);
	vt_oom_report_done(&report);
	vt_session_done(&session);
}

/*
 * aten::mean runs in three ways: alone in itself (one call), twice in itself (three calls), and in a trace that ends
 * inside it. Each inner call allocates 1 MiB, which stays.
 */
static void test_folded_calls(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = vt_builder_process(builder, 10, -1, "fold");
	uint32_t outer = vt_builder_op(builder, process, 0, "aten::mean", VT_op_scope_FUNCTION);
	uint32_t inner = vt_builder_op(builder, process, outer, "aten::mean", VT_op_scope_FUNCTION);
	static const uint32_t inner_calls[] = { 1, 2, 1 };
	struct vt_ops_report report = { .by = VT_OPS_BY_NAME };
	struct vt_session session;
	struct vt_ops_table table;
	struct vt_err err;
	uint64_t now = 10;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(inner_calls); i++) {
		for (uint32_t call = 0; call < inner_calls[i]; call++) {
			now += 10;
			vt_builder_alloc(builder, process,
					 &(struct vt_tensor){ .time_ns = now,
							      .address = MIB * now,
							      .size_bytes = (int64_t)MIB,
							      .op = inner,
							      .device_type = VT_device_type_CUDA });
			end_step(builder, process, inner, now + 1);
		}
		if (i < 2)
			end_step(builder, process, outer, now + 2);
	}
	vt_builder_close(builder);
	open_session(&session, ALL);
	assert_int_equal(vt_ops_report_run(&report, &session, true, &err), 0);

	struct vt_lens lens = { session.replay, session.symbols, report.groups, 0, VT_MOMENT_NOW };

	assert_int_equal(vt_ops_build(&table, report.ops, &lens, &err), 0);
	assert_int_equal(table.count, 1);
	/* Outer: two that ended and an open one. Inner: the two of the second; the third's caller has not ended. */
	assert_int_equal(table.rows[0].calls, 3 + 2 + 1);
	assert_int_equal(table.rows[0].open_calls, 1);
	assert_int_equal(table.rows[0].self_bytes, 4 * MIB);
	/* For both of a pair 4 + 4, less the folded one. */
	assert_int_equal(table.rows[0].total_bytes, 7 * MIB);
	vt_ops_table_done(&table);
	vt_ops_report_done(&report);
	vt_session_done(&session);
}

/* A program without PyTorch: the refused call is the error, and the figures read right after it belong to it. */
static void test_refused_without_torch(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = vt_builder_process(builder, 10, -1, "plain");
	struct vt_oom_report report;
	struct vt_session session;
	struct vt_err err;

	(void)state;
	vt_builder_event(builder, process, VT_EVENT_driver_memory,
			 &(struct vt_driver_memory){ .time_ns = 10,
						     .start_ns = 9,
						     .address = 0x10000000,
						     .size_bytes = 64 * MIB,
						     .api = VT_driver_api_MEM_ALLOC });
	for (uint64_t i = 0; i < 2; i++) {
		vt_builder_event(builder, process, VT_EVENT_driver_memory,
				 &(struct vt_driver_memory){ .time_ns = 20 + 10 * i,
							     .start_ns = 19,
							     .size_bytes = 128 * MIB,
							     .result = 2,
							     .api = VT_driver_api_MEM_ALLOC });
		vt_builder_event(builder, process, VT_EVENT_device_sample,
				 &(struct vt_device_sample){ .time_ns = 25 + 10 * i,
							     .total_bytes = 1024 * MIB,
							     .free_bytes = (100 + i) * MIB,
							     .process_bytes = 80 * MIB });
	}
	vt_builder_close(builder);
	open_session(&session, ALL);
	assert_int_equal(vt_oom_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ooms, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct vt_oom_story *story = &report.stories[i];

		assert_true(story->facts.from_driver);
		assert_int_equal(story->facts.attempt.failures, 1);
		assert_int_equal(story->facts.requested_bytes, 128 * MIB);
		assert_int_equal(story->facts.tried_bytes, 128 * MIB);
		assert_int_equal(story->facts.free_bytes, (100 + i) * MIB);
		assert_int_equal(story->facts.process_bytes, 80 * MIB);
		assert_int_equal(story->levels.driver_bytes, 64 * MIB);
		assert_int_equal(story->levels.free_bytes, (100 + i) * MIB);
		assert_false(story->levels.has_tensors);
		assert_int_equal(story->holders.count, 0);
	}
	vt_oom_report_done(&report);
	vt_session_done(&session);
}

/* PyTorch on backend:cudaMallocAsync: its blocks are the pool's, and so is the refusal. */
static void test_refused_by_a_pool(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = torch_process(builder, "async");
	struct vt_oom_report report;
	struct vt_session session;
	struct vt_err err;

	(void)state;
	vt_builder_event(builder, process, VT_EVENT_driver_memory,
			 &(struct vt_driver_memory){ .time_ns = 10,
						     .start_ns = 9,
						     .address = 0x10000000,
						     .size_bytes = 10 * MIB,
						     .pool_reserved_bytes = 32 * MIB,
						     .pool_used_bytes = 10 * MIB,
						     .api = VT_driver_api_MEM_ALLOC_ASYNC });
	vt_builder_event(builder, process, VT_EVENT_driver_memory,
			 &(struct vt_driver_memory){ .time_ns = 20,
						     .start_ns = 19,
						     .size_bytes = 500 * MIB,
						     .result = 2,
						     .pool_reserved_bytes = 32 * MIB,
						     .pool_used_bytes = 10 * MIB,
						     .api = VT_driver_api_MEM_ALLOC_ASYNC });
	/* What the agent writes behind such a call. */
	vt_builder_event(builder, process, VT_EVENT_oom,
			 &(struct vt_oom){ .time_ns = 21,
					   .requested_bytes = 500 * MIB,
					   .allocated_bytes = 10 * MIB,
					   .reserved_bytes = 32 * MIB,
					   .device_type = VT_device_type_CUDA });
	/* A plain allocation that is refused is PyTorch's or a library's own matter. */
	vt_builder_event(builder, process, VT_EVENT_driver_memory,
			 &(struct vt_driver_memory){ .time_ns = 30,
						     .start_ns = 29,
						     .size_bytes = 700 * MIB,
						     .result = 2,
						     .api = VT_driver_api_MEM_ALLOC });
	vt_builder_close(builder);
	open_session(&session, ALL);
	assert_int_equal(vt_oom_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ooms, 1);
	assert_false(report.stories[0].facts.from_driver);
	assert_int_equal(report.stories[0].facts.requested_bytes, 500 * MIB);
	assert_int_equal(report.stories[0].facts.allocated_bytes, 10 * MIB);
	assert_int_equal(report.stories[0].facts.reserved_bytes, 32 * MIB);
	assert_int_equal(report.stories[0].holders.bytes, 10 * MIB);
	vt_oom_report_done(&report);
	vt_session_done(&session);
}

/* Nothing in it at all. */
static void test_empty(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	struct vt_session session;
	struct vt_report report;
	struct vt_err err;

	(void)state;
	vt_builder_process(builder, 10, -1, "true");
	vt_builder_close(builder);
	open_session(&session, ALL);
	assert_int_equal(vt_report_run(&report, &session, true, &err), 0);
	assert_int_equal(report.ndevices, 0);
	vt_report_done(&report);
	vt_session_done(&session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_processes_and_devices),
		cmocka_unit_test(test_many_errors),
		cmocka_unit_test(test_released),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_refused_without_torch),
		cmocka_unit_test(test_refused_by_a_pool),
		cmocka_unit_test(test_folded_calls),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
