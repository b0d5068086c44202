/* test_session.c - session directories: names, locks, what is seen in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/collector/session.h"
#include "capture/launch/session_dir.h"

static void check_name(const char *path, bool want, uint32_t want_pid, uint64_t want_ticks)
{
	uint64_t ticks = 0;
	uint32_t pid = 0;

	assert_int_equal(vt_session_parse_name(path, &pid, &ticks), want);
	if (want) {
		assert_int_equal(pid, want_pid);
		assert_int_equal(ticks, want_ticks);
	}
}

static void test_names(void **state)
{
	(void)state;
	check_name("/dev/shm/x-1/12-345.ring", true, 12, 345);
	check_name("12-345.1.ring", true, 12, 345);
	check_name("4294967295-18446744073709551615.ring", true, UINT32_MAX, UINT64_MAX);
	check_name("/a/99999999999-1.ring", false, 0, 0);
	check_name("/a/-1.ring", false, 0, 0);
	check_name("/a/1-.ring", false, 0, 0);
	check_name("/a/1-2", false, 0, 0);
	check_name("/12-345.d/x.ring", false, 0, 0);
	check_name("", false, 0, 0);
}

struct seen {
	unsigned files;
	char last[256];
};

static int see(void *arg, const char *path, ino_t inode)
{
	struct seen *seen = arg;

	assert_true(inode > 0);
	seen->files++;
	(void)snprintf(seen->last, sizeof(seen->last), "%s", path);
	return seen->files == 2 ? 7 : 0;
}

static void make_file(const char *directory, const char *name)
{
	char path[PATH_MAX];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fputs("some bytes", file);
	(void)fclose(file);
}

static void test_directory(void **state)
{
	struct vt_session session, second = { 0 };
	struct seen seen = { 0 };
	char path[PATH_MAX], other[PATH_MAX + 16];
	struct vt_err err;
	bool in_memory;
	uint64_t bytes;
	struct stat st;

	(void)state;
	assert_int_equal(vt_session_dir_make(path, &in_memory, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(vt_session_open(&session, path, &err), 0);
	assert_int_equal(vt_session_open(&second, path, &err), -VT_E_INPUT);
	assert_false(vt_session_changed(&session));
	assert_int_equal(vt_session_each(&session, see, &seen, &err), 0);
	make_file(path, "1-2.ring");
	make_file(path, "notes.txt");
	make_file(path, ".ring");
	assert_true(vt_session_changed(&session));
	assert_false(vt_session_changed(&session));
	assert_int_equal(vt_session_each(&session, see, &seen, &err), 0);
	assert_int_equal(seen.files, 1);
	assert_non_null(strstr(seen.last, "/1-2.ring"));
	make_file(path, "3-4.ring");
	seen.files = 0;
	assert_int_equal(vt_session_each(&session, see, &seen, &err), 7); /* the callback's word is passed on */
	if (vt_session_dir_find_orphan(other, &bytes))			  /* held by a collector: no orphan */
		assert_string_not_equal(other, path);
	vt_session_done(&session);
	vt_session_done(&session);
	vt_session_dir_remove(path);
	assert_int_equal(stat(path, &st), 0); /* what is not ours to remove stays */
	(void)snprintf(other, sizeof(other), "%s/notes.txt", path);
	assert_int_equal(unlink(other), 0);
	(void)snprintf(other, sizeof(other), "%s/.ring", path);
	(void)unlink(other);
	assert_true(rmdir(path) == 0);
}

static void test_foreign_directory(void **state)
{
	char path[PATH_MAX];
	struct vt_session session = { 0 };
	struct vt_err err;
	bool in_memory;

	(void)state;
	assert_int_equal(vt_session_dir_make(path, &in_memory, &err), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(vt_session_open(&session, path, &err), -VT_E_INPUT);
	assert_non_null(strstr(err.msg, "writable by you alone"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(vt_session_open(&session, path, &err), -VT_E_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_foreign_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
