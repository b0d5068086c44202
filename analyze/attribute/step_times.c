/* step_times.c - see step_times.h. */
#include "analyze/attribute/step_times.h"

#include <stdlib.h>

#include "schema/base/err.h"

/* Fewer laps than this are no period. */
#define LAPS_MIN 3

struct logged {
	uint64_t time_ns;
	uint32_t site;
};

/* When a step begins, and its number. */
struct begin {
	uint64_t time_ns;
	uint32_t number;
};

struct vt_step_process {
	struct vt_buf profiler;	 /* struct begin */
	struct vt_buf optimizer; /* struct begin */
	struct vt_buf forward;	 /* struct begin */
	struct vt_buf period;	 /* struct begin */
	struct vt_buf log;	 /* struct logged */
	uint32_t optimizer_name;
	bool log_full;
};

static struct vt_step_process *add(struct vt_step_times *times, uint32_t process)
{
	uint32_t index = vt_idmap_add(&times->process_map, (struct vt_idmap_key){ process, 0, 0 });

	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&times->processes, &times->room, index, sizeof(*times->processes)) < 0)
		return NULL;
	return &times->processes[index];
}

static const struct vt_step_process *find(const struct vt_step_times *times, uint32_t process)
{
	uint32_t index = vt_idmap_find(&times->process_map, (struct vt_idmap_key){ process, 0, 0 });

	return index == VT_IDMAP_NONE ? NULL : &times->processes[index];
}

static size_t count(const struct vt_buf *begins)
{
	return begins->bytes / sizeof(struct begin);
}

static struct begin *begin_at(const struct vt_buf *begins, size_t i)
{
	return (struct begin *)(void *)begins->data + i;
}

static int put(struct vt_buf *begins, uint64_t time_ns, uint32_t number)
{
	const struct begin begin = { time_ns, number };

	return vt_buf_append(begins, &begin, sizeof(begin));
}

/* One beginning only says that there was forward work. */
static bool has_alternation(const struct vt_step_process *steps)
{
	return count(&steps->forward) >= 2;
}

static bool has_evidence(const struct vt_step_process *steps)
{
	return count(&steps->profiler) || count(&steps->optimizer) || has_alternation(steps);
}

int vt_step_times_profiler(struct vt_step_times *times, uint32_t process, uint32_t number, uint64_t start_ns,
			   uint64_t end_ns)
{
	struct vt_step_process *steps = add(times, process);
	size_t n;

	if (!steps)
		return -VT_E_NOMEM;
	n = count(&steps->profiler);
	/* The last one was only expected, from the end of the step before. */
	if (n && begin_at(&steps->profiler, n - 1)->time_ns <= start_ns)
		*begin_at(&steps->profiler, n - 1) = (struct begin){ start_ns, number };
	else if (put(&steps->profiler, start_ns, number) < 0)
		return -VT_E_NOMEM;
	return put(&steps->profiler, end_ns, number + 1);
}

int vt_step_times_optimizer(struct vt_step_times *times, uint32_t process, uint32_t name, uint64_t end_ns)
{
	struct vt_step_process *steps = add(times, process);
	uint64_t first = end_ns;

	if (!steps)
		return -VT_E_NOMEM;
	if (count(&steps->optimizer) && steps->optimizer_name != name)
		return 0;
	if (!count(&steps->optimizer)) {
		steps->optimizer_name = name;
		first = count(&steps->forward) ? begin_at(&steps->forward, 0)->time_ns : 0;
		if (put(&steps->optimizer, first, 1) < 0)
			return -VT_E_NOMEM;
	}
	return put(&steps->optimizer, end_ns + 1, (uint32_t)count(&steps->optimizer) + 1);
}

int vt_step_times_forward(struct vt_step_times *times, uint32_t process, uint64_t start_ns)
{
	struct vt_step_process *steps = add(times, process);

	if (!steps)
		return -VT_E_NOMEM;
	if (has_alternation(steps))
		vt_buf_done(&steps->log);
	return put(&steps->forward, start_ns, (uint32_t)count(&steps->forward) + 1);
}

int vt_step_times_alloc(struct vt_step_times *times, uint32_t process, uint32_t site, uint64_t time_ns)
{
	struct vt_step_process *steps = add(times, process);
	const struct logged logged = { time_ns, site };

	if (!steps)
		return -VT_E_NOMEM;
	if (steps->log_full || has_evidence(steps))
		return 0;
	steps->log_full = steps->log.bytes / sizeof(logged) >= VT_STEP_LOG_MAX;
	return steps->log_full ? 0 : vt_buf_append(&steps->log, &logged, sizeof(logged));
}

/* How often each site occurs: its highest number comes first in *ret_sites. NULL: no memory, or an empty log. */
static uint32_t *count_sites(const struct vt_buf *log, uint32_t *ret_sites)
{
	const struct logged *list = (const struct logged *)(const void *)log->data;
	size_t n = log->bytes / sizeof(*list);
	uint32_t sites = 0, *counts;

	for (size_t i = 0; i < n; i++)
		sites = list[i].site >= sites ? list[i].site + 1 : sites;
	*ret_sites = sites;
	counts = sites ? calloc(sites, sizeof(*counts)) : NULL;
	for (size_t i = 0; counts && i < n; i++)
		counts[list[i].site]++;
	return counts;
}

