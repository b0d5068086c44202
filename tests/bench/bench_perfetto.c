/*
 * bench_perfetto.c - how fast a trace becomes a Perfetto file, and how large: tensors, ops, kernels with their launches.
 *
 *   bench_perfetto [EVENTS]       1,000,000 of each by default
 *
 * For each and each detail: events a second by the CPU time of the calling thread (decoding runs beside it), CPU time of
 * the whole process, bytes an event. Medians of three runs, written to /dev/null. The goals are 3 M events a second on
 * one core, at most 21 bytes a counter and 40 an allocation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/perfetto/perfetto.h"
#include "schema/base/bits.h"
#include "trace_builder.h"

#define RUNS 3
#define OPS 200
#define STACKS 150
#define LIVE 4000

struct maker {
	struct vt_builder *builder;
	uint32_t process;
	uint64_t random;
	uint32_t ops[OPS], stacks[STACKS];
};

static uint64_t next_random(struct maker *maker, uint64_t below)
{
	maker->random = maker->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (maker->random >> 33) % below;
}

static void define(struct maker *maker)
{
	char name[64];

	for (uint32_t i = 0; i < OPS; i++) {
		(void)snprintf(name, sizeof(name), "aten::op_%u", i % 90);
		maker->ops[i] = vt_builder_op(maker->builder, maker->process, i % 4 ? maker->ops[i - 1] : 0, name,
					      VT_op_scope_FUNCTION);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		(void)snprintf(name, sizeof(name), "/home/me/project/file_%u.py", i % 20);
		maker->stacks[i] = vt_builder_stack(maker->builder, maker->process, i % 12 ? maker->stacks[i - 1] : 0,
						    "forward", name, i);
	}
}

/* Blocks live and die at random: every event moves the total. */
static void write_tensors(struct maker *maker, uint64_t events)
{
	static uint64_t bytes[LIVE];
	uint64_t time_ns = 1000000, total = UINT64_C(20) << 30;

	for (uint64_t i = 0; i < events; i++) {
		uint64_t slot = next_random(maker, LIVE);
		int64_t change = bytes[slot] ? -(int64_t)bytes[slot] : (int64_t)(512 * (1 + next_random(maker, 4000)));

		bytes[slot] = bytes[slot] ? 0 : (uint64_t)change;
		time_ns += 2000 + next_random(maker, 8000);
		total += (uint64_t)change;
		vt_builder_event(
			maker->builder, maker->process, VT_EVENT_tensor,
			&(struct vt_tensor){ .time_ns = time_ns,
					     .address = 0x7f0000000000 + slot * 0x200000,
					     .size_bytes = change,
					     .allocated_bytes = total,
					     .reserved_bytes = UINT64_C(40) << 30,
					     .thread = 4242,
					     .op = maker->ops[next_random(maker, OPS)],
					     .stack = change > 0 ? maker->stacks[next_random(maker, STACKS)] : 0,
					     .device_type = VT_device_type_CUDA });
	}
}

/* Groups of four: two inside one inside one. */
static void write_ops(struct maker *maker, uint64_t events)
{
	static const uint64_t begins[] = { 300, 4000, 200, 0 }, ends[] = { 2500, 7000, 8000, 9000 };
	uint64_t time_ns = 1000000;

	for (uint64_t i = 0; i < events; i++) {
		uint64_t part = i % VT_ARRAY_SIZE(begins);

		vt_builder_event(maker->builder, maker->process, VT_EVENT_op,
				 &(struct vt_op){ .end_ns = time_ns + ends[part],
						  .start_ns = time_ns + begins[part],
						  .sequence = part ? -1 : (int64_t)(i / 4),
						  .node = maker->ops[next_random(maker, OPS)],
						  .thread = 4242,
						  .torch_thread = 1 });
		if (part == VT_ARRAY_SIZE(begins) - 1)
			time_ns += 10000 + next_random(maker, 5000);
	}
}

