/* open.h - what commands on one FILE begin and end with. */
#ifndef VT_ANALYZE_OPEN_H
#define VT_ANALYZE_OPEN_H

#include "analyze/commands/options.h"
#include "schema/base/json.h"
#include "schema/store.h"

/*
 * Parses the shared options, takes the one FILE and opens it. 0, 1 where help was printed, or negative. The caller
 * closes the store in any case.
 */
int vt_report_open(const struct vt_usage *usage, struct vt_common_options *common, int argc, char **argv,
		   struct vt_store **ret, struct vt_err *err);
void vt_store_closep(struct vt_store **store);

/* The same for a file that is not open. */
void vt_report_json_begin_file(struct vt_json *json, const char *command, const char *path);
/* {"vramtrace": {"schema", "command", "version"}, "file": ..., with the object left open. */
void vt_report_json_begin(struct vt_json *json, const char *command, const struct vt_store *store);
/* Ends the text after the object was ended. r: what went wrong before; returned first. */
int vt_report_json_end(struct vt_json *json, int r, struct vt_err *err);

#endif
