/* text.c - see text.h. */
#include "analyze/symbols/text.h"

#include <string.h>

#include "schema/base/err.h"
#include "schema/base/utf8.h"

/* Appends what is fit to print of n bytes, and a NUL. A replacement takes 3 bytes where there may have been 1. */
static int append_clean(struct vt_buf *out, const char *text, size_t n)
{
	uint32_t codepoint;
	char *to;

	if (n > SIZE_MAX / 8 || vt_buf_reserve(out, 3 * n + 1) < 0)
		return -VT_E_NOMEM;
	to = (char *)out->data + out->bytes;
	for (size_t at = 0; at < n;) {
		at += vt_utf8_decode(text + at, n - at, &codepoint);
		to += vt_utf8_encode(to, vt_utf8_is_unsafe(codepoint) ? VT_UTF8_REPLACEMENT : codepoint);
	}
	*to++ = 0;
	out->bytes = (size_t)(to - (char *)out->data);
	return 0;
}

static uint32_t count(const struct vt_texts *texts)
{
	return (uint32_t)(texts->offsets.bytes / sizeof(size_t));
}

const char *vt_texts_get(const struct vt_texts *texts, uint32_t text)
{
	const size_t *offsets = (const size_t *)(const void *)texts->offsets.data;

	return text < count(texts) ? (const char *)texts->bytes.data + offsets[text] : "";
}

/* Gives the text that was appended at `offset` its number: an equal one's, or a new one. */
static int number_text(struct vt_texts *texts, size_t offset, uint32_t *ret)
{
	const char *text = (const char *)texts->bytes.data + offset;
	size_t bytes = texts->bytes.bytes - offset;
	uint64_t hash = vt_hash_bytes(texts->seed, text, bytes);
	uint32_t first = vt_map_find(&texts->by_hash, hash);

	for (uint32_t i = first; i != VT_MAP_NONE; i = ((const uint32_t *)(const void *)texts->next.data)[i])
		if (!strcmp(vt_texts_get(texts, i), text)) {
			texts->bytes.bytes = offset;
			*ret = i;
			return 0;
		}
	*ret = count(texts);
	if (vt_buf_append(&texts->offsets, &offset, sizeof(offset)) < 0 ||
	    vt_buf_append(&texts->next, &first, sizeof(first)) < 0)
		return -VT_E_NOMEM;
	return vt_map_put(&texts->by_hash, hash, *ret);
}

int vt_texts_add(struct vt_texts *texts, const void *bytes, size_t n, uint32_t *ret)
{
	size_t offset;
	int r;

	if (!texts->offsets.bytes) {
		texts->seed = vt_hash_seed();
		r = append_clean(&texts->bytes, "", 0);
		if (!r)
			r = number_text(texts, 0, ret);
		if (r < 0)
			return r;
	}
	offset = texts->bytes.bytes;
	r = append_clean(&texts->bytes, bytes, n);
	return r < 0 ? r : number_text(texts, offset, ret);
}

void vt_texts_done(struct vt_texts *texts)
{
	vt_buf_done(&texts->bytes);
	vt_buf_done(&texts->offsets);
	vt_buf_done(&texts->next);
	vt_map_done(&texts->by_hash);
}
