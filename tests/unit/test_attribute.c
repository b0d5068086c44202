/* test_attribute.c - what blocks are for, over small traces whose answers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/views/uses.h"
#include "schema/base/bits.h"
#include "trace_builder.h"

#define MAIN 10
#define AUTOGRAD 20
#define TORCH_MAIN 1
#define TORCH_AUTOGRAD 2
#define MIB (UINT64_C(1) << 20)

static char path[] = "/tmp/test_attribute_XXXXXX";

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

/* A training of one layer; time passes by one with each event. */
struct training {
	struct vt_builder *builder;
	uint32_t process;
	uint64_t now;
	uint64_t allocated, peak; /* the allocator's total, and its maximum */
	uint32_t empty, randn, relu, engine, node, node_mm, sum, accumulate, step, zeros, zero_grad;
	uint32_t build, load, forward, optimize;
};

static void begin(struct training *t)
{
	struct vt_builder *b = vt_builder_new(path);
	uint32_t p = vt_builder_process(b, 1, -1, "train");
	uint32_t main_line = vt_builder_stack(b, p, 0, "main", "/home/me/train.py", 10);

	*t = (struct training){ .builder = b, .process = p, .now = 100 };
	t->empty = vt_builder_op(b, p, 0, "aten::empty", VT_op_scope_FUNCTION);
	t->randn = vt_builder_op(b, p, 0, "aten::randn", VT_op_scope_FUNCTION);
	t->relu = vt_builder_op(b, p, 0, "aten::relu", VT_op_scope_FUNCTION);
	t->engine = vt_builder_op(b, p, 0, "autograd::engine::evaluate_function: ReluBackward0", VT_op_scope_FUNCTION);
	t->node = vt_builder_op(b, p, t->engine, "ReluBackward0", VT_op_scope_BACKWARD);
	t->node_mm = vt_builder_op(b, p, t->node, "aten::mm", VT_op_scope_FUNCTION);
	t->sum = vt_builder_op(b, p, t->engine, "aten::sum", VT_op_scope_FUNCTION);
	t->step = vt_builder_op(b, p, 0, "Optimizer.step#SGD.step", VT_op_scope_USER);
	t->zeros = vt_builder_op(b, p, t->step, "aten::zeros_like", VT_op_scope_FUNCTION);
	t->zero_grad = vt_builder_op(b, p, 0, "Optimizer.zero_grad#SGD.zero_grad", VT_op_scope_USER);
	t->build = vt_builder_stack(b, p, main_line, "Linear.__init__", "/x/site-packages/torch/nn/modules/linear.py",
				    100);
	t->load = vt_builder_stack(b, p, 0, "main", "/home/me/train.py", 20);
	t->forward = vt_builder_stack(b, p, main_line, "Net.forward", "/home/me/model.py", 88);
	t->optimize = vt_builder_stack(b, p, main_line, "SGD.step", "/x/site-packages/torch/optim/sgd.py", 60);
}

static void alloc(struct training *t, uint64_t address, uint64_t bytes, uint32_t op, uint32_t stack)
{
	bool autograd = op == t->node || op == t->node_mm || op == t->sum || op == t->engine;

	t->allocated += bytes;
	t->peak = t->allocated > t->peak ? t->allocated : t->peak;
	vt_builder_event(t->builder, t->process, VT_EVENT_tensor,
			 &(struct vt_tensor){ .time_ns = ++t->now,
					      .address = address,
					      .size_bytes = (int64_t)bytes,
					      .allocated_bytes = t->allocated,
					      .thread = autograd ? AUTOGRAD : MAIN,
					      .op = op,
					      .stack = stack,
					      .device_type = VT_device_type_CUDA });
}

/* A free with its op: the builder's own has none. */
static void release(struct training *t, uint64_t address, uint64_t bytes, uint32_t op, uint32_t thread)
{
	t->allocated -= bytes;
	vt_builder_event(t->builder, t->process, VT_EVENT_tensor,
			 &(struct vt_tensor){ .time_ns = ++t->now,
					      .address = address,
					      .size_bytes = -(int64_t)bytes,
					      .allocated_bytes = t->allocated,
					      .thread = thread,
					      .op = op,
					      .device_type = VT_device_type_CUDA });
}

