/* test_links.c - which forward line memory of backward passes belongs to, over traces worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/attribute/attribute.h"
#include "analyze/views/oom.h"
#include "analyze/views/ops_print.h"
#include "trace_builder.h"

/* Kernel threads, and the framework's numbers of them. */
#define MAIN 10
#define AUTOGRAD 20
#define TORCH(thread) ((thread) / 10)
#define BLOCKS_MAX 64

static char path[] = "/tmp/test_links_XXXXXX";

static struct {
	struct vt_builder *builder;
	uint32_t process;
	uint64_t now, allocated;
	uint32_t view, mm, relu, engine, node, node_zeros, node_mm, accumulate;
	uint32_t line_view, line_mm, line_grad, line_backward;
} t;

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

static uint32_t line(uint32_t number)
{
	return vt_builder_stack(t.builder, t.process, 0, "main", "/home/me/train.py", number);
}

static int begin(void **state)
{
	struct vt_builder *b = vt_builder_new(path);
	uint32_t p = vt_builder_process(b, 1, -1, "train");

	(void)state;
	memset(&t, 0, sizeof(t));
	t.builder = b;
	t.process = p;
	t.now = 100;
	t.view = vt_builder_op(b, p, 0, "aten::select", VT_op_scope_FUNCTION);
	t.mm = vt_builder_op(b, p, 0, "aten::mm", VT_op_scope_FUNCTION);
	t.relu = vt_builder_op(b, p, 0, "aten::relu", VT_op_scope_FUNCTION);
	t.engine = vt_builder_op(b, p, 0, "autograd::engine::evaluate_function: MmBackward0", VT_op_scope_FUNCTION);
	t.node = vt_builder_op(b, p, t.engine, "MmBackward0", VT_op_scope_BACKWARD);
	t.node_zeros = vt_builder_op(b, p, t.node, "aten::zeros", VT_op_scope_FUNCTION);
	t.node_mm = vt_builder_op(b, p, t.node, "aten::mm", VT_op_scope_FUNCTION);
	t.accumulate = vt_builder_op(b, p, t.engine, "torch::autograd::AccumulateGrad", VT_op_scope_BACKWARD);
	t.line_view = line(10);
	t.line_mm = line(20);
	t.line_grad = line(30);
	t.line_backward = line(40);
	return 0;
}

static void alloc(uint64_t address, uint32_t op, uint32_t stack, uint32_t thread)
{
	t.allocated += 512;
	vt_builder_event(t.builder, t.process, VT_EVENT_tensor,
			 &(struct vt_tensor){ .time_ns = ++t.now,
					      .address = address,
					      .size_bytes = 512,
					      .allocated_bytes = t.allocated,
					      .thread = thread,
					      .op = op,
					      .stack = stack,
					      .device_type = VT_device_type_CUDA });
}

static void release(uint64_t address, uint32_t op, uint32_t thread)
{
	t.allocated -= 512;
	vt_builder_event(t.builder, t.process, VT_EVENT_tensor,
			 &(struct vt_tensor){ .time_ns = ++t.now,
					      .address = address,
					      .size_bytes = -512,
					      .allocated_bytes = t.allocated,
					      .thread = thread,
					      .op = op,
					      .device_type = VT_device_type_CUDA });
}

struct op {
	uint64_t start_ns;
	uint32_t node, stack, thread;
	int64_t sequence;
	uint32_t forward; /* thread */
};

static void end(struct op op)
{
	vt_builder_event(t.builder, t.process, VT_EVENT_op,
			 &(struct vt_op){ .start_ns = op.start_ns,
					  .end_ns = ++t.now,
					  .sequence = op.sequence,
					  .node = op.node,
					  .stack = op.stack,
					  .thread = op.thread,
					  .torch_thread = TORCH(op.thread),
					  .forward_thread = op.forward ? TORCH(op.forward) : 0 });
}

/* A forward op that allocates nothing. */
static void forward(uint32_t node, int64_t sequence, uint32_t stack)
{
	uint64_t start = ++t.now;

	end((struct op){ start, node, stack, MAIN, sequence, 0 });
}

