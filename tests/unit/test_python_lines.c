/* test_python_lines.c - line tables of real interpreters (python_line_cases.py; files as arguments), and broken ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/symbols/python_lines.h"

static char **files;
static int nfiles;

struct code {
	unsigned version, first_line;
	char name[256];
	uint8_t *table;
	size_t bytes;
};

static void take_code(struct code *code, const char *line)
{
	const char *hex = strrchr(line, ' ') + 1;

	if (sscanf(line, "C %u %255s", &code->first_line, code->name) != 2)
		fail_msg("cannot read '%s'", line);
	code->bytes = strlen(hex) / 2;
	free(code->table);
	code->table = malloc(code->bytes + 1);
	assert_non_null(code->table);
	for (size_t i = 0; i < code->bytes; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		code->table[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

/* Returns how many instructions were looked up. */
static unsigned check_range(const struct code *code, const char *file, const char *line)
{
	unsigned start, end, truth, checked = 0;

	if (sscanf(line, "L %u %u %u", &start, &end, &truth) != 3)
		fail_msg("cannot read '%s'", line);
	for (unsigned at = start; at < end; at += 2, checked++) {
		uint32_t got = vt_python_line(code->version, code->table, code->bytes, code->first_line, at);

		if (got != truth)
			fail_msg("%s: %s (line %u): instruction %u is on line %u, not %u", file, code->name,
				 code->first_line, at, truth, got);
	}
	return checked;
}

static void lines_are_the_interpreters_own(void **state)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	(void)state;
	assert_true(nfiles > 0);
	for (int i = 0; i < nfiles; i++) {
		struct code code = { 0 };
		unsigned codes = 0, instructions = 0;
		FILE *in = fopen(files[i], "r");

		assert_non_null(in);
		while ((n = getline(&line, &room, in)) > 0) {
			if (line[n - 1] == '\n')
				line[n - 1] = 0;
			if (line[0] == 'P')
				code.version = (unsigned)strtoul(line + 2, NULL, 16);
			else if (line[0] == 'C')
				take_code(&code, line);
			else
				instructions += check_range(&code, files[i], line);
			codes += line[0] == 'C';
		}
		fclose(in);
		free(code.table);
		printf("Python %u.%u: %u code objects, %u instructions\n", code.version >> 8, code.version & 255, codes,
		       instructions);
		assert_true(codes > 1000 && instructions > 10000);
	}
	free(line);
}

/* What no interpreter writes must be survived; heap copies of the exact size let the sanitizer see a step too far. */
static void broken_tables_are_survived(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t bytes = (size_t)(round % 24);
		uint8_t *table = malloc(bytes + !bytes);

		assert_non_null(table);
		for (size_t i = 0; i < bytes; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			table[i] = (uint8_t)(random >> 56);
		}
		for (uint32_t version = 0x0309; version <= 0x030e; version++)
			(void)vt_python_line(version, table, bytes, (uint32_t)random, (uint32_t)(random >> 40));
		free(table);
	}
	assert_int_equal(vt_python_line(0x030b, NULL, 0, 5, 0), 0);
	/* A line before the first, as a hostile table may say, is no line. */
	assert_int_equal(vt_python_line(0x030a, (const uint8_t[]){ 2, 0x81 }, 2, 5, 0), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_the_interpreters_own),
		cmocka_unit_test(broken_tables_are_survived),
	};

	files = argv + 1;
	nfiles = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
