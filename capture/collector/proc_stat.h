/* proc_stat.h - whether a process still runs, by /proc/<pid>/stat: pid and start time name a process for ever. */
#ifndef VT_COLLECTOR_PROC_STAT_H
#define VT_COLLECTOR_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vt_proc_stat {
	char state;	      /* 'R', 'S', 'Z', ... */
	uint64_t threads;     /* not ended; more than 1 in a zombie: only its leader is dead */
	uint64_t start_ticks; /* field 22 */
};

/* Reads the text of a stat file, which need not end in NUL. False where it is not one. */
bool vt_proc_stat_parse(const char *text, size_t bytes, struct vt_proc_stat *ret);
/*
 * True while any thread of the process (pid, start_ticks) can still run. A zombie cannot, unless only its leader
 * thread has ended. Where /proc cannot be read for another reason than that the process is gone: true.
 */
bool vt_proc_is_alive(uint32_t pid, uint64_t start_ticks);

#endif