/* A node that allocates and keeps a block, in a thread without Python. */
static void backward(int64_t sequence, uint64_t address)
{
	uint64_t engine = ++t.now, node = ++t.now;

	alloc(address, t.node_mm, 0, AUTOGRAD);
	end((struct op){ node, t.node, 0, AUTOGRAD, sequence, MAIN });
	end((struct op){ engine, t.engine, 0, AUTOGRAD, -1, 0 });
}

/* The lines of the blocks' forward ops, by address; in the order in which they were told. */
static struct {
	uint64_t address[BLOCKS_MAX];
	struct vt_attributed block[BLOCKS_MAX];
	unsigned count;
} seen;

static int see(void *self, const struct vt_attributed *block, struct vt_err *err)
{
	(void)self;
	(void)err;
	assert_true(seen.count < BLOCKS_MAX);
	seen.address[seen.count] = block->address;
	seen.block[seen.count++] = *block;
	return 0;
}

struct pass {
	struct vt_session session;
	struct vt_attribution *attribution;
};

static void run(struct pass *pass)
{
	const struct vt_common_options options = { .device = -1, .process = -1, .top = 10, .color = "never" };
	struct vt_err err = { .code = VT_E_OK };
	struct vt_listener listener;

	vt_builder_close(t.builder);
	seen.count = 0;
	*pass = (struct pass){ .attribution = NULL };
	if (vt_session_open(&pass->session, path, &options, "peak", &err) < 0 ||
	    vt_attribution_new(&pass->attribution, pass->session.symbols, &err) < 0)
		fail_msg("%s", err.msg);
	vt_attribution_each(pass->attribution, see, NULL);
	listener = vt_attribution_listener(pass->attribution);
	if (vt_replay_add(pass->session.replay, &listener, &err) < 0 || vt_session_run(&pass->session, true, &err) < 0)
		fail_msg("%s", err.msg);
}

static void done(struct pass *pass)
{
	vt_attribution_free(pass->attribution);
	vt_session_done(&pass->session);
}

static const struct vt_attributed *told(uint64_t address)
{
	for (unsigned i = 0; i < seen.count; i++)
		if (seen.address[i] == address)
			return &seen.block[i];
	fail_msg("the block at %#llx was not told", (unsigned long long)address);
	return NULL;
}

static void check_forward(uint64_t address, uint32_t op, uint32_t stack)
{
	assert_int_equal(told(address)->forward_op, op);
	assert_int_equal(told(address)->forward_stack, stack);
}

/* No allocation in the forward op says where it was called: its own event does. */
static void test_op_without_memory(void **state)
{
	struct pass pass;

	(void)state;
	forward(t.view, 0, t.line_view);
	forward(t.mm, 1, t.line_mm);
	backward(1, 0x1000);
	backward(0, 0x2000);
	run(&pass);
	check_forward(0x1000, t.mm, t.line_mm);
	check_forward(0x2000, t.view, t.line_view);
	done(&pass);
}

/* What a node frees before it ends is told with its line too, once; the peak within the node has it. */
static void test_freed_inside_the_node(void **state)
{
	struct vt_attributed_list peak;
	uint64_t engine, node;
	unsigned times = 0;
	struct pass pass;

	(void)state;
	forward(t.view, 0, t.line_view);
	engine = ++t.now;
	node = ++t.now;
	alloc(0x1000, t.node_zeros, 0, AUTOGRAD);
	alloc(0x2000, t.node_mm, 0, AUTOGRAD);
	release(0x1000, t.node_mm, AUTOGRAD);
	release(0x2000, t.node_mm, AUTOGRAD);
	end((struct op){ node, t.node, 0, AUTOGRAD, 0, MAIN });
	end((struct op){ engine, t.engine, 0, AUTOGRAD, -1, 0 });
	run(&pass);
	check_forward(0x1000, t.view, t.line_view);
	check_forward(0x2000, t.view, t.line_view);
	for (unsigned i = 0; i < seen.count; i++)
		times += seen.address[i] == 0x1000;
	assert_int_equal(times, 1);
	peak = vt_attribution_peak(pass.attribution, 0);
	assert_int_equal(peak.count, 2);
	for (size_t i = 0; i < peak.count; i++)
		assert_int_equal(peak.list[i].forward_stack, t.line_view);
	done(&pass);
}

