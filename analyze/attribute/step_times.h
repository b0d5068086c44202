/*
 * step_times.h - where the steps of a training or serving loop begin and end, from the best evidence that the trace
 * has. Per process, in this order:
 *
 *   ranges "ProfilerStep#N" of torch.profiler: the program's own numbers
 *   ends of ranges "Optimizer.step#...": step 1 begins with the first forward op, each step ends with its range
 *   forward work that follows backward work: for optimizers that are not torch.optim's
 *   periods in the sequence of allocations: for loops without a backward
 *
 * What is before the first step is step 0. Memory: eight bytes a step, and a log of at most VT_STEP_LOG_MAX allocations
 * as long as only the last kind of evidence is left.
 */
#ifndef VT_ANALYZE_STEP_TIMES_H
#define VT_ANALYZE_STEP_TIMES_H

#include <stdbool.h>

#include "analyze/views/idmap.h"
#include "schema/base/buf.h"

#define VT_STEP_LOG_MAX (1u << 20)
#define VT_STEP_UNKNOWN UINT32_MAX

enum vt_steps_how {
	VT_STEPS_NONE,
	VT_STEPS_PROFILER,
	VT_STEPS_OPTIMIZER,
	VT_STEPS_BACKWARD,
	VT_STEPS_PERIOD,
};

/* Zero-initialised is empty; the holder calls vt_step_times_done. */
struct vt_step_times {
	struct vt_idmap process_map;
	struct vt_step_process *processes;
	size_t room;
};

/* All of these: 0 or -VT_E_NOMEM. Times rise, as the events' do. */
int vt_step_times_profiler(struct vt_step_times *times, uint32_t process, uint32_t number, uint64_t start_ns,
			   uint64_t end_ns);
/* name: equal for ranges of the same name. Of several optimizers the first one that ended a step counts. */
int vt_step_times_optimizer(struct vt_step_times *times, uint32_t process, uint32_t name, uint64_t end_ns);
/* A forward op that began at start_ns, the first of all or the first after backward work. */
int vt_step_times_forward(struct vt_step_times *times, uint32_t process, uint64_t start_ns);
/* site: equal for allocations by the same op at the same line. */
int vt_step_times_alloc(struct vt_step_times *times, uint32_t process, uint32_t site, uint64_t time_ns);
/* Looks for periods; to be called once, after the last event. */
int vt_step_times_settle(struct vt_step_times *times);

/* The step that a moment belongs to, as far as events so far tell; VT_STEP_UNKNOWN where nothing does. */
uint32_t vt_step_times_at(const struct vt_step_times *times, uint32_t process, uint64_t time_ns);
enum vt_steps_how vt_step_times_how(const struct vt_step_times *times, uint32_t process);
/* Steps that were seen to begin. */
uint32_t vt_step_times_count(const struct vt_step_times *times, uint32_t process);
/* "by the optimizer's ranges" */
const char *vt_steps_how_text(enum vt_steps_how how);
void vt_step_times_done(struct vt_step_times *times);

#endif
