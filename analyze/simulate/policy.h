/* policy.h - one policy under which the recorded requests are replayed, and what became of it. */
#ifndef VT_ANALYZE_POLICY_H
#define VT_ANALYZE_POLICY_H

#include "analyze/simulate/allocator.h"
#include "analyze/simulate/feed.h"

#define VT_POLICY_NAME_MAX 160

/* How the model of the recorded settings compares with the recording, request by request. */
struct vt_policy_agreement {
	uint64_t compared;		    /* totals after a request */
	uint64_t reserved_differs;	    /* of those, where the reserved bytes were others */
	uint64_t blocks, elsewhere;	    /* blocks, and those at another address or of another size */
	uint64_t first_differs_ns;	    /* 0: never */
	uint64_t ooms_matched, ooms_missed; /* recorded errors that the model has too, or not */
};

struct vt_policy {
	char name[VT_POLICY_NAME_MAX];
	struct vt_alloc_settings settings;
	bool recorded; /* the settings of the recorded run: it takes the recorded addresses, and is compared */
	uint64_t capacity_bytes; /* 0: the recorded device */
	struct vt_allocator *allocator;
	struct vt_policy_agreement agreement;
	/* A request that the recorded run was given failed: what comes after is not replayed. */
	bool died;
	uint64_t died_ns, died_bytes;
	uint64_t saved; /* recorded errors that did not come */
};

int vt_policy_open(struct vt_policy *policy, struct vt_err *err);
/* 0 or -VT_E_NOMEM. */
int vt_policy_take(struct vt_policy *policy, const struct vt_feed_event *events, size_t count);
void vt_policy_done(struct vt_policy *policy);
/* Whether every request was served, those that failed in the recorded run too. */
bool vt_policy_survives(const struct vt_policy *policy);
/* Whether nothing differs: reserved totals, places of blocks, errors. */
bool vt_policy_agrees(const struct vt_policy *policy);

#endif
