/*
 * test_ring.c - rings: what one thread writes another reads, whole and in order, through many turns; and a file in which
 * nothing is true is walked without harm. Run under thread sanitizer too: the orders named R1 to A2 in ring.h are used here.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/ring_read.h"
#include "schema/ring_write.h"
#include "schema_random.h"

#define SMALL_RING 20u /* the first index of the smallest size */

static struct vt_ring_file file;
static char path[64];

static uint8_t *data_of(uint32_t index)
{
	return (uint8_t *)file.shm + vt_ring_data_offset(index);
}

/* A ring as an agent makes it, at any position. */
static struct vt_ring *make_ring(uint32_t index, uint64_t position)
{
	struct vt_ring *ring = vt_ring_file_ring(&file, index);

	memset(ring, 0, sizeof(*ring));
	ring->generation = 1;
	ring->data_offset = vt_ring_data_offset(index);
	ring->data_bytes = vt_ring_bytes(index);
	ring->start_position = position;
	atomic_store(&ring->head, position);
	atomic_store(&ring->tail, position);
	atomic_store(&ring->state, VT_RING_LIVE);
	return ring;
}

static int write_header(void)
{
	int fd = mkstemp(path);
	struct vt_shm shm = { .magic = VT_SHM_MAGIC,
			      .abi = VT_SHM_ABI,
			      .events_bytes = VT_SHM_EVENTS_BYTES,
			      .file_bytes = vt_shm_file_bytes(),
			      .rings_offset = VT_SHM_HEADER_BYTES,
			      .nrings_max = VT_SHM_RINGS_MAX };
	int r = fd >= 0 && ftruncate(fd, (off_t)vt_shm_file_bytes()) == 0 &&
		write(fd, &shm, sizeof(shm)) == sizeof(shm);

	(void)close(fd);
	return r ? 0 : -1;
}

static int setup(void **state)
{
	struct vt_err err;

	(void)state;
	(void)strcpy(path, "/dev/shm/vt-test-ring-XXXXXX");
	return write_header() == 0 && vt_ring_file_open(&file, path, &err) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	vt_ring_file_close(&file);
	return unlink(path);
}

/* ------------------------------------------------------------------ two threads */

/* A record of any length: its words follow from its number. */
struct record {
	struct vt_rec rec;
	uint64_t number;
	uint64_t words[];
};

static uint32_t words_of(uint64_t number)
{
	return (uint32_t)(vt_mix64(number + 1) % (number % 97 ? 20 : 7000));
}

#define RECORDS 60000u

static void *produce(void *arg)
{
	struct vt_ring_writer writer;

	vt_ring_writer_init(&writer, arg, data_of(SMALL_RING));
	for (uint64_t number = 0; number < RECORDS;) {
		uint32_t words = words_of(number), bytes = (uint32_t)sizeof(struct record) + words * 8;
		struct record *record = vt_ring_reserve(&writer, VT_EVENT_op, bytes);

		if (!record) {
			(void)sched_yield();
			continue;
		}
		record->number = number;
		for (uint32_t i = 0; i < words; i++)
			record->words[i] = vt_mix64(number * 8192 + i);
		vt_ring_commit(&writer, bytes);
		number++;
	}
	return NULL;
}

static void check_record(const struct vt_rec *rec, uint64_t number)
{
	const struct record *record = (const struct record *)(const void *)rec;

	assert_int_equal(rec->type, VT_EVENT_op);
	assert_int_equal(rec->seq, number);
	assert_int_equal(record->number, number);
	assert_int_equal(rec->len8, sizeof(*record) / 8 + words_of(number));
	for (uint32_t i = 0; i < words_of(number); i++)
		assert_int_equal(record->words[i], vt_mix64(number * 8192 + i));
}

static void two_threads(void **state)
{
	/* Begins shortly before a multiple of 2^32: nothing may be cut to 32 bits. */
	uint64_t position = (UINT64_C(1) << 32) - 4096, torn = 0, number = 0;
	struct vt_ring *ring = make_ring(SMALL_RING, position);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, produce, ring), 0);
	while (number < RECORDS) {
		uint64_t head = vt_ring_head(&file, SMALL_RING, position);
		const struct vt_rec *rec;

		if (head == position)
			(void)sched_yield();
		while ((rec = vt_ring_next(&file, SMALL_RING, &position, head, &torn)))
			check_record(rec, number++);
		assert_int_equal(position, head);
		vt_ring_release(ring, position);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(torn, 0);
	assert_int_equal(atomic_load(&ring->events), RECORDS);
	/* Many turns, and more than 32 bits of position. */
	assert_true(position - ((UINT64_C(1) << 32) - 4096) > 20 * vt_ring_bytes(SMALL_RING));
}

/* ------------------------------------------------------------------ one thread */

