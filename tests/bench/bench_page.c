/*
 * bench_page.c - what a page of a long trace costs: a training of so many allocator events, in steps, as `vramtrace html`.
 *
 *   bench_page [EVENTS [PAGE.html]]     10,000,000; the page is kept where it is named
 *
 * Prints CPU time of the process, the file's size and the most memory that the process had. tests/e2e/page_speed.py opens
 * the page in Chromium and measures how long it takes to draw.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analyze/page/page.h"
#include "trace_builder.h"

#define OPS 60
#define LINES 80
#define ACTIVATIONS 400 /* of a step, kept until its backward */
#define STEP_EVENTS (4 * ACTIVATIONS)
#define KEPT 300 /* blocks that stay: parameters, and some that a step leaves behind */

struct maker {
	struct vt_builder *builder;
	uint32_t process;
	uint64_t time_ns, total, random;
	uint32_t ops[OPS], backward_ops[OPS], lines[LINES], optimizer_op;
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
		(void)snprintf(name, sizeof(name), "aten::op_%u", i);
		maker->ops[i] = vt_builder_op(maker->builder, maker->process, 0, name, VT_op_scope_FUNCTION);
		(void)snprintf(name, sizeof(name), "Op%uBackward0", i);
		maker->backward_ops[i] = vt_builder_op(maker->builder, maker->process, 0, name, VT_op_scope_BACKWARD);
	}
	for (uint32_t i = 0; i < LINES; i++) {
		(void)snprintf(name, sizeof(name), "/home/me/project/file_%u.py", i % 9);
		maker->lines[i] = vt_builder_stack(maker->builder, maker->process, i % 8 ? maker->lines[i - 1] : 0,
						   i % 8 ? "Layer.forward" : "main", name, i + 1);
	}
	maker->optimizer_op =
		vt_builder_op(maker->builder, maker->process, 0, "Optimizer.step#Adam.step", VT_op_scope_USER);
}

static void tensor(struct maker *maker, uint64_t address, int64_t change, uint32_t op, uint32_t stack)
{
	maker->time_ns += 2000 + next_random(maker, 3000);
	maker->total += (uint64_t)change;
	vt_builder_event(maker->builder, maker->process, VT_EVENT_tensor,
			 &(struct vt_tensor){ .time_ns = maker->time_ns,
					      .address = address,
					      .size_bytes = change,
					      .allocated_bytes = maker->total,
					      .reserved_bytes = UINT64_C(40) << 30,
					      .thread = 4242,
					      .op = op,
					      .stack = stack,
					      .device_type = VT_device_type_CUDA });
}

/* Activations are made, then each is freed in turn while a gradient comes and goes. */
static void write_step(struct maker *maker, uint64_t step)
{
	static int64_t sizes[ACTIVATIONS];

	for (uint32_t i = 0; i < ACTIVATIONS; i++) {
		sizes[i] = (int64_t)(512 * (1 + next_random(maker, 60000)));
		tensor(maker, 0x7f0000000000 + i * 0x2000000ull, sizes[i], maker->ops[i % OPS],
		       maker->lines[i % LINES]);
	}
	for (uint32_t i = ACTIVATIONS; i-- > 0;) {
		tensor(maker, 0x7e0000000000, sizes[i] / 2, maker->backward_ops[i % OPS], 0);
		tensor(maker, 0x7f0000000000 + i * 0x2000000ull, -sizes[i], maker->backward_ops[i % OPS], 0);
		tensor(maker, 0x7e0000000000, -(sizes[i] / 2), maker->backward_ops[i % OPS], 0);
	}
	vt_builder_event(maker->builder, maker->process, VT_EVENT_op,
			 &(struct vt_op){ .end_ns = maker->time_ns + 1000,
					  .start_ns = maker->time_ns + 500,
					  .sequence = -1,
					  .node = maker->optimizer_op,
					  .thread = 4242,
					  .torch_thread = 1 });
	if (step % 1000 == 999) /* a checkpoint is written */
		maker->time_ns += UINT64_C(2000000000);
}

static double seconds_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The flame graph of the same trace, as pprof. */
static void measure_flame(const char *path, const struct vt_common_options *common, uint64_t events)
{
	struct vt_session session;
	struct vt_flame flame = { .session = NULL };
	struct vt_err err = { .code = VT_E_OK };
	FILE *out = tmpfile();
	double seconds = -seconds_of(CLOCK_PROCESS_CPUTIME_ID);

	if (!out || vt_session_open(&session, path, common, "peak", &err) < 0 ||
	    vt_flame_run(&flame, &session, true, &err) < 0 || vt_flame_pprof(&flame, out, VT_FLAME_TOTAL, &err) < 0) {
		fprintf(stderr, "bench_page: %s\n", err.msg);
		exit(1);
	}
	seconds += seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	printf("its flame graph, as pprof: %.1f s of CPU, %.2f M events/s, %.1f KiB\n", seconds,
	       (double)events / seconds / 1e6, (double)ftell(out) / 1024);
	vt_flame_done(&flame);
	vt_session_done(&session);
	(void)fclose(out);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	FILE *out = argc > 2 ? fopen(argv[2], "we") : tmpfile();
	const struct vt_common_options common = { .device = -1, .process = -1, .quiet = true, .top = 10 };
	struct vt_page_options options = { .common = &common, .max_bytes = UINT64_C(15) << 20 };
	struct maker maker = { .time_ns = 1000, .random = 42 };
	struct rusage usage;
	struct vt_err err = { .code = VT_E_OK };
	char path[64];
	double seconds;

	(void)snprintf(path, sizeof(path), "/tmp/vt-bench-page-%d.vramtrace", getpid());
	maker.builder = vt_builder_new(path);
	maker.process = vt_builder_process(maker.builder, 4242, -1, "bench");
	define(&maker);
	for (uint64_t i = 0; i < KEPT; i++)
		tensor(&maker, 0x7d0000000000 + i * 0x2000000, 8 << 20, maker.ops[i % OPS], maker.lines[i % LINES]);
	for (uint64_t step = 0; step * STEP_EVENTS < events; step++)
		write_step(&maker, step);
	vt_builder_close(maker.builder);
	options.path = path;
	seconds = -seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	if (!out || vt_page_write(out, &options, &err) < 0) {
		fprintf(stderr, "bench_page: %s\n", err.msg);
		return 1;
	}
	seconds += seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	getrusage(RUSAGE_SELF, &usage);
	printf("%llu allocator events: %.1f s of CPU, %.2f M events/s, page of %.2f MiB, at most %ld MiB of memory\n",
	       (unsigned long long)events, seconds, (double)events / seconds / 1e6, (double)ftell(out) / (1 << 20),
	       usage.ru_maxrss / 1024);
	(void)fclose(out);
	measure_flame(path, &common, events);
	return unlink(path);
}
