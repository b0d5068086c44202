/*
 * activity_share.c - see activity_share.h.
 *
 * Lock order: `lock` is never held while the program's own buffer callbacks can run, for those may wait for a lock that
 * the program's profiler holds while it calls us. With the lock held CUPTI calls no callbacks but ours.
 */
#include "capture/agent/activity_share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "capture/agent/activity.h"
#include "capture/agent/agent.h"

/* Kinds are numbered up to about 60. */
#define KINDS_MAX 128u

static struct {
	pthread_mutex_t lock;
	const struct vt_cupti_library *library; /* set when we take part; constant from then on */
	bool ours;				/* we have the API */
	vt_cupti_buffer_request *request;	/* the program's last registration; NULL: none */
	vt_cupti_buffer_complete *complete;
	vt_cupti_clock *clock;
	_Atomic uint64_t enabled[KINDS_MAX / 64]; /* kinds that the program has enabled */
	_Atomic uint64_t last_call_ns;		  /* of the program */
} share = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t realtime_clock(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static void note(enum vt_note_code code, uint64_t value, const char *text)
{
	struct vt_thread *thread = vt_agent_enter_paused();

	if (!thread)
		return;
	vt_agent_note(thread, code, value, text);
	vt_agent_leave(thread);
}

static void touch(void)
{
	atomic_store_explicit(&share.last_call_ns, clock_ns(CLOCK_MONOTONIC), memory_order_relaxed);
}

static bool has_enabled(void)
{
	for (unsigned i = 0; i < VT_ARRAY_SIZE(share.enabled); i++)
		if (atomic_load_explicit(&share.enabled[i], memory_order_relaxed))
			return true;
	return false;
}

bool vt_activity_share_begin(const struct vt_cupti_library *library, const char **ret_step, int32_t *ret_result)
{
	bool ok = true;

	(void)pthread_mutex_lock(&share.lock);
	share.library = library;
	/* A profiler that was there first keeps its turn. */
	if (!share.request) {
		ok = vt_activity_start(library, ret_step, ret_result);
		share.ours = ok;
	}
	(void)pthread_mutex_unlock(&share.lock);
	return ok;
}

/* Called with the lock: the program gets the API, its clock with it. true if we had it. */
static bool give_way(void)
{
	if (!share.ours)
		return false;
	/* By force: what stayed in our buffers would be handed to the program's callbacks. */
	vt_activity_stop(true);
	share.ours = false;
	if (share.clock && share.library->cuptiActivityRegisterTimestampCallback)
		(void)share.library->cuptiActivityRegisterTimestampCallback(share.clock);
	return true;
}

static void note_way(bool gave_way)
{
	if (gave_way)
		note(VT_note_code_GAP_BEGIN, 0,
		     "the program's own profiler uses CUPTI: kernels and copies are not recorded");
}

void vt_activity_share_tick(void)
{
	const char *step = "";
	int32_t result = 0;
	bool back = false;

	if (has_enabled() ||
	    clock_ns(CLOCK_MONOTONIC) - atomic_load_explicit(&share.last_call_ns, memory_order_relaxed) <
		    VT_ACTIVITY_QUIET_MS * UINT64_C(1000000))
		return;
	/* What the program's profiler left in its buffers goes to it. */
	(void)share.library->cuptiActivityFlushAll(VT_CUPTI_FLUSH_FORCED);
	(void)pthread_mutex_lock(&share.lock);
	if (!share.ours && !has_enabled()) {
		if (share.clock && share.library->cuptiActivityRegisterTimestampCallback)
			(void)share.library->cuptiActivityRegisterTimestampCallback(realtime_clock);
		back = vt_activity_start(share.library, &step, &result);
		share.ours = back;
	}
	(void)pthread_mutex_unlock(&share.lock);
	if (back)
		note(VT_note_code_GAP_END, 0, "the program's own profiler has ended");
	else
		touch(); /* try again after another quiet time */
}

int32_t vt_activity_share_register(const struct vt_cupti_library *library, vt_cupti_buffer_request *request,
				   vt_cupti_buffer_complete *complete)
{
	bool gave_way;
	int32_t result;

	touch();
	(void)pthread_mutex_lock(&share.lock);
	gave_way = give_way();
	share.request = request;
	share.complete = complete;
	result = library->cuptiActivityRegisterCallbacks(request, complete);
	(void)pthread_mutex_unlock(&share.lock);
	note_way(gave_way);
	return result;
}

int32_t vt_activity_share_clock(const struct vt_cupti_library *library, vt_cupti_clock *clock)
{
	int32_t result = VT_CUPTI_SUCCESS;

	(void)pthread_mutex_lock(&share.lock);
	share.clock = clock;
	/* While we have the API ours is in force; the program's comes with its turn. */
	if (!share.ours)
		result = library->cuptiActivityRegisterTimestampCallback(clock);
	(void)pthread_mutex_unlock(&share.lock);
	return result;
}

int32_t vt_activity_share_enable(const struct vt_cupti_library *library, uint32_t kind)
{
	bool gave_way;
	int32_t result;

	touch();
	(void)pthread_mutex_lock(&share.lock);
	gave_way = give_way();
	if (gave_way && share.request)
		(void)library->cuptiActivityRegisterCallbacks(share.request, share.complete);
	result = library->cuptiActivityEnable(kind);
	if (result == VT_CUPTI_SUCCESS && kind < KINDS_MAX)
		atomic_fetch_or_explicit(&share.enabled[kind / 64], UINT64_C(1) << (kind % 64), memory_order_relaxed);
	(void)pthread_mutex_unlock(&share.lock);
	note_way(gave_way);
	return result;
}

int32_t vt_activity_share_disable(const struct vt_cupti_library *library, uint32_t kind)
{
	int32_t result = VT_CUPTI_SUCCESS;

	touch();
	(void)pthread_mutex_lock(&share.lock);
	/* A kind that we have on for ourselves stays on: the program's is off already. */
	if (!share.ours)
		result = library->cuptiActivityDisable(kind);
	if (kind < KINDS_MAX)
		atomic_fetch_and_explicit(&share.enabled[kind / 64], ~(UINT64_C(1) << (kind % 64)),
					  memory_order_relaxed);
	(void)pthread_mutex_unlock(&share.lock);
	return result;
}

int32_t vt_activity_share_flush(const struct vt_cupti_library *library, uint32_t flag)
{
	touch();
	return library->cuptiActivityFlushAll(flag);
}
