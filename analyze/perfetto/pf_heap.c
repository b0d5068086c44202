/* pf_heap.c - see pf_heap.h. */
#include "analyze/perfetto/pf_heap.h"

#include <stdlib.h>
#include <string.h>

#include "schema/base/cleanup.h"

/* A packet holds at most this many samples: a reader refuses very long ones. */
#define SAMPLES_PER_PACKET 4096

enum moment { NOW, AT_PEAK };

/* Fills a dump from the groups; groups that hold nothing are left out. */
static int fill_dump(struct vt_pf_heap_dump *dump, const struct vt_groups *groups, uint32_t device, uint64_t time_ns,
		     enum moment moment, struct vt_err *err)
{
	uint32_t count = vt_groups_count(groups);

	*dump = (struct vt_pf_heap_dump){ .device = device, .time_ns = time_ns };
	dump->values = calloc(count ? count : 1, sizeof(*dump->values));
	if (!dump->values)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for a heap profile of %u call stacks", count);
	for (uint32_t i = 0; i < count; i++) {
		struct vt_group group = vt_groups_get(groups, i);
		uint64_t bytes = moment == NOW ? group.live_bytes : group.peak_bytes;
		uint64_t blocks = moment == NOW ? group.live_blocks : group.peak_blocks;

		if (group.device == device && bytes)
			dump->values[dump->count++] = (struct vt_pf_heap_value){ i, bytes, blocks };
	}
	return 0;
}

int vt_pf_heaps_keep(struct vt_pf_heaps *heaps, const struct vt_groups *groups, uint32_t device, uint64_t time_ns,
		     struct vt_err *err)
{
	struct vt_pf_heap_dump dump;
	int r = fill_dump(&dump, groups, device, time_ns, NOW, err);

	if (r < 0)
		return r;
	if (vt_buf_append(&heaps->dumps, &dump, sizeof(dump)) == 0)
		return 0;
	free(dump.values);
	return vt_err_set(err, VT_E_NOMEM, "out of memory for a heap profile");
}

static size_t count_of(const struct vt_pf_heaps *heaps)
{
	return heaps->dumps.bytes / sizeof(struct vt_pf_heap_dump);
}

static struct vt_pf_heap_dump *dump_at(const struct vt_pf_heaps *heaps, size_t i)
{
	return (struct vt_pf_heap_dump *)(void *)heaps->dumps.data + i;
}

void vt_pf_heaps_done(struct vt_pf_heaps *heaps)
{
	for (size_t i = 0; i < count_of(heaps); i++)
		free(dump_at(heaps, i)->values);
	vt_buf_done(&heaps->dumps);
}

/* What a call stack held at the dump before, and what it has given back so far. */
struct stack_state {
	uint64_t bytes, blocks;		      /* of the dump under way */
	uint64_t live, live_blocks;	      /* of the dump before */
	uint64_t freed, freed_blocks;	      /* so far */
	uint64_t allocated, allocated_blocks; /* in the whole replay */
};

/* What the heap of one device is written with. Several groups may read as one call stack. */
struct heap_writer {
	struct vt_pf_sequence sequence;
	const struct vt_groups *groups;
	uint32_t process;
	uint32_t pid;
	char name[64];
	uint64_t index;
	uint64_t *stack_of;	    /* by group: its stack's iid; 0: of another device */
	struct stack_state *stacks; /* by iid - 1 */
	size_t count;
};

