/*
 * vramtrace.h - for programs that want to say where they are: marks, steps and ranges in a trace of `vramtrace record`.
 *
 *   #include <vramtrace.h>
 *
 *   for (uint64_t step = 0; step < steps; step++) {
 *           vramtrace_step(step);
 *           vramtrace_range_push("forward");
 *           forward();                     // what is allocated here is charged to "forward"
 *           vramtrace_range_pop();
 *   }
 *   vramtrace_mark("checkpoint written");
 *
 * Nothing is linked: the functions look the recorder up in the running process, once, and do nothing where there is
 * none (then a call costs one comparison). C99 or C++; with a glibc older than 2.34 link with -ldl. Any thread may call
 * them, and none waits. Texts are copied; UTF-8, cut at 512 bytes. A range belongs to the thread that pushed it, and a
 * pop without a push does nothing. Programs that use NVTX need none of this: their ranges and marks are recorded too.
 */
#ifndef VRAMTRACE_H
#define VRAMTRACE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls the recorder's function of that name. `door` is NULL before the look-up and the address of `none` where there
 * is nobody; a look-up by two threads at once has one result. The first argument of dlsym is RTLD_DEFAULT, which has a
 * name only with _GNU_SOURCE.
 */
static inline void *vramtrace_find_(void **door, const char *name, void *none)
{
	void *found = __atomic_load_n(door, __ATOMIC_RELAXED);

	if (!found) {
		found = dlsym((void *)0, name);
		if (!found)
			found = none;
		__atomic_store_n(door, found, __ATOMIC_RELAXED);
	}
	return found == none ? (void *)0 : found;
}

/* A moment with a name. */
static inline void vramtrace_mark(const char *name)
{
	static void *door;
	void *found = vramtrace_find_(&door, "vramtrace_agent_mark", &door);

	if (found)
		(__extension__(void (*)(const char *)) found)(name);
}

/* Step `step` begins: a mark with a number. */
static inline void vramtrace_step(uint64_t step)
{
	static void *door;
	void *found = vramtrace_find_(&door, "vramtrace_agent_step", &door);

	if (found)
		(__extension__(void (*)(uint64_t)) found)(step);
}

/* A range of this thread begins; ranges nest. What is allocated inside it is charged to it. */
static inline void vramtrace_range_push(const char *name)
{
	static void *door;
	void *found = vramtrace_find_(&door, "vramtrace_agent_range_push", &door);

	if (found)
		(__extension__(void (*)(const char *)) found)(name);
}

/* The innermost range of this thread ends. */
static inline void vramtrace_range_pop(void)
{
	static void *door;
	void *found = vramtrace_find_(&door, "vramtrace_agent_range_pop", &door);

	if (found)
		(__extension__(void (*)(void)) found)();
}

#ifdef __cplusplus
}
#endif

#endif
