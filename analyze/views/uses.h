/*
 * uses.h - what the blocks that are live at the session's moment are for: the attribution around a session's pass.
 *
 * Only the later life of a block tells what it was for. Where the session ends its pass at a moment in the middle, the
 * file is read once more, to its end, for the attribution alone.
 */
#ifndef VT_ANALYZE_USES_H
#define VT_ANALYZE_USES_H

#include "analyze/views/holders.h"
#include "analyze/views/session.h"

/* Zero-initialised is empty; the holder calls vt_uses_done. */
struct vt_uses {
	struct vt_attribution *attribution;
	uint32_t mark; /* of the moment, where it is not the peak */
};

/* Before the session's pass. */
int vt_uses_begin(struct vt_uses *uses, struct vt_session *session, struct vt_err *err);
/* After it. */
int vt_uses_end(struct vt_uses *uses, const struct vt_session *session, bool quiet, struct vt_err *err);
void vt_uses_done(struct vt_uses *uses);

/* The blocks live at the moment, of the device and maybe of others. */
struct vt_attributed_list vt_uses_blocks(const struct vt_uses *uses, const struct vt_session *session, uint32_t device);

/* Sums over some of those. */
struct vt_use_sums {
	uint64_t bytes[VT_CATEGORIES], blocks[VT_CATEGORIES];
	uint64_t confidence_bytes[VT_CATEGORIES][3]; /* by enum vt_confidence */
	uint64_t all_bytes;
	uint32_t step;	     /* of the last block: at the peak, the one that made it */
	enum vt_phase phase; /* of the same */
};

struct vt_use_sums vt_uses_sum(struct vt_attributed_list blocks, uint32_t device);
/* The category that holds most. */
enum vt_category vt_use_sums_top(const struct vt_use_sums *sums);

/* The sentence that a user wants: how much of it is what, where it comes from, and how long it was kept for. */
#define VT_USES_SENTENCE_MAX 768

struct vt_use_moment {
	const char *word; /* "At the peak" */
	bool last_block;  /* its last block made the moment what it is: step and phase are that one's */
	uint32_t device;
	struct vt_attributed_list blocks;
};

/* "" where nothing is live. */
int vt_uses_sentence(char out[VT_USES_SENTENCE_MAX], const struct vt_session *session,
		     const struct vt_use_moment *moment, struct vt_err *err);

/* The table "Bytes, Share, Blocks, What for". */
int vt_uses_print(const struct vt_screen *screen, const struct vt_use_sums *sums);
/* "categories": [...] */
void vt_uses_json(struct vt_json *json, const struct vt_use_sums *sums);

#endif