static void op_end(struct training *t, uint64_t start_ns, uint32_t node, int64_t sequence, uint32_t thread)
{
	vt_builder_event(t->builder, t->process, VT_EVENT_op,
			 &(struct vt_op){ .start_ns = start_ns,
					  .end_ns = ++t->now,
					  .sequence = sequence,
					  .node = node,
					  .thread = thread,
					  .torch_thread = thread == MAIN ? TORCH_MAIN : TORCH_AUTOGRAD,
					  .forward_thread = node == t->node ? TORCH_MAIN : 0 });
}

/* An op of the main thread around one allocation. */
static void run_op(struct training *t, uint32_t node, int64_t sequence, uint64_t address, uint64_t bytes,
		   uint32_t stack)
{
	uint64_t start = ++t->now;

	alloc(t, address, bytes, node, stack);
	op_end(t, start, node, sequence, MAIN);
}

#define PARAMETER UINT64_C(0x1000000)
#define INPUT UINT64_C(0x2000000)
#define ACTIVATION UINT64_C(0x3000000)
#define SCRATCH UINT64_C(0x4000000)
#define GRADIENT UINT64_C(0x5000000)
#define STATE UINT64_C(0x6000000)
#define DETAIL UINT64_C(0x7000000)
#define SUMMED UINT64_C(0x8000000)

/* forward, backward on the autograd thread, optimizer; the peak is at SUMMED, of the first step if `first`. */
static void one_step(struct training *t, int64_t sequence, bool first, uint64_t more)
{
	uint64_t engine, node, optimizer;

	run_op(t, t->randn, sequence, INPUT, 2 * MIB, t->load);
	run_op(t, t->relu, sequence, ACTIVATION, 16 * MIB, t->forward);
	engine = ++t->now;
	node = ++t->now;
	alloc(t, SCRATCH, MIB, t->node_mm, 0);
	release(t, SCRATCH, MIB, t->node_mm, AUTOGRAD);
	op_end(t, ++t->now - 3, t->node_mm, -1, AUTOGRAD);
	alloc(t, DETAIL, 5 * MIB, t->node, 0);
	op_end(t, node, t->node, sequence, AUTOGRAD);
	alloc(t, SUMMED, more, t->sum, 0);
	op_end(t, t->now - 1, t->sum, -1, AUTOGRAD);
	release(t, ACTIVATION, 16 * MIB, t->engine, AUTOGRAD);
	alloc(t, GRADIENT, 8 * MIB, t->engine, 0);
	release(t, DETAIL, 5 * MIB, 0, AUTOGRAD);
	op_end(t, engine, t->engine, -1, AUTOGRAD);
	release(t, SUMMED, more, 0, AUTOGRAD);
	optimizer = ++t->now;
	alloc(t, SCRATCH, MIB, t->zeros, t->optimize);
	op_end(t, optimizer + 1, t->zeros, -1, MAIN);
	if (first)
		run_op(t, t->zeros, -1, STATE, 8 * MIB, t->optimize);
	release(t, SCRATCH, MIB, t->step, MAIN);
	op_end(t, optimizer, t->step, -1, MAIN);
	release(t, GRADIENT, 8 * MIB, t->zero_grad, MAIN);
	op_end(t, ++t->now - 2, t->zero_grad, -1, MAIN);
	release(t, INPUT, 2 * MIB, 0, MAIN);
}

static void open_session(struct vt_session *session, const char *at)
{
	const struct vt_common_options options = { .device = -1, .process = -1, .top = 10, .at = at, .color = "never" };
	struct vt_err err = { .code = VT_E_OK };

	if (vt_session_open(session, path, &options, "peak", &err) < 0)
		fail_msg("%s", err.msg);
}

static const struct vt_attributed *find(struct vt_attributed_list blocks, uint64_t address)
{
	for (size_t i = 0; i < blocks.count; i++)
		if (blocks.list[i].address == address)
			/* cppcheck-suppress returnDanglingLifetime; the list is on the heap */
			return &blocks.list[i];
	fail_msg("no block at %#llx", (unsigned long long)address);
	return NULL;
}

static void check(struct vt_attributed_list blocks, uint64_t address, enum vt_category category, enum vt_phase phase)
{
	const struct vt_attributed *block = find(blocks, address);

	assert_string_equal(vt_category_name(block->category), vt_category_name(category));
	assert_string_equal(vt_phase_name(block->phase), vt_phase_name(phase));
}

static void write_training(struct training *t, int steps)
{
	begin(t);
	run_op(t, t->empty, -1, PARAMETER, 8 * MIB, t->build);
	for (int i = 0; i < steps; i++)
		one_step(t, i, !i, (i == 1 ? 7 : 6) * MIB);
	vt_builder_close(t->builder);
}

