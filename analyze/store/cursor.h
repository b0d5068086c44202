/*
 * cursor.h - the events of a trace, all kinds and processes, in time order; a few chunks in memory at a time.
 *
 * Chunks of a kind may overlap in time (threads are drained one after the other): the cursor opens a chunk when its
 * first time comes up and merges. Events of one thread keep their order; events of equal time on different threads
 * come in file order.
 */
#ifndef VT_ANALYZE_CURSOR_H
#define VT_ANALYZE_CURSOR_H

#include <stdint.h>

#include "schema/store.h"

struct vt_cursor;

struct vt_cursor_options {
	const uint32_t *kinds; /* event ids wanted; CHUNK kinds, oom and note */
	uint32_t nkinds;       /* 0: all of those */
	uint32_t process;      /* 0: all */
	uint64_t from_ns;      /* chunks that end before are not read; earlier events of others are skipped */
	uint64_t to_ns;	       /* 0: no limit */
	void (*progress)(void *arg, uint64_t done_events, uint64_t total_events); /* may be NULL; called now and then */
	void *progress_arg;
};

struct vt_item {
	uint64_t time_ns;
	uint32_t process;
	const struct vt_event *event;
	const struct vt_rec *rec;   /* struct vt_<event->name>; valid until the next call */
	const struct vt_rec *ahead; /* a later one of this kind, or NULL: a hint of what to fetch into the cache */
};

/* options NULL: everything. The store must outlive the cursor, and be used by nothing else between calls. */
int vt_cursor_open(struct vt_cursor **ret, struct vt_store *store, const struct vt_cursor_options *options,
		   struct vt_err *err);
/* 1: *ret is the next event; 0: the end; negative: error, with the chunk named. */
int vt_cursor_next(struct vt_cursor *cursor, struct vt_item *ret, struct vt_err *err);
void vt_cursor_close(struct vt_cursor *cursor); /* NULL is fine */

#endif
