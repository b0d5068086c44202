/*
 * schema_random.h - random columns and records for the tests of schema/: values as traces have them, and the extremes.
 * Seeded: the same numbers in every run.
 */
#ifndef VT_TESTS_SCHEMA_RANDOM_H
#define VT_TESTS_SCHEMA_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/event.h"

struct schema_random {
	uint64_t state;
};

/* What the values of a column are like. */
enum schema_shape {
	SHAPE_ZERO,
	SHAPE_SMALL,  /* below 100 */
	SHAPE_RISING, /* as times */
	SHAPE_FEW,    /* out of 200 wide ones */
	SHAPE_MANY,   /* out of 2,000 wide ones */
	SHAPE_RUNS,
	SHAPE_ANY,     /* all bits */
	SHAPE_EXTREME, /* least, greatest and their neighbours */
	SHAPE_COUNT
};

uint64_t schema_random_next(struct schema_random *random);
uint64_t schema_random_below(struct schema_random *random, uint64_t limit);

/* Cuts a number to what a column of this width and sign holds, extended to 64 bits. */
uint64_t schema_random_fit(uint64_t value, unsigned width, bool is_signed);
void schema_random_values(struct schema_random *random, enum schema_shape shape, unsigned width, bool is_signed,
			  uint64_t *values, uint32_t rows);

/*
 * rows records of the event, event->size bytes each; free() them. Every column has a shape of its own, column 1 rises.
 * NULL: no memory.
 */
uint8_t *schema_random_records(struct schema_random *random, const struct vt_event *event, uint32_t rows);

/* The column of a record, extended to 64 bits. */
uint64_t schema_record_value(const uint8_t *record, const struct vt_col *col);

#endif
