/*
 * schema_print.c - says what events.def and enums.def say, for people and for the lock.
 *
 *   schema_print document FORMAT.MD   the file, with everything between its "generated" marks made anew
 *   schema_print lock                 one line for every number that a trace may hold; tests/golden/schema keeps them
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/base/bits.h"
#include "schema/base/cleanup.h"
#include "schema/event.h"
#include "schema/store.h"

static const char *const class_names[] = { "CHUNK", "TABLE", "BLOB" };

struct enum_value {
	const char *enum_name;
	const char *name;
	long long number;
	const char *text;
};

/* clang-format off */
static const struct { const char *name; const char *doc; } enums[] = {
#define ENUM(name, doc) { #name, doc },
#include "schema/enums.def"
};

static const struct enum_value enum_values[] = {
#define VALUE(enum_name, NAME, number, text) { #enum_name, #NAME, (number), text },
#include "schema/enums.def"
};

static const struct { unsigned event; unsigned column; } retired[] = {
#define RETIRED_EVENT(id) { (id), 0 },
#define RETIRED_COL(event, id) { VT_EVENT_##event, (id) },
#include "schema/events.def"
	{ 0, 0 },
};
/* clang-format on */

static void close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

/* ------------------------------------------------------------------ the lock */

static void print_lock(void)
{
	for (unsigned i = 0; i <= VT_CODEC_SUM; i++)
		printf("codec %u %s\n", i, vt_codec_name(i));
	for (unsigned i = 1; strcmp(vt_type_name(i), "?") != 0; i++)
		printf("type %u %s\n", i, vt_type_name(i));
	for (size_t i = 0; i < vt_nevents; i++) {
		const struct vt_event *event = &vt_events[i];

		printf("event %u %s %s\n", event->id, event->name, class_names[event->class]);
		for (uint32_t c = 0; c < event->ncols; c++) {
			const struct vt_col *col = &event->cols[c];

			if (!vt_col_is_pad(col))
				printf("column %u.%u %s.%s %s %s\n", event->id, col->id, event->name, col->name,
				       vt_type_name(col->type), vt_unit_name(col->unit));
		}
	}
	for (size_t i = 0; i < VT_ARRAY_SIZE(enum_values); i++)
		printf("value %s.%lld %s\n", enum_values[i].enum_name, enum_values[i].number, enum_values[i].name);
	for (size_t i = 0; i + 1 < VT_ARRAY_SIZE(retired); i++) {
		if (retired[i].column)
			printf("retired column %u.%u\n", retired[i].event, retired[i].column);
		else
			printf("retired event %u\n", retired[i].event);
	}
}

/* ------------------------------------------------------------------ the document */

/* A cell of a table: a bar would end it. */
static void print_cell(const char *text)
{
	for (; *text; text++)
		printf(*text == '|' ? "\\|" : "%c", *text);
}

static int print_events(void)
{
	for (size_t i = 0; i < vt_nevents; i++) {
		const struct vt_event *event = &vt_events[i];

		printf("\n### %u `%s` (%s, since %u)\n\n%s\n\n", event->id, event->name, class_names[event->class],
		       event->since, event->doc);
		printf("| id | column | type | unit | since | meaning |\n| ---: | --- | --- | --- | ---: | --- |\n");
		for (uint32_t c = 0; c < event->ncols; c++) {
			const struct vt_col *col = &event->cols[c];

			if (vt_col_is_pad(col))
				continue;
			printf("| %u | `%s` | %s | %s | %u | ", col->id, col->name, vt_type_name(col->type),
			       vt_unit_name(col->unit), col->since);
			print_cell(col->doc);
			printf(" |\n");
		}
	}
	return 0;
}

static int print_enums(void)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(enums); i++) {
		printf("\n### `%s`\n\n%s.\n\n| number | name | text |\n| ---: | --- | --- |\n", enums[i].name,
		       enums[i].doc);
		for (size_t v = 0; v < VT_ARRAY_SIZE(enum_values); v++) {
			if (strcmp(enum_values[v].enum_name, enums[i].name) != 0)
				continue;
			printf("| %lld | %s | ", enum_values[v].number, enum_values[v].name);
			print_cell(enum_values[v].text);
			printf(" |\n");
		}
	}
	return 0;
}

