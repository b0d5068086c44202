/* views_scenario.c - see views_scenario.h. */
#include "tests/unit/views_scenario.h"

#include <stdbool.h>

#include "schema/event.h"
#include "trace_builder.h"

#define MIB (UINT64_C(1) << 20)
#define MS(ms) ((uint64_t)((ms)*1000000) + 1) /* the builder's processes start at 1 */

#define A UINT64_C(0x7f0000000000)
#define S UINT64_C(0x7f0100000000)
#define B UINT64_C(0x7f0200000000)
#define C UINT64_C(0x7f0300000000)

#define MAIN_THREAD 4242
#define AUTOGRAD_THREAD 4250

struct scenario {
	struct vt_builder *builder;
	uint32_t process;
	uint32_t empty, linear, mm, clone, backward, backward_mm, step;
	uint32_t main_build, init, main_forward, forward, main_keep;
};

static void define(struct scenario *s)
{
	struct vt_builder *b = s->builder;
	uint32_t p = s->process;

	s->empty = vt_builder_op(b, p, 0, "aten::empty", VT_op_scope_FUNCTION);
	s->linear = vt_builder_op(b, p, 0, "aten::linear", VT_op_scope_FUNCTION);
	s->mm = vt_builder_op(b, p, s->linear, "aten::mm", VT_op_scope_FUNCTION);
	s->clone = vt_builder_op(b, p, 0, "aten::clone", VT_op_scope_FUNCTION);
	s->backward = vt_builder_op(b, p, 0, "MmBackward0", VT_op_scope_BACKWARD);
	s->backward_mm = vt_builder_op(b, p, s->backward, "aten::mm", VT_op_scope_FUNCTION);
	s->step = vt_builder_op(b, p, 0, "Optimizer.step#SGD.step", VT_op_scope_USER);
	s->main_build = vt_builder_stack(b, p, 0, "main", "/home/me/project/train.py", 5);
	s->init = vt_builder_stack(b, p, s->main_build, "Net.__init__", "/home/me/project/nets/model.py", 12);
	s->main_forward = vt_builder_stack(b, p, 0, "main", "/home/me/project/train.py", 30);
	s->forward = vt_builder_stack(b, p, s->main_forward, "Net.forward", "/home/me/project/nets/model.py", 21);
	s->main_keep = vt_builder_stack(b, p, 0, "main", "/home/me/project/train.py", 40);
}

static void driver(const struct scenario *s, uint64_t end_ns, uint64_t address, uint64_t bytes, int32_t result)
{
	vt_builder_event(s->builder, s->process, VT_EVENT_driver_memory,
			 &(struct vt_driver_memory){ .time_ns = end_ns,
						     .start_ns = end_ns - 100000,
						     .address = address,
						     .size_bytes = bytes,
						     .thread = MAIN_THREAD,
						     .result = result,
						     .api = VT_driver_api_MEM_ALLOC });
}

static void sample(const struct scenario *s, uint64_t time_ns, uint64_t free_mib, uint64_t process_mib)
{
	vt_builder_event(s->builder, s->process, VT_EVENT_device_sample,
			 &(struct vt_device_sample){ .time_ns = time_ns,
						     .free_bytes = free_mib * MIB,
						     .total_bytes = 1024 * MIB,
						     .process_bytes = process_mib * MIB,
						     .thread = MAIN_THREAD });
}

static void alloc(const struct scenario *s, uint64_t time_ns, uint64_t address, uint64_t bytes, uint32_t op,
		  uint32_t stack)
{
	vt_builder_alloc(s->builder, s->process,
			 &(struct vt_tensor){ .time_ns = time_ns,
					      .address = address,
					      .size_bytes = (int64_t)bytes,
					      .thread = op == s->backward_mm ? AUTOGRAD_THREAD : MAIN_THREAD,
					      .op = op,
					      .stack = stack,
					      .device_type = VT_device_type_CUDA });
}

static void op_end(const struct scenario *s, uint64_t start_ns, uint64_t end_ns, uint32_t node)
{
	bool autograd = node == s->backward || node == s->backward_mm;

	vt_builder_event(s->builder, s->process, VT_EVENT_op,
			 &(struct vt_op){ .start_ns = start_ns,
					  .end_ns = end_ns,
					  .sequence = -1,
					  .node = node,
					  .thread = autograd ? AUTOGRAD_THREAD : MAIN_THREAD });
}