static void write_samples(struct heap_writer *writer, Pf__ProfilePacket__HeapSample **samples, size_t count,
			  uint64_t time_ns, bool continued)
{
	Pf__ProfilePacket__ProcessHeapSamples heap = PF__PROFILE_PACKET__PROCESS_HEAP_SAMPLES__INIT, *heaps = &heap;
	Pf__ProfilePacket profile = PF__PROFILE_PACKET__INIT;
	Pf__TracePacket packet = PF__TRACE_PACKET__INIT;

	heap.has_pid = heap.has_from_startup = heap.from_startup = 1;
	heap.pid = writer->pid;
	heap.has_timestamp = 1;
	heap.timestamp = time_ns;
	heap.heap_name = writer->name;
	heap.has_sampling_interval_bytes = 1;
	heap.sampling_interval_bytes = 1;
	heap.n_samples = count;
	heap.samples = samples;
	profile.n_process_dumps = 1;
	profile.process_dumps = &heaps;
	profile.has_continued = profile.continued = continued;
	profile.has_index = 1;
	profile.index = writer->index++;
	packet.profile_packet = &profile;
	vt_pf_write(&writer->sequence, &packet, time_ns);
}

/* Totals that rise from dump to dump and leave exactly the live bytes. */
static void fill_sample(struct stack_state *stack, uint64_t iid, bool is_last, Pf__ProfilePacket__HeapSample *sample)
{
	if (stack->bytes < stack->live)
		stack->freed += stack->live - stack->bytes;
	if (stack->blocks < stack->live_blocks)
		stack->freed_blocks += stack->live_blocks - stack->blocks;
	stack->live = stack->bytes;
	stack->live_blocks = stack->blocks;
	if (is_last && stack->allocated - stack->bytes > stack->freed &&
	    stack->allocated_blocks - stack->blocks >= stack->freed_blocks) {
		stack->freed = stack->allocated - stack->bytes;
		stack->freed_blocks = stack->allocated_blocks - stack->blocks;
	}
	pf__profile_packet__heap_sample__init(sample);
	sample->has_callstack_id = sample->has_self_allocated = sample->has_self_freed = 1;
	sample->has_alloc_count = sample->has_free_count = 1;
	sample->callstack_id = iid;
	sample->self_allocated = stack->freed + stack->bytes;
	sample->self_freed = stack->freed;
	sample->alloc_count = stack->freed_blocks + stack->blocks;
	sample->free_count = stack->freed_blocks;
}

/* Every stack of the device that ever held anything is in each dump: what is not named keeps its old value. */
static int write_dump(struct heap_writer *writer, const struct vt_pf_heap_dump *dump, bool is_last, struct vt_err *err)
{
	VT_CLEANUP(vt_freep) Pf__ProfilePacket__HeapSample *samples = calloc(SAMPLES_PER_PACKET, sizeof(*samples));
	VT_CLEANUP(vt_freep) Pf__ProfilePacket__HeapSample **list = calloc(SAMPLES_PER_PACKET, sizeof(*list));
	size_t n = 0;

	if (!samples || !list) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): VT_CLEANUP frees both */
		return vt_err_set(err, VT_E_NOMEM, "out of memory for a heap profile");
	for (size_t i = 0; i < writer->count; i++)
		writer->stacks[i].bytes = writer->stacks[i].blocks = 0;
	for (size_t i = 0; i < dump->count; i++) {
		struct stack_state *stack = &writer->stacks[writer->stack_of[dump->values[i].group] - 1];

		stack->bytes += dump->values[i].bytes;
		stack->blocks += dump->values[i].blocks;
	}
	for (size_t i = 0; i < writer->count; i++) {
		list[n] = &samples[n];
		fill_sample(&writer->stacks[i], i + 1, is_last, &samples[n]);
		if (++n == SAMPLES_PER_PACKET) {
			write_samples(writer, list, n, dump->time_ns, true);
			n = 0;
		}
	}
	write_samples(writer, list, n, dump->time_ns, false);
	return 0;
}

