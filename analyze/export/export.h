/*
 * export.h - events as JSON lines and as CSV: for scripts, and for whoever wants to check us.
 *
 * Both go through the columns of events.def in order, so that a new column appears without a line changed here.
 */
#ifndef VT_ANALYZE_EXPORT_H
#define VT_ANALYZE_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/store/cursor.h"
#include "analyze/symbols/symbols.h"

struct vt_export_options {
	struct vt_cursor_options cursor;
	bool definitions; /* JSON: the rows of the tables too: process, thread, clock, loss, string, op_node, ... */
	bool stacks;	  /* JSON: "stack_frames" beside each stack */
};

/*
 * One object a line, in time order: {"event": name, "process": id, every column by its name}. A column that holds an id
 * of a text keeps the id and gets the text beside it: caller and "caller_text", op and "op_name", api and "api_text".
 */
int vt_export_json(FILE *out, struct vt_store *store, const struct vt_export_options *options, struct vt_err *err);

/* One kind of event (options->cursor.kinds[0]), as RFC 4180 has it: CRLF, header row, quotes where needed. */
int vt_export_csv(FILE *out, struct vt_store *store, const struct vt_export_options *options, struct vt_err *err);

/* -------- shared */

/* A field of CSV, quoted where RFC 4180 asks for it. */
void vt_export_csv_text(FILE *out, const char *text);

/* The enumeration that a column holds numbers of, as vt_enum_text takes it; NULL for none. */
const char *vt_export_enum(const struct vt_event *event, const struct vt_col *col);
/* The value of a column, extended to 64 bits by its type. */
int64_t vt_export_value(const struct vt_rec *rec, const struct vt_col *col);

#endif
