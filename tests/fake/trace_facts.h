/*
 * trace_facts.h - what is in a trace file, counted the slow and plain way, for tests to compare with what they did.
 */
#ifndef VT_TRACE_FACTS_H
#define VT_TRACE_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/store.h"

#define FACTS_PROCESSES_MAX 64

struct trace_process_facts {
	uint32_t id, pid;
	int32_t end_state;
	uint64_t end_ns;
	uint64_t allocs, frees; /* tensor events by the sign of their size */
	uint64_t events;	/* of all kinds, chunks and tables, definitions not counted */
	uint64_t definitions;
	uint64_t ooms;
	uint64_t threads;
	uint64_t thread_records; /* what the producers say they committed: events + definitions */
	uint64_t lost[VT_loss_END];
};

struct trace_facts {
	struct trace_process_facts processes[FACTS_PROCESSES_MAX];
	size_t nprocesses;
	uint64_t chunks;
	uint64_t unsorted; /* chunks whose rows do not rise by column 1, or whose row lies about first, last or count */
	uint64_t doubled;  /* tensor events with process, thread and time of another: times of a thread rise strictly */
	uint64_t undefined; /* ids that no definition of the same process explains */
	uint64_t clocks;
};

/* Reads all of the file and runs SQLite's check. 0, or a negative code. */
int trace_facts_read(struct trace_facts *ret, const char *path, struct vt_err *err);
const struct trace_process_facts *trace_facts_of_pid(const struct trace_facts *facts, uint32_t pid);

#endif