/* Gives each group of the device its call stack, and sums up over the groups of one. */
static int collect_stacks(struct heap_writer *writer, uint32_t device, struct vt_err *err)
{
	uint32_t count = vt_groups_count(writer->groups);

	writer->stack_of = calloc((size_t)count + 1, sizeof(*writer->stack_of));
	writer->stacks = calloc((size_t)count + 1, sizeof(*writer->stacks));
	if (!writer->stack_of || !writer->stacks)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for a heap profile of %u call stacks", count);
	for (uint32_t i = 0; i < count; i++) {
		struct vt_group group = vt_groups_get(writer->groups, i);
		uint64_t iid;

		if (group.device != device)
			continue;
		iid = vt_pf_callstack(&writer->sequence, writer->process, group.op, group.stack);
		writer->stack_of[i] = iid ? iid : vt_pf_callstack_none(&writer->sequence);
		writer->stacks[writer->stack_of[i] - 1].allocated += group.allocated_bytes;
		writer->stacks[writer->stack_of[i] - 1].allocated_blocks += group.allocs;
	}
	writer->count = writer->sequence.next_callstack;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct vt_pf_heap_dump *x = *(const struct vt_pf_heap_dump *const *)a;
	const struct vt_pf_heap_dump *y = *(const struct vt_pf_heap_dump *const *)b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int write_dumps(struct heap_writer *writer, struct vt_pf_heaps *heaps, uint32_t device,
		       struct vt_pf_heap_dump *peak, struct vt_pf_heap_dump *end, struct vt_err *err)
{
	struct vt_pf_heap_dump **list = calloc(count_of(heaps) + 2, sizeof(struct vt_pf_heap_dump *));
	size_t n = 0;
	int r = 0;

	if (!list)
		return vt_err_set(err, VT_E_NOMEM, "out of memory for heap profiles");
	if (peak->time_ns >= heaps->from_ns)
		list[n++] = peak;
	for (size_t i = 0; i < count_of(heaps); i++)
		if (dump_at(heaps, i)->device == device)
			list[n++] = dump_at(heaps, i);
	list[n++] = end;
	qsort(list, n, sizeof(struct vt_pf_heap_dump *), by_time);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (i && list[i]->time_ns <= list[i - 1]->time_ns)
			list[i]->time_ns = list[i - 1]->time_ns + 1;
		r = write_dump(writer, list[i], i == n - 1, err);
	}
	free(list);
	return r;
}

static int write_device(struct vt_pf_heaps *heaps, struct heap_writer *writer, const struct vt_replay *replay,
			uint32_t device, struct vt_err *err)
{
	const struct vt_device *state = vt_replay_device(replay, device);
	struct vt_pf_heap_dump peak = { 0 };
	struct vt_pf_heap_dump end = { 0 };
	int r = collect_stacks(writer, device, err);

	if (r == 0)
		r = fill_dump(&peak, writer->groups, device, state->peak_allocated_ns + 1 + device, AT_PEAK, err);
	if (r == 0)
		r = fill_dump(&end, writer->groups, device, vt_replay_last_ns(replay) + 1 + device, NOW, err);
	if (r == 0)
		r = write_dumps(writer, heaps, device, &peak, &end, err);
	free(peak.values);
	free(end.values);
	free(writer->stack_of);
	free(writer->stacks);
	return r;
}

int vt_pf_heaps_write(struct vt_pf_heaps *heaps, const struct vt_groups *groups, const struct vt_replay *replay,
		      const struct vt_pf_tracks *tracks, const struct vt_pf_clocks *clocks, struct vt_err *err)
{
	int r = 0;

	for (uint32_t device = 0; device < vt_replay_device_count(replay) && r == 0; device++) {
		const struct vt_device *state = vt_replay_device(replay, device);
		struct heap_writer writer = { .groups = groups,
					      .process = state->process,
					      .pid = vt_pf_tracks_pid(tracks, state->process) };

		if (!state->allocs)
			continue;
		if (state->device_type == VT_device_type_HOST)
			(void)snprintf(writer.name, sizeof(writer.name), "cpu");
		else
			(void)snprintf(writer.name, sizeof(writer.name), "cuda.gpu%d", state->device);
		vt_pf_sequence_begin(&writer.sequence, tracks->sequence->output, tracks->sequence->symbols, clocks, 0);
		r = write_device(heaps, &writer, replay, device, err);
		vt_pf_sequence_done(&writer.sequence);
	}
	return r;
}