struct pass {
	struct vt_session session;
	struct vt_uses uses;
};

static struct vt_attributed_list run(struct pass *pass, const char *at)
{
	struct vt_err err = { .code = VT_E_OK };

	*pass = (struct pass){ .uses = { .attribution = NULL } };
	open_session(&pass->session, at);
	if (vt_uses_begin(&pass->uses, &pass->session, &err) < 0 || vt_session_run(&pass->session, true, &err) < 0 ||
	    vt_uses_end(&pass->uses, &pass->session, true, &err) < 0)
		fail_msg("%s", err.msg);
	return vt_uses_blocks(&pass->uses, &pass->session, 0);
}

static void done(struct pass *pass)
{
	vt_uses_done(&pass->uses);
	vt_session_done(&pass->session);
}

/* Step 2 has the peak: parameter 8, state 8, input 2, activation 16, detail 5, summed 7. */
static void test_peak(void **state)
{
	struct vt_attributed_list blocks;
	char sentence[VT_USES_SENTENCE_MAX];
	struct vt_use_moment moment;
	struct vt_use_sums sums;
	struct training t;
	struct pass pass;
	struct vt_err err;

	(void)state;
	write_training(&t, 3);
	blocks = run(&pass, NULL);
	assert_int_equal(blocks.count, 6);
	check(blocks, PARAMETER, VT_CATEGORY_PARAMETER, VT_PHASE_OTHER);
	check(blocks, STATE, VT_CATEGORY_OPTIMIZER_STATE, VT_PHASE_OPTIMIZER);
	check(blocks, INPUT, VT_CATEGORY_INPUT, VT_PHASE_OTHER);
	check(blocks, ACTIVATION, VT_CATEGORY_ACTIVATION, VT_PHASE_FORWARD);
	check(blocks, DETAIL, VT_CATEGORY_TEMPORARY, VT_PHASE_BACKWARD);
	check(blocks, SUMMED, VT_CATEGORY_TEMPORARY, VT_PHASE_BACKWARD);
	assert_true(find(blocks, ACTIVATION)->freed_in_backward);
	sums = vt_uses_sum(blocks, 0);
	assert_int_equal(sums.all_bytes, 46 * MIB);
	assert_int_equal(sums.step, 2);
	assert_int_equal(sums.phase, VT_PHASE_BACKWARD);
	assert_int_equal(vt_attribution_steps(pass.uses.attribution, t.process), 3);
	assert_int_equal(vt_attribution_steps_how(pass.uses.attribution, t.process), VT_STEPS_OPTIMIZER);
	moment = (struct vt_use_moment){ "At the peak", true, 0, blocks };
	assert_int_equal(vt_uses_sentence(sentence, &pass.session, &moment, &err), 0);
	assert_string_equal(
		sentence, "At the peak (46.00 MiB, step 2, backward) 16.00 MiB are activations; 16.00 MiB of them "
			  "come from aten::relu at model.py:88 (Net.forward, 1 block), saved for backward 12 ns before "
			  "they were used (estimated by scope and lifetime).");
	done(&pass);
}

/* The autograd thread has no Python; its blocks carry the line of the forward op of their sequence number. */
static void test_forward_lines(void **state)
{
	struct vt_attributed_list blocks;
	struct vt_holders holders;
	struct vt_err err;
	struct training t;
	struct pass pass;

	(void)state;
	write_training(&t, 3);
	blocks = run(&pass, NULL);
	for (int i = 0; i < 2; i++) {
		const struct vt_attributed *block = find(blocks, i ? SUMMED : DETAIL);

		assert_int_equal(block->stack, 0);
		assert_int_equal(block->forward_stack, t.forward);
		assert_int_equal(block->forward_op, t.relu);
	}
	assert_int_equal(find(blocks, ACTIVATION)->forward_op, 0);
	assert_int_equal(vt_holders_build(&holders, pass.session.symbols, blocks,
					  (struct vt_holders_filter){ 0, VT_CATEGORY_TEMPORARY }, &err),
			 0);
	assert_int_equal(holders.count, 2);
	assert_int_equal(holders.bytes, 12 * MIB);
	assert_true(holders.list[0].place.backward);
	assert_int_equal(holders.list[0].place.frame.line, 88);
	vt_holders_done(&holders);
	done(&pass);
}

