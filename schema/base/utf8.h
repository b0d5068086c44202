/* utf8.h - reads UTF-8 that may be broken, and knows how wide a character is on a terminal. */
#ifndef VT_BASE_UTF8_H
#define VT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_UTF8_REPLACEMENT UINT32_C(0xfffd)

/*
 * Reads one character of text[0 .. bytes), bytes > 0, and returns how many bytes it took (at least 1). A broken
 * sequence reads as U+FFFD and takes its maximal valid part, as the Unicode standard recommends (chapter 3, table 3-8).
 */
size_t vt_utf8_decode(const char *text, size_t bytes, uint32_t *ret_codepoint);
bool vt_utf8_is_valid(const char *text, size_t bytes);
/* Writes a character of at most U+10FFFF and returns its length, 1 to 4. */
size_t vt_utf8_encode(char out[4], uint32_t codepoint);
/* Terminal columns of a character: 0 combining, 2 wide (East Asian, emoji), else 1. */
int vt_utf8_width(uint32_t codepoint);
/* Terminal columns of a text. */
size_t vt_utf8_columns(const char *text, size_t bytes);
/* Characters that can change how a terminal or a page shows what stands around them: controls, bidirectional marks. */
bool vt_utf8_is_unsafe(uint32_t codepoint);

#endif
