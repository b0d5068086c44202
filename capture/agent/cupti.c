/*
 * cupti.c - switches the driver-level capture on and off. How the subscription is shared with the program's own
 * profiler: cupti_broker.h. Documented in agent.h.
 *
 * Memory calls and launches come from CUPTI's callbacks of the driver domain alone: the CUDA runtime, libraries with a
 * runtime of their own and direct users of the driver all come by there, once per call. The device's own times of
 * kernels and copies come from its activity API.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/agent/activity.h"
#include "capture/agent/activity_share.h"
#include "capture/agent/agent.h"
#include "capture/agent/config.h"
#include "capture/agent/cuda_driver.h"
#include "capture/agent/cupti_broker.h"
#include "capture/agent/cupti_work.h"
#include "capture/agent/native.h"

/* Once per process: cuInit runs once, but a program may call our entry itself. */
static _Atomic bool attached;

static const char *result_text(const struct vt_cupti_library *library, int32_t result)
{
	const char *text = NULL;

	if (library->cuptiGetResultString(result, &text) != VT_CUPTI_SUCCESS || !text)
		return "unknown CUPTI result";
	return text;
}

static void unused_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
}

/* Who holds the subscription that we were refused: the newer call tells. */
static void ask_holder(const struct vt_cupti_library *library, char *ret_name, size_t bytes)
{
	struct vt_cupti_subscriber_params params = {
		.struct_bytes = sizeof(params), .name = "vramtrace", .old_name = ret_name, .old_name_bytes = bytes
	};
	void *subscriber = NULL;

	ret_name[0] = '\0';
	if (!library->cuptiSubscribe_v2)
		return;
	if (library->cuptiSubscribe_v2(&subscriber, unused_callback, NULL, &params) == VT_CUPTI_SUCCESS)
		(void)library->cuptiUnsubscribe(subscriber);
	ret_name[bytes - 1] = '\0';
}

static void note_refusal(struct vt_thread *thread, const struct vt_cupti_library *library, int32_t result)
{
	char holder[2 * VT_CUPTI_OLD_NAME_BYTES];
	char text[1280];

	holder[0] = '\0';
	if (result == VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS)
		ask_holder(library, holder, sizeof(holder));
	(void)snprintf(text, sizeof(text), "%s: %s%s%s", library->path, result_text(library, result),
		       holder[0] ? ", held by " : "", holder);
	vt_agent_note(thread, VT_note_code_CUPTI_OFF, (uint64_t)(uint32_t)result, text);
}

static void note_success(struct vt_thread *thread, const struct vt_cupti_library *library, unsigned refused)
{
	uint32_t version = 0;
	char text[1152];

	if (library->cuptiGetVersion(&version) != VT_CUPTI_SUCCESS)
		version = 0;
	if (refused)
		(void)snprintf(text, sizeof(text), "%s (%u of the watched calls are not known to it)", library->path,
			       refused);
	else
		(void)snprintf(text, sizeof(text), "%s", library->path);
	vt_agent_note(thread, VT_note_code_CUPTI_ON, version, text);
}

/* Kernels, copies and launches: before the subscription, so that it watches the launch calls too. */
static void attach_kernels(struct vt_thread *thread, const struct vt_cupti_library *library)
{
	const char *step = "preparing the launch scan";
	int32_t result = 0;
	char text[1280];

	if (vt_work_start() && vt_activity_share_begin(library, &step, &result)) {
		/* Handlers run in reverse order: this one before those of libcupti and libcuda, which are loaded by now. */
		(void)atexit(vt_activity_end);
		vt_agent_note(thread, VT_note_code_KERNELS_ON, 0, NULL);
		return;
	}
	(void)snprintf(text, sizeof(text), "%s: %s", step, result ? result_text(library, result) : "not possible");
	vt_agent_note(thread, VT_note_code_KERNELS_OFF, (uint64_t)(uint32_t)result, text);
}

void vt_cupti_attach(struct vt_thread *thread)
{
	const char *setting = secure_getenv(VT_ENV_CUPTI);
	const struct vt_cupti_library *library;
	char why[1024] = "libcupti was not found";
	unsigned refused;
	int32_t result;

	if (atomic_exchange_explicit(&attached, true, memory_order_relaxed))
		return;
	if (setting && !strcmp(setting, "0")) {
		vt_agent_note(thread, VT_note_code_CUPTI_OFF, 0, VT_ENV_CUPTI "=0");
		return;
	}
	/* Now, so that no callback has to take the loader's lock. */
	(void)vt_driver_get();
	library = vt_cupti_library_load(setting && setting[0] ? setting : NULL, why, sizeof(why));
	if (!library) {
		vt_agent_note(thread, VT_note_code_CUPTI_OFF, 0, why);
		return;
	}
	vt_native_attach(thread);
	if (vt_config.kernels)
		attach_kernels(thread, library);
	result = vt_broker_join(library, &refused);
	if (result == VT_CUPTI_SUCCESS)
		note_success(thread, library, refused);
	else
		note_refusal(thread, library, result);
}

void vt_cupti_detach(void)
{
	vt_broker_leave();
}
