/* keeper.c - see keeper.h. */
#include "capture/launch/keeper.h"

#include <stdio.h>
#include <time.h>

#define WAIT_FAILED_MS 100

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void fail(struct vt_keeper *keeper, const struct vt_err *err)
{
	vt_collector_free(keeper->collector);
	keeper->collector = NULL;
	keeper->failed_ns = now_ns();
	if (!keeper->told)
		(void)fprintf(stderr, "vramtrace %s: %s; the program runs on, recording is tried again\n",
			      keeper->command, err->msg);
	keeper->told = true;
}

int vt_keeper_start(struct vt_keeper *keeper, enum vt_store_mode mode, struct vt_err *err)
{
	return vt_collector_new(&keeper->collector, keeper->session, keeper->path, mode, err);
}

static void restart(struct vt_keeper *keeper)
{
	struct vt_err err;

	if (vt_keeper_start(keeper, VT_STORE_RESUME, &err) < 0)
		fail(keeper, &err);
}

static void pass_warning(const struct vt_keeper *keeper)
{
	const char *warning = vt_collector_take_warning(keeper->collector);

	if (warning)
		(void)fprintf(stderr, "vramtrace %s: %s\n", keeper->command, warning);
}

int vt_keeper_poll(struct vt_keeper *keeper)
{
	int wait_ms = WAIT_FAILED_MS;
	struct vt_err err;

	if (!keeper->collector && now_ns() - keeper->failed_ns >= VT_KEEPER_RETRY_NS)
		restart(keeper);
	if (!keeper->collector)
		return wait_ms;
	if (vt_collector_poll(keeper->collector, &wait_ms, &err) < 0) {
		fail(keeper, &err);
		return wait_ms;
	}
	pass_warning(keeper);
	return wait_ms;
}

uint32_t vt_keeper_running(const struct vt_keeper *keeper)
{
	return keeper->collector ? vt_collector_running(keeper->collector) : 0;
}

static int no_collector(const struct vt_keeper *keeper, struct vt_err *err)
{
	return vt_err_set(err, VT_E_IO, "%s: cannot be written at the moment; it is tried again", keeper->path);
}

int vt_keeper_pause(struct vt_keeper *keeper, bool paused, struct vt_err *err)
{
	int r;

	if (!keeper->collector)
		return no_collector(keeper, err);
	r = vt_collector_pause(keeper->collector, paused, err);
	if (r < 0)
		fail(keeper, err);
	return r;
}

int vt_keeper_flush(struct vt_keeper *keeper, struct vt_err *err)
{
	int r;

	if (!keeper->collector)
		return no_collector(keeper, err);
	r = vt_collector_flush(keeper->collector, err);
	if (r < 0)
		fail(keeper, err);
	return r;
}

int vt_keeper_fd(const struct vt_keeper *keeper)
{
	return keeper->collector ? vt_collector_fd(keeper->collector) : -1;
}

void vt_keeper_set_meta(struct vt_keeper *keeper, const char *key, const char *value)
{
	struct vt_err err;

	if (keeper->collector && vt_collector_set_meta(keeper->collector, key, value, &err) < 0)
		fail(keeper, &err);
}

bool vt_keeper_finish(struct vt_keeper *keeper)
{
	struct vt_err err;

	if (!keeper->collector)
		restart(keeper);
	if (!keeper->collector)
		return false;
	if (vt_collector_finish(keeper->collector, &err) < 0) {
		fail(keeper, &err);
		return false;
	}
	pass_warning(keeper);
	keeper->running = vt_collector_running(keeper->collector);
	vt_collector_free(keeper->collector);
	keeper->collector = NULL;
	return true;
}
