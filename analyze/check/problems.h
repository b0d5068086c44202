/* problems.h - what `check` found wrong, in order; a bounded number in words, all of them counted. */
#ifndef VT_ANALYZE_PROBLEMS_H
#define VT_ANALYZE_PROBLEMS_H

#include <stddef.h>
#include <stdint.h>

#define VT_PROBLEMS_MAX 100

struct vt_problem {
	char place[96];
	char what[400];
	const char *advice; /* static */
};

struct vt_problems {
	struct vt_problem first[VT_PROBLEMS_MAX];
	uint64_t count; /* of all, those beyond the first VT_PROBLEMS_MAX included */
};

__attribute__((format(printf, 4, 5))) void vt_problems_add(struct vt_problems *problems, const char *place,
							   const char *advice, const char *format, ...);
static inline size_t vt_problems_held(const struct vt_problems *problems)
{
	return problems->count < VT_PROBLEMS_MAX ? (size_t)problems->count : VT_PROBLEMS_MAX;
}

#endif