/* The trace ends inside the node: what it freed is told, without a line. */
static void test_open_node(void **state)
{
	struct pass pass;

	(void)state;
	forward(t.view, 0, t.line_view);
	alloc(0x1000, t.node_zeros, 0, AUTOGRAD);
	release(0x1000, t.node_zeros, AUTOGRAD);
	run(&pass);
	assert_int_equal(seen.count, 1);
	check_forward(0x1000, 0, 0);
	done(&pass);
}

/* AccumulateGrad belongs to the node that ran before it, but not to one of another pass. */
static void test_accumulate(void **state)
{
	uint64_t engine, node;
	struct pass pass;

	(void)state;
	forward(t.mm, 0, t.line_mm);
	backward(0, 0x1000);
	engine = ++t.now;
	node = ++t.now;
	alloc(0x2000, t.accumulate, 0, AUTOGRAD);
	end((struct op){ node, t.accumulate, 0, AUTOGRAD, -1, 0 });
	end((struct op){ engine, t.engine, 0, AUTOGRAD, -1, 0 });
	forward(t.relu, 1, t.line_view);
	forward(t.relu, 2, t.line_view);
	engine = ++t.now;
	node = ++t.now;
	alloc(0x3000, t.accumulate, 0, AUTOGRAD);
	end((struct op){ node, t.accumulate, 0, AUTOGRAD, -1, 0 });
	end((struct op){ engine, t.engine, 0, AUTOGRAD, -1, 0 });
	run(&pass);
	check_forward(0x2000, t.mm, t.line_mm);
	check_forward(0x3000, 0, 0);
	done(&pass);
}

/* An in-place op on a view makes two nodes: the second has a number that no op began with. */
static void test_op_of_two_nodes(void **state)
{
	struct pass pass;

	(void)state;
	forward(t.relu, 0, t.line_view);
	forward(t.mm, 2, t.line_mm);
	backward(2, 0x1000);
	backward(1, 0x2000);
	/* Far from all that was seen: not a guess. */
	backward(60, 0x3000);
	run(&pass);
	check_forward(0x1000, t.mm, t.line_mm);
	check_forward(0x2000, t.relu, t.line_view);
	check_forward(0x3000, 0, 0);
	done(&pass);
}

/* Recording was paused: what ran meanwhile may have made the nodes behind the last op that was seen. */
static void test_gap(void **state)
{
	struct pass pass;

	(void)state;
	forward(t.view, 4, t.line_view);
	forward(t.mm, 5, t.line_mm);
	vt_builder_event(t.builder, t.process, VT_EVENT_note,
			 &(struct vt_note){ .time_ns = ++t.now, .code = VT_note_code_GAP_BEGIN });
	vt_builder_event(t.builder, t.process, VT_EVENT_note,
			 &(struct vt_note){ .time_ns = ++t.now, .code = VT_note_code_GAP_END });
	forward(t.relu, 9, t.line_grad);
	backward(10, 0x1000);
	backward(9, 0x2000);
	backward(7, 0x3000);
	backward(5, 0x4000);
	run(&pass);
	check_forward(0x1000, t.relu, t.line_grad);
	check_forward(0x2000, t.relu, t.line_grad);
	check_forward(0x3000, 0, 0);
	check_forward(0x4000, t.mm, t.line_mm);
	done(&pass);
}

/*
 * create_graph=True: the first backward's own ops make nodes, numbered on its thread. Those of the second one belong to
 * the line of the first forward; where Python runs inside a node, to that line.
 */
static void test_second_backward(void **state)
{
	uint64_t engine, node, inner;
	struct pass pass;

	(void)state;
	forward(t.mm, 7, t.line_mm);
	engine = ++t.now;
	node = ++t.now;
	inner = ++t.now;
	end((struct op){ inner, t.node_mm, 0, AUTOGRAD, 0, 0 });
	inner = ++t.now;
	end((struct op){ inner, t.node_zeros, t.line_backward, AUTOGRAD, 1, 0 });
	end((struct op){ node, t.node, 0, AUTOGRAD, 7, MAIN });
	end((struct op){ engine, t.engine, 0, AUTOGRAD, -1, 0 });
	for (int64_t sequence = 0; sequence < 2; sequence++) {
		engine = ++t.now;
		node = ++t.now;
		alloc(0x1000 + (uint64_t)sequence * 0x1000, t.node_mm, 0, AUTOGRAD);
		end((struct op){ node, t.node, 0, AUTOGRAD, sequence, AUTOGRAD });
		end((struct op){ engine, t.engine, 0, AUTOGRAD, -1, 0 });
	}
	run(&pass);
	check_forward(0x1000, t.node_mm, t.line_mm);
	check_forward(0x2000, t.node_zeros, t.line_backward);
	done(&pass);
}

