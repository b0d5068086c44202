/* perfetto_scenario.c - see perfetto_scenario.h. */
#include "tests/unit/perfetto_scenario.h"

#include <stdbool.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/event.h"
#include "trace_builder.h"

#define MAIN_THREAD 4242
#define AUTOGRAD_THREAD 4250
#define MIB (UINT64_C(1) << 20)

struct scenario {
	struct vt_builder *builder;
	uint32_t process;
	uint32_t linear, mm, backward_range, backward, epoch, inner, stray;
	uint32_t stack;
};

static void op(const struct scenario *s, uint32_t thread, uint32_t node, uint64_t start_ns, uint64_t end_ns)
{
	vt_builder_event(
		s->builder, s->process, VT_EVENT_op,
		&(struct vt_op){
			.end_ns = end_ns, .start_ns = start_ns, .sequence = -1, .node = node, .thread = thread });
}

/* forward: torch's number of the thread that ran the forward; 0: this is the forward, of thread 1. */
static void numbered_op(const struct scenario *s, uint32_t thread, uint32_t node, uint64_t start_ns, uint64_t end_ns,
			uint32_t forward)
{
	vt_builder_event(s->builder, s->process, VT_EVENT_op,
			 &(struct vt_op){ .end_ns = end_ns,
					  .start_ns = start_ns,
					  .sequence = 7,
					  .node = node,
					  .thread = thread,
					  .forward_thread = forward,
					  .torch_thread = forward ? 2 : 1 });
}

static void define(struct scenario *s)
{
	static const char broken[] = { 'm', 'm', (char)0xff, (char)0xc3, 0x1b, '[', '3', '1', 'm', 0 };
	char name[9001];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	s->linear = vt_builder_op(s->builder, s->process, 0, "aten::linear", VT_op_scope_FUNCTION);
	s->mm = vt_builder_op(s->builder, s->process, s->linear, broken, VT_op_scope_FUNCTION);
	s->backward_range = vt_builder_op(s->builder, s->process, 0, "autograd::engine::evaluate_function: MmBackward0",
					  VT_op_scope_FUNCTION);
	s->backward = vt_builder_op(s->builder, s->process, s->backward_range, "MmBackward0", VT_op_scope_BACKWARD);
	s->epoch = vt_builder_op(s->builder, s->process, 0, name, VT_op_scope_USER);
	s->inner = vt_builder_op(s->builder, s->process, s->epoch, "aten::relu", VT_op_scope_FUNCTION);
	s->stray = vt_builder_op(s->builder, s->process, 0, "", VT_op_scope_USER);
	s->stack = vt_builder_stack(s->builder, s->process, 0, broken, name, 12);
	s->stack = vt_builder_stack(s->builder, s->process, s->stack, "forward", "/home/me/train.py", 30);
}

static void memory(const struct scenario *s, uint64_t start_ns)
{
	vt_builder_reserve(s->builder, s->process, 0, 64 * MIB);
	for (uint64_t i = 0; i < 200; i++) {
		vt_builder_alloc(s->builder, s->process,
				 &(struct vt_tensor){ .time_ns = start_ns + i * 100,
						      .address = 0x7f0000000000 + i * MIB,
						      .size_bytes = (int64_t)(512 * (i + 1) + (i == 7 ? 100 : 0)),
						      .thread = MAIN_THREAD,
						      .op = i % 3 ? s->mm : 0,
						      .stack = i % 5 ? s->stack : 0,
						      .device_type = VT_device_type_CUDA });
		if (i % 2)
			vt_builder_free(s->builder, s->process, start_ns + i * 100 + 50, 0,
					0x7f0000000000 + (i - 1) * MIB);
	}
	vt_builder_alloc(s->builder, s->process,
			 &(struct vt_tensor){ .time_ns = start_ns + 30000,
					      .address = 0x5500,
					      .size_bytes = 4096,
					      .thread = MAIN_THREAD,
					      .op = s->linear,
					      .device = -1,
					      .device_type = VT_device_type_HOST });
	vt_builder_event(s->builder, s->process, VT_EVENT_driver_memory,
			 &(struct vt_driver_memory){ .time_ns = start_ns + 20,
						     .start_ns = start_ns + 10,
						     .address = 0x7f0000000000,
						     .size_bytes = 64 * MIB,
						     .thread = MAIN_THREAD,
						     .api = VT_driver_api_MEM_ALLOC });
	vt_builder_event(s->builder, s->process, VT_EVENT_device_sample,
			 &(struct vt_device_sample){ .time_ns = start_ns + 25,
						     .free_bytes = 100 * MIB,
						     .total_bytes = 1024 * MIB,
						     .process_bytes = 70 * MIB,
						     .thread = MAIN_THREAD });
	vt_builder_event(s->builder, s->process, VT_EVENT_oom,
			 &(struct vt_oom){ .time_ns = start_ns + 40000,
					   .requested_bytes = 1 << 30,
					   .allocated_bytes = 10,
					   .thread = MAIN_THREAD,
					   .op = s->mm,
					   .stack = s->stack,
					   .device_type = VT_device_type_CUDA });
}

