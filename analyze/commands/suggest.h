/* suggest.h - "did you mean": the candidate nearest to what was typed. */
#ifndef VT_ANALYZE_SUGGEST_H
#define VT_ANALYZE_SUGGEST_H

#include <stddef.h>

/* The nearest of n candidates by edit distance, or NULL where none is near enough to be meant. */
const char *vt_suggest(const char *typed, const char *const *candidates, size_t n);

#endif
