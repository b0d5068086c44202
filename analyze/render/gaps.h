/* gaps.h - times in which a process ran and was not recorded, or not all of it: for the foot of every report. */
#ifndef VT_ANALYZE_GAPS_H
#define VT_ANALYZE_GAPS_H

#include "analyze/render/table.h"
#include "schema/base/json.h"
#include "schema/store.h"

/* A line for each gap; nothing where there is none. Times are relative to the start of the first process. */
int vt_gaps_print(const struct vt_screen *screen, struct vt_store *store, struct vt_err *err);
/* "gaps": [{"process", "begin_ns", "end_ns", "what"}], into the object under way; end_ns null: to the end. */
int vt_gaps_json(struct vt_json *json, struct vt_store *store, struct vt_err *err);

#endif
