/* test_screen.c - tables, paragraphs, sparks, options, suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/commands/options.h"
#include "analyze/commands/suggest.h"
#include "analyze/render/table.h"

struct capture {
	char *text;
	size_t bytes;
	struct vt_screen screen;
};

static void begin(struct capture *capture, int width, bool unicode)
{
	*capture = (struct capture){ 0 };
	capture->screen = (struct vt_screen){
		.out = open_memstream(&capture->text, &capture->bytes),
		.width = width,
		.unicode = unicode,
	};
	assert_non_null(capture->screen.out);
}

static void expect(struct capture *capture, const char *text)
{
	fclose(capture->screen.out);
	assert_string_equal(capture->text, text);
	free(capture->text);
}

static struct vt_table *sample_table(void)
{
	struct vt_table *table = vt_table_new();

	vt_table_column(table, "size", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "where", VT_ALIGN_LEFT, true);
	vt_table_column(table, "n", VT_ALIGN_RIGHT, false);
	vt_table_cell(table, "%d", 5);
	vt_table_cell(table, "short");
	vt_table_cell(table, "1");
	vt_table_cell(table, "%d", 123456);
	vt_table_cell(table, "/home/someone/project/models/train.py:123");
	vt_table_cell(table, "22");
	return table;
}

static void table_aligns(void **state)
{
	struct capture capture;

	(void)state;
	begin(&capture, 80, true);
	assert_int_equal(vt_table_print(sample_table(), &capture.screen), 0);
	expect(&capture, "  size  where                                       n\n"
			 "     5  short                                       1\n"
			 "123456  /home/someone/project/models/train.py:123  22\n");
}

static void elastic_column_is_cut_in_the_middle(void **state)
{
	struct capture capture;

	(void)state;
	begin(&capture, 40, true);
	assert_int_equal(vt_table_print(sample_table(), &capture.screen), 0);
	expect(&capture, "  size  where                          n\n"
			 "     5  short                          1\n"
			 "123456  /home/someone…s/train.py:123  22\n");
}

static void ascii_ellipsis(void **state)
{
	struct capture capture;

	(void)state;
	begin(&capture, 40, false);
	assert_int_equal(vt_table_print(sample_table(), &capture.screen), 0);
	fflush(capture.screen.out);
	assert_non_null(strstr(capture.text, "..."));
	fclose(capture.screen.out);
	for (char *line = strtok(capture.text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 40);
	free(capture.text);
}

static void wide_characters_count_twice(void **state)
{
	struct vt_table *table = vt_table_new();
	struct capture capture;

	(void)state;
	begin(&capture, 80, true);
	vt_table_column(table, "", VT_ALIGN_LEFT, false);
	vt_table_column(table, "", VT_ALIGN_LEFT, false);
	vt_table_cell(table, "漢字");
	vt_table_cell(table, "x");
	vt_table_cell(table, "abcd");
	vt_table_cell(table, "y");
	assert_int_equal(vt_table_print(table, &capture.screen), 0);
	expect(&capture, "漢字  x\nabcd  y\n");
}

static void text_wraps_at_the_width(void **state)
{
	struct capture capture;

	(void)state;
	begin(&capture, 40, true);
	vt_screen_text(&capture.screen, 4, "one two three four five six seven eight nine %d\nnew line", 10);
	expect(&capture, "    one two three four five six seven\n    eight nine 10\n    new line\n");
}

static void spark_shows_something_for_something(void **state)
{
	static const uint64_t values[] = { 0, 1, 500, 1000 };
	struct capture capture;

	(void)state;
	begin(&capture, 80, true);
	vt_screen_spark(&capture.screen, values, 4, 0);
	vt_screen_spark(&capture.screen, values, 4, 2000);
	expect(&capture, " ▁▄█\n ▁▂▄\n");
}

static const struct vt_usage usage = { .command = "report", .operands = "FILE", .summary = "Shows it." };

static int parse(char **argv, struct vt_common_options *common, int *operand, struct vt_err *err)
{
	static uint64_t room;
	static bool flag;
	const struct vt_option own[] = {
		{ "room", 'r', VT_OPTION_BYTES, &room, "BYTES", "room" },
		{ "flag", 'f', VT_OPTION_FLAG, &flag, NULL, "flag" },
		{ 0 },
	};
	int argc = 0;

	while (argv[argc])
		argc++;
	*err = (struct vt_err){ 0 };
	return vt_options_parse(&usage, own, common, argc, argv, operand, err);
}

static void options_are_taken_around_operands(void **state)
{
	char *argv[] = { (char[]){ "report" },
			 (char[]){ "a.vt" },
			 (char[]){ "--top=3" },
			 (char[]){ "-d" },
			 (char[]){ "1" },
			 (char[]){ "--json" },
			 NULL };
	struct vt_common_options common;
	struct vt_err err;
	int operand;

	(void)state;
	assert_int_equal(parse(argv, &common, &operand, &err), 0);
	assert_int_equal(common.top, 3);
	assert_int_equal(common.device, 1);
	assert_int_equal(common.process, -1);
	assert_true(common.json);
	assert_false(common.quiet);
	assert_string_equal(common.color, "auto");
	assert_string_equal(argv[operand], "a.vt");
}

static void wrong_options_are_named(void **state)
{
	static const struct {
		const char *arg, *says;
	} cases[] = {
		{ "--tpo=3", "did you mean '--top'" },
		{ "--top=many", "--top takes a number, not 'many'" },
		{ "--top=-1", "--top takes a number" },
		{ "--device=99999999999999999999", "--device takes a number" },
		{ "--room=lots", "--room takes a number of bytes" },
		{ "--json=yes", "'--json' takes no argument" },
		{ "--top", "'--top' needs an argument" },
		{ "-x", "unknown option '-x'" },
		{ "--color=blue", "--color takes auto, always or never" },
	};
	struct vt_common_options common;
	struct vt_err err;
	char arg[64];
	int operand;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *argv[] = { (char[]){ "report" }, arg, NULL };

		snprintf(arg, sizeof(arg), "%s", cases[i].arg);
		assert_int_equal(parse(argv, &common, &operand, &err), -VT_E_USAGE);
		if (!strstr(err.msg, cases[i].says) || !strstr(err.msg, "vramtrace report --help"))
			fail_msg("%s: %s", arg, err.msg);
	}
}

static void suggestions_are_near(void **state)
{
	static const char *const names[] = { "record", "report", "oom", "export" };

	(void)state;
	assert_string_equal(vt_suggest("recrod", names, 4), "record");
	assert_string_equal(vt_suggest("reprot", names, 4), "report");
	assert_string_equal(vt_suggest("omm", names, 4), "oom");
	assert_null(vt_suggest("train.py", names, 4));
	assert_null(vt_suggest("", names, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_aligns),
		cmocka_unit_test(elastic_column_is_cut_in_the_middle),
		cmocka_unit_test(ascii_ellipsis),
		cmocka_unit_test(wide_characters_count_twice),
		cmocka_unit_test(text_wraps_at_the_width),
		cmocka_unit_test(spark_shows_something_for_something),
		cmocka_unit_test(options_are_taken_around_operands),
		cmocka_unit_test(wrong_options_are_named),
		cmocka_unit_test(suggestions_are_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
