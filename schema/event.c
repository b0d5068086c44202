/* event.c - the descriptor tables of events.def and enums.def. */
#include "schema/event.h"

#include <string.h>

#include "schema/base/bits.h"

/* clang-format off */
#define EVENT(id, class, name, since, doc) static const struct vt_col cols_##name[] = {
#define COL(event, id, name, type, codec, unit, since, doc)                                         \
	{ #name, doc, (id), offsetof(struct vt_##event, name), sizeof(vt_c_##type), VT_TYPE_##type, \
	  VT_CODEC_##codec, VT_UNIT_##unit, (since) },
#define END_EVENT(name) };                                                                          \
	_Static_assert(VT_ARRAY_SIZE(cols_##name) <= VT_COLS_MAX, #name " has more columns than VT_COLS_MAX");
#include "schema/events.def"

const struct vt_event vt_events[] = {
#define EVENT(id, class, name, since, doc)                                                          \
	{ #name, doc, cols_##name, VT_ARRAY_SIZE(cols_##name), sizeof(struct vt_##name), (id), (since), VT_CLASS_##class },
#include "schema/events.def"
};
const size_t vt_nevents = VT_ARRAY_SIZE(vt_events);

/* Never called: a duplicate case label makes a reused id a compile error. */
#define EVENT(id, class, name, since, doc)                                                          \
	__attribute__((unused)) static void check_ids_##name(int x) { switch (x) {
#define COL(event, id, name, type, codec, unit, since, doc) case (id):
#define RETIRED_COL(event, id) case (id):
#define END_EVENT(name) default: break; } }
#include "schema/events.def"
__attribute__((unused)) static void check_event_ids(int x)
{
	switch (x) {
#define EVENT(id, class, name, since, doc) case (id):
#define RETIRED_EVENT(id) case (id):
#include "schema/events.def"
	default: break;
	}
}

static const struct { const char *enum_name; int64_t number; const char *text; } enum_texts[] = {
#define VALUE(enum_name, NAME, number, text) { #enum_name, (number), text },
#include "schema/enums.def"
};
/* clang-format on */

const struct vt_event *vt_event_find(uint32_t id)
{
	for (size_t i = 0; i < vt_nevents; i++)
		if (vt_events[i].id == id)
			return &vt_events[i];
	return NULL;
}

const struct vt_event *vt_event_find_name(const char *name)
{
	for (size_t i = 0; i < vt_nevents; i++)
		if (!strcmp(vt_events[i].name, name))
			return &vt_events[i];
	return NULL;
}

const struct vt_col *vt_event_col(const struct vt_event *ev, uint32_t id)
{
	for (size_t i = 0; i < ev->ncols; i++)
		if (ev->cols[i].id == id)
			return &ev->cols[i];
	return NULL;
}

const struct vt_col *vt_event_col_name(const struct vt_event *ev, const char *name)
{
	for (size_t i = 0; i < ev->ncols; i++)
		if (!strcmp(ev->cols[i].name, name))
			return &ev->cols[i];
	return NULL;
}

const char *vt_type_name(unsigned type)
{
	static const char *const names[] = { "?",      "U16",  "U32",	"U64",	 "I16",	   "I32",   "I64",   "STR",
					     "OPNODE", "CODE", "FRAME", "STACK", "CONFIG", "TOUCH", "MODULE" };

	return type < VT_ARRAY_SIZE(names) ? names[type] : "?";
}

const char *vt_codec_name(unsigned codec)
{
	static const char *const names[] = { "RAW", "DELTA", "DICT", "RLE", "SPAN", "SUM" };

	return codec < VT_ARRAY_SIZE(names) ? names[codec] : "?";
}

const char *vt_unit_name(unsigned unit)
{
	static const char *const names[] = { "NONE", "NS", "BYTES", "ID", "ENUM", "COUNT", "ADDRESS" };

	return unit < VT_ARRAY_SIZE(names) ? names[unit] : "?";
}

const char *vt_enum_text(const char *enum_name, int64_t number)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(enum_texts); i++)
		if (enum_texts[i].number == number && !strcmp(enum_texts[i].enum_name, enum_name))
			return enum_texts[i].text;
	return NULL;
}