/* At a moment in the middle the blocks' later life counts: the gradient of step 2 is freed by zero_grad after it. */
static void test_moment(void **state)
{
	struct vt_attributed_list blocks;
	struct training t;
	struct pass pass;
	uint64_t gradient;
	char at[32];

	(void)state;
	begin(&t);
	run_op(&t, t.empty, -1, PARAMETER, 8 * MIB, t.build);
	one_step(&t, 0, true, 6 * MIB);
	gradient = t.now;
	one_step(&t, 1, false, 6 * MIB);
	vt_builder_close(t.builder);
	/* Fifteen events into the step: the allocation of the gradient was the last but one. */
	snprintf(at, sizeof(at), "%.9f", (double)(gradient + 21 - 1) * 1e-9);
	blocks = run(&pass, at);
	check(blocks, GRADIENT, VT_CATEGORY_GRADIENT, VT_PHASE_BACKWARD);
	check(blocks, PARAMETER, VT_CATEGORY_PARAMETER, VT_PHASE_OTHER);
	check(blocks, INPUT, VT_CATEGORY_INPUT, VT_PHASE_OTHER);
	done(&pass);
}

/* The trace ends in the middle of the first step's backward: sizes and order of events are all there is. */
static void test_cut_off(void **state)
{
	struct vt_attributed_list blocks;
	struct training t;
	struct pass pass;
	uint64_t start;

	(void)state;
	begin(&t);
	run_op(&t, t.empty, -1, PARAMETER, 8 * MIB, t.build);
	run_op(&t, t.relu, 0, ACTIVATION, 16 * MIB, t.forward);
	start = ++t.now;
	alloc(&t, GRADIENT, 8 * MIB, t.node_mm, 0);
	op_end(&t, start, t.node_mm, -1, AUTOGRAD);
	alloc(&t, DETAIL, 5 * MIB, t.node, 0);
	op_end(&t, start, t.node, 0, AUTOGRAD);
	vt_builder_close(t.builder);
	blocks = run(&pass, "end");
	check(blocks, PARAMETER, VT_CATEGORY_PARAMETER, VT_PHASE_OTHER);
	check(blocks, ACTIVATION, VT_CATEGORY_ACTIVATION, VT_PHASE_FORWARD);
	check(blocks, GRADIENT, VT_CATEGORY_GRADIENT, VT_PHASE_BACKWARD);
	check(blocks, DETAIL, VT_CATEGORY_TEMPORARY, VT_PHASE_BACKWARD);
	assert_int_equal(find(blocks, GRADIENT)->confidence, VT_CONFIDENCE_LOW);
	done(&pass);
}

/* Whatever the events are: the categories' bytes are the live bytes, at the peak and at the end. */
static void test_sum(void **state)
{
	uint64_t live[64] = { 0 }, random = 12345;
	struct vt_use_sums sums;
	struct training t;
	struct pass pass;

	(void)state;
	begin(&t);
	const uint32_t ops[] = { 0, t.empty, t.randn, t.relu, t.engine, t.node, t.node_mm, t.sum, t.step, t.zeros };

	for (int i = 0; i < 5000; i++) {
		uint64_t *slot, address;

		random = vt_mix64(random + 1);
		slot = &live[random % 64];
		address = 0x10000 + (random % 64) * 0x100000;
		if (random >> 20 & 1) {
			op_end(&t, t.now > 20 ? t.now - (random >> 8 & 15) : 1, ops[1 + (random >> 40) % 9],
			       (int64_t)(random >> 32 & 63) - 1, random >> 24 & 1 ? MAIN : AUTOGRAD);
		} else if (*slot) {
			release(&t, address, *slot, ops[(random >> 40) % 10], random >> 24 & 1 ? MAIN : AUTOGRAD);
			*slot = 0;
		} else {
			*slot = (random >> 30 & 0xffff) + 1;
			alloc(&t, address, *slot, ops[(random >> 40) % 10], random >> 25 & 1 ? t.forward : 0);
		}
	}
	vt_builder_close(t.builder);
	for (int end = 0; end < 2; end++) {
		struct vt_attributed_list blocks = run(&pass, end ? "end" : "peak");
		uint64_t sum = 0;

		sums = vt_uses_sum(blocks, 0);
		for (unsigned i = 0; i < VT_CATEGORIES; i++)
			sum += sums.bytes[i];
		assert_int_equal(sum, sums.all_bytes);
		assert_int_equal(sum, end ? t.allocated : t.peak);
		done(&pass);
	}
}

static uint32_t steps_of(struct training *t, enum vt_steps_how *ret)
{
	struct pass pass;
	uint32_t steps;

	vt_builder_close(t->builder);
	(void)run(&pass, "end");
	steps = vt_attribution_steps(pass.uses.attribution, t->process);
	*ret = vt_attribution_steps_how(pass.uses.attribution, t->process);
	done(&pass);
	return steps;
}