static void first_step(const struct scenario *s)
{
	struct vt_builder *b = s->builder;

	driver(s, MS(9.9), A, 20 * MIB, 0);
	vt_builder_reserve(b, s->process, 0, 20 * MIB);
	alloc(s, MS(10), A, 8 * MIB, s->empty, s->init);
	op_end(s, MS(9), MS(10.1), s->empty);
	driver(s, MS(11.9), S, 2 * MIB, 0);
	vt_builder_reserve(b, s->process, 0, 22 * MIB);
	alloc(s, MS(12), S, MIB / 2, 0, 0);
	driver(s, MS(19.9), B, 200 * MIB, 0);
	vt_builder_reserve(b, s->process, 0, 222 * MIB);
	alloc(s, MS(20), B, 200 * MIB, s->mm, s->forward);
	op_end(s, MS(19), MS(21), s->mm);
	op_end(s, MS(18), MS(22), s->linear);
	alloc(s, MS(25), A + 8 * MIB, 2 * MIB, s->clone, s->main_keep);
	op_end(s, MS(24), MS(26), s->clone);
	driver(s, MS(29.9), C, 200 * MIB, 0);
	sample(s, MS(29.95), 478, 482);
	vt_builder_reserve(b, s->process, 0, 422 * MIB);
	alloc(s, MS(30), C, 200 * MIB, s->backward_mm, 0);
	op_end(s, MS(29), MS(31), s->backward_mm);
	/* Who frees is in the event: written by hand, for the builder frees without an op. */
	vt_builder_event(b, s->process, VT_EVENT_tensor,
			 &(struct vt_tensor){ .time_ns = MS(35),
					      .address = B,
					      .size_bytes = -200 * (int64_t)MIB,
					      .allocated_bytes = 210 * MIB + MIB / 2,
					      .reserved_bytes = 422 * MIB,
					      .thread = AUTOGRAD_THREAD,
					      .op = s->backward,
					      .device_type = VT_device_type_CUDA });
	op_end(s, MS(28), MS(36), s->backward);
	vt_builder_event(b, s->process, VT_EVENT_tensor,
			 &(struct vt_tensor){ .time_ns = MS(40),
					      .address = C,
					      .size_bytes = -200 * (int64_t)MIB,
					      .allocated_bytes = 10 * MIB + MIB / 2,
					      .reserved_bytes = 422 * MIB,
					      .thread = MAIN_THREAD,
					      .device_type = VT_device_type_CUDA });
	op_end(s, MS(40.5), MS(41), s->step);
}

/* The totals of these are by hand too, as the frees above went past the builder's own count. */
static void alloc_total(const struct scenario *s, struct vt_tensor tensor, uint64_t total)
{
	tensor.allocated_bytes = total;
	tensor.reserved_bytes = 422 * MIB;
	tensor.device_type = VT_device_type_CUDA;
	vt_builder_event(s->builder, s->process, VT_EVENT_tensor, &tensor);
}

static void second_step(const struct scenario *s)
{
	alloc_total(s,
		    (struct vt_tensor){ .time_ns = MS(50),
					.address = B,
					.size_bytes = 200 * (int64_t)MIB,
					.thread = MAIN_THREAD,
					.op = s->mm,
					.stack = s->forward },
		    210 * MIB + MIB / 2);
	op_end(s, MS(49), MS(51), s->mm);
	op_end(s, MS(48), MS(52), s->linear);
	alloc_total(s,
		    (struct vt_tensor){ .time_ns = MS(55),
					.address = A + 10 * MIB,
					.size_bytes = 2 * (int64_t)MIB,
					.thread = MAIN_THREAD,
					.op = s->clone,
					.stack = s->main_keep },
		    212 * MIB + MIB / 2);
	op_end(s, MS(54), MS(56), s->clone);
	alloc_total(s,
		    (struct vt_tensor){ .time_ns = MS(60),
					.address = C,
					.size_bytes = 150 * (int64_t)MIB,
					.thread = AUTOGRAD_THREAD,
					.op = s->backward_mm },
		    362 * MIB + MIB / 2);
	op_end(s, MS(59), MS(61), s->backward_mm);
	op_end(s, MS(58), MS(62), s->backward);
	driver(s, MS(65), 0, 300 * MIB, 2);
	driver(s, MS(66), 0, 300 * MIB, 2);
	vt_builder_event(s->builder, s->process, VT_EVENT_oom,
			 &(struct vt_oom){ .time_ns = MS(67),
					   .requested_bytes = 300 * MIB,
					   .allocated_bytes = 362 * MIB + MIB / 2,
					   .reserved_bytes = 422 * MIB,
					   .device_free_bytes = 42 * MIB,
					   .device_total_bytes = 1024 * MIB,
					   .process_bytes = 482 * MIB,
					   .thread = MAIN_THREAD,
					   .op = s->mm,
					   .stack = s->forward,
					   .device_type = VT_device_type_CUDA });
}

void vt_views_scenario(const char *path)
{
	struct scenario s = { .builder = vt_builder_new(path) };

	s.process = vt_builder_process(s.builder, 4242, -1, "python train.py --steps 2");
	vt_builder_note(s.builder, s.process, MS(0.5), VT_note_code_TORCH_FOUND, 0, "2.11.0");
	vt_builder_note(s.builder, s.process, MS(0.6), VT_note_code_DEVICE_NAME, 0, "Toy GPU");
	define(&s);
	sample(&s, MS(1), 900, 60);
	first_step(&s);
	second_step(&s);
	vt_builder_close(s.builder);
}
