/*
 * array_cursor.h - a cursor over records in memory, for tests of the replay's listeners that need no file: it takes
 * the place of analyze/store/cursor.c when linked into a test.
 */
#ifndef VT_TESTS_ARRAY_CURSOR_H
#define VT_TESTS_ARRAY_CURSOR_H

#include "analyze/replay/replay.h"

struct vt_array {
	struct {
		uint64_t time_ns;
		uint32_t process;
		uint32_t kind;
		union {
			struct vt_rec rec;
			struct vt_tensor tensor;
			struct vt_driver_memory driver;
			struct vt_op op;
			struct vt_device_sample sample;
			struct vt_oom oom;
		} u;
	} * items;
	size_t count, room;
};

/* Appends; the caller sees to rising times. record: struct vt_<kind's name>, whose column 1 is the time. */
void vt_array_add(struct vt_array *array, uint32_t process, uint32_t kind, const void *record);
void vt_array_done(struct vt_array *array);
/* Runs the replay over it; any failure ends the test program. */
void vt_array_replay(const struct vt_array *array, struct vt_replay *replay);

#endif
