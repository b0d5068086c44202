/* store_rig.h - a place and a store for one test; a failure of the store fails the test with the store's own words. */
#ifndef VT_TESTS_STORE_RIG_H
#define VT_TESTS_STORE_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "schema/store.h"

#define STORE_RIG_ROWS 100u

extern char store_rig_directory[64];
extern char store_rig_path[128]; /* in it; not there yet */
extern struct vt_err store_rig_err;

int store_rig_setup(void **state);
int store_rig_teardown(void **state);
#define store_rig_test(name) cmocka_unit_test_setup_teardown(name, store_rig_setup, store_rig_teardown)

#define ok(call)                                                                                                       \
	do {                                                                                                           \
		if ((call) < 0)                                                                                        \
			fail_msg("%s", store_rig_err.msg);                                                             \
	} while (0)

struct vt_store *store_rig_create(enum vt_store_mode mode);
struct vt_store *store_rig_open(void);

/* A chunk of at most 2 * STORE_RIG_ROWS tensor events of process 1, a nanosecond apart. */
int64_t store_rig_add(struct vt_store *store, uint64_t first_ns, uint32_t rows, const int64_t *replaces,
		      size_t nreplaces);

struct store_rig_chunks {
	struct vt_chunk_info infos[8];
	uint32_t count;
	uint64_t events;
};

struct store_rig_chunks store_rig_chunks(struct vt_store *store);

#endif
