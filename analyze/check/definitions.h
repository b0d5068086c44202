/* definitions.h - which ids a trace defines, and whether what refers to them finds them. Part of `check`. */
#ifndef VT_ANALYZE_DEFINITIONS_H
#define VT_ANALYZE_DEFINITIONS_H

#include "analyze/check/problems.h"
#include "schema/base/hash.h"
#include "schema/store.h"

/* Events that define ids: string, op_node, code, frame, stack. */
#define VT_DEFINITION_KINDS 6

enum {
#define EVENT(id, class, name, since, doc) VT_EVENT_INDEX_##name,
#include "schema/events.def"
	VT_EVENTS_MAX
};

/* Zero-initialised is empty; the holder calls vt_definitions_done. */
struct vt_definitions {
	struct vt_map ids[VT_DEFINITION_KINDS]; /* process and id */
	uint64_t missing[VT_EVENTS_MAX]
			[VT_COLS_MAX]; /* by place in vt_events, and column: references that found nothing */
	uint64_t count;
};

/* Reads all definitions, and checks the references in tables (definitions, oom, note). */
int vt_definitions_load(struct vt_definitions *definitions, struct vt_store *store, struct vt_err *err);
/* Checks the references in n records of an event, each event->size bytes. */
void vt_definitions_check(struct vt_definitions *definitions, uint32_t process, const struct vt_event *event,
			  const void *records, uint32_t n);
/* One problem for each column that refers to what is not there. */
void vt_definitions_report(const struct vt_definitions *definitions, struct vt_problems *problems);
void vt_definitions_done(struct vt_definitions *definitions);

#endif
