/* utf8.c - see utf8.h. */
#include "schema/base/utf8.h"

#include <string.h>

#include "schema/base/bits.h"

/* How many bytes follow the lead byte, and the bounds of the first of them (Unicode, table 3-7); 0: not a lead byte. */
static size_t trail_bytes(uint8_t lead, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	*ret_high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 1;
	if (lead >= 0xe0 && lead <= 0xef)
		return 2;
	return lead >= 0xf0 && lead <= 0xf4 ? 3 : 0;
}

size_t vt_utf8_decode(const char *text, size_t bytes, uint32_t *ret_codepoint)
{
	const uint8_t *p = (const uint8_t *)text;
	uint8_t low, high;
	uint32_t codepoint;
	size_t trail;

	*ret_codepoint = p[0];
	if (p[0] < 0x80)
		return 1;
	*ret_codepoint = VT_UTF8_REPLACEMENT;
	trail = trail_bytes(p[0], &low, &high);
	if (!trail)
		return 1;
	codepoint = p[0] & (0x3fu >> trail);
	for (size_t i = 1; i <= trail; i++) {
		if (i >= bytes || p[i] < low || p[i] > high)
			return i;
		codepoint = codepoint << 6 | (p[i] & 0x3fu);
		low = 0x80;
		high = 0xbf;
	}
	*ret_codepoint = codepoint;
	return trail + 1;
}

size_t vt_utf8_encode(char out[4], uint32_t codepoint)
{
	if (codepoint < 0x80) {
		out[0] = (char)codepoint;
		return 1;
	}
	if (codepoint < 0x800) {
		out[0] = (char)(0xc0 | codepoint >> 6);
		out[1] = (char)(0x80 | (codepoint & 0x3f));
		return 2;
	}
	if (codepoint < 0x10000) {
		out[0] = (char)(0xe0 | codepoint >> 12);
		out[1] = (char)(0x80 | (codepoint >> 6 & 0x3f));
		out[2] = (char)(0x80 | (codepoint & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | codepoint >> 18);
	out[1] = (char)(0x80 | (codepoint >> 12 & 0x3f));
	out[2] = (char)(0x80 | (codepoint >> 6 & 0x3f));
	out[3] = (char)(0x80 | (codepoint & 0x3f));
	return 4;
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(const struct range *ranges, size_t n, uint32_t codepoint)
{
	for (size_t i = 0; i < n; i++)
		if (codepoint >= ranges[i].first && codepoint <= ranges[i].last)
			return true;
	return false;
}

int vt_utf8_width(uint32_t codepoint)
{
	/* The blocks that matter for names and paths, not the whole of Unicode's width tables. */
	static const struct range zero[] = { { 0x300, 0x36f },	 { 0x483, 0x489 },   { 0x591, 0x5bd },
					     { 0x610, 0x61a },	 { 0x64b, 0x65f },   { 0x1ab0, 0x1aff },
					     { 0x1dc0, 0x1dff }, { 0x200b, 0x200f }, { 0x20d0, 0x20ff },
					     { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f } };
	static const struct range wide[] = { { 0x1100, 0x115f },   { 0x2e80, 0x303e },	 { 0x3041, 0xa4cf },
					     { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },	 { 0xf900, 0xfaff },
					     { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },	 { 0xffe0, 0xffe6 },
					     { 0x1f300, 0x1f64f }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd } };

	if (codepoint < 0x300)
		return 1;
	if (in_ranges(zero, VT_ARRAY_SIZE(zero), codepoint))
		return 0;
	return in_ranges(wide, VT_ARRAY_SIZE(wide), codepoint) ? 2 : 1;
}

size_t vt_utf8_columns(const char *text, size_t bytes)
{
	size_t columns = 0;
	uint32_t codepoint;

	for (size_t at = 0; at < bytes;) {
		at += vt_utf8_decode(text + at, bytes - at, &codepoint);
		columns += (size_t)vt_utf8_width(codepoint);
	}
	return columns;
}

bool vt_utf8_is_unsafe(uint32_t codepoint)
{
	/* C0, DEL and C1 controls; marks, embeddings, overrides and isolates of bidirectional text; line separators;
	 * invisible operators; the byte order mark; tags. */
	static const struct range unsafe[] = { { 0, 0x1f },	   { 0x7f, 0x9f },	{ 0x61c, 0x61c },
					       { 0x200b, 0x200f }, { 0x2028, 0x202e },	{ 0x2060, 0x206f },
					       { 0xfeff, 0xfeff }, { 0xe0000, 0xe007f } };

	return in_ranges(unsafe, VT_ARRAY_SIZE(unsafe), codepoint);
}

bool vt_utf8_is_valid(const char *text, size_t bytes)
{
	static const char replacement[] = "\xef\xbf\xbd";
	uint32_t codepoint;

	for (size_t at = 0; at < bytes;) {
		size_t n = vt_utf8_decode(text + at, bytes - at, &codepoint);

		/* U+FFFD may also stand in the text itself. */
		if (codepoint == VT_UTF8_REPLACEMENT && (n != 3 || memcmp(text + at, replacement, 3) != 0))
			return false;
		at += n;
	}
	return true;
}
