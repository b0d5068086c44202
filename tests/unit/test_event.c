/* test_event.c - the descriptors made from events.def and enums.def say what the compiler laid out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schema/base/bits.h"
#include "schema/event.h"
#include "schema/ring.h"

static void descriptors_cover_their_records(void **state)
{
	(void)state;
	assert_true(vt_nevents > 0);
	for (size_t i = 0; i < vt_nevents; i++) {
		const struct vt_event *event = &vt_events[i];
		size_t at = sizeof(struct vt_rec);

		assert_ptr_equal(vt_event_find(event->id), event);
		assert_ptr_equal(vt_event_find_name(event->name), event);
		assert_true(event->size <= VT_REC_BYTES_MAX && event->since >= 1 && event->doc[0]);
		for (uint32_t c = 0; c < event->ncols; c++) {
			const struct vt_col *col = &event->cols[c];

			assert_int_equal(col->offset, at);
			at += col->width;
			assert_ptr_equal(vt_event_col(event, col->id), col);
			assert_ptr_equal(vt_event_col_name(event, col->name), col);
			assert_true(vt_col_is_pad(col) || (col->doc[0] && vt_type_name(col->type)[0] != '?'));
			assert_true(vt_codec_name(col->codec)[0] != '?' && vt_unit_name(col->unit)[0] != '?');
			assert_true(col->since >= event->since);
		}
		assert_int_equal(at, event->size);
	}
	assert_null(vt_event_find(0));
	assert_null(vt_event_find(UINT32_MAX));
	assert_null(vt_event_find_name("no_such_event"));
	assert_null(vt_event_col(&vt_events[0], 0));
	assert_null(vt_event_col_name(&vt_events[0], ""));
}

/* What chunk.c and column.h take for granted. */
static void chunk_events_begin_with_their_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < vt_nevents; i++) {
		const struct vt_event *event = &vt_events[i];
		const struct vt_col *size = vt_event_col_name(event, "size_bytes");

		if (event->class == VT_CLASS_BLOB)
			assert_true(size && size->width == 4 && vt_event_col_name(event, "id"));
		if (event->class != VT_CLASS_CHUNK)
			continue;
		assert_int_equal(event->cols[0].id, 1);
		assert_int_equal(event->cols[0].type, VT_TYPE_U64);
		assert_int_equal(event->cols[0].unit, VT_UNIT_NS);
		for (uint32_t c = 0; c < event->ncols; c++) {
			const struct vt_col *col = &event->cols[c];
			bool looks = col->codec == VT_CODEC_SPAN || col->codec == VT_CODEC_SUM;

			assert_false(looks && (c == 0 || !strcmp(col->name, "size_bytes") ||
					       !strcmp(col->name, "device") || !strcmp(col->name, "device_type")));
			assert_false(col->codec == VT_CODEC_SUM && !size);
		}
	}
}

static void enumerations_have_texts(void **state)
{
	static const struct {
		const char *enum_name;
		int64_t number;
	} values[] = {
/* clang-format off */
#define VALUE(enum_name, NAME, number, text) { #enum_name, (number) },
#include "schema/enums.def"
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(values); i++) {
		assert_non_null(vt_enum_text(values[i].enum_name, values[i].number));
		for (size_t k = 0; k < i; k++)
			assert_false(!strcmp(values[i].enum_name, values[k].enum_name) &&
				     values[i].number == values[k].number);
	}
	assert_null(vt_enum_text("driver_api", -1));
	assert_null(vt_enum_text("no_such_enum", 0));
	assert_true(VT_loss_END <= VT_LOSS_MAX);
}

static void unknown_numbers_have_a_name(void **state)
{
	(void)state;
	assert_string_equal(vt_type_name(0), "?");
	assert_string_equal(vt_type_name(UINT32_MAX), "?");
	assert_string_equal(vt_type_name(VT_TYPE_TOUCH), "TOUCH");
	assert_string_equal(vt_type_name(VT_TYPE_MODULE), "MODULE");
	assert_string_equal(vt_codec_name(VT_CODEC_SUM + 1), "?");
	assert_string_equal(vt_unit_name(VT_UNIT_ADDRESS + 1), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_cover_their_records),
		cmocka_unit_test(chunk_events_begin_with_their_time),
		cmocka_unit_test(enumerations_have_texts),
		cmocka_unit_test(unknown_numbers_have_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