/* On the host the backward runs below the line that asked for it: that is not where its ops belong. */
static void test_second_backward_on_the_host(void **state)
{
	uint64_t node, inner;
	struct pass pass;

	(void)state;
	forward(t.mm, 7, t.line_mm);
	node = ++t.now;
	inner = ++t.now;
	alloc(0x1000, t.node_mm, t.line_grad, MAIN);
	end((struct op){ inner, t.node_mm, t.line_grad, MAIN, 8, 0 });
	end((struct op){ node, t.node, t.line_grad, MAIN, 7, MAIN });
	node = ++t.now;
	alloc(0x2000, t.node_mm, t.line_backward, MAIN);
	end((struct op){ node, t.node, t.line_backward, MAIN, 8, MAIN });
	run(&pass);
	check_forward(0x1000, t.mm, t.line_mm);
	check_forward(0x2000, t.node_mm, t.line_mm);
	done(&pass);
}

/*
 * The last op of a forward pass is known to have made a node when the next op has a higher number: that may be one that a
 * checkpoint runs again in the middle of the backward. It is the same pass all the same.
 */
static void test_pass_with_recomputation(void **state)
{
	uint64_t node, inner;
	struct pass pass;

	(void)state;
	for (int64_t i = 0; i < 6; i += 3) {
		forward(t.mm, i, t.line_mm);
		forward(t.relu, i + 1, t.line_view);
		node = ++t.now;
		alloc(0x1000, t.node_zeros, t.line_backward, MAIN);
		end((struct op){ node, t.node, t.line_backward, MAIN, i + 1, MAIN });
		node = ++t.now;
		inner = ++t.now;
		end((struct op){ inner, t.node_mm, t.line_mm, MAIN, i + 2, 0 });
		end((struct op){ node, t.node, t.line_backward, MAIN, i, MAIN });
		release(0x1000, t.engine, MAIN);
		end((struct op){ ++t.now, t.engine, 0, MAIN, -1, 0 });
	}
	run(&pass);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.block[0].category, VT_CATEGORY_TEMPORARY);
	assert_int_equal(seen.block[1].category, VT_CATEGORY_TEMPORARY);
	assert_int_equal(vt_attribution_steps(pass.attribution, t.process), 2);
	done(&pass);
}

static void ask_for_memory(uint32_t op, uint32_t stack)
{
	vt_builder_event(t.builder, t.process, VT_EVENT_oom,
			 &(struct vt_oom){ .time_ns = ++t.now,
					   .requested_bytes = 4096,
					   .thread = AUTOGRAD,
					   .op = op,
					   .stack = stack,
					   .device_type = VT_device_type_CUDA });
}

