/* schema_random.c - see schema_random.h. */
#include "schema_random.h"

#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"

uint64_t schema_random_next(struct schema_random *random)
{
	random->state += UINT64_C(0x9e3779b97f4a7c15);
	return vt_mix64(random->state);
}

uint64_t schema_random_below(struct schema_random *random, uint64_t limit)
{
	return schema_random_next(random) % limit;
}

uint64_t schema_random_fit(uint64_t value, unsigned width, bool is_signed)
{
	if (width == 2)
		return is_signed ? (uint64_t)(int64_t)(int16_t)value : (uint16_t)value;
	if (width == 4)
		return is_signed ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
	return value;
}

static uint64_t extreme(struct schema_random *random, unsigned width)
{
	uint64_t half = UINT64_C(1) << (8 * width - 1);
	const uint64_t values[] = { 0, 1, UINT64_MAX, half, half - 1, half + 1, 127, 128, 16383, 16384 };

	return values[schema_random_below(random, VT_ARRAY_SIZE(values))];
}

static uint64_t next_value(struct schema_random *random, enum schema_shape shape, unsigned width, uint64_t last)
{
	switch (shape) {
	case SHAPE_SMALL:
		return schema_random_below(random, 100);
	case SHAPE_RISING:
		return last + schema_random_below(random, 4000);
	case SHAPE_FEW:
		return vt_mix64(1 + schema_random_below(random, 200));
	case SHAPE_MANY:
		return vt_mix64(1 + schema_random_below(random, 2000));
	case SHAPE_RUNS:
		return schema_random_below(random, 50) ? last : schema_random_next(random);
	case SHAPE_ANY:
		return schema_random_next(random);
	case SHAPE_EXTREME:
		return extreme(random, width);
	case SHAPE_ZERO:
	case SHAPE_COUNT:
		break;
	}
	return 0;
}

void schema_random_values(struct schema_random *random, enum schema_shape shape, unsigned width, bool is_signed,
			  uint64_t *values, uint32_t rows)
{
	uint64_t last = schema_random_below(random, 1000);

	for (uint32_t i = 0; i < rows; i++) {
		last = next_value(random, shape, width, last);
		values[i] = schema_random_fit(last, width, is_signed);
	}
}

uint8_t *schema_random_records(struct schema_random *random, const struct vt_event *event, uint32_t rows)
{
	uint8_t *records = calloc(rows, event->size);
	uint64_t *values = malloc((size_t)rows * sizeof(*values));

	for (uint32_t c = 0; records && values && c < event->ncols; c++) {
		const struct vt_col *col = &event->cols[c];
		enum schema_shape shape = (enum schema_shape)schema_random_below(random, SHAPE_COUNT);

		if (vt_col_is_pad(col))
			continue;
		schema_random_values(random, c ? shape : SHAPE_RISING, col->width, vt_col_is_signed(col), values, rows);
		for (uint32_t row = 0; row < rows; row++)
			memcpy(records + (size_t)row * event->size + col->offset, &values[row], col->width);
	}
	if (!values) {
		free(records);
		records = NULL;
	}
	free(values);
	return records;
}

uint64_t schema_record_value(const uint8_t *record, const struct vt_col *col)
{
	uint64_t value = 0;

	memcpy(&value, record + col->offset, col->width);
	return schema_random_fit(value, col->width, vt_col_is_signed(col));
}
