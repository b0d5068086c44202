/*
 * live.h - the state of a trace that is still being written, brought up to date again and again.
 *
 * The file is opened anew each time (its names, processes and losses grow too) and not kept open, for the recorder could not
 * fold its log in then; the replay goes on where it was. What a
 * recorder commits holds everything up to shortly before, so events are taken up to a little before the latest one, and the
 * rest with the next look, or when nothing comes any more.
 */
#ifndef VT_ANALYZE_LIVE_H
#define VT_ANALYZE_LIVE_H

#include "analyze/views/groups.h"
#include "analyze/views/session.h"

/* Looks that are remembered of each device. */
#define VT_LIVE_HISTORY 512

struct vt_live_look {
	uint64_t time_ns;
	uint64_t allocated_bytes;
};

struct vt_live_device {
	struct vt_live_look looks[VT_LIVE_HISTORY]; /* a ring */
	size_t count;				    /* of all looks so far */
};

struct vt_live {
	const char *path;
	const struct vt_common_options *options;
	struct vt_session session; /* of the last look; its replay is ours, its store is closed */
	struct vt_replay *replay;
	struct vt_groups *groups;
	uint64_t taken_ns;		  /* events up to here are in */
	uint64_t events, events_before;	  /* in the file, now and at the look before */
	uint64_t look_ns, look_before_ns; /* CLOCK_MONOTONIC */
	uint64_t last_ns;		  /* of the events in the file */
	uint64_t lost;
	uint64_t ooms;
	char warning[512]; /* what of the file is not to be had; "": nothing */
	bool ended;	   /* the recorder has put the file in its final form */
	struct vt_live_device **devices;
	size_t room;
};

/* path and options are borrowed. The caller ends it in any case. */
int vt_live_begin(struct vt_live *live, const char *path, const struct vt_common_options *options, struct vt_err *err);
int vt_live_look(struct vt_live *live, struct vt_err *err);
void vt_live_done(struct vt_live *live);

/* Events a second between the last two looks; -1: not known yet. */
double vt_live_rate(const struct vt_live *live);
/*
 * How allocated_bytes changed over about so long; *ret_ns is over how long really, 0 where there is no look old enough to
 * compare with.
 */
int64_t vt_live_growth(const struct vt_live *live, uint32_t device, uint64_t span_ns, uint64_t *ret_ns);

/* For people, `lines` high at most; and as one line of JSON. */
int vt_live_print(const struct vt_live *live, const struct vt_screen *screen, int lines, struct vt_err *err);
int vt_live_json(const struct vt_live *live, FILE *out, struct vt_err *err);

/* What one place holds: groups that read the same are one. */
struct vt_live_holder {
	uint64_t bytes, blocks;
	struct vt_place place;
};
struct vt_live_holders {
	struct vt_live_holder *list; /* the largest first; free with free() */
	size_t count;		     /* of the list */
	size_t all;		     /* places there are */
};
/* Of a device, at most so many. */
int vt_live_holders(const struct vt_live *live, uint32_t device, size_t most, struct vt_live_holders *ret,
		    struct vt_err *err);

#endif
