/* suggest.c - see suggest.h. */
#include "analyze/commands/suggest.h"

#include <string.h>

#define WORD_MAX 40

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance: insert, delete, replace, or swap of two neighbours cost 1 each. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], above2[j - 2] + 1);
		}
	}
	return rows[na % 3][nb];
}

const char *vt_suggest(const char *typed, const char *const *candidates, size_t n)
{
	size_t length = strlen(typed), best = 0;
	const char *found = NULL;

	if (!length || length > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t other = strlen(candidates[i]), d;

		if (other > WORD_MAX)
			continue;
		d = distance(typed, length, candidates[i], other);
		if (d <= 1 + least(length, other) / 4 && (!found || d < best)) {
			found = candidates[i];
			best = d;
		}
	}
	return found;
}