/* Without ranges: forward work after backward work; without a backward: the allocations repeat. */
static void test_steps(void **state)
{
	enum vt_steps_how how;
	struct training t;

	(void)state;
	begin(&t);
	for (int i = 0; i < 4; i++) {
		run_op(&t, t.relu, 2 * i, ACTIVATION + (uint64_t)i * 4096, 4096, t.forward);
		run_op(&t, t.relu, 2 * i + 1, SCRATCH + (uint64_t)i * 4096, 4096, t.forward);
		op_end(&t, t.now, t.node, 2 * i, AUTOGRAD);
	}
	/* The last step's first op is known to have made a node by the op after it. */
	assert_int_equal(steps_of(&t, &how), 4);
	assert_int_equal(how, VT_STEPS_BACKWARD);

	begin(&t);
	run_op(&t, t.empty, -1, PARAMETER, 8 * MIB, t.build);
	for (int i = 0; i < 5; i++) {
		run_op(&t, t.randn, -1, INPUT, MIB, t.load);
		run_op(&t, t.relu, -1, ACTIVATION, MIB, t.forward);
		release(&t, INPUT, MIB, 0, MAIN);
		release(&t, ACTIVATION, MIB, 0, MAIN);
	}
	assert_int_equal(steps_of(&t, &how), 5);
	assert_int_equal(how, VT_STEPS_PERIOD);

	begin(&t);
	run_op(&t, t.empty, -1, PARAMETER, 8 * MIB, t.build);
	run_op(&t, t.relu, -1, ACTIVATION, MIB, t.forward);
	assert_int_equal(steps_of(&t, &how), 0);
	assert_int_equal(how, VT_STEPS_NONE);
}

/* A forward op with a node, called by a module of a class: one block of 4 MiB. */
static void call_module(struct training *t, uint32_t number, const char *class)
{
	const struct vt_module module = { .id = 7000 + number,
					  .class = vt_builder_string(t->builder, t->process, class),
					  .address = 0x100 * number };
	const struct vt_stack call = { .id = 8000 + number, .module = 7000 + number };
	uint32_t stack;

	vt_builder_event(t->builder, t->process, VT_EVENT_module, &module);
	vt_builder_event(t->builder, t->process, VT_EVENT_stack, &call);
	stack = vt_builder_stack(t->builder, t->process, call.id, "Attention.forward", "/home/me/model.py", 88);
	run_op(t, t->relu, (int64_t)number, ACTIVATION + number * 4 * MIB, 4 * MIB, stack);
}

static void check_sentence(const char *want)
{
	struct vt_use_moment moment = { "At the peak", false, 0, { NULL, 0 } };
	char sentence[VT_USES_SENTENCE_MAX];
	struct vt_err err = { .code = VT_E_OK };
	struct pass pass;

	moment.blocks = run(&pass, NULL);
	assert_int_equal(vt_uses_sentence(sentence, &pass.session, &moment, &err), 0);
	assert_string_equal(sentence, want);
	done(&pass);
}

/* One line that several modules of a class run is told by them; of several classes, by its function. */
static void test_modules_in_the_sentence(void **state)
{
	struct training t;

	(void)state;
	begin(&t);
	for (uint32_t i = 1; i <= 3; i++)
		call_module(&t, i, "Attention");
	run_op(&t, t.relu, 9, INPUT, 512, t.forward);
	vt_builder_close(t.builder);
	check_sentence("At the peak (12.00 MiB) 12.00 MiB are activations; 12.00 MiB of them come from aten::relu at "
		       "model.py:88 (Attention, 3 modules x 4.00 MiB) (estimated by scope and lifetime).");
	begin(&t);
	for (uint32_t i = 1; i <= 3; i++)
		call_module(&t, i, i == 2 ? "FastAttention" : "Attention");
	run_op(&t, t.relu, 9, INPUT, 512, t.forward);
	vt_builder_close(t.builder);
	check_sentence("At the peak (12.00 MiB) 12.00 MiB are activations; 12.00 MiB of them come from aten::relu at "
		       "model.py:88 (Attention.forward, 3 blocks of 4.00 MiB) (estimated by scope and lifetime).");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peak),
		cmocka_unit_test(test_forward_lines),
		cmocka_unit_test(test_moment),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_modules_in_the_sentence),
	};

	return cmocka_run_group_tests(tests, make_file, drop_file);
}
