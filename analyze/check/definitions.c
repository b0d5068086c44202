/* definitions.c - see definitions.h. */
#include "analyze/check/definitions.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "schema/base/bits.h"

/* The definition a column type refers to, and the event that makes it. */
static const struct {
	enum vt_type type;
	enum vt_event_id event;
} kinds[] = {
	{ VT_TYPE_STR, VT_EVENT_string },  { VT_TYPE_OPNODE, VT_EVENT_op_node }, { VT_TYPE_CODE, VT_EVENT_code },
	{ VT_TYPE_FRAME, VT_EVENT_frame }, { VT_TYPE_STACK, VT_EVENT_stack },	 { VT_TYPE_MODULE, VT_EVENT_module },
};
_Static_assert(VT_ARRAY_SIZE(kinds) == VT_DEFINITION_KINDS, "one map for each");

static int kind_of_type(unsigned type)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(kinds); i++)
		if (kinds[i].type == type)
			return (int)i;
	return -1;
}

static uint64_t key_of(uint32_t process, uint32_t id)
{
	return (uint64_t)process << 32 | id;
}

static size_t event_index(const struct vt_event *event)
{
	return (size_t)(event - vt_events);
}

struct load {
	struct vt_definitions *definitions;
	struct vt_map *ids;
	const struct vt_event *event;
};

static int load_id(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct load *load = arg;
	uint32_t id;

	/* Column 1 of each definition is its id. */
	memcpy(&id, (const char *)rec + load->event->cols[0].offset, sizeof(id));
	load->definitions->count++;
	return vt_map_put(load->ids, key_of(process, id), 1);
}

static int check_row(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct load *load = arg;

	vt_definitions_check(load->definitions, process, load->event, rec, 1);
	return 0;
}

int vt_definitions_load(struct vt_definitions *definitions, struct vt_store *store, struct vt_err *err)
{
	int r = 0;

	for (size_t i = 0; i < VT_ARRAY_SIZE(kinds) && !r; i++) {
		struct load load = { definitions, &definitions->ids[i], vt_event_find(kinds[i].event) };

		r = vt_store_each_record(store, load.event, load_id, &load, err);
	}
	for (size_t i = 0; i < vt_nevents && !r; i++) {
		struct load load = { definitions, NULL, &vt_events[i] };

		if (load.event->class == VT_CLASS_TABLE)
			r = vt_store_each_record(store, load.event, check_row, &load, err);
	}
	if (r == -VT_E_NOMEM)
		return vt_err_set(err, VT_E_NOMEM, "%s: no memory for its definitions", vt_store_path(store));
	return r;
}

static void check_column(struct vt_definitions *definitions, uint32_t process, const struct vt_event *event,
			 const struct vt_col *col, const char *record, uint32_t n)
{
	const struct vt_map *ids = &definitions->ids[kind_of_type(col->type)];
	uint64_t missing = 0;
	uint32_t id, last = 0;
	bool known = true;

	for (uint32_t i = 0; i < n; i++, record += event->size) {
		memcpy(&id, record + col->offset, sizeof(id));
		if (id != last) {
			known = !id || vt_map_find(ids, key_of(process, id)) != VT_MAP_NONE;
			last = id;
		}
		missing += !known;
	}
	definitions->missing[event_index(event)][col - event->cols] += missing;
}

void vt_definitions_check(struct vt_definitions *definitions, uint32_t process, const struct vt_event *event,
			  const void *records, uint32_t n)
{
	for (uint16_t c = 0; c < event->ncols; c++)
		if (kind_of_type(event->cols[c].type) >= 0)
			check_column(definitions, process, event, &event->cols[c], records, n);
}

void vt_definitions_report(const struct vt_definitions *definitions, struct vt_problems *problems)
{
	for (size_t e = 0; e < vt_nevents; e++)
		for (uint16_t c = 0; c < vt_events[e].ncols; c++) {
			const struct vt_col *col = &vt_events[e].cols[c];
			uint64_t missing = definitions->missing[e][c];
			char place[96];
			int kind;

			if (!missing)
				continue;
			kind = kind_of_type(col->type);
			(void)snprintf(place, sizeof(place), "%s.%s", vt_events[e].name, col->name);
			vt_problems_add(problems, place, "these rows show no name; everything else in them is good",
					"%" PRIu64 " references to rows of %s that are not in the file", missing,
					vt_event_find(kinds[kind].event)->name);
		}
}

void vt_definitions_done(struct vt_definitions *definitions)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(kinds); i++)
		vt_map_done(&definitions->ids[i]);
}