static void a_full_ring_counts_what_it_drops(void **state)
{
	struct vt_ring *ring = make_ring(SMALL_RING, 0);
	uint64_t position = 0, torn = 0, written = 0, read = 0;
	struct vt_ring_writer writer;

	(void)state;
	vt_ring_writer_init(&writer, ring, data_of(SMALL_RING));
	while (vt_ring_reserve(&writer, VT_EVENT_op, 64)) {
		vt_ring_commit(&writer, 64);
		written++;
	}
	assert_int_equal(written, vt_ring_bytes(SMALL_RING) / 64);
	assert_null(vt_ring_reserve(&writer, VT_EVENT_op, 64));
	assert_int_equal(atomic_load(&ring->lost[VT_loss_RING_FULL]), 2);
	while (vt_ring_next(&file, SMALL_RING, &position, vt_ring_head(&file, SMALL_RING, position), &torn))
		read++;
	assert_int_equal(read, written);
	vt_ring_release(ring, 64);
	assert_non_null(vt_ring_reserve(&writer, VT_EVENT_op, 64));
	assert_int_equal(torn, 0);
}

/* Every distance to the end, and a filler longer than its length field can say. */
static void records_stay_whole_at_the_end(void **state)
{
	(void)state;
	for (uint32_t index = 0; index <= SMALL_RING; index += SMALL_RING) {
		for (uint32_t before = 8; before <= 640; before += 8) {
			uint64_t position = vt_ring_bytes(index) - before, torn = 0;
			struct vt_ring *ring = make_ring(index, position);
			struct vt_ring_writer writer;
			const struct vt_rec *rec;
			uint8_t *at;

			vt_ring_writer_init(&writer, ring, data_of(index));
			at = vt_ring_reserve(&writer, VT_EVENT_op, 320);
			assert_ptr_equal(at, data_of(index) + (before < 320 ? 0 : vt_ring_bytes(index) - before));
			vt_ring_commit(&writer, 320);
			rec = vt_ring_next(&file, index, &position, vt_ring_head(&file, index, position), &torn);
			assert_ptr_equal(rec, at);
			assert_null(vt_ring_next(&file, index, &position, vt_ring_head(&file, index, position), &torn));
			assert_int_equal(torn, 0);
		}
	}
}

static void a_long_filler_says_to_the_end(void **state)
{
	struct vt_rec filler = { .type = VT_EVENT_FILLER, .len8 = 0 }, next = { .type = VT_EVENT_op, .len8 = 2 };
	uint64_t size = vt_ring_bytes(0), position = size - (1 << 20), torn = 0;

	(void)state;
	make_ring(0, position);
	memcpy(data_of(0) + position, &filler, sizeof(filler));
	memcpy(data_of(0), &next, sizeof(next));
	assert_ptr_equal(vt_ring_next(&file, 0, &position, size + 16, &torn), data_of(0));
	assert_int_equal(position, size + 16);
	assert_int_equal(torn, 0);
}

/* ------------------------------------------------------------------ nothing is true */