/* A launch and its kernel count as one event each. */
static void write_kernels(struct maker *maker, uint64_t events)
{
	uint64_t time_ns = 1000000;

	for (uint32_t id = 1; id <= 60; id++) {
		char name[96];

		(void)snprintf(name, sizeof(name), "_ZN2at6native%u%sILi4EEEvT_", 20 + id / 10,
			       "vectorized_elementwise_kernel_xx");
		vt_builder_event(
			maker->builder, maker->process, VT_EVENT_kernel_config,
			&(struct vt_kernel_config){ .id = id,
						    .name = vt_builder_string(maker->builder, maker->process, name),
						    .grid_x = 132 * id,
						    .grid_y = 1,
						    .grid_z = 1,
						    .block_x = 256,
						    .block_y = 1,
						    .block_z = 1 });
	}
	for (uint32_t i = 1; i <= events / 2; i++) {
		time_ns += 4000 + next_random(maker, 8000);
		vt_builder_event(maker->builder, maker->process, VT_EVENT_launch,
				 &(struct vt_launch){ .time_ns = time_ns + 2500,
						      .start_ns = time_ns,
						      .correlation = i * 2,
						      .op = maker->ops[next_random(maker, OPS)],
						      .thread = 4242,
						      .api = VT_launch_api_KERNEL });
		vt_builder_event(maker->builder, maker->process, VT_EVENT_kernel,
				 &(struct vt_kernel){ .end_ns = time_ns + 7000 + next_random(maker, 900),
						      .start_ns = time_ns + 5000,
						      .correlation = i * 2,
						      .config = 1 + (uint32_t)next_random(maker, 60),
						      .context = 1,
						      .stream = 7 });
	}
}

static void give_up(const struct vt_err *err)
{
	fprintf(stderr, "bench_perfetto: %s\n", err->msg);
	exit(1);
}

static double seconds_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure(const char *name, const char *path, enum vt_pf_detail detail, uint64_t events)
{
	static const char *const details[] = { "low", "normal", "full" };
	struct vt_pf_options options = { .detail = detail };
	struct vt_pf_summary summary;
	struct vt_symbols *symbols;
	struct vt_store *store;
	struct vt_err err = { 0 };
	double own[RUNS], whole[RUNS];
	FILE *out = fopen("/dev/null", "we");

	if (!out || vt_store_open(&store, path, &err) < 0 || vt_symbols_open(&symbols, store, &err) < 0)
		give_up(&err);
	for (int i = 0; i < RUNS; i++) {
		own[i] = -seconds_of(CLOCK_THREAD_CPUTIME_ID);
		whole[i] = -seconds_of(CLOCK_PROCESS_CPUTIME_ID);
		if (vt_perfetto_export(out, store, symbols, &options, &summary, &err) < 0)
			give_up(&err);
		own[i] += seconds_of(CLOCK_THREAD_CPUTIME_ID);
		whole[i] += seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	}
	vt_symbols_close(symbols);
	vt_store_close(store);
	(void)fclose(out);
	qsort(own, RUNS, sizeof(*own), compare);
	qsort(whole, RUNS, sizeof(*whole), compare);
	printf("%-8s %-6s  %5.2f M events/s of the calling thread, %5.1f ns an event of the process, %5.1f bytes\n",
	       name, details[detail], (double)events / own[RUNS / 2] / 1e6, whole[RUNS / 2] / (double)events * 1e9,
	       (double)summary.bytes / (double)events);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*write)(struct maker *maker, uint64_t events);
		enum vt_pf_detail first;
	} parts[] = { { "tensors", write_tensors, VT_PF_LOW },
		      { "ops", write_ops, VT_PF_NORMAL },
		      { "kernels", write_kernels, VT_PF_NORMAL } };
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/vt-bench-perfetto-%d.vramtrace", getpid());
	for (size_t i = 0; i < VT_ARRAY_SIZE(parts); i++) {
		struct maker maker = { .builder = vt_builder_new(path), .random = 42 };

		maker.process = vt_builder_process(maker.builder, 4242, -1, "bench");
		define(&maker);
		parts[i].write(&maker, events);
		vt_builder_close(maker.builder);
		for (enum vt_pf_detail detail = parts[i].first; detail <= VT_PF_FULL; detail++)
			measure(parts[i].name, path, detail, events);
	}
	if (!getenv("KEEP"))
		return unlink(path);
}