static void ops(const struct scenario *s, uint64_t t, uint64_t inner)
{
	/* The forward: linear makes no node of its own, mm has the same number and does. */
	numbered_op(s, MAIN_THREAD, s->mm, t + 1100, t + 1900, 0);
	numbered_op(s, MAIN_THREAD, s->linear, t + 1000, t + 2000, 0);
	numbered_op(s, AUTOGRAD_THREAD, s->backward, t + 5000, t + 5900, 1);
	numbered_op(s, AUTOGRAD_THREAD, s->backward_range, t + 5000, t + 6000, 1);
	/* The node of the next number: only then is it known which op made the one before. */
	vt_builder_event(s->builder, s->process, VT_EVENT_op,
			 &(struct vt_op){ .end_ns = t + 2200,
					  .start_ns = t + 2100,
					  .sequence = 8,
					  .node = s->linear,
					  .thread = MAIN_THREAD,
					  .torch_thread = 1 });
	/* Begin and end together; no time at all; one after the other without a gap. */
	op(s, MAIN_THREAD, s->mm, t + 3000, t + 3000);
	op(s, MAIN_THREAD, s->mm, t + 3000, t + 3500);
	op(s, MAIN_THREAD, s->linear, t + 3000, t + 3500);
	op(s, MAIN_THREAD, s->linear, t + 3500, t + 3600);
	/* Overlapping: 4000-4300, 4200-4400, 4250-4500, the last with one inside. */
	op(s, MAIN_THREAD, s->linear, t + 4000, t + 4300);
	op(s, MAIN_THREAD, s->stray, t + 4200, t + 4400);
	op(s, MAIN_THREAD, s->mm, t + 4450, t + 4470);
	op(s, MAIN_THREAD, s->stray, t + 4250, t + 4500);
	/* Ends before it begins, as only a damaged file says. */
	op(s, MAIN_THREAD, s->linear, t + 4700, t + 4600);
	/* Encloses more than the window; begins together with its first. */
	for (uint64_t i = 0; i < inner; i++)
		op(s, MAIN_THREAD, s->inner, t + 10000 + i * 20, t + 10000 + i * 20 + 15);
	vt_builder_flush(s->builder);
	op(s, MAIN_THREAD, s->epoch, t + 10000, t + 10000 + inner * 20);
}

static void launch(const struct scenario *s, uint64_t t, uint32_t correlation, uint16_t api)
{
	vt_builder_event(s->builder, s->process, VT_EVENT_launch,
			 &(struct vt_launch){ .time_ns = t + 5,
					      .start_ns = t,
					      .correlation = correlation,
					      .op = s->mm,
					      .thread = MAIN_THREAD,
					      .api = api });
}

