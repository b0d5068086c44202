/*
 * play_rings.c - puts what dump_rings printed back into ring files, in this build's layout of the records: what an agent
 * wrote once, on a machine with a GPU, for the collector of today.
 *
 *   dump_rings ... | play_rings SESSION
 *
 * Columns are found by name: a new one is 0, one that is gone is left out. Each process of the dump becomes a ring file
 * of a process that has ended. Reads nothing but dump_rings' own form: objects of numbers, texts and lists of numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/ring_maker.h"

#define LINE_BYTES_MAX (1 << 20)

static void fail(const char *what, const char *where)
{
	fprintf(stderr, "play_rings: %s: %.80s\n", what, where);
	exit(1);
}

/* The value of a field, behind its colon; NULL where the object has none. Names are followed by a colon, texts are not. */
static const char *field(const char *line, const char *name)
{
	char quoted[64];
	const char *at;

	(void)snprintf(quoted, sizeof(quoted), "\"%s\": ", name);
	at = strstr(line, quoted);
	return at ? at + strlen(quoted) : NULL;
}

static uint64_t number(const char *line, const char *name)
{
	const char *at = field(line, name);

	return !at ? 0 : *at == '-' ? (uint64_t)strtoll(at, NULL, 10) : strtoull(at, NULL, 10);
}

/* Undoes \u00XX; returns the length. */
static size_t text(const char *line, const char *name, uint8_t *out)
{
	const char *at = field(line, name);
	size_t n = 0;

	if (!at || *at++ != '"')
		fail("no text", line);
	while (*at != '"') {
		if (*at == '\0')
			fail("a text without end", line);
		if (*at == '\\') {
			char digits[3] = { at[4], at[5], 0 };

			out[n++] = (uint8_t)strtoul(digits, NULL, 16);
			at += 6;
		} else {
			out[n++] = (uint8_t)*at++;
		}
	}
	return n;
}

static void put_column(uint8_t *record, const struct vt_col *col, uint64_t value)
{
	uint32_t wide = (uint32_t)value;
	uint16_t narrow = (uint16_t)value;

	memcpy(record + col->offset,
	       col->width == 8	 ? (void *)&value
	       : col->width == 4 ? (void *)&wide
				 : (void *)&narrow,
	       col->width);
}

static void put_record(struct ring_maker *maker, const char *line, const struct vt_event *event)
{
	static uint8_t bytes[LINE_BYTES_MAX];
	uint8_t record[sizeof(struct vt_rec) + 8 * VT_COLS_MAX] = { 0 };
	size_t tail = event->class == VT_CLASS_BLOB ? text(line, "bytes", bytes) : 0;
	uint32_t whole = (uint32_t)vt_align_up(event->size + tail, 8);
	uint32_t ring = (uint32_t)number(line, "ring");
	uint8_t *to;

	for (unsigned i = 0; i < event->ncols; i++)
		if (!vt_col_is_pad(&event->cols[i]))
			put_column(record, &event->cols[i], number(line, event->cols[i].name));
	to = vt_ring_reserve(&maker->writers[ring], event->id, whole);
	if (!to)
		fail("a ring is full", line);
	memcpy(to + sizeof(struct vt_rec), record + sizeof(struct vt_rec), event->size - sizeof(struct vt_rec));
	memcpy(to + event->size, bytes, tail);
	vt_ring_commit(&maker->writers[ring], whole);
}

static void end_process(struct ring_maker *maker)
{
	if (!maker->shm)
		return;
	for (uint32_t i = 0; i < atomic_load(&maker->shm->nrings); i++)
		ring_maker_leave(maker, i);
	atomic_store(&maker->shm->state, VT_SHM_EXITED);
	ring_maker_close(maker);
}

/* The pid is a dead one of this machine's numbers: the collector looks for it, and for its start, in vain. */
static void begin_process(struct ring_maker *maker, const char *session, const char *line, uint32_t count)
{
	char suffix[32];

	end_process(maker);
	(void)snprintf(suffix, sizeof(suffix), "-%u", count);
	if (ring_maker_open(maker, session, getpid(), suffix) < 0)
		fail("no ring file can be made", session);
	maker->shm->pid = (uint32_t)number(line, "pid");
	maker->shm->parent_pid = (uint32_t)number(line, "parent_pid");
	maker->shm->pid_start_ticks = 1 + count;
	maker->shm->command_bytes = (uint32_t)text(line, "command", (uint8_t *)maker->shm->command);
}

static void take_ring(struct ring_maker *maker, const char *line)
{
	uint32_t index = (uint32_t)number(line, "ring");
	struct vt_ring *ring = ring_maker_ring(maker, index);
	char name[sizeof(ring->name) * 8];
	size_t n;

	if (index >= VT_SHM_RINGS_MAX)
		fail("too many rings", line);
	ring_maker_take(maker, index, (uint32_t)number(line, "tid"));
	n = text(line, "name", (uint8_t *)name);
	memset(ring->name, 0, sizeof(ring->name));
	memcpy(ring->name, name, n < sizeof(ring->name) ? n : sizeof(ring->name) - 1);
}

int main(int argc, char **argv)
{
	static char line[LINE_BYTES_MAX];
	static struct ring_maker maker;
	uint32_t processes = 0;

	if (argc != 2)
		fail("usage", "play_rings SESSION <DUMP");
	while (fgets(line, sizeof(line), stdin)) {
		char kind[64] = { 0 };
		const struct vt_event *event;

		if (!strchr(line, '\n') || !field(line, "kind") || sscanf(field(line, "kind"), "\"%60[^\"]", kind) != 1)
			fail("not a line of dump_rings", line);
		if (!strcmp(kind, "FILE")) {
			begin_process(&maker, argv[1], line, processes++);
			continue;
		}
		if (!maker.shm)
			fail("a line before its FILE", line);
		event = vt_event_find_name(kind);
		if (!strcmp(kind, "RING"))
			take_ring(&maker, line);
		else if (event)
			put_record(&maker, line, event);
	}
	end_process(&maker);
	return processes ? 0 : 1;
}
