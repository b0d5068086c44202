/* report_tables.c - see report.h: tables that several reports print. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/views/report.h"
#include "schema/base/utf8.h"

#define WIDE 120 /* from here on an op may be longer */
/* Columns of the holders' table that neither op nor place take: bytes, share, blocks and the gaps. */
#define HOLDER_FIXED (11 + 2 + 6 + 2 + 6 + 2 + 2)

const char *vt_report_share(char out[VT_FORMAT_MAX], uint64_t part, uint64_t whole)
{
	out[0] = 0;
	if (whole)
		(void)snprintf(out, VT_FORMAT_MAX, "%.1f%%", 100.0 * (double)part / (double)whole);
	return out;
}

static size_t widest_op(const struct vt_holders *holders, size_t rows, size_t most)
{
	size_t widest = 8; /* room for "(2 more)" */

	for (size_t i = 0; i < rows; i++) {
		const char *op = vt_place_op(&holders->list[i].place);
		size_t columns = vt_utf8_columns(op, strlen(op));

		widest = columns > widest ? columns : widest;
	}
	return widest < most ? widest : most;
}

int vt_report_print_holders(const struct vt_screen *screen, const struct vt_holders *holders, uint64_t of, uint64_t top)
{
	struct vt_table *table = vt_table_new();
	char bytes[VT_FORMAT_MAX], share[VT_FORMAT_MAX], count[VT_FORMAT_MAX], op[VT_PLACE_MAX], where[VT_PLACE_MAX];
	uint64_t rest_bytes = holders->bytes, rest_blocks = holders->blocks;
	size_t rows = top < holders->count ? (size_t)top : holders->count;
	size_t op_columns = widest_op(holders, rows, screen->width >= WIDE ? 48 : 28);
	size_t taken = HOLDER_FIXED + op_columns, width = (size_t)screen->width;
	size_t where_columns = width > taken ? width - taken : 0; /* 0: the file's name and the line alone */

	vt_table_column(table, "Bytes", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Share", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Blocks", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Op", VT_ALIGN_LEFT, false);
	vt_table_column(table, "Where", VT_ALIGN_LEFT, true);
	for (size_t i = 0; i < rows; i++) {
		const struct vt_holder *holder = &holders->list[i];

		rest_bytes -= holder->bytes;
		rest_blocks -= holder->blocks;
		vt_table_cell(table, "%s", vt_format_bytes(bytes, holder->bytes));
		vt_table_cell(table, "%s", vt_report_share(share, holder->bytes, of));
		vt_table_cell(table, "%s", vt_format_count(count, holder->blocks));
		vt_table_cell(table, "%s", vt_place_clip(op, vt_place_op(&holder->place), op_columns));
		vt_table_cell(table, "%s", vt_place_where(where, &holder->place, where_columns));
	}
	if (rows < holders->count) {
		vt_table_cell(table, "%s", vt_format_bytes(bytes, rest_bytes));
		vt_table_cell(table, "%s", vt_report_share(share, rest_bytes, of));
		vt_table_cell(table, "%s", vt_format_count(count, rest_blocks));
		vt_table_cell(table, "(%zu more)", holders->count - rows);
		vt_table_cell(table, "%s", "");
	}
	return vt_table_print(table, screen);
}

int vt_report_print_levels(const struct vt_session *session, const struct vt_screen *screen,
			   const struct vt_levels *levels)
{
	struct vt_level_row rows[VT_LEVEL_ROWS_MAX];
	unsigned n = vt_levels_rows(levels, rows);
	struct vt_table *table = vt_table_new();
	char bytes[VT_FORMAT_MAX], share[VT_FORMAT_MAX], at[VT_FORMAT_MAX];
	uint64_t whole = levels->total_bytes;
	int r;

	vt_table_column(table, "", VT_ALIGN_LEFT, true);
	vt_table_column(table, "", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "", VT_ALIGN_RIGHT, false);
	for (unsigned i = 0; i < n; i++) {
		bool gap = rows[i].kind == VT_LEVEL_GAP;

		vt_table_cell(table, "%s%s", gap ? "    - " : "  ", rows[i].name);
		if (!rows[i].known) {
			vt_table_cell(table, "not captured");
			vt_table_cell(table, "%s", "");
			continue;
		}
		vt_table_cell(table, "%s", vt_format_signed_bytes(bytes, rows[i].bytes));
		vt_table_cell(table, "%s",
			      rows[i].bytes < 0 ? "" : vt_report_share(share, (uint64_t)rows[i].bytes, whole));
	}
	r = vt_table_print(table, screen);
	if (!r && levels->total_bytes && !vt_levels_simultaneous(levels))
		vt_screen_text(
			screen, 2,
			"The driver's figures were read at %s, when driver calls held %s; what lies between them "
			"and the rows below is not exact.",
			vt_session_time(session, at, levels->read_ns), vt_format_bytes(bytes, levels->driver_then));
	return r;
}

void vt_report_json_holders(const struct vt_session *session, struct vt_json *json, uint32_t process,
			    const struct vt_holders *holders, uint64_t top)
{
	size_t rows = top < holders->count ? (size_t)top : holders->count;
	uint64_t bytes = holders->bytes, blocks = holders->blocks;

	vt_json_put_array(json, "holders");
	for (size_t i = 0; i < rows; i++) {
		const struct vt_holder *holder = &holders->list[i];

		bytes -= holder->bytes;
		blocks -= holder->blocks;
		vt_json_object(json);
		vt_place_json(json, session->symbols, process, holder->op, holder->stack);
		/* The forward op that memory of a backward op belongs to. */
		vt_json_name(json, "forward");
		if (holder->forward_op) {
			vt_json_object(json);
			vt_place_json(json, session->symbols, process, holder->forward_op, holder->forward_stack);
			vt_json_object_end(json);
		} else {
			vt_json_null(json);
		}
		/* An estimate, of most of the bytes. */
		vt_json_put_string(json, "category", vt_category_name(vt_holder_category(holder)));
		vt_json_put_u64(json, "live_bytes", holder->bytes);
		vt_json_put_u64(json, "count", holder->blocks);
		/* op_stack and stack are those of the largest of so many. */
		vt_json_put_u64(json, "stacks", holder->members);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
	vt_json_put_object(json, "holders_rest");
	vt_json_put_u64(json, "holders", holders->count - rows);
	vt_json_put_u64(json, "live_bytes", bytes);
	vt_json_put_u64(json, "count", blocks);
	vt_json_object_end(json);
}

void vt_report_json_levels(struct vt_json *json, const struct vt_levels *levels)
{
	struct vt_level_row rows[VT_LEVEL_ROWS_MAX];
	unsigned n = vt_levels_rows(levels, rows);

	vt_json_put_array(json, "levels");
	for (unsigned i = 0; i < n; i++) {
		vt_json_object(json);
		vt_json_put_string(json, "kind", rows[i].kind == VT_LEVEL ? "level" : "between");
		vt_json_put_string(json, "key", rows[i].key);
		vt_json_put_string(json, "text", rows[i].name);
		vt_json_name(json, "bytes");
		if (rows[i].known)
			vt_json_i64(json, rows[i].bytes);
		else
			vt_json_null(json);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}
