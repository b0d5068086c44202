/* test_proc_stat.c - is a process alive: names with parentheses, real processes, zombies, reused pids. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/collector/proc_stat.h"

#define TAIL " S 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 12345 9 9"

static void test_parse(void **state)
{
	static const char plain[] = "7 (python)" TAIL, nasty[] = "7 (a) R 1 ) b (c) " TAIL;
	struct vt_proc_stat stat;

	(void)state;
	assert_true(vt_proc_stat_parse(plain, sizeof(plain) - 1, &stat));
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.threads, 3);
	assert_int_equal(stat.start_ticks, 12345);
	assert_true(vt_proc_stat_parse(nasty, sizeof(nasty) - 1, &stat));
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.start_ticks, 12345);
	/* Every shorter text is refused, or at least read within its bounds. */
	for (size_t bytes = 0; bytes < sizeof(plain) - sizeof("12345 9 9"); bytes++)
		assert_false(vt_proc_stat_parse(plain, bytes, &stat));
	assert_false(vt_proc_stat_parse("no parentheses", 14, &stat));
}

static uint64_t start_ticks_of(pid_t pid)
{
	struct vt_proc_stat stat = { 0 };
	char path[64], text[1024];
	size_t n;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	n = fread(text, 1, sizeof(text), file);
	(void)fclose(file);
	assert_true(vt_proc_stat_parse(text, n, &stat));
	return stat.start_ticks;
}

static void test_alive(void **state)
{
	uint64_t ticks = start_ticks_of(getpid());

	(void)state;
	assert_true(vt_proc_is_alive((uint32_t)getpid(), ticks));
	assert_false(vt_proc_is_alive((uint32_t)getpid(), ticks + 1)); /* the pid was given out again */
	assert_false(vt_proc_is_alive(0x7fffffff, ticks));
}

/* A process that is dead but not waited for cannot write any more. */
static void test_zombie(void **state)
{
	pid_t pid = fork();
	uint64_t ticks;
	siginfo_t info;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ticks = start_ticks_of(pid);
	assert_false(vt_proc_is_alive((uint32_t)pid, ticks));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(vt_proc_is_alive((uint32_t)pid, ticks));
}

static void *pause_for_ever(void *arg)
{
	for (;;)
		(void)pause();
	return arg;
}

/* The leader thread has ended, another goes on: the process can still write. */
static void test_dead_leader(void **state)
{
	pid_t pid = fork();
	uint64_t ticks;
	char name[64];

	(void)state;
	if (pid == 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, pause_for_ever, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	assert_true(pid > 0);
	ticks = start_ticks_of(pid);
	(void)snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 500; i++) {
		struct vt_proc_stat stat = { 0 };
		char text[1024];
		FILE *file = fopen(name, "r");
		size_t n = fread(text, 1, sizeof(text), file);

		(void)fclose(file);
		if (vt_proc_stat_parse(text, n, &stat) && stat.state == 'Z')
			break;
		(void)usleep(10000);
		assert_int_not_equal(i, 499);
	}
	assert_true(vt_proc_is_alive((uint32_t)pid, ticks));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_alive),
		cmocka_unit_test(test_zombie),
		cmocka_unit_test(test_dead_leader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
