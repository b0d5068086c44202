/* columns.c - what JSON and CSV have in common: see export.h. */
#include <string.h>

#include "analyze/export/export.h"
#include "schema/base/bits.h"

const char *vt_export_enum(const struct vt_event *event, const struct vt_col *col)
{
	/* Columns are named after what they hold; a name that means different things carries its event. */
	static const struct {
		const char *event; /* NULL: any */
		const char *column;
		const char *name;
	} columns[] = {
		{ NULL, "device_type", "device_type" },
		{ "driver_memory", "api", "driver_api" },
		{ "device_sample", "source", "sample_source" },
		{ "note", "code", "note_code" },
		{ "op_node", "scope", "op_scope" },
		{ "copy", "kind", "copy_kind" },
		{ "copy", "source", "memory_kind" },
		{ "copy", "target", "memory_kind" },
		{ "launch", "api", "launch_api" },
		{ "wait", "api", "wait_api" },
		{ "mark", "kind", "mark_kind" },
	};

	if (col->unit != VT_UNIT_ENUM)
		return NULL;
	for (size_t i = 0; i < VT_ARRAY_SIZE(columns); i++)
		if ((!columns[i].event || !strcmp(columns[i].event, event->name)) &&
		    !strcmp(columns[i].column, col->name))
			return columns[i].name;
	return NULL;
}

int64_t vt_export_value(const struct vt_rec *rec, const struct vt_col *col)
{
	const char *at = (const char *)rec + col->offset;
	uint16_t v16;
	uint32_t v32;
	int64_t v64;

	if (col->width == 2) {
		memcpy(&v16, at, 2);
		return vt_col_is_signed(col) ? (int16_t)v16 : (int64_t)v16;
	}
	if (col->width == 4) {
		memcpy(&v32, at, 4);
		return vt_col_is_signed(col) ? (int32_t)v32 : (int64_t)v32;
	}
	memcpy(&v64, at, 8);
	return v64;
}
