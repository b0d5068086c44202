/*
 * bench_collector.c - what the collector costs: a full speed drain, and the CPU of slow streams.
 *
 *   bench_collector [DIRECTORY]      session and trace lie there (default: /dev/shm)
 *
 * Prints one line per case: events, events per second of collector CPU (one core), CPU ns per event, file bytes per
 * event. "full" fills four 4 MiB rings between polls; "N/s" are streams of N events per second for two seconds each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/collector/collector.h"
#include "tests/fake/ring_maker.h"

#define RINGS 4u
#define FULL_EVENTS 4000000u
#define STREAM_NS UINT64_C(2000000000)
#define NODES 500u

static char session[256], trace[256];
static struct ring_maker maker;
static struct vt_collector *collector;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void check(int r, const struct vt_err *err)
{
	if (r >= 0)
		return;
	(void)fprintf(stderr, "bench_collector: %s\n", err->msg);
	exit(1);
}

/* As a training does: two of three events are ops, sizes and ops come from small sets, times from no set at all. */
static bool put_event(uint64_t number)
{
	uint32_t ring = (uint32_t)(number % RINGS), node = 1 + (uint32_t)(vt_mix64(number / 64) % NODES);

	maker.time_ns += vt_mix64(number) % 2048;
	if (number % 3)
		return ring_maker_op(&maker, ring, node);
	return ring_maker_tensor(&maker, ring, (int64_t)(512 * (1 + number / 3 % 40)) * (number % 2 ? 1 : -1), node);
}

static void define(void)
{
	for (uint32_t i = 0; i < RINGS; i++)
		ring_maker_take(&maker, i, 100 + i);
	for (uint32_t id = 1; id <= NODES; id++) {
		(void)ring_maker_string(&maker, 0, id, "aten::some_operation");
		(void)ring_maker_op_node(&maker, 0, id, id);
	}
}

static uint64_t poll_once(int *ret_wait_ms)
{
	uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct vt_err err;

	check(vt_collector_poll(collector, ret_wait_ms, &err), &err);
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

static uint64_t run_full(uint64_t *ret_cpu_ns)
{
	uint64_t events = 0;
	int wait_ms;

	while (events < FULL_EVENTS) {
		while (put_event(events))
			events++;
		*ret_cpu_ns += poll_once(&wait_ms);
	}
	return events;
}

static uint64_t run_stream(uint64_t per_second, uint64_t *ret_cpu_ns)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), events = 0, passed = 0;
	int wait_ms;

	while (passed < STREAM_NS) {
		while (events < passed * per_second / UINT64_C(1000000000) && put_event(events))
			events++;
		*ret_cpu_ns += poll_once(&wait_ms);
		(void)usleep((useconds_t)wait_ms * 1000);
		passed = clock_ns(CLOCK_MONOTONIC) - begin;
	}
	return events;
}

static void run_case(const char *name, uint64_t per_second)
{
	uint64_t cpu_ns = 0, events, begin;
	struct stat st = { 0 };
	struct vt_err err;

	(void)unlink(trace);
	check(ring_maker_open(&maker, session, getpid(), ""), &(struct vt_err){ .msg = "cannot make a ring file" });
	check(vt_collector_new(&collector, session, trace, VT_STORE_NEW, &err), &err);
	define();
	events = per_second ? run_stream(per_second, &cpu_ns) : run_full(&cpu_ns);
	begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	check(vt_collector_finish(collector, &err), &err);
	cpu_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
	vt_collector_free(collector);
	ring_maker_close(&maker);
	(void)unlink(maker.path);
	(void)stat(trace, &st);
	(void)printf(
		"%-10s %9llu events  %10.0f events/s of CPU  %7.0f ns/event  %5.2f %% of a core  %6.2f bytes/event\n",
		name, (unsigned long long)events, (double)events * 1e9 / (double)cpu_ns,
		(double)cpu_ns / (double)events, per_second ? 100.0 * (double)cpu_ns / (double)STREAM_NS : 100.0,
		(double)st.st_size / (double)events);
}

int main(int argc, char **argv)
{
	char directory[160];

	(void)snprintf(directory, sizeof(directory), "%s/vt-bench-XXXXXX", argc > 1 ? argv[1] : "/dev/shm");
	if (!mkdtemp(directory))
		return 1;
	(void)snprintf(session, sizeof(session), "%s/session", directory);
	(void)snprintf(trace, sizeof(trace), "%s/t.vramtrace", directory);
	if (mkdir(session, 0700) < 0)
		return 1;
	run_case("full", 0);
	run_case("1k/s", 1000);
	run_case("10k/s", 10000);
	run_case("100k/s", 100000);
	(void)unlink(trace);
	(void)rmdir(session);
	(void)rmdir(directory);
	return 0;
}
