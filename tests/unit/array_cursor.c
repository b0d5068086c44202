/* array_cursor.c - see array_cursor.h. */
#include "tests/unit/array_cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/views/idmap.h"

struct vt_cursor {
	const struct vt_array *array;
	size_t next;
};

void vt_array_add(struct vt_array *array, uint32_t process, uint32_t kind, const void *record)
{
	const struct vt_event *event = vt_event_find(kind);

	if (!event || vt_array_reach((void **)&array->items, &array->room, array->count, sizeof(*array->items)) < 0) {
		fprintf(stderr, "array_cursor: kind %u cannot be added\n", kind);
		abort();
	}
	array->items[array->count].process = process;
	array->items[array->count].kind = kind;
	memcpy(&array->items[array->count].u, record, event->size);
	memcpy(&array->items[array->count].time_ns, (const char *)record + event->cols[0].offset, sizeof(uint64_t));
	array->count++;
}

void vt_array_done(struct vt_array *array)
{
	free(array->items);
	*array = (struct vt_array){ .count = 0 };
}

int vt_cursor_open(struct vt_cursor **ret, struct vt_store *store, const struct vt_cursor_options *options,
		   struct vt_err *err)
{
	(void)store;
	(void)options;
	*ret = NULL;
	return vt_err_set(err, VT_E_USAGE, "a cursor over an array is not opened from a store");
}

int vt_cursor_next(struct vt_cursor *cursor, struct vt_item *ret, struct vt_err *err)
{
	(void)err;
	if (cursor->next == cursor->array->count)
		return 0;
	ret->time_ns = cursor->array->items[cursor->next].time_ns;
	ret->process = cursor->array->items[cursor->next].process;
	ret->event = vt_event_find(cursor->array->items[cursor->next].kind);
	ret->rec = &cursor->array->items[cursor->next].u.rec;
	cursor->next++;
	return 1;
}

void vt_cursor_close(struct vt_cursor *cursor)
{
	(void)cursor;
}

void vt_array_replay(const struct vt_array *array, struct vt_replay *replay)
{
	struct vt_cursor cursor = { .array = array };
	struct vt_err err = { .code = VT_E_OK };

	if (vt_replay_run(replay, &cursor, &err) < 0) {
		fprintf(stderr, "array_cursor: replay: %s\n", err.msg);
		abort();
	}
}
