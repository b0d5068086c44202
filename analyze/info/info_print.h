/* info_print.h - what `info` says, for people and as JSON. */
#ifndef VT_ANALYZE_INFO_PRINT_H
#define VT_ANALYZE_INFO_PRINT_H

#include "analyze/info/info.h"
#include "analyze/render/table.h"
#include "schema/base/json.h"

int vt_info_print(const struct vt_info *info, const struct vt_screen *screen, struct vt_err *err);
/* The fields after "file", into the object under way. */
int vt_info_json(const struct vt_info *info, struct vt_json *json, struct vt_err *err);

/* The keys of meta that say where a trace comes from, in the order to show them; NULL ends the list. */
extern const char *const vt_info_meta_keys[];

#endif
