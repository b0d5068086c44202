/* activity.c - see activity.h. */
#include "capture/agent/activity.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/agent/activity_buffers.h"
#include "capture/agent/activity_records.h"
#include "capture/agent/activity_share.h"
#include "capture/agent/agent.h"
#include "capture/agent/intern.h"

static const uint32_t kinds[] = { VT_ACTIVITY_CONCURRENT_KERNEL, VT_ACTIVITY_MEMCPY, VT_ACTIVITY_MEMCPY_PEER,
				  VT_ACTIVITY_MEMSET };

/* The part's state: one per process, as CUPTI's callbacks carry no argument. `library` is constant once set. */
static struct {
	const struct vt_cupti_library *library;
	uint32_t version; /* cuptiGetVersion */
	struct vt_activity_buffers buffers;
	_Atomic bool on;
	_Atomic bool ended;
	bool has_thread;
	pid_t pid; /* in a forked child, whose CUDA is void, nothing of this may be touched */
} activity;

/* CUPTI's clock to CLOCK_MONOTONIC: add `offset`. */
struct clock_pair {
	uint64_t offset_ns;
	uint64_t now_ns;
};

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The tightest of a few tries: what lies between the two readings is the error. */
static struct clock_pair clock_pair_now(void)
{
	struct clock_pair best = { 0 };
	uint64_t best_gap = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t theirs = 0;
		uint64_t before = monotonic_ns();
		int result = activity.library->cuptiGetTimestamp(&theirs);
		uint64_t after = monotonic_ns();

		if (result == 0 && after - before < best_gap) {
			best_gap = after - before;
			best.offset_ns = before + best_gap / 2 - theirs;
			best.now_ns = after;
		}
	}
	return best;
}

/*
 * Start and end in CLOCK_MONOTONIC. false where CUPTI gave none, or where they are not of its usual clock (another tool's
 * timestamp callback may be in force): then they lie in the future, or more than a day ago.
 */
static bool times_of(const void *record, size_t start_offset, const struct clock_pair *clock, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	uint64_t start = vt_record_u64(record, start_offset);
	uint64_t end = vt_record_u64(record, start_offset + 8);

	if (start == 0 || end < start)
		return false;
	start += clock->offset_ns;
	end += clock->offset_ns;
	if (end > clock->now_ns + UINT64_C(1000000000) || clock->now_ns - start > UINT64_C(86400000000000))
		return false;
	*ret_start = start;
	*ret_end = end;
	return true;
}

static uint32_t config_of(struct vt_thread *thread, const void *record)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): CUPTI's record holds a pointer there */
	const char *name = (const char *)(uintptr_t)vt_record_u64(record, VT_KERNEL_NAME);
	struct vt_kernel_config config = { 0 };

	if (name)
		config.name = vt_intern_string(thread, name, (uint32_t)strnlen(name, VT_STRING_BYTES_MAX));
	config.local_total_bytes = vt_record_u64(record, VT_KERNEL_LOCAL_TOTAL);
	config.grid_x = vt_record_u32(record, VT_KERNEL_GRID);
	config.grid_y = vt_record_u32(record, VT_KERNEL_GRID + 4);
	config.grid_z = vt_record_u32(record, VT_KERNEL_GRID + 8);
	config.block_x = vt_record_u32(record, VT_KERNEL_BLOCK);
	config.block_y = vt_record_u32(record, VT_KERNEL_BLOCK + 4);
	config.block_z = vt_record_u32(record, VT_KERNEL_BLOCK + 8);
	config.cluster_x = vt_record_u32(record, VT_KERNEL_CLUSTER);
	config.cluster_y = vt_record_u32(record, VT_KERNEL_CLUSTER + 4);
	config.cluster_z = vt_record_u32(record, VT_KERNEL_CLUSTER + 8);
	config.registers = vt_record_u16(record, VT_KERNEL_REGISTERS);
	config.static_shared_bytes = vt_record_u32(record, VT_KERNEL_STATIC_SHARED);
	config.dynamic_shared_bytes = vt_record_u32(record, VT_KERNEL_DYNAMIC_SHARED);
	config.local_bytes = vt_record_u32(record, VT_KERNEL_LOCAL);
	return vt_intern_kernel_config(thread, &config);
}

