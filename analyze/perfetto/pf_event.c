/* pf_event.c - see pf_event.h. */
#include "analyze/perfetto/pf_event.h"

size_t vt_pf_text_bytes(const char *text, size_t most)
{
	size_t bytes = strnlen(text, most + 1);

	if (bytes <= most)
		return bytes;
	for (bytes = most; bytes && ((uint8_t)text[bytes] & 0xc0) == 0x80; bytes--)
		continue;
	return bytes;
}

void vt_pf_put_text(struct vt_pf_event *event, uint32_t field, const char *text)
{
	vt_pf_put_bytes(event, field, text, vt_pf_text_bytes(text, VT_PF_TEXT_MAX));
}
