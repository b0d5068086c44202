/*
 * oom.h - the post-mortem of each out-of-memory error: a listener that takes everything down at that moment.
 *
 * Errors are the trace's oom records (the framework's reports, and requests that a stream-ordered pool refused), and the
 * other refused driver calls of programs without PyTorch. (PyTorch's own allocator meets refusals, gives its cache back
 * and tries again: those are no errors.)
 */
#ifndef VT_ANALYZE_OOM_H
#define VT_ANALYZE_OOM_H

#include "analyze/views/holders.h"
#include "analyze/views/levels.h"
#include "analyze/views/oom_rules.h"
#include "analyze/views/session.h"
#include "analyze/views/uses.h"

/* Errors told in full: the first ones and the last. The others are counted. */
#define VT_OOM_FULL_MAX 8

struct vt_oom_story {
	uint64_t number; /* counts the errors shown to us, from 1 */
	uint32_t device; /* index into the replay's devices */
	uint32_t process;
	struct vt_oom rec;  /* the record itself; for a refused driver call, what it would say */
	bool awaits_sample; /* of a refused driver call: the device's figures come next */
	struct vt_oom_facts facts;
	struct vt_levels levels;
	uint32_t mark; /* attribute.h: what was live */
	struct vt_holders holders;
	struct vt_use_sums uses;
	char sentence[VT_USES_SENTENCE_MAX];
	struct vt_place asker;
	uint32_t question; /* attribute.h: which forward op asked, by its backward */
	char top_place[VT_PLACE_MAX];
};

struct vt_oom_report {
	struct vt_session *session;
	struct vt_attribution *attribution;
	struct vt_levels_view *levels;
	struct vt_segments *segments;
	struct vt_steps *steps;
	struct vt_calls *calls;
	struct vt_oom_story stories[VT_OOM_FULL_MAX];
	unsigned nstories;
	uint64_t ooms;		 /* on the devices that the session wants */
	bool growing;		 /* a device looked like leaking at the end of the pass */
	struct vt_growth growth; /* of the first such device */
};

/* Runs the session's pass. The holder calls _done in any case; session is borrowed. */
int vt_oom_report_run(struct vt_oom_report *report, struct vt_session *session, bool quiet, struct vt_err *err);
void vt_oom_report_done(struct vt_oom_report *report);
int vt_oom_report_print(const struct vt_oom_report *report, const struct vt_screen *screen, uint64_t top,
			struct vt_err *err);
int vt_oom_report_json(const struct vt_oom_report *report, FILE *out, uint64_t top, struct vt_err *err);

#endif
