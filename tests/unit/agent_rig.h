/*
 * agent_rig.h - for unit tests of the agent's parts: starts the agent in this process with a session of its own, and
 * reads back what it wrote. Header only; one test program uses it once.
 */
#ifndef VT_TESTS_AGENT_RIG_H
#define VT_TESTS_AGENT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/agent/config.h"
#include "capture/agent/state.h"
#include "schema/ring_read.h"

static char rig_session[64];

/* Starts the agent; the calling thread's state, left. */
static inline void rig_start(void)
{
	struct vt_thread *thread;

	strcpy(rig_session, "/tmp/vt-unit.XXXXXX");
	assert_non_null(mkdtemp(rig_session));
	assert_int_equal(setenv(VT_ENV_SESSION, rig_session, 1), 0);
	vt_config_load();
	thread = vt_agent_enter();
	assert_non_null(thread);
	vt_agent_leave(thread);
}

static inline void rig_stop(void)
{
	(void)remove(vt_agent_get()->path);
	(void)remove(rig_session);
}

/* Calls fn with every record of all rings, ring by ring. */
static inline void rig_each(void (*fn)(const struct vt_rec *rec, void *arg), void *arg)
{
	struct vt_ring_file file = { 0 };
	struct vt_err err = { 0 };
	uint64_t torn = 0;

	assert_int_equal(vt_ring_file_open(&file, vt_agent_get()->path, &err), 0);
	for (uint32_t i = 0; i < vt_ring_file_count(&file); i++) {
		struct vt_ring *ring = vt_ring_file_ring(&file, i);
		uint64_t position = ring->start_position;
		uint64_t head = vt_ring_head(&file, i, position);
		const struct vt_rec *rec;

		while ((rec = vt_ring_next(&file, i, &position, head, &torn)))
			fn(rec, arg);
	}
	assert_int_equal(torn, 0);
	vt_ring_file_close(&file);
}

#endif
