/* sort.c - see sort.h. */
#include "capture/collector/sort.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "schema/base/err.h"
#include "schema/event.h"

struct sort_key {
	uint64_t time;
	uint32_t index;
	uint32_t reserved;
};

/* Column 1 of every CHUNK event is its first column, of 8 bytes, right behind the header. */
static uint64_t time_of(const uint8_t *record)
{
	uint64_t time;

	memcpy(&time, record + sizeof(struct vt_rec), sizeof(time));
	return time;
}

static bool is_sorted(const uint8_t *records, uint32_t n, uint32_t size)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t time = time_of(records + (size_t)i * size);

		if (time < last)
			return false;
		last = time;
	}
	return true;
}

/* An empty buffer with room for `bytes`. */
static int make_room(struct vt_buf *buf, size_t bytes)
{
	vt_buf_clear(buf);
	return vt_buf_reserve(buf, bytes);
}

/* Fills keys, and starts[0 .. result] with the bounds of the rising runs: run r is [starts[r], starts[r + 1]). */
static uint32_t find_runs(const uint8_t *records, uint32_t n, uint32_t size, struct sort_key *keys, uint32_t *starts)
{
	uint32_t nruns = 0;

	for (uint32_t i = 0; i < n; i++) {
		keys[i] = (struct sort_key){ .time = time_of(records + (size_t)i * size), .index = i };
		if (i == 0 || keys[i].time < keys[i - 1].time)
			starts[nruns++] = i;
	}
	starts[nruns] = n;
	return nruns;
}

/* Merges [a, middle) and [middle, end) of from into to; the left one goes first among equals. */
static void merge_two(const struct sort_key *from, struct sort_key *to, uint32_t a, uint32_t middle, uint32_t end)
{
	uint32_t b = middle;

	for (uint32_t at = a; at < end; at++) {
		if (a < middle && (b == end || from[a].time <= from[b].time))
			to[at] = from[a++];
		else
			to[at] = from[b++];
	}
}

/* One pass over all runs, two by two; starts is rewritten for the result. Returns the number of runs left. */
static uint32_t merge_pass(const struct sort_key *from, struct sort_key *to, uint32_t *starts, uint32_t nruns)
{
	uint32_t left = 0, n = starts[nruns];

	for (uint32_t r = 0; r < nruns; r += 2) {
		uint32_t start = starts[r], middle = starts[r + 1];

		merge_two(from, to, start, middle, r + 2 <= nruns ? starts[r + 2] : middle);
		starts[left++] = start;
	}
	starts[left] = n;
	return left;
}

int vt_sort_records(struct vt_sort *sort, void *records, uint32_t n, uint32_t size)
{
	struct sort_key *from, *to;
	uint32_t *starts, nruns;
	uint8_t *bytes = records;

	if (is_sorted(records, n, size))
		return 0;
	if (make_room(&sort->keys, n * sizeof(*from)) < 0 || make_room(&sort->merged, n * sizeof(*to)) < 0 ||
	    make_room(&sort->runs, ((size_t)n + 1) * sizeof(*starts)) < 0 ||
	    make_room(&sort->records, (size_t)n * size) < 0)
		return -VT_E_NOMEM;
	from = (struct sort_key *)(void *)sort->keys.data;
	to = (struct sort_key *)(void *)sort->merged.data;
	starts = (uint32_t *)(void *)sort->runs.data;
	nruns = find_runs(bytes, n, size, from, starts);
	while (nruns > 1) {
		struct sort_key *swap = from;

		nruns = merge_pass(from, to, starts, nruns);
		from = to;
		to = swap;
	}
	for (uint32_t i = 0; i < n; i++)
		memcpy(sort->records.data + (size_t)i * size, bytes + (size_t)from[i].index * size, size);
	memcpy(bytes, sort->records.data, (size_t)n * size);
	return 0;
}

void vt_sort_done(struct vt_sort *sort)
{
	vt_buf_done(&sort->keys);
	vt_buf_done(&sort->merged);
	vt_buf_done(&sort->runs);
	vt_buf_done(&sort->records);
}
