/* text.h - all strings of a trace, made fit to print, and numbers for equal ones. Part of symbols. */
#ifndef VT_ANALYZE_TEXT_H
#define VT_ANALYZE_TEXT_H

#include "schema/base/buf.h"
#include "schema/base/hash.h"

/* Zero-initialised is empty; the holder calls vt_texts_done. Text 0 is "". */
struct vt_texts {
	struct vt_buf bytes;   /* the texts, each with its NUL */
	struct vt_buf offsets; /* size_t per text: where in bytes */
	struct vt_buf next;    /* uint32_t per text: the next of the same hash, or VT_MAP_NONE */
	struct vt_map by_hash;
	uint64_t seed;
};

/*
 * The number of a text, equal for equal texts, after making it fit to print: broken UTF-8 becomes U+FFFD; controls and
 * characters that reorder or hide what stands around them too. 0, or -VT_E_NOMEM.
 */
int vt_texts_add(struct vt_texts *texts, const void *bytes, size_t n, uint32_t *ret);
/* Valid until the next add. */
const char *vt_texts_get(const struct vt_texts *texts, uint32_t text);
void vt_texts_done(struct vt_texts *texts);

#endif
