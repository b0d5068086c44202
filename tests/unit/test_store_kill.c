/* test_store_kill.c - what a killed writer leaves: everything committed, readable by others and fit to be gone on with. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store_rig.h"

/* Commits `commits` transactions, begins one more, says so, and waits to be killed. */
static void write_until_killed(enum vt_store_mode mode, int commits)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct vt_store *store = NULL;

		if (vt_store_create(&store, store_rig_path, mode, &store_rig_err) < 0)
			_exit(1);
		for (int i = 0; i <= commits; i++) {
			(void)vt_store_begin(store, &store_rig_err);
			(void)store_rig_add(store, 1000 + (uint64_t)i * STORE_RIG_ROWS, STORE_RIG_ROWS, NULL, 0);
			(void)vt_store_put_ring_position(store, 1, 0, 1, (uint64_t)i + 1, &store_rig_err);
			if (i < commits)
				(void)vt_store_commit(store, &store_rig_err);
		}
		(void)!write(ends[1], "x", 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void write_and_be_killed(int commits)
{
	write_until_killed(VT_STORE_NEW, commits);
}

static void a_killed_writer_loses_nothing_committed(void **state)
{
	struct vt_store *store;
	uint64_t position = 0;
	char log[160];

	(void)state;
	write_and_be_killed(3);
	(void)snprintf(log, sizeof(log), "%s-wal", store_rig_path);
	assert_int_equal(access(log, F_OK), 0);
	store = store_rig_open();
	assert_int_equal(store_rig_chunks(store).events, 3 * STORE_RIG_ROWS);
	assert_null(vt_store_warning(store));
	assert_true(vt_store_file_bytes(store) > 0);
	ok(vt_store_check(store, &store_rig_err));
	vt_store_close(store);
	store = store_rig_create(VT_STORE_RESUME);
	assert_int_equal(vt_store_find_ring_position(store, 1, 0, 1, &position, &store_rig_err), 1);
	assert_int_equal(position, 3);
	ok(vt_store_begin(store, &store_rig_err));
	(void)store_rig_add(store, 9000, STORE_RIG_ROWS, NULL, 0);
	ok(vt_store_commit(store, &store_rig_err));
	ok(vt_store_finish(store, &store_rig_err));
	vt_store_close(store);
	store = store_rig_open();
	assert_int_equal(store_rig_chunks(store).events, 4 * STORE_RIG_ROWS);
	vt_store_close(store);
}

/* Cut anywhere, the log is good up to its last whole commit. */
static void a_torn_log_is_cut(void **state)
{
	struct vt_store *store;
	uint64_t least = UINT64_MAX;
	char log[160];
	struct stat st;

	(void)state;
	write_and_be_killed(3);
	(void)snprintf(log, sizeof(log), "%s-wal", store_rig_path);
	assert_int_equal(stat(log, &st), 0);
	for (off_t bytes = st.st_size - 1; bytes > 0; bytes = bytes > 9000 ? bytes - 9000 : 0) {
		uint64_t events;

		assert_int_equal(truncate(log, bytes), 0);
		if (vt_store_open(&store, store_rig_path, &store_rig_err) < 0) {
			assert_int_equal(store_rig_err.code, VT_E_CORRUPT); /* not even the tables are left */
			assert_non_null(strstr(store_rig_err.msg, "holds no tables"));
			least = 0;
			break;
		}
		events = store_rig_chunks(store).events;
		assert_true(events % STORE_RIG_ROWS == 0 && events <= least);
		least = events;
		vt_store_close(store);
	}
	assert_int_equal(least, 0);
}

static void a_log_left_behind_is_told(void **state)
{
	struct vt_store *store = NULL;
	char log[160];

	(void)state;
	write_and_be_killed(3);
	(void)snprintf(log, sizeof(log), "%s-wal", store_rig_path);
	assert_int_equal(unlink(log), 0);
	assert_int_equal(vt_store_open(&store, store_rig_path, &store_rig_err), -VT_E_CORRUPT);
	assert_non_null(strstr(store_rig_err.msg, "-wal was not copied"));
}

/*
 * Opens as somebody who may read alone: 0 with the warning and the events wanted. Root may write everywhere, and becomes
 * nobody.
 */
static int open_as_reader(const char *warning, uint64_t events)
{
	struct vt_store *store = NULL;
	const char *text;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(2);
		if (vt_store_open(&store, store_rig_path, &store_rig_err) < 0)
			_exit(3);
		text = vt_store_warning(store);
		if (warning ? !text || !strstr(text, warning) : text != NULL)
			_exit(4);
		if (store_rig_chunks(store).events != events)
			_exit(5);
		vt_store_close(store);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_whole_file_in_a_read_only_place(void **state)
{
	struct vt_store *store;
	char name[160];

	(void)state;
	write_and_be_killed(3);
	(void)snprintf(name, sizeof(name), "%s-shm", store_rig_path);
	assert_int_equal(unlink(name), 0);
	/* Without the log the file holds no tables; first one good state goes into the file itself. */
	store = store_rig_create(VT_STORE_RESUME);
	ok(vt_store_finish(store, &store_rig_err));
	vt_store_close(store);
	assert_int_equal(chmod(store_rig_directory, 0555), 0);
	assert_int_equal(open_as_reader(NULL, 3 * STORE_RIG_ROWS), 0);
	assert_int_equal(chmod(store_rig_directory, 0755), 0);
}

/* A file with tables, and then a killed writer's log beside it. */
static void leave_a_log(void)
{
	struct vt_store *store = store_rig_create(VT_STORE_NEW);

	ok(vt_store_finish(store, &store_rig_err));
	vt_store_close(store);
	write_until_killed(VT_STORE_RESUME, 3);
}

static void a_log_in_a_read_only_place_is_read(void **state)
{
	char name[160], log[160];

	(void)state;
	leave_a_log();
	(void)snprintf(name, sizeof(name), "%s-shm", store_rig_path);
	(void)snprintf(log, sizeof(log), "%s-wal", store_rig_path);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(chmod(store_rig_path, 0444), 0);
	assert_int_equal(chmod(log, 0444), 0);
	assert_int_equal(chmod(store_rig_directory, 0555), 0);
	assert_int_equal(open_as_reader(NULL, 3 * STORE_RIG_ROWS), 0);
	assert_int_equal(access(name, F_OK), -1); /* nothing was left behind */
	assert_int_equal(access(log, F_OK), 0);
}

static void a_log_that_may_not_be_read_is_told(void **state)
{
	struct vt_store *store;
	char log[160];

	(void)state;
	leave_a_log();
	(void)snprintf(log, sizeof(log), "%s-wal", store_rig_path);
	assert_int_equal(chmod(log, 0), 0);
	assert_int_equal(chmod(store_rig_directory, 0555), 0);
	assert_int_equal(open_as_reader("-wal, which cannot be used here", 0), 0);
	assert_int_equal(chmod(store_rig_directory, 0755), 0);
	assert_int_equal(chmod(log, 0644), 0);
	store = store_rig_open();
	assert_int_equal(store_rig_chunks(store).events, 3 * STORE_RIG_ROWS);
	vt_store_close(store);
}

static void a_copy_without_its_log_is_told(void **state)
{
	struct vt_store *store;
	char name[160];

	(void)state;
	leave_a_log();
	(void)snprintf(name, sizeof(name), "%s-shm", store_rig_path);
	assert_int_equal(unlink(name), 0);
	(void)snprintf(name, sizeof(name), "%s-wal", store_rig_path);
	assert_int_equal(unlink(name), 0);
	store = store_rig_open();
	assert_non_null(vt_store_warning(store));
	assert_non_null(strstr(vt_store_warning(store), "copied without"));
	vt_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_rig_test(a_killed_writer_loses_nothing_committed),
		store_rig_test(a_torn_log_is_cut),
		store_rig_test(a_log_left_behind_is_told),
		store_rig_test(a_whole_file_in_a_read_only_place),
		store_rig_test(a_log_in_a_read_only_place_is_read),
		store_rig_test(a_log_that_may_not_be_read_is_told),
		store_rig_test(a_copy_without_its_log_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