static void put_kernel(struct vt_thread *thread, const void *in, const struct clock_pair *clock)
{
	uint32_t config = config_of(thread, in);
	struct vt_kernel *out;
	uint64_t start;
	uint64_t end;

	if (!times_of(in, VT_KERNEL_START, clock, &start, &end)) {
		vt_ring_lose(thread->writer.ring, VT_loss_CLOCK);
		return;
	}
	out = vt_ring_reserve(&thread->writer, VT_EVENT_kernel, sizeof(*out));
	if (!out)
		return;
	out->end_ns = end;
	out->start_ns = start;
	out->graph_node = vt_record_u64(in, VT_KERNEL_GRAPH_NODE);
	out->correlation = vt_record_u32(in, VT_KERNEL_CORRELATION);
	out->config = config;
	out->context = vt_record_u32(in, VT_KERNEL_CONTEXT);
	out->stream = vt_record_u32(in, VT_KERNEL_STREAM);
	out->graph = vt_record_u32(in, VT_KERNEL_GRAPH);
	out->device = (int16_t)vt_record_u32(in, VT_KERNEL_DEVICE);
	out->flags = activity.version >= VT_CUPTI_VERSION_KERNEL10 && vt_record_u8(in, VT_KERNEL_DEVICE_LAUNCHED);
	vt_ring_commit(&thread->writer, sizeof(*out));
}

/* What memory copies, peer copies and memory sets have at one place. */
static struct vt_copy *reserve_copy(struct vt_thread *thread, const void *in, const struct clock_pair *clock)
{
	struct vt_copy *out;
	uint64_t start;
	uint64_t end;

	if (!times_of(in, VT_MEMCPY_START, clock, &start, &end)) {
		vt_ring_lose(thread->writer.ring, VT_loss_CLOCK);
		return NULL;
	}
	out = vt_ring_reserve(&thread->writer, VT_EVENT_copy, sizeof(*out));
	if (!out)
		return NULL;
	memset(&out->end_ns, 0, sizeof(*out) - sizeof(out->rec));
	out->end_ns = end;
	out->start_ns = start;
	out->size_bytes = vt_record_u64(in, VT_MEMCPY_BYTES);
	out->device = (int16_t)vt_record_u32(in, VT_MEMCPY_DEVICE);
	out->context = vt_record_u32(in, VT_MEMCPY_CONTEXT);
	out->stream = vt_record_u32(in, VT_MEMCPY_STREAM);
	out->correlation = vt_record_u32(in, VT_MEMCPY_CORRELATION);
	out->peer = -1;
	return out;
}
_Static_assert((int)VT_MEMCPY_BYTES == VT_MEMSET_BYTES && (int)VT_MEMCPY_START == VT_MEMSET_START &&
		       (int)VT_MEMCPY_DEVICE == VT_MEMSET_DEVICE && (int)VT_MEMCPY_STREAM == VT_MEMSET_STREAM &&
		       (int)VT_MEMCPY_CORRELATION == VT_MEMSET_CORRELATION &&
		       (int)VT_MEMCPY_GRAPH_NODE == VT_MEMSET_GRAPH_NODE,
	       "reserve_copy reads copies and sets alike");

static void put_copy(struct vt_thread *thread, uint32_t kind, const void *in, const struct clock_pair *clock)
{
	struct vt_copy *out = reserve_copy(thread, in, clock);

	if (!out)
		return;
	if (kind == VT_ACTIVITY_MEMSET) {
		out->kind = VT_copy_kind_MEMSET;
		out->value = vt_record_u32(in, VT_MEMSET_VALUE);
		out->flags = vt_record_u16(in, VT_MEMSET_FLAGS) & 1;
		out->target = vt_record_u16(in, VT_MEMSET_MEMORY_KIND);
	} else {
		out->kind = vt_record_u8(in, VT_MEMCPY_KIND);
		out->source = vt_record_u8(in, VT_MEMCPY_SOURCE);
		out->target = vt_record_u8(in, VT_MEMCPY_TARGET);
		out->flags = vt_record_u8(in, VT_MEMCPY_FLAGS) & 1;
	}
	if (kind == VT_ACTIVITY_MEMCPY_PEER) {
		out->device = (int16_t)vt_record_u32(in, VT_MEMCPY_PEER_SOURCE);
		out->peer = (int16_t)vt_record_u32(in, VT_MEMCPY_PEER_TARGET);
		out->correlation = vt_record_u32(in, VT_MEMCPY_PEER_CORRELATION);
	} else {
		out->graph_node = vt_record_u64(in, VT_MEMCPY_GRAPH_NODE);
		out->graph = vt_record_u32(in, VT_MEMCPY_GRAPH);
	}
	vt_ring_commit(&thread->writer, sizeof(*out));
}

static void put_records(struct vt_thread *thread, uint8_t *buffer, size_t valid_bytes)
{
	struct clock_pair clock = clock_pair_now();
	void *record = NULL;
	size_t dropped = 0;

	while (activity.library->cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == 0 && record) {
		uint32_t kind = vt_record_u32(record, 0);

		if (kind == VT_ACTIVITY_CONCURRENT_KERNEL)
			put_kernel(thread, record, &clock);
		else if (kind == VT_ACTIVITY_MEMCPY || kind == VT_ACTIVITY_MEMSET || kind == VT_ACTIVITY_MEMCPY_PEER)
			put_copy(thread, kind, record, &clock);
	}
	if (activity.library->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == 0)
		for (; dropped; dropped--)
			vt_ring_lose(thread->writer.ring, VT_loss_CUPTI_DROPPED);
}

