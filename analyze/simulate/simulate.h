/*
 * simulate.h - the report `simulate`: the recorded requests under other policies and on other devices, in one pass.
 *
 * Every device of the trace has its own set of policies. Requests are handed to each policy in batches.
 */
#ifndef VT_ANALYZE_SIMULATE_H
#define VT_ANALYZE_SIMULATE_H

#include "analyze/simulate/packing.h"
#include "analyze/simulate/policy.h"
#include "analyze/views/session.h"

#define VT_SIMULATE_POLICIES_MAX 64
#define VT_SIMULATE_DEVICES_MAX 64

struct vt_simulate_options {
	const char *conf;	 /* settings to try, several with ';' between; NULL: a choice of usual ones */
	const char *recorded;	 /* settings of the recorded run, where the trace does not know them; NULL */
	uint64_t capacity_bytes; /* 0: the recorded device */
	bool sweep;
};

struct vt_simulated_device {
	struct vt_simulate *report;
	uint32_t device;				     /* index into the replay's devices */
	struct vt_policy policies[VT_SIMULATE_POLICIES_MAX]; /* the first: the recorded settings */
	unsigned npolicies;
	struct vt_packing packing;
	uint64_t packed_bytes; /* 0: not computed */
};

struct vt_simulate {
	struct vt_session *session;
	struct vt_simulate_options options;
	struct vt_feed *feed;
	struct vt_simulated_device *devices[VT_SIMULATE_DEVICES_MAX];
	unsigned ndevices;
};

/* Runs the session's pass. The holder calls _done in any case; session is borrowed. */
int vt_simulate_run(struct vt_simulate *report, struct vt_session *session, const struct vt_simulate_options *options,
		    bool quiet, struct vt_err *err);
void vt_simulate_done(struct vt_simulate *report);
int vt_simulate_print(const struct vt_simulate *report, const struct vt_screen *screen, uint64_t top,
		      struct vt_err *err);
int vt_simulate_json(const struct vt_simulate *report, FILE *out, struct vt_err *err);

/* Whether a model of the recorded settings differs from the recording; whether a policy asked for does not survive. */
bool vt_simulate_differs(const struct vt_simulate *report);
bool vt_simulate_fails(const struct vt_simulate *report);

/* sweep.c: the settings that --sweep tries; or the usual ones. Adds policies behind those there. */
int vt_simulate_add_policies(struct vt_simulated_device *device, struct vt_err *err);
/* Ranks: survivors first, then less reserved at the peak, then fewer device calls. Indices into policies. */
void vt_simulate_rank(const struct vt_simulated_device *device, unsigned order[VT_SIMULATE_POLICIES_MAX]);

#endif
