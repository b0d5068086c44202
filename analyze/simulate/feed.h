/*
 * feed.h - what a program asked of its allocator, out of a trace: a listener that hands requests on in batches.
 *
 * Requests are the recorded ones as far as the trace has them: sizes as asked or, where that was not captured, the blocks
 * that were handed out (rounded, and up to 1 MiB larger where a block was not split); streams, or one stream for all.
 * Calls of empty_cache are told from the driver calls they made.
 */
#ifndef VT_ANALYZE_FEED_H
#define VT_ANALYZE_FEED_H

#include "analyze/replay/replay.h"
#include "analyze/symbols/symbols.h"

enum vt_feed_kind {
	VT_FEED_ALLOC,
	VT_FEED_FREE,
	VT_FEED_OOM,	     /* a request that failed in the recorded run */
	VT_FEED_EMPTY_CACHE, /* torch.cuda.empty_cache() that gave something back */
	VT_FEED_DEVICE,	     /* what others hold of the device has changed */
	VT_FEED_SEGMENT,     /* the driver gave a segment at this address */
	VT_FEED_RESERVE,     /* ... or addresses for an expandable one */
};

struct vt_feed_event {
	uint64_t time_ns;
	uint64_t bytes; /* ALLOC, OOM: asked; SEGMENT, RESERVE: given; DEVICE: capacity */
	uint64_t
		address; /* ALLOC: of the recorded block; SEGMENT, RESERVE; DEVICE: bytes this process holds otherwise */
	union {
		uint64_t stream;       /* ALLOC, OOM: small numbers, in order of appearance */
		uint64_t others_bytes; /* DEVICE: held by other processes */
	};
	uint64_t reserved_bytes; /* ALLOC, FREE, OOM: the recorded total after it */
	uint64_t block_bytes;	 /* ALLOC: the recorded block */
	uint32_t slot;		 /* ALLOC, FREE: of the live block, from 1; used again after its FREE */
	uint8_t kind;		 /* enum vt_feed_kind */
};

struct vt_feed_sink {
	void *self;
	int (*take)(void *self, const struct vt_feed_event *events, size_t count, struct vt_err *err);
};

/* What the requests were made of. */
struct vt_feed_quality {
	uint64_t allocs, frees;
	uint64_t requested_known; /* allocs whose requested bytes were captured */
	uint64_t unknown_frees;	  /* of blocks whose begin is not in the trace: left out */
	uint64_t empty_caches;
	uint32_t streams;
	bool stream_known;
	bool hints; /* segments were captured */
};

struct vt_feed;

/* open: called at a device's first request, returns its sink's self; the feed calls take with it. */
struct vt_feed_setup {
	const struct vt_symbols *symbols;
	void *arg;
	int (*open)(void *arg, const struct vt_replay *replay, uint32_t device, struct vt_feed_sink *ret,
		    struct vt_err *err);
};

int vt_feed_new(struct vt_feed **ret, const struct vt_feed_setup *setup, struct vt_err *err);
void vt_feed_free(struct vt_feed *feed); /* NULL is fine */
struct vt_listener vt_feed_listener(struct vt_feed *feed);
/* NULL where the device asked for nothing. */
const struct vt_feed_quality *vt_feed_quality(const struct vt_feed *feed, uint32_t device);

#endif