/* Memory runs out in backward passes, in a thread without Python: in a node, in the engine behind one, in a recomputation. */
static void test_out_of_memory(void **state)
{
	uint32_t recompute = vt_builder_stack(t.builder, t.process, 0,
					      "_checkpoint_without_reentrant_generator.<locals>.recompute_fn",
					      "/x/site-packages/torch/utils/checkpoint.py", 9);
	const struct vt_common_options options = { .device = -1, .process = -1, .top = 10, .color = "never" };
	struct vt_err err = { .code = VT_E_OK };
	struct vt_oom_report report;
	struct vt_session session;
	uint64_t engine, node;

	(void)state;
	forward(t.view, 0, t.line_view);
	forward(t.mm, 1, t.line_mm);
	alloc(0x1000, t.mm, t.line_mm, MAIN);
	engine = ++t.now;
	node = ++t.now;
	ask_for_memory(t.node_zeros, 0);
	ask_for_memory(t.node_mm, recompute);
	end((struct op){ node, t.node, 0, AUTOGRAD, 0, MAIN });
	ask_for_memory(t.engine, 0);
	end((struct op){ engine, t.engine, 0, AUTOGRAD, -1, 0 });
	backward(1, 0x2000);
	ask_for_memory(t.node_mm, 0);
	vt_builder_close(t.builder);
	if (vt_session_open(&session, path, &options, "peak", &err) < 0 ||
	    vt_oom_report_run(&report, &session, true, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(report.nstories, 4);
	assert_int_equal(vt_attribution_answer(report.attribution, report.stories[0].question).op, t.view);
	assert_int_equal(vt_attribution_answer(report.attribution, report.stories[0].question).stack, t.line_view);
	assert_int_equal(vt_attribution_answer(report.attribution, report.stories[1].question).op, 0);
	assert_int_equal(vt_attribution_answer(report.attribution, report.stories[2].question).stack, t.line_view);
	/* The trace ends before that node. */
	assert_int_equal(vt_attribution_answer(report.attribution, report.stories[3].question).op, 0);
	vt_oom_report_done(&report);
	vt_session_done(&session);
}

/* `ops --by stack`: one op of the graph in a thread without Python has a row for each forward line. */
static void test_ops_by_stack(void **state)
{
	const struct vt_common_options options = { .device = -1, .process = -1, .top = 10, .color = "never" };
	struct vt_ops_report report = { .by = VT_OPS_BY_STACK };
	struct vt_err err = { .code = VT_E_OK };
	struct vt_ops_table table;
	struct vt_session session;
	uint32_t lines[] = { 0, 0 };

	(void)state;
	forward(t.view, 0, t.line_view);
	forward(t.mm, 1, t.line_mm);
	backward(1, 0x1000);
	release(0x1000, t.engine, AUTOGRAD);
	backward(1, 0x1000);
	backward(0, 0x2000);
	vt_builder_close(t.builder);
	if (vt_session_open(&session, path, &options, "peak", &err) < 0 ||
	    vt_ops_report_run(&report, &session, true, &err) < 0)
		fail_msg("%s", err.msg);

	struct vt_lens lens = { session.replay, session.symbols, report.groups, 0, VT_MOMENT_PEAK };

	assert_int_equal(vt_ops_build_lines(&table, &report.lines, &lens, &err), 0);
	assert_int_equal(table.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(table.rows[i].place.backward);
		lines[i] = table.rows[i].place.frame.line;
		assert_int_equal(table.rows[i].allocs, lines[i] == 20 ? 2 : 1);
		assert_int_equal(table.rows[i].live_bytes, 512);
		assert_int_equal(table.rows[i].frees, lines[i] == 20 ? 1 : 0);
	}
	assert_int_equal(lines[0] + lines[1], 10 + 20);
	vt_ops_table_done(&table);
	vt_ops_report_done(&report);
	vt_session_done(&session);
}

/* A table of limited size: what a later op has overwritten is not known, and nothing is made up for it. */
static void test_overwritten(void **state)
{
	struct pass pass;

	(void)state;
	for (int64_t i = 0; i < VT_FORWARDS_MAX + 2; i++)
		forward(t.mm, i, t.line_mm);
	backward(1, 0x1000);
	backward(2, 0x2000);
	run(&pass);
	check_forward(0x1000, 0, 0);
	check_forward(0x2000, t.mm, t.line_mm);
	done(&pass);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_op_without_memory, begin),
		cmocka_unit_test_setup(test_freed_inside_the_node, begin),
		cmocka_unit_test_setup(test_open_node, begin),
		cmocka_unit_test_setup(test_accumulate, begin),
		cmocka_unit_test_setup(test_op_of_two_nodes, begin),
		cmocka_unit_test_setup(test_gap, begin),
		cmocka_unit_test_setup(test_second_backward, begin),
		cmocka_unit_test_setup(test_second_backward_on_the_host, begin),
		cmocka_unit_test_setup(test_pass_with_recomputation, begin),
		cmocka_unit_test_setup(test_out_of_memory, begin),
		cmocka_unit_test_setup(test_ops_by_stack, begin),
		cmocka_unit_test_setup(test_overwritten, begin),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
