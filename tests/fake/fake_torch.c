/*
 * fake_torch.c - a program that allocates as a PyTorch program does, for tests without PyTorch or a GPU.
 *
 *   fake_torch [--counters FILE] [--threads N] [--steps N] [--live N] [--pause-us N] MODE
 *
 * run      N threads, each N steps: allocate a block, give the oldest back once N are live; then end.
 * forever  the same without end: to be killed.
 * oom      run, then one OOM of 1 GiB.
 * fork     run, then a child that does the same on CUDA device 1 (counted in the same FILE).
 * exec     run, then the same program again in the same process, in mode `run`.
 * waves    16 rounds of N threads that each take a few steps and end: rings are given back and taken over.
 * crash    run, then abort().
 * exit     run, then _exit(7) with threads still allocating.
 * signals  run, while a timer's handler allocates too.
 * idle     nothing.
 *
 * --counters maps FILE (created, sizeof(struct fake_counts)) as the shared counters of what was reported. Prints one
 * line: allocs frees ooms forwarded-reports forwarded-ooms.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fake/fake_c10.h"

#define THREADS_MAX 256
#define LIVE_MAX 1024
#define WAVES 16

static struct {
	const char *counters;
	unsigned threads, live, pause_us;
	uint64_t steps;
	uint16_t device;
} options = { .threads = 2, .steps = 1000, .live = 16, .device = FAKE_CUDA0 };

static void *work(void *arg)
{
	uint64_t address[LIVE_MAX] = { 0 }, bytes[LIVE_MAX] = { 0 };
	uint64_t random = (uintptr_t)arg * 2654435761u + 1;

	for (uint64_t step = 0; step < options.steps; step++) {
		unsigned slot = (unsigned)(step % options.live);

		fake_free(address[slot], bytes[slot], options.device);
		random = random * 6364136223846793005u + 1442695040888963407u;
		bytes[slot] = 512 * (1 + (random >> 40) % 4096);
		address[slot] = fake_alloc(bytes[slot], options.device);
		if (options.pause_us)
			usleep(options.pause_us);
	}
	for (unsigned slot = 0; slot < options.live; slot++)
		fake_free(address[slot], bytes[slot], options.device);
	return NULL;
}

static unsigned start_threads(pthread_t *threads)
{
	unsigned n = 0;

	while (n < options.threads && pthread_create(&threads[n], NULL, work, (void *)(uintptr_t)(n + 1)) == 0)
		n++;
	return n;
}

static void run(void)
{
	pthread_t threads[THREADS_MAX];
	unsigned n = start_threads(threads);

	while (n > 0)
		pthread_join(threads[--n], NULL);
}

static int share_counters(void)
{
	int fd = open(options.counters, O_RDWR | O_CREAT, 0600);
	void *map;

	if (fd < 0 || ftruncate(fd, sizeof(struct fake_counts)) < 0)
		return -1;
	map = mmap(NULL, sizeof(struct fake_counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -1;
	fake_c10_share(map);
	return 0;
}

static int do_fork(void)
{
	int status = 0;
	pid_t child;

	run();
	child = fork();
	if (child == 0) {
		options.device = FAKE_CUDA1;
		run();
		exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int do_exec(char *program)
{
	char steps[24];
	char *arguments[] = { program,
			      (char[]){ "--steps" },
			      steps,
			      (char[]){ "--counters" },
			      (char *)(uintptr_t)options.counters,
			      (char[]){ "run" },
			      NULL };

	run();
	snprintf(steps, sizeof(steps), "%" PRIu64, options.steps);
	if (!options.counters)
		memmove(&arguments[3], &arguments[5], 2 * sizeof(arguments[0]));
	execv(program, arguments);
	return 1;
}

static void on_signal(int number)
{
	/* Not under the fake allocator's mutex, which the interrupted thread may hold: only the report itself. */
	extern void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, int64_t, size_t, size_t, uint16_t);

	(void)number;
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)(uintptr_t)64, 64, 64, 64, 0x0201);
}

static void do_signals(void)
{
	struct itimerval timer = { { 0, 100 }, { 0, 100 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	run();
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
}

static int do_mode(const char *mode, char *program)
{
	pthread_t threads[THREADS_MAX];

	if (strcmp(mode, "fork") == 0)
		return do_fork();
	if (strcmp(mode, "exec") == 0)
		return do_exec(program);
	if (strcmp(mode, "signals") == 0) {
		do_signals();
	} else if (strcmp(mode, "waves") == 0) {
		for (int i = 0; i < WAVES; i++)
			run();
	} else if (strcmp(mode, "forever") == 0) {
		options.steps = UINT64_MAX;
		run();
	} else if (strcmp(mode, "exit") == 0) {
		run();
		options.steps = UINT64_MAX;
		start_threads(threads);
		usleep(20000);
		_exit(7);
	} else if (strcmp(mode, "idle") != 0) {
		run();
	}
	if (strcmp(mode, "oom") == 0)
		fake_oom(UINT64_C(1) << 30, options.device);
	if (strcmp(mode, "crash") == 0)
		abort();
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const modes = " run forever oom fork exec waves crash exit signals idle ";
	struct fake_seen seen;
	int at = 1, r;
	char word[16];

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		unsigned long value = strtoul(argv[at + 1], NULL, 10);

		if (strcmp(argv[at], "--counters") == 0)
			options.counters = argv[at + 1];
		else if (strcmp(argv[at], "--threads") == 0 && value <= THREADS_MAX)
			options.threads = (unsigned)value;
		else if (strcmp(argv[at], "--steps") == 0)
			options.steps = value;
		else if (strcmp(argv[at], "--live") == 0 && value > 0 && value <= LIVE_MAX)
			options.live = (unsigned)value;
		else if (strcmp(argv[at], "--pause-us") == 0)
			options.pause_us = (unsigned)value;
		else
			break;
	}
	snprintf(word, sizeof(word), " %s ", at + 1 == argc ? argv[at] : "?");
	if (!strstr(modes, word)) {
		fprintf(stderr, "usage: fake_torch [options] MODE, see fake_torch.c\n");
		return 2;
	}
	if (options.counters && share_counters() < 0) {
		fprintf(stderr, "fake_torch: %s: %s\n", options.counters, strerror(errno));
		return 1;
	}
	r = do_mode(argv[at], argv[0]);
	seen = fake_c10_seen();
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", fake_c10_counts()->allocs,
	       fake_c10_counts()->frees, fake_c10_counts()->ooms, seen.reports, seen.ooms);
	return r;
}