static void kernel(const struct scenario *s, uint64_t start_ns, uint32_t correlation, uint32_t config, uint32_t graph)
{
	vt_builder_event(s->builder, s->process, VT_EVENT_kernel,
			 &(struct vt_kernel){ .end_ns = start_ns + 30,
					      .start_ns = start_ns,
					      .correlation = correlation,
					      .config = config,
					      .context = 1,
					      .stream = graph ? 9 : 7,
					      .graph = graph });
}

static void work(const struct scenario *s, uint64_t t)
{
	uint32_t name =
		vt_builder_string(s->builder, s->process, "_ZN2at6native12_GLOBAL__N_117elementwise_kernelIfEEvT_");
	struct vt_kernel_config config = { .id = 1,
					   .name = name,
					   .grid_x = 128,
					   .grid_y = 2,
					   .grid_z = 1,
					   .block_x = 256,
					   .block_y = 1,
					   .block_z = 1,
					   .registers = 32,
					   .static_shared_bytes = 1024 };

	vt_builder_event(s->builder, s->process, VT_EVENT_kernel_config, &config);
	config = (struct vt_kernel_config){ .id = 2, .name = vt_builder_string(s->builder, s->process, "plain") };
	vt_builder_event(s->builder, s->process, VT_EVENT_kernel_config, &config);
	launch(s, t + 1200, 100, VT_launch_api_KERNEL);
	kernel(s, t + 1230, 100, 1, 0);
	launch(s, t + 1300, 101, VT_launch_api_GRAPH);
	kernel(s, t + 1350, 101, 1, 5); /* on another stream, at the same time as the one below */
	kernel(s, t + 1400, 101, 2, 5);
	kernel(s, t + 1450, 101, 2, 5);
	kernel(s, t + 1360, 0, 77, 0);			/* no launch, no shape */
	launch(s, t + 1500, 102, VT_launch_api_KERNEL); /* its kernel is missing */
	launch(s, t + 1600, 103, VT_launch_api_COPY);
	vt_builder_event(s->builder, s->process, VT_EVENT_copy,
			 &(struct vt_copy){ .end_ns = t + 1650,
					    .start_ns = t + 1620,
					    .size_bytes = 12345,
					    .correlation = 103,
					    .context = 1,
					    .stream = 7,
					    .kind = VT_copy_kind_HOST_TO_DEVICE });
	vt_builder_event(s->builder, s->process, VT_EVENT_copy,
			 &(struct vt_copy){ .end_ns = t + 1690,
					    .start_ns = t + 1670,
					    .size_bytes = 512,
					    .correlation = 104,
					    .context = 1,
					    .stream = 7,
					    .kind = VT_copy_kind_MEMSET });
	vt_builder_event(s->builder, s->process, VT_EVENT_wait,
			 &(struct vt_wait){ .time_ns = t + 1700,
					    .start_ns = t + 1640,
					    .size_bytes = 12345,
					    .correlation = 103,
					    .thread = MAIN_THREAD,
					    .api = VT_wait_api_COPY });
}

void vt_perfetto_scenario(const char *path)
{
	static const char *const uuids[] = { "GPU-4c60cd92-052f-67c5-3548-7ded5c0c75ca", "GPU-bbbb" };
	struct scenario s = { .builder = vt_builder_new(path) };

	for (uint32_t i = 0; i < VT_ARRAY_SIZE(uuids); i++) {
		uint64_t start_ns = 1000000 + i * 5000;

		s.process = vt_builder_process(s.builder, 4242 + i * 100, (int32_t)i, "python \xff train.py");
		define(&s);
		vt_builder_note(s.builder, s.process, start_ns, VT_note_code_DEVICE_NAME, 0, "Toy GPU");
		vt_builder_note(s.builder, s.process, start_ns, VT_note_code_DEVICE_UUID, 0, uuids[i]);
		memory(&s, start_ns);
		ops(&s, start_ns, i ? 10 : PERFETTO_INNER_OPS);
		work(&s, start_ns);
		vt_builder_loss(s.builder, s.process, VT_loss_RING_FULL, 3);
	}
	vt_builder_close(s.builder);
}
