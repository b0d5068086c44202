/*
 * event.h - ring records, enumerations and descriptors, all made from events.def and enums.def.
 *
 * The agent includes this header alone (no code of event.c). A record is `struct vt_rec` followed by the event's
 * columns in the order of events.def, without padding, a multiple of 8 bytes long; that is proven below.
 */
#ifndef VT_SCHEMA_EVENT_H
#define VT_SCHEMA_EVENT_H

#include <stddef.h>
#include <stdint.h>

/* C type of each column type. */
typedef uint16_t vt_c_U16;
typedef uint32_t vt_c_U32;
typedef uint64_t vt_c_U64;
typedef int16_t vt_c_I16;
typedef int32_t vt_c_I32;
typedef int64_t vt_c_I64;
typedef uint32_t vt_c_STR;
typedef uint32_t vt_c_OPNODE;
typedef uint32_t vt_c_CODE;
typedef uint32_t vt_c_FRAME;
typedef uint32_t vt_c_STACK;
typedef uint32_t vt_c_CONFIG;
typedef uint32_t vt_c_TOUCH;
typedef uint32_t vt_c_MODULE;
typedef uint16_t vt_c_PAD16;
typedef uint32_t vt_c_PAD32;

/* Numbers are stored in chunks: append only. */
enum vt_type {
	VT_TYPE_U16 = 1,
	VT_TYPE_U32 = 2,
	VT_TYPE_U64 = 3,
	VT_TYPE_I16 = 4,
	VT_TYPE_I32 = 5,
	VT_TYPE_I64 = 6,
	VT_TYPE_STR = 7,
	VT_TYPE_OPNODE = 8,
	VT_TYPE_CODE = 9,
	VT_TYPE_FRAME = 10,
	VT_TYPE_STACK = 11,
	VT_TYPE_CONFIG = 12,
	VT_TYPE_TOUCH = 13,
	VT_TYPE_MODULE = 14,
	VT_TYPE_PAD16 = 126,
	VT_TYPE_PAD32 = 127,
};

/* Numbers are stored in chunks: append only. What each does: column.h. */
enum vt_codec {
	VT_CODEC_RAW = 0,
	VT_CODEC_DELTA = 1,
	VT_CODEC_DICT = 2,
	VT_CODEC_RLE = 3,
	VT_CODEC_SPAN = 4,
	VT_CODEC_SUM = 5,
};

enum vt_unit {
	VT_UNIT_NONE,
	VT_UNIT_NS,
	VT_UNIT_BYTES,
	VT_UNIT_ID,
	VT_UNIT_ENUM,
	VT_UNIT_COUNT,
	VT_UNIT_ADDRESS,
};

enum vt_event_class { VT_CLASS_CHUNK, VT_CLASS_TABLE, VT_CLASS_BLOB };

/* Every ring record starts with this. */
struct vt_rec {
	uint16_t type; /* enum vt_event_id; 0 = filler up to the ring's end */
	uint16_t len8; /* length of the whole record in units of 8 bytes */
	uint32_t seq;  /* counts the records of a ring, modulo 2^32 */
};

enum vt_event_id {
	VT_EVENT_FILLER = 0,
#define EVENT(id, class, name, since, doc) VT_EVENT_##name = (id),
#include "schema/events.def"
};

/* clang-format off */
#define EVENT(id, class, name, since, doc) struct vt_##name { struct vt_rec rec;
#define COL(event, id, name, type, codec, unit, since, doc) vt_c_##type name;
#define END_EVENT(name) };
#include "schema/events.def"

/* No implicit padding: a record is its header plus its columns, and ends on 8. */
#define EVENT(id, class, name, since, doc) _Static_assert(sizeof(struct vt_##name) == sizeof(struct vt_rec)
#define COL(event, id, name, type, codec, unit, since, doc) + sizeof(vt_c_##type)
#define END_EVENT(name) , #name " has padding: order its columns by falling width and fill to 8"); \
	_Static_assert(sizeof(struct vt_##name) % 8 == 0, #name " must end on 8");
#include "schema/events.def"

/* enum vt_<name> { VT_<name>_<VALUE> }, e.g. VT_driver_api_MEM_ALLOC. */
#define ENUM(name, doc) enum vt_##name {
#define VALUE(enum_name, NAME, number, text) VT_##enum_name##_##NAME = (number),
#define END_ENUM(name) VT_##name##_END };
#include "schema/enums.def"
/* clang-format on */

/* Most columns any event has; sizes arrays on the stack. */
#define VT_COLS_MAX 32

struct vt_col {
	const char *name;
	const char *doc;
	uint16_t id;
	uint16_t offset; /* from the record's start */
	uint8_t width;	 /* bytes */
	uint8_t type;	 /* enum vt_type */
	uint8_t codec;	 /* enum vt_codec */
	uint8_t unit;	 /* enum vt_unit */
	uint16_t since;	 /* schema version that brought it */
};

struct vt_event {
	const char *name;
	const char *doc;
	const struct vt_col *cols;
	uint16_t ncols;
	uint16_t size; /* bytes of the record, struct vt_rec included */
	uint16_t id;
	uint16_t since;
	uint8_t class; /* enum vt_event_class */
};

extern const struct vt_event vt_events[];
extern const size_t vt_nevents;

/* NULL where this build does not know the id. */
const struct vt_event *vt_event_find(uint32_t id);
const struct vt_event *vt_event_find_name(const char *name);
const struct vt_col *vt_event_col(const struct vt_event *ev, uint32_t id);
const struct vt_col *vt_event_col_name(const struct vt_event *ev, const char *name);

/* PAD columns exist in records only: not in chunks, tables or documents. */
static inline int vt_col_is_pad(const struct vt_col *col)
{
	return col->type >= VT_TYPE_PAD16;
}

static inline int vt_col_is_signed(const struct vt_col *col)
{
	return col->type == VT_TYPE_I16 || col->type == VT_TYPE_I32 || col->type == VT_TYPE_I64;
}

const char *vt_type_name(unsigned type);   /* "U64"; "?" for an unknown number */
const char *vt_codec_name(unsigned codec); /* "DELTA" */
const char *vt_unit_name(unsigned unit);   /* "BYTES" */

/* The text of enums.def for a stored number, or NULL. enum_name as in enums.def: "driver_api". */
const char *vt_enum_text(const char *enum_name, int64_t number);

#endif
