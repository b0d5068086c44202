/* report.h - the overview of a trace: levels, peak, holders, timeline, counts; one section for each device and process.
 */
#ifndef VT_ANALYZE_REPORT_H
#define VT_ANALYZE_REPORT_H

#include "analyze/views/calls.h"
#include "analyze/views/groups.h"
#include "analyze/views/holders.h"
#include "analyze/views/levels.h"
#include "analyze/views/libraries.h"
#include "analyze/views/session.h"
#include "analyze/views/timeline.h"
#include "analyze/views/uses.h"

/* What the report says of one device of one process. */
struct vt_report_device {
	uint32_t index; /* of the replay */
	uint64_t peak_bytes;
	struct vt_holders holders;
	struct vt_use_sums uses;
	char sentence[VT_USES_SENTENCE_MAX];
	struct vt_levels levels;
	uint64_t time_ns;	   /* of the moment that holders and levels belong to */
	uint64_t frees;		   /* with a known allocation */
	uint64_t mean_lifetime_ns; /* over those; 0: none */
};

struct vt_report {
	struct vt_session *session;
	struct vt_groups *groups;
	struct vt_levels_view *levels;
	struct vt_timeline *timeline;
	struct vt_calls *calls;
	struct vt_libraries *libraries;
	struct vt_uses uses;
	struct vt_report_device *devices; /* those that the session wants, the largest peak first */
	size_t ndevices;
};

/* Runs the session's pass and gathers everything. The holder calls _done in any case; session is borrowed. */
int vt_report_run(struct vt_report *report, struct vt_session *session, bool quiet, struct vt_err *err);
void vt_report_done(struct vt_report *report);

int vt_report_print(const struct vt_report *report, const struct vt_screen *screen, uint64_t top, struct vt_err *err);
/* One JSON object, and its line end. */
int vt_report_json(const struct vt_report *report, FILE *out, uint64_t top, struct vt_err *err);

/* What each library's driver calls held, where the capture named it; nothing else. */
int vt_report_print_libraries(const struct vt_report *report, const struct vt_screen *screen, uint32_t device,
			      struct vt_err *err);
/* "driver_libraries": [...] */
int vt_report_json_libraries(const struct vt_report *report, struct vt_json *json, uint32_t device, struct vt_err *err);

/* Shared with the other reports. */

/* The table "Bytes, Share, Blocks, Op, Where", `of` being the whole of the shares; at most `top` rows and a row for the
 * rest. */
int vt_report_print_holders(const struct vt_screen *screen, const struct vt_holders *holders, uint64_t of,
			    uint64_t top);
int vt_report_print_levels(const struct vt_session *session, const struct vt_screen *screen,
			   const struct vt_levels *levels);
/* "holders": [...], and "holders_rest": what the rows left out. */
void vt_report_json_holders(const struct vt_session *session, struct vt_json *json, uint32_t process,
			    const struct vt_holders *holders, uint64_t top);
/* "levels": [...] */
void vt_report_json_levels(struct vt_json *json, const struct vt_levels *levels);
/* "12.3%"; "" where the whole is 0. */
const char *vt_report_share(char out[VT_FORMAT_MAX], uint64_t part, uint64_t whole);

#endif