static void impossible_lengths_are_torn(void **state)
{
	static const struct {
		uint64_t from, room; /* bytes to the ring's end and to its head */
		struct vt_rec rec;
	} cases[] = {
		{ 4096, 64, { VT_EVENT_op, 0, 0 } }, /* no length */
		{ 4096, 64, { VT_EVENT_op, 9, 0 } }, /* beyond the head */
		{ 64, 128, { VT_EVENT_op, 9, 0 } },  /* beyond the end */
		{ 4096, 64, { VT_EVENT_op, 0xffff, 0 } },
		{ 4096, 64, { VT_EVENT_FILLER, 0, 0 } }, /* to the end, which is beyond the head */
		{ 4096, 64, { VT_EVENT_FILLER, 9, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		uint64_t size = vt_ring_bytes(SMALL_RING), position = 7 * size - cases[i].from;
		uint64_t head = position + cases[i].room, torn = 0;

		make_ring(SMALL_RING, position);
		memcpy(data_of(SMALL_RING) + (position & (size - 1)), &cases[i].rec, sizeof(cases[i].rec));
		assert_null(vt_ring_next(&file, SMALL_RING, &position, head, &torn));
		assert_int_equal(torn, 1);
		assert_int_equal(position, head);
	}
}

static void impossible_heads_are_nothing_new(void **state)
{
	uint64_t from = 1 << 20;
	static const uint64_t heads[] = { 0,	      (1 << 20) - 8,  (1 << 20) + 4, (5 << 20) + 8,
					  UINT64_MAX, UINT64_MAX - 7, INT64_MAX };
	static const uint32_t of_each_size[] = { 0, 3, 4, 19, SMALL_RING, VT_SHM_RINGS_MAX - 1 };
	struct vt_ring *ring = make_ring(SMALL_RING, from);

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(heads); i++) {
		atomic_store(&ring->head, heads[i]);
		assert_int_equal(vt_ring_head(&file, SMALL_RING, from), from);
	}
	/* Of each size: a whole ring is possible, a word more is not, though it would fit a larger one. */
	for (size_t i = 0; i < VT_ARRAY_SIZE(of_each_size); i++) {
		uint64_t size = vt_ring_bytes(of_each_size[i]);

		ring = make_ring(of_each_size[i], from);
		atomic_store(&ring->head, from + size);
		assert_int_equal(vt_ring_head(&file, of_each_size[i], from), from + size);
		atomic_store(&ring->head, from + size + 8);
		assert_int_equal(vt_ring_head(&file, of_each_size[i], from), from);
	}
	ring = make_ring(SMALL_RING, from);
	/* At the very end of what positions can count. */
	atomic_store(&ring->head, UINT64_MAX - 7);
	assert_int_equal(vt_ring_head(&file, SMALL_RING, UINT64_MAX - 63), UINT64_MAX - 7);
	assert_int_equal(vt_ring_head(&file, SMALL_RING, UINT64_MAX), UINT64_MAX);
}

/* More between position and head than the ring has, or positions between words: one loss, and on. */
static void impossible_ways_are_torn(void **state)
{
	uint64_t size = vt_ring_bytes(SMALL_RING);
	const uint64_t ways[][2] = {
		{ 0, size + 8 }, { 4, 64 }, { 8, 60 }, { 0, UINT64_MAX - 7 }, { UINT64_MAX - 4, UINT64_MAX }
	};

	(void)state;
	make_ring(SMALL_RING, 0);
	memset(data_of(SMALL_RING), 0, 64);
	for (size_t i = 0; i < VT_ARRAY_SIZE(ways); i++) {
		uint64_t position = ways[i][0], torn = 0;

		assert_null(vt_ring_next(&file, SMALL_RING, &position, ways[i][1], &torn));
		assert_int_equal(torn, 1);
		assert_int_equal(position, ways[i][1]);
	}
}

/* Noise in the whole file: every record found lies within its ring, and every walk ends. */
static void noise_is_survived(void **state)
{
	struct schema_random random = { 21 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		uint32_t index = round % 2 ? SMALL_RING : VT_SHM_RINGS_MAX - 1;
		uint64_t size = vt_ring_bytes(index), torn = 0, steps = 0;
		uint64_t position = schema_random_next(&random) & ~UINT64_C(7), head;
		struct vt_ring *ring = make_ring(index, position);
		const struct vt_rec *rec;

		for (uint64_t i = 0; i < size; i += 8) {
			uint64_t noise =
				schema_random_next(&random) & (round % 3 ? UINT64_C(0xffffffff00070003) : UINT64_MAX);

			memcpy(data_of(index) + i, &noise, 8);
		}
		atomic_store(&ring->head, position + schema_random_below(&random, 2 * size));
		head = vt_ring_head(&file, index, position);
		while ((rec = vt_ring_next(&file, index, &position, head, &torn))) {
			assert_true((const uint8_t *)rec >= data_of(index));
			assert_true((const uint8_t *)rec + sizeof(*rec) <= data_of(index) + size);
			assert_true(++steps <= size / 8);
		}
		assert_int_equal(position, head);
	}
}

static void impossible_files_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		int code;
		const char *words;
	} cases[] = {
		{ offsetof(struct vt_shm, magic), 'x', VT_E_CORRUPT, "not a vramtrace ring file" },
		{ offsetof(struct vt_shm, abi), 99, VT_E_VERSION, "another vramtrace build" },
		{ offsetof(struct vt_shm, events_bytes), 1, VT_E_VERSION, "another vramtrace build" },
		{ offsetof(struct vt_shm, file_bytes), 1, VT_E_CORRUPT, "impossible layout" },
		{ offsetof(struct vt_shm, rings_offset), 1, VT_E_CORRUPT, "impossible layout" },
		{ offsetof(struct vt_shm, nrings_max), 1, VT_E_CORRUPT, "impossible layout" },
	};
	struct vt_ring_file other;
	struct vt_err err;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		uint8_t *byte = (uint8_t *)file.shm + cases[i].at, old = *byte;

		*byte = cases[i].byte;
		assert_int_equal(vt_ring_file_open(&other, path, &err), -cases[i].code);
		assert_non_null(strstr(err.msg, cases[i].words));
		assert_non_null(strstr(err.msg, path));
		*byte = old;
	}
	atomic_store(&file.shm->nrings, UINT32_MAX);
	assert_int_equal(vt_ring_file_count(&file), VT_SHM_RINGS_MAX);
	atomic_store(&file.shm->nrings, 0);
	assert_int_equal(truncate(path, (off_t)vt_shm_file_bytes() - 1), 0);
	assert_int_equal(vt_ring_file_open(&other, path, &err), -VT_E_CORRUPT);
	assert_int_equal(truncate(path, (off_t)vt_shm_file_bytes()), 0);
	assert_int_equal(vt_ring_file_open(&other, "/dev/shm/vt-no-such.ring", &err), -VT_E_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_threads),
		cmocka_unit_test(a_full_ring_counts_what_it_drops),
		cmocka_unit_test(records_stay_whole_at_the_end),
		cmocka_unit_test(a_long_filler_says_to_the_end),
		cmocka_unit_test(impossible_lengths_are_torn),
		cmocka_unit_test(impossible_heads_are_nothing_new),
		cmocka_unit_test(impossible_ways_are_torn),
		cmocka_unit_test(noise_is_survived),
		cmocka_unit_test(impossible_files_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
