/* test_quote.c - vt_quote_command: what comes out means to a real shell what went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "capture/collector/quote.h"

static void check(const char *cmdline, size_t bytes, const char *want)
{
	struct vt_buf buf = { 0 };

	assert_int_equal(vt_quote_command(cmdline, bytes, &buf), 0);
	assert_string_equal((const char *)buf.data, want);
	vt_buf_done(&buf);
}

static void test_words(void **state)
{
	(void)state;
	check("", 0, "");
	check("python\0train.py\0--lr=0.1\0", 25, "python train.py --lr=0.1");
	check("a\0\0b\0", 5, "a '' b");
	check("a b\0it's\0$x\0", 12, "'a b' 'it'\\''s' '$x'");
	check("cut sho", 7, "'cut sho'");
}

/* printf '%s\0' in a shell gives every byte back. */
static void test_shell(void **state)
{
	char words[] = "printf\0%s\\0\0a'b\"c\\d\0 \t*?[]{}()<>|&;$`!#~\0x\ny\0\0", got[256] = { 0 };
	const char *args = words + 12;
	struct vt_buf buf = { 0 };
	size_t n;
	FILE *out;

	(void)state;
	assert_int_equal(vt_quote_command(words, sizeof(words) - 1, &buf), 0);
	out = popen((const char *)buf.data, "r");
	assert_non_null(out);
	n = fread(got, 1, sizeof(got), out);
	assert_int_equal(pclose(out), 0);
	assert_int_equal(n, sizeof(words) - 1 - 12);
	assert_memory_equal(got, args, n);
	vt_buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