/* Any column of the type: width and sign belong to the type. NULL: no event uses it. */
static const struct vt_col *column_of_type(unsigned type)
{
	for (size_t i = 0; i < vt_nevents; i++)
		for (uint32_t c = 0; c < vt_events[i].ncols; c++)
			if (vt_events[i].cols[c].type == type)
				return &vt_events[i].cols[c];
	return NULL;
}

static int print_types(void)
{
	printf("\n| number | type | bytes | signed |\n| ---: | --- | ---: | --- |\n");
	for (unsigned i = 1; strcmp(vt_type_name(i), "?") != 0; i++) {
		const struct vt_col *col = column_of_type(i);

		if (col)
			printf("| %u | %s | %u | %s |\n", i, vt_type_name(i), col->width,
			       vt_col_is_signed(col) ? "yes" : "no");
	}
	return 0;
}

static int print_codecs(void)
{
	printf("\n| number | codec |\n| ---: | --- |\n");
	for (unsigned i = 0; i <= VT_CODEC_SUM; i++)
		printf("| %u | %s |\n", i, vt_codec_name(i));
	return 0;
}

/* A CREATE TABLE with a column a line. */
static void print_create(const char *sql)
{
	int depth = 0;

	for (; *sql; sql++) {
		depth += (*sql == '(') - (*sql == ')');
		if (*sql == '"')
			continue;
		(void)putchar(*sql);
		if ((*sql == '(' || *sql == ',') && depth == 1) {
			printf("\n    ");
			sql += sql[1] == ' ';
		}
	}
	printf(";\n");
}

static int print_row(void *arg, int count, char **values, char **names)
{
	(void)arg;
	(void)count;
	(void)names;
	if (values[0])
		print_create(values[0]);
	return 0;
}

/* The tables as the writer makes them: a trace is made, and asked. */
static int print_tables(void)
{
	char dir[] = "/tmp/vramtrace-schema-XXXXXX";
	char path[sizeof(dir) + 16];
	struct vt_store *store = NULL;
	struct vt_err err = { 0 };
	sqlite3 *db = NULL;
	int r;

	if (!mkdtemp(dir)) {
		perror(dir);
		return -1;
	}
	(void)snprintf(path, sizeof(path), "%s/t", dir);
	r = vt_store_create(&store, path, VT_STORE_NEW, &err);
	if (!r)
		r = vt_store_finish(store, &err);
	vt_store_close(store);
	if (r < 0)
		(void)fprintf(stderr, "schema_print: %s\n", err.msg);
	printf("\n```sql\n");
	if (!r && sqlite3_open(path, &db) == SQLITE_OK)
		r = sqlite3_exec(db, "SELECT sql FROM sqlite_schema ORDER BY rowid", print_row, NULL, NULL);
	printf("```\n");
	(void)sqlite3_close(db);
	(void)unlink(path);
	(void)rmdir(dir);
	return r ? -1 : 0;
}

static const struct {
	const char *name;
	int (*print)(void);
} sections[] = {
	{ "tables", print_tables }, { "types", print_types }, { "codecs", print_codecs },
	{ "events", print_events }, { "enums", print_enums },
};

#define MARK_BEGIN "<!-- generated: "
#define MARK_END "<!-- end -->"

/* line is MARK_BEGIN NAME -->. */
static int print_section(const char *line)
{
	const char *name = line + strlen(MARK_BEGIN);

	for (size_t i = 0; i < VT_ARRAY_SIZE(sections); i++) {
		size_t n = strlen(sections[i].name);

		if (!strncmp(name, sections[i].name, n) && name[n] == ' ')
			return sections[i].print();
	}
	(void)fprintf(stderr, "schema_print: no such section: %s", line);
	return -1;
}

static int print_document(const char *path)
{
	VT_CLEANUP(close_file) FILE *in = fopen(path, "r");
	char line[4096];
	bool inside = false;

	if (!in) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), in)) {
		if (!strncmp(line, MARK_END, strlen(MARK_END)))
			inside = false;
		if (inside)
			continue;
		printf("%s", line);
		if (strncmp(line, MARK_BEGIN, strlen(MARK_BEGIN)) != 0)
			continue;
		inside = true;
		if (print_section(line) < 0)
			return 1;
		printf("\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "document"))
		return print_document(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "lock")) {
		print_lock();
		return 0;
	}
	(void)fprintf(stderr, "usage: schema_print document FORMAT.MD | schema_print lock\n");
	return 2;
}
