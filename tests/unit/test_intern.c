/* test_intern.c - ids are unique, mean one content each, and are defined in a ring before anyone has them. */
#include <pthread.h>

#include "capture/agent/intern.h"
#include "capture/agent/table.h"
#include "tests/unit/agent_rig.h"

#define THREADS 4
#define STRINGS 3001 /* prime: every stride visits all */

static void test_table_keeps_every_key(void **state)
{
	static struct vt_table table;
	const uint64_t n = 100000; /* well beyond level 0 */

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 1; i <= n; i++) {
			struct vt_table_slot *slot = NULL;
			uint32_t id = 0;
			enum vt_table_result result = vt_table_find(&table, vt_mix64(i), &id, &slot);

			if (round == 0) {
				assert_int_equal(result, VT_TABLE_CLAIMED);
				vt_table_publish(slot, vt_table_new_id(&table));
			} else {
				assert_int_equal(result, VT_TABLE_FOUND);
				assert_int_equal(id, i);
			}
		}
	}
}

static void test_table_busy_and_vacant(void **state)
{
	static struct vt_table table;
	struct vt_table_slot *slot = NULL, *other = NULL;
	uint32_t id = 0;

	(void)state;
	assert_int_equal(vt_table_find(&table, 7, &id, &slot), VT_TABLE_CLAIMED);
	/* Who comes while the definition is being written does not wait. */
	assert_int_equal(vt_table_find(&table, 7, &id, &other), VT_TABLE_BUSY);
	assert_null(other);
	vt_table_vacate(slot);
	assert_int_equal(vt_table_find(&table, 7, &id, &other), VT_TABLE_CLAIMED);
	assert_ptr_equal(other, slot);
	vt_table_publish(other, 5);
	assert_int_equal(vt_table_find(&table, 7, &id, &slot), VT_TABLE_FOUND);
	assert_int_equal(id, 5);
}

static void test_table_full_is_said(void **state)
{
	static struct vt_table table;
	struct vt_table_slot *slot = NULL;
	uint32_t id = 0;
	uint64_t key = 1, n = 0;

	(void)state;
	/* Keys that all begin at one place use up VT_TABLE_PROBES slots of each level. */
	while (vt_table_find(&table, key, &id, &slot) == VT_TABLE_CLAIMED) {
		key += UINT64_C(1) << 40;
		n++;
	}
	assert_int_equal(n, VT_TABLE_PROBES * VT_TABLE_LEVELS);
	assert_int_equal(vt_table_find(&table, key, &id, &slot), VT_TABLE_FULL);
	/* Others still find room. */
	assert_int_equal(vt_table_find(&table, 1000, &id, &slot), VT_TABLE_CLAIMED);
}

static void test_hash_sees_every_byte(void **state)
{
	char text[64];

	(void)state;
	for (size_t size = 0; size < sizeof(text); size++) {
		memset(text, 'a', sizeof(text));
		uint64_t hash = vt_hash_bytes(text, size);

		assert_int_not_equal(hash, vt_hash_bytes(text, size + 1));
		for (size_t i = 0; i < size; i++) {
			text[i] = 'b';
			assert_int_not_equal(hash, vt_hash_bytes(text, size));
			text[i] = 'a';
		}
	}
}

/* What the rings hold: for each string number, the ids it was defined under. */
struct seen {
	uint32_t defined;
	uint32_t content[THREADS * STRINGS * 2]; /* by id: number of the string + 1 */
};

static void see(const struct vt_rec *rec, void *arg)
{
	const struct vt_string *string = (const struct vt_string *)rec;
	struct seen *seen = arg;
	unsigned number;
	char text[64];

	if (rec->type != VT_EVENT_string)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)string->size_bytes, (const char *)(string + 1));
	if (sscanf(text, "string number %u", &number) != 1)
		return;
	assert_true(string->id < sizeof(seen->content) / sizeof(seen->content[0]));
	assert_int_equal(seen->content[string->id], 0);
	seen->content[string->id] = number + 1;
	seen->defined++;
}

static uint32_t ids[THREADS][STRINGS];

static void *intern_all(void *arg)
{
	unsigned which = (unsigned)(uintptr_t)arg;
	struct vt_thread *thread = vt_agent_enter();

	assert_non_null(thread);
	for (unsigned i = 0; i < STRINGS; i++) {
		/* Each thread comes from another side, so that all meet on the way. */
		unsigned number = (i * (2 * which + 1)) % STRINGS;
		char text[64];
		int n = snprintf(text, sizeof(text), "string number %u", number);

		ids[which][number] = vt_intern_string(thread, text, (uint32_t)n);
	}
	vt_agent_leave(thread);
	return NULL;
}

static void test_threads_share_ids(void **state)
{
	static struct seen seen;
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, intern_all, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	rig_each(see, &seen);
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned i = 0; i < STRINGS; i++) {
			assert_int_not_equal(ids[t][i], 0);
			assert_int_equal(seen.content[ids[t][i]], i + 1);
		}
	/* Two threads that met at a string at the same moment both defined it: rare. */
	assert_in_range(seen.defined, STRINGS, STRINGS + STRINGS / 10);
}

static void test_long_string_is_cut(void **state)
{
	static char text[VT_STRING_BYTES_MAX + 100];
	struct vt_thread *thread = vt_agent_enter();
	uint32_t id;

	(void)state;
	memset(text, 'x', sizeof(text));
	id = vt_intern_string(thread, text, sizeof(text));
	assert_int_not_equal(id, 0);
	assert_int_equal(vt_intern_string(thread, text, VT_STRING_BYTES_MAX), id);
	vt_agent_leave(thread);
}

static void test_full_ring_gives_no_id(void **state)
{
	struct vt_thread *thread = vt_agent_enter();
	uint64_t lost = atomic_load(&thread->writer.ring->lost[VT_loss_DEFINITION]);
	char text[32];
	uint32_t id = 1;
	unsigned i = 0;

	(void)state;
	for (; id && i < 1000000; i++) {
		int n = snprintf(text, sizeof(text), "fill %u", i);

		id = vt_intern_string(thread, text, (uint32_t)n);
	}
	assert_int_equal(id, 0);
	assert_int_equal(atomic_load(&thread->writer.ring->lost[VT_loss_DEFINITION]), lost + 1);
	/* Room again: the same string gets its id after all. */
	atomic_store(&thread->writer.ring->tail, thread->writer.head);
	assert_int_not_equal(vt_intern_string(thread, text, (uint32_t)strlen(text)), 0);
	vt_agent_leave(thread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_keeps_every_key), cmocka_unit_test(test_table_busy_and_vacant),
		cmocka_unit_test(test_table_full_is_said),    cmocka_unit_test(test_hash_sees_every_byte),
		cmocka_unit_test(test_threads_share_ids),     cmocka_unit_test(test_long_string_is_cut),
		cmocka_unit_test(test_full_ring_gives_no_id),
	};
	int r;

	rig_start();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	rig_stop();
	return r;
}