/* The number of times that most sites occur: sites that run once a step agree on it. 0: no two sites agree. */
static uint32_t common_count(const uint32_t *counts, uint32_t sites, size_t most)
{
	uint32_t *votes = calloc(most + 1, sizeof(*votes));
	uint32_t best = 0;

	if (!votes)
		return 0;
	for (uint32_t i = 0; i < sites; i++)
		if (counts[i] >= LAPS_MIN)
			votes[counts[i]]++;
	for (uint32_t c = LAPS_MIN; c <= most; c++)
		if (votes[c] >= 2 && (!best || votes[c] > votes[best]))
			best = c;
	free(votes);
	return best;
}

/* Begins a step at each occurrence of the earliest site that occurs `laps` times; the laps must be alike. */
static int cut(struct vt_step_process *steps, const uint32_t *counts, uint32_t laps)
{
	const struct logged *list = (const struct logged *)(const void *)steps->log.data;
	size_t n = steps->log.bytes / sizeof(*list), first = 0, last, length, alike = 0;
	uint32_t number = 0;
	int r = 0;

	while (first < n && counts[list[first].site] != laps)
		first++;
	last = first;
	length = (n - first) / laps;
	for (size_t i = first; i < n && !r; i++) {
		size_t lap = i - last;

		if (list[i].site != list[first].site)
			continue;
		alike += number && lap + length / 8 >= length && lap <= length + length / 8;
		last = i;
		r = put(&steps->period, list[i].time_ns, ++number);
	}
	/* All but one: the first lap does more than the others, as a rule. */
	if (alike + 2 < laps)
		vt_buf_done(&steps->period);
	return r;
}

int vt_step_times_settle(struct vt_step_times *times)
{
	int r = 0;

	for (uint32_t i = 0; i < times->process_map.count && !r; i++) {
		struct vt_step_process *steps = &times->processes[i];
		uint32_t sites = 0, laps = 0, *counts = NULL;

		if (!has_evidence(steps))
			counts = count_sites(&steps->log, &sites);
		if (counts)
			laps = common_count(counts, sites, steps->log.bytes / sizeof(struct logged));
		if (laps)
			r = cut(steps, counts, laps);
		free(counts);
		vt_buf_done(&steps->log);
	}
	return r;
}

static const struct vt_buf *choose(const struct vt_step_process *steps, enum vt_steps_how *ret)
{
	const struct vt_buf *begins = NULL;

	*ret = VT_STEPS_NONE;
	if (count(&steps->profiler)) {
		begins = &steps->profiler;
		*ret = VT_STEPS_PROFILER;
	} else if (count(&steps->optimizer)) {
		begins = &steps->optimizer;
		*ret = VT_STEPS_OPTIMIZER;
	} else if (count(&steps->period)) {
		begins = &steps->period;
		*ret = VT_STEPS_PERIOD;
	} else if (count(&steps->forward)) {
		begins = &steps->forward;
		*ret = VT_STEPS_BACKWARD;
	}
	return begins;
}

uint32_t vt_step_times_at(const struct vt_step_times *times, uint32_t process, uint64_t time_ns)
{
	const struct vt_step_process *steps = find(times, process);
	enum vt_steps_how how;
	const struct vt_buf *begins = steps ? choose(steps, &how) : NULL;
	size_t low = 0, high;

	if (!begins)
		return VT_STEP_UNKNOWN;
	high = count(begins);
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (begin_at(begins, middle)->time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? begin_at(begins, low - 1)->number : 0;
}

enum vt_steps_how vt_step_times_how(const struct vt_step_times *times, uint32_t process)
{
	const struct vt_step_process *steps = find(times, process);
	enum vt_steps_how how = VT_STEPS_NONE;

	if (steps)
		(void)choose(steps, &how);
	return how;
}

uint32_t vt_step_times_count(const struct vt_step_times *times, uint32_t process)
{
	const struct vt_step_process *steps = find(times, process);
	enum vt_steps_how how;
	const struct vt_buf *begins = steps ? choose(steps, &how) : NULL;

	if (!begins)
		return 0;
	/* Behind a range's end the next step is only expected. */
	return (uint32_t)count(begins) - (how == VT_STEPS_PROFILER || how == VT_STEPS_OPTIMIZER);
}

const char *vt_steps_how_text(enum vt_steps_how how)
{
	static const char *const texts[] = {
		[VT_STEPS_NONE] = "no steps were found",
		[VT_STEPS_PROFILER] = "by the ranges ProfilerStep#",
		[VT_STEPS_OPTIMIZER] = "by the ranges Optimizer.step#",
		[VT_STEPS_BACKWARD] = "by forward work that follows backward work",
		[VT_STEPS_PERIOD] = "by periods in the sequence of allocations",
	};

	return texts[how];
}

void vt_step_times_done(struct vt_step_times *times)
{
	for (uint32_t i = 0; i < times->process_map.count; i++) {
		vt_buf_done(&times->processes[i].profiler);
		vt_buf_done(&times->processes[i].optimizer);
		vt_buf_done(&times->processes[i].forward);
		vt_buf_done(&times->processes[i].period);
		vt_buf_done(&times->processes[i].log);
	}
	vt_idmap_done(&times->process_map);
	free(times->processes);
	*times = (struct vt_step_times){ .processes = NULL };
}
