/* test_views_kernels.c - the table of kernels over a trace made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/views/kernels.h"
#include "trace_builder.h"

static char path[64];

static void kernel(struct vt_builder *builder, uint32_t process, uint64_t start_ns, uint64_t end_ns,
		   uint32_t correlation)
{
	vt_builder_event(builder, process, VT_EVENT_kernel,
			 &(struct vt_kernel){ .start_ns = start_ns, .end_ns = end_ns, .correlation = correlation });
}

static void launch(struct vt_builder *builder, uint32_t process, uint64_t start_ns, uint64_t end_ns,
		   uint32_t correlation, uint32_t op)
{
	vt_builder_event(
		builder, process, VT_EVENT_launch,
		&(struct vt_launch){ .start_ns = start_ns, .time_ns = end_ns, .correlation = correlation, .op = op });
}

/*
 * mm launches 7, which runs 100 ns after the call began, for 50; and a graph 8 whose two kernels run for 10 and 20. add's
 * call 9 returns only after its kernel of 5 ns has ended. Kernel 10, of 3 ns, has no launch; and of 9 + 65536 there is a
 * launch alone.
 */
static void make_trace(void)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t process = vt_builder_process(builder, 4242, -1, "python train.py");
	uint32_t mm = vt_builder_op(builder, process, 0, "aten::mm", VT_op_scope_FUNCTION);
	uint32_t add = vt_builder_op(builder, process, 0, "aten::add", VT_op_scope_FUNCTION);

	launch(builder, process, 1000, 1010, 7, mm);
	kernel(builder, process, 1100, 1150, 7);
	launch(builder, process, 2000, 2010, 8, mm);
	kernel(builder, process, 2100, 2110, 8);
	kernel(builder, process, 2110, 2130, 8);
	kernel(builder, process, 3050, 3055, 9);
	launch(builder, process, 3000, 3100, 9, add);
	kernel(builder, process, 4000, 4003, 10);
	launch(builder, process, 5000, 5010, 9 + 65536, add);
	vt_builder_close(builder);
}

static void run(struct vt_kernels_report *report, struct vt_session *session)
{
	const struct vt_common_options options = { .device = -1, .process = -1, .top = 10, .color = "never" };
	struct vt_err err = { .code = VT_E_OK };

	if (vt_session_open(session, path, &options, "end", &err) < 0 ||
	    vt_kernels_report_run(report, session, true, &err) < 0)
		fail_msg("%s", err.msg);
}

static void kernels_belong_to_the_op_that_launched_them(void **state)
{
	struct vt_kernels_report report = { .by = VT_KERNELS_BY_OP };
	struct vt_session session;

	(void)state;
	run(&report, &session);
	assert_int_equal(report.launches, 5);
	assert_int_equal(report.busy_ns, 88);
	assert_int_equal(report.nrows, 3);
	assert_int_equal(report.rows[0].launches, 3); /* mm */
	assert_int_equal(report.rows[0].busy_ns, 80);
	assert_int_equal(report.rows[0].least_ns, 10);
	assert_int_equal(report.rows[0].most_ns, 50);
	assert_int_equal(report.rows[0].wait_ns, 100 + 100 + 110);
	assert_int_equal(report.rows[1].busy_ns, 5); /* add */
	assert_int_equal(report.rows[1].matched, 1);
	assert_int_equal(report.rows[1].wait_ns, 50);
	assert_int_equal(report.rows[2].busy_ns, 3); /* nobody's */
	assert_int_equal(report.rows[2].matched, 0);
	vt_kernels_report_done(&report);
	vt_session_done(&session);
}

static void a_kernel_without_a_name_is_counted(void **state)
{
	struct vt_kernels_report report = { .by = VT_KERNELS_BY_KERNEL };
	struct vt_session session;

	(void)state;
	run(&report, &session);
	assert_int_equal(report.nrows, 1); /* none of them has a config */
	assert_int_equal(report.rows[0].launches, 5);
	assert_int_equal(report.rows[0].matched, 4);
	vt_kernels_report_done(&report);
	vt_session_done(&session);
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/vt-test-kernels-%d.vramtrace", getpid());
	make_trace();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_belong_to_the_op_that_launched_them),
		cmocka_unit_test(a_kernel_without_a_name_is_counted),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
