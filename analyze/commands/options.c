/* options.c - see options.h. */
#include "analyze/commands/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/commands/suggest.h"
#include "schema/base/bits.h"
#include "schema/base/format.h"

#define OPTIONS_MAX 48
#define LONG_BASE 256 /* getopt_long's value of row i is LONG_BASE + i: letters stay below */

struct table {
	struct vt_option rows[OPTIONS_MAX];
	size_t nrows;
	size_t nown; /* rows before this are the command's own */
	bool help;
};

static void add_rows(struct table *table, const struct vt_option *rows)
{
	for (; rows && rows->name && table->nrows < OPTIONS_MAX; rows++)
		table->rows[table->nrows++] = *rows;
}

static void build_table(struct table *table, const struct vt_usage *usage, const struct vt_option *own,
			struct vt_common_options *common)
{
	const struct vt_option help[] = {
		{ "help", 'h', VT_OPTION_FLAG, &table->help, NULL, "print this and exit" },
		{ 0 },
	};

	add_rows(table, own);
	table->nown = table->nrows;
	if (common) {
		const struct vt_option choice[] = {
			{ "device", 'd', VT_OPTION_INDEX, &common->device, "N", "this device only" },
			{ "process", 'p', VT_OPTION_INDEX, &common->process, "ID",
			  "this process only: its number in `info`, or its pid" },
			{ "at", 0, VT_OPTION_STRING, &common->at, "WHEN", "peak, oom, end, or a time such as 1.5s" },
			{ "top", 'n', VT_OPTION_COUNT, &common->top, "N", "rows in tables (10)" },
			{ 0 },
		};
		const struct vt_option output[] = {
			{ "json", 'j', VT_OPTION_FLAG, &common->json, NULL, "print one JSON object" },
			{ "color", 0, VT_OPTION_STRING, &common->color, "WHEN", "auto, always or never" },
			{ "quiet", 'q', VT_OPTION_FLAG, &common->quiet, NULL, "no progress on stderr" },
			{ 0 },
		};

		if (!usage->whole_file)
			add_rows(table, choice);
		add_rows(table, output);
	}
	add_rows(table, help);
}

static void print_row(const struct vt_option *row)
{
	char left[64];

	(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
		       row->letter ? "," : " ", row->name, row->argument ? "=" : "",
		       row->argument ? row->argument : "");
	(void)printf("  %-26s %s\n", left, row->help);
}

static void print_help(const struct vt_usage *usage, const struct table *table)
{
	(void)printf("Usage: vramtrace %s [OPTIONS]%s%s\n\n%s\n", usage->command, *usage->operands ? " " : "",
		     usage->operands, usage->summary);
	if (table->nown)
		(void)printf("\nOptions:\n");
	for (size_t i = 0; i < table->nown; i++)
		print_row(&table->rows[i]);
	(void)printf(table->nown ? "\nShared by all reports:\n" : "\nOptions:\n");
	for (size_t i = table->nown; i < table->nrows; i++)
		print_row(&table->rows[i]);
	if (usage->details)
		(void)printf("\n%s\n", usage->details);
}

static int take_number(const struct vt_option *row, const char *text, struct vt_err *err)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || (row->kind == VT_OPTION_INDEX && value > INT64_MAX))
		return vt_err_set(err, VT_E_USAGE, "--%s takes a number, not '%s'", row->name, text);
	if (row->kind == VT_OPTION_INDEX)
		*(int64_t *)row->value = (int64_t)value;
	else
		*(uint64_t *)row->value = value;
	return 0;
}

static int take_value(const struct vt_option *row, const char *text, struct vt_err *err)
{
	switch (row->kind) {
	case VT_OPTION_FLAG:
		*(bool *)row->value = true;
		return 0;
	case VT_OPTION_STRING:
		*(const char **)row->value = text;
		return 0;
	case VT_OPTION_BYTES:
		if (vt_parse_bytes(text, row->value) < 0)
			return vt_err_set(err, VT_E_USAGE,
					  "--%s takes a number of bytes such as 1536, 64K or 1.5GiB, not '%s'",
					  row->name, text);
		return 0;
	case VT_OPTION_COUNT:
	case VT_OPTION_INDEX:
		return take_number(row, text, err);
	}
	return vt_err_set(err, VT_E_USAGE, "--%s is of no known kind", row->name);
}