/*
 * A discarded buffer may be in use by several of CUPTI's threads at once, so it is not read: the loss is its bytes in
 * kernel records, rounded up.
 */
static void lose_records(struct vt_thread *thread, size_t bytes)
{
	for (size_t lost = 0; lost < bytes; lost += VT_KERNEL_RECORD_BYTES)
		vt_ring_lose(thread->writer.ring, VT_loss_CUPTI_DROPPED);
}

static void request_buffer(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max_records)
{
	*ret_buffer = vt_activity_buffer_take(&activity.buffers);
	*ret_bytes = VT_ACTIVITY_BUFFER_BYTES;
	*ret_max_records = 0;
}

static void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
	struct vt_thread *thread;

	(void)context;
	(void)stream;
	(void)bytes;
	if (valid_bytes) {
		thread = vt_agent_enter();
		if (thread && vt_activity_buffer_is_kept(&activity.buffers, buffer))
			put_records(thread, buffer, valid_bytes);
		else if (thread)
			lose_records(thread, valid_bytes);
		if (thread)
			vt_agent_leave(thread);
	}
	vt_activity_buffer_give_back(&activity.buffers, buffer);
}

static void *flush_main(void *arg)
{
	const struct timespec pause = { .tv_nsec = VT_ACTIVITY_FLUSH_MS * 1000000L };

	while (!atomic_load_explicit(&activity.ended, memory_order_acquire)) {
		(void)nanosleep(&pause, NULL);
		if (atomic_load_explicit(&activity.on, memory_order_acquire))
			(void)activity.library->cuptiActivityFlushAll(0);
		else if (!atomic_load_explicit(&activity.ended, memory_order_acquire))
			vt_activity_share_tick();
	}
	return arg;
}

/* A detached thread that takes none of the program's signals. */
static bool start_flush_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all;
	sigset_t old;
	int result;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	result = pthread_create(&thread, &attributes, flush_main, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attributes);
	if (result == 0)
		(void)pthread_setname_np(thread, "vramtrace");
	return result == 0;
}

static void disable_kinds(uint32_t count)
{
	while (count)
		(void)activity.library->cuptiActivityDisable(kinds[--count]);
}

static bool has_functions(const struct vt_cupti_library *library)
{
	return library->cuptiGetTimestamp && library->cuptiActivityRegisterCallbacks && library->cuptiActivityEnable &&
	       library->cuptiActivityDisable && library->cuptiActivityFlushAll && library->cuptiActivityGetNextRecord &&
	       library->cuptiActivityGetNumDroppedRecords;
}

static bool enable_kinds(const char **ret_step, int32_t *ret_result)
{
	*ret_step = "cuptiActivityRegisterCallbacks";
	*ret_result = activity.library->cuptiActivityRegisterCallbacks(request_buffer, complete_buffer);
	if (*ret_result != VT_CUPTI_SUCCESS)
		return false;
	*ret_step = "cuptiActivityEnable";
	for (uint32_t i = 0; i < VT_ARRAY_SIZE(kinds); i++) {
		*ret_result = activity.library->cuptiActivityEnable(kinds[i]);
		if (*ret_result != VT_CUPTI_SUCCESS) {
			disable_kinds(i);
			return false;
		}
	}
	return true;
}

bool vt_activity_start(const struct vt_cupti_library *library, const char **ret_step, int32_t *ret_result)
{
	activity.library = library;
	*ret_result = 0;
	*ret_step = "the activity functions of this libcupti";
	if (!has_functions(library) || library->cuptiGetVersion(&activity.version) != VT_CUPTI_SUCCESS ||
	    activity.version < VT_CUPTI_VERSION_OLDEST)
		return false;
	*ret_step = "reserving activity buffers";
	if (!vt_activity_buffers_init(&activity.buffers))
		return false;
	*ret_step = "starting the flush thread";
	if (!activity.has_thread && !start_flush_thread())
		return false;
	activity.has_thread = true;
	activity.pid = getpid();
	if (!enable_kinds(ret_step, ret_result))
		return false;
	atomic_store_explicit(&activity.on, true, memory_order_release);
	return true;
}

void vt_activity_stop(bool force)
{
	if (!atomic_exchange_explicit(&activity.on, false, memory_order_acq_rel))
		return;
	disable_kinds(VT_ARRAY_SIZE(kinds));
	(void)activity.library->cuptiActivityFlushAll(force ? VT_CUPTI_FLUSH_FORCED : 0);
}

void vt_activity_end(void)
{
	if (!activity.has_thread || activity.pid != getpid())
		return;
	atomic_store_explicit(&activity.ended, true, memory_order_release);
	vt_activity_stop(true);
}
