/* time_text.h - spans of time as people type them. */
#ifndef VT_ANALYZE_TIME_TEXT_H
#define VT_ANALYZE_TIME_TEXT_H

#include <stdint.h>

/* "1.5s", "200ms", "3" (seconds), "2min": 0 or -VT_E_USAGE. */
int vt_parse_time(const char *text, uint64_t *ret_ns);

#endif