static int refuse_option(const struct table *table, const char *typed, struct vt_err *err)
{
	const char *names[OPTIONS_MAX], *near = NULL;
	char word[64];

	for (size_t i = 0; i < table->nrows; i++)
		names[i] = table->rows[i].name;
	if (!strncmp(typed, "--", 2)) {
		(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
		near = vt_suggest(word, names, table->nrows);
	}
	if (near)
		return vt_err_set(err, VT_E_USAGE, "unknown option '%s'; did you mean '--%s'?", typed, near);
	return vt_err_set(err, VT_E_USAGE, "unknown option '%s'", typed);
}

struct getopt_tables {
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 2];
};

static void build_getopt(const struct table *table, struct getopt_tables *ret)
{
	size_t at = 0;

	memset(ret, 0, sizeof(*ret));
	ret->shorts[at++] = ':'; /* a missing argument reads as ':' */
	for (size_t i = 0; i < table->nrows; i++) {
		const struct vt_option *row = &table->rows[i];
		bool argument = row->kind != VT_OPTION_FLAG;

		ret->longs[i] = (struct option){ row->name, argument ? required_argument : no_argument, NULL,
						 LONG_BASE + (int)i };
		if (row->letter)
			ret->shorts[at++] = row->letter;
		if (row->letter && argument)
			ret->shorts[at++] = ':';
	}
}

static const struct vt_option *find_row(const struct table *table, int got)
{
	if (got >= LONG_BASE)
		return &table->rows[got - LONG_BASE];
	for (size_t i = 0; i < table->nrows; i++)
		if (table->rows[i].letter && table->rows[i].letter == got)
			return &table->rows[i];
	return NULL;
}

static int parse(const struct table *table, int argc, char **argv, struct vt_err *err)
{
	struct getopt_tables tables;
	int got, r;

	build_getopt(table, &tables);
	optind = 0; /* glibc: start anew, with a new argv */
	opterr = 0;
	while ((got = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		const struct vt_option *row;

		if (got == ':')
			return vt_err_set(err, VT_E_USAGE, "option '%s' needs an argument", argv[optind - 1]);
		if (got == '?' && optopt >= LONG_BASE)
			return vt_err_set(err, VT_E_USAGE, "option '--%s' takes no argument",
					  table->rows[optopt - LONG_BASE].name);
		if (got == '?' && optopt)
			return vt_err_set(err, VT_E_USAGE, "unknown option '-%c'", optopt);
		row = find_row(table, got);
		if (got == '?' || !row)
			return refuse_option(table, argv[optind - 1], err);
		r = take_value(row, optarg, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_common(const struct vt_common_options *common, struct vt_err *err)
{
	static const char *const words[] = { "auto", "always", "never" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(words); i++)
		if (!strcmp(common->color, words[i]))
			return 0;
	return vt_err_set(err, VT_E_USAGE, "--color takes auto, always or never, not '%s'", common->color);
}

/* NOLINTNEXTLINE(readability-function-size): see options.h */
int vt_options_parse(const struct vt_usage *usage, const struct vt_option *own, struct vt_common_options *common,
		     int argc, char **argv, int *ret_operand, struct vt_err *err)
{
	struct table table = { .nrows = 0 };
	size_t used;
	int r;

	if (common)
		*common = (struct vt_common_options){ .color = "auto", .device = -1, .process = -1, .top = 10 };
	build_table(&table, usage, own, common);
	r = parse(&table, argc, argv, err);
	if (!r && table.help) {
		print_help(usage, &table);
		return 1;
	}
	if (!r && common)
		r = check_common(common, err);
	if (r < 0 && err) {
		used = strlen(err->msg);
		(void)snprintf(err->msg + used, sizeof(err->msg) - used, " (vramtrace %s --help shows all options)",
			       usage->command);
	}
	*ret_operand = optind;
	return r;
}

int vt_command_fail(const char *command, const struct vt_err *err)
{
	(void)fprintf(stderr, "vramtrace %s: %s\n", command, err->msg[0] ? err->msg : vt_errc_name(err->code));
	return vt_errc_exit_status(err->code);
}
