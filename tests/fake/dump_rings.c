/*
 * dump_rings.c - prints what lies in ring files, as JSON lines: an independent look at what the agent wrote.
 *
 *   dump_rings [--drain] FILE...
 *
 * One object per file, ring and record; integers as they are, strings as text (bytes above 126 as \u00XX). With --drain
 * the records are given back and closed rings are freed, as a collector would.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "schema/ring_read.h"

static void print_text(const char *text, size_t size)
{
	putchar('"');
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 32 || c > 126 || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_column(const struct vt_rec *rec, const struct vt_col *col)
{
	const char *at = (const char *)rec + col->offset;
	int64_t wide = 0;

	if (vt_col_is_pad(col))
		return;
	printf(", \"%s\": ", col->name);
	if (col->width == 8) {
		memcpy(&wide, at, 8);
	} else if (col->width == 4) {
		int32_t value;

		memcpy(&value, at, 4);
		wide = vt_col_is_signed(col) ? value : (int64_t)(uint32_t)value;
	} else {
		int16_t value;

		memcpy(&value, at, 2);
		wide = vt_col_is_signed(col) ? value : (int64_t)(uint16_t)value;
	}
	if (vt_col_is_signed(col))
		printf("%" PRId64, wide);
	else
		printf("%" PRIu64, (uint64_t)wide);
}

static void print_record(const struct vt_rec *rec, uint32_t ring)
{
	const struct vt_event *event = vt_event_find(rec->type);

	if (!event) {
		printf("{\"kind\": \"unknown\", \"type\": %u}\n", rec->type);
		return;
	}
	printf("{\"kind\": \"%s\", \"ring\": %" PRIu32 ", \"seq\": %" PRIu32, event->name, ring, rec->seq);
	for (unsigned i = 0; i < event->ncols; i++)
		print_column(rec, &event->cols[i]);
	if (event->class == VT_CLASS_BLOB) {
		const struct vt_string *string = (const struct vt_string *)rec;
		size_t room = (size_t)rec->len8 * 8 - sizeof(*string);

		printf(", \"bytes\": ");
		print_text((const char *)(string + 1), string->size_bytes < room ? string->size_bytes : room);
	}
	printf("}\n");
}

static uint64_t dump_ring(const struct vt_ring_file *file, uint32_t index, bool drain)
{
	struct vt_ring *ring = vt_ring_file_ring(file, index);
	uint64_t position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire);
	uint64_t head = vt_ring_head(file, index, position);
	const struct vt_rec *rec;
	uint64_t torn = 0;

	printf("{\"kind\": \"RING\", \"ring\": %" PRIu32 ", \"state\": %" PRIu32 ", \"generation\": %" PRIu32
	       ", \"tid\": %" PRIu32 ", \"events\": %" PRIu64 ", \"name\": ",
	       index, state, ring->generation, ring->tid, atomic_load(&ring->events));
	print_text(ring->name, strnlen(ring->name, sizeof(ring->name)));
	printf(", \"lost\": [");
	for (int i = 0; i < VT_LOSS_MAX; i++)
		printf("%s%" PRIu64, i ? ", " : "", atomic_load(&ring->lost[i]));
	printf("]}\n");
	while ((rec = vt_ring_next(file, index, &position, head, &torn)))
		print_record(rec, index);
	if (drain)
		vt_ring_release(ring, head);
	if (drain && state == VT_RING_CLOSED && head == atomic_load(&ring->head))
		atomic_store_explicit(&ring->state, VT_RING_FREE, memory_order_release); /* R5 */
	return torn;
}

static int dump_file(const char *path, bool drain)
{
	struct vt_ring_file file = { 0 };
	struct vt_err err = { 0 };
	uint64_t torn = 0;
	int r = vt_ring_file_open(&file, path, &err);

	if (r < 0) {
		fprintf(stderr, "dump_rings: %s\n", err.msg);
		return 1;
	}
	printf("{\"kind\": \"FILE\", \"pid\": %" PRIu32 ", \"parent_pid\": %" PRIu32 ", \"state\": %" PRIu32
	       ", \"rank\": %" PRId32 ", \"lost\": [",
	       file.shm->pid, file.shm->parent_pid, atomic_load(&file.shm->state), file.shm->rank);
	for (int i = 0; i < VT_LOSS_MAX; i++)
		printf("%s%" PRIu64, i ? ", " : "", atomic_load(&file.shm->lost[i]));
	printf("], \"command\": ");
	print_text(file.shm->command,
		   file.shm->command_bytes < sizeof(file.shm->command) ? file.shm->command_bytes : 0);
	printf("}\n");
	for (uint32_t i = 0; i < vt_ring_file_count(&file); i++)
		torn += dump_ring(&file, i, drain);
	vt_ring_file_close(&file);
	return torn ? 1 : 0;
}

int main(int argc, char **argv)
{
	bool drain = argc > 1 && strcmp(argv[1], "--drain") == 0;
	int r = 0;

	for (int i = drain ? 2 : 1; i < argc; i++)
		r |= dump_file(argv[i], drain);
	return r;
}
