/*
 * cupti_interpose.c - CUPTI functions that we stand in for, so that the program's own profiler and we can share the one
 * subscription (cupti_broker.h).
 *
 * libtorch_cpu and others link libcupti dynamically, so that a preloaded library that defines these names is called
 * first; libcupti itself reaches its own functions without the symbol table. The real ones are found through the handle
 * of the mapped libcupti: RTLD_NEXT would miss a copy in a Python extension's private scope. The names carry no version
 * here (agent.map has none), which satisfies references to any.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/agent/activity_share.h"
#include "capture/agent/agent.h"
#include "capture/agent/cupti_broker.h"

/* Declares more than is defined here: cuptiGetVersion and cuptiGetResultString are nobody's business. */
#define FN(name, need, parameters) VT_EXPORT int32_t name parameters;
#include "capture/agent/cupti_functions.def"

/* Without capture, or with capture that must not touch CUPTI, a subscription is the program's own. */
static bool is_shared(void)
{
	const char *session = secure_getenv(VT_ENV_SESSION);
	const char *setting = secure_getenv(VT_ENV_CUPTI);

	return session && session[0] && !(setting && !strcmp(setting, "0"));
}

int32_t cuptiSubscribe(void **ret_subscriber, vt_cupti_callback *callback, void *user)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	if (!library)
		return VT_CUPTI_ERROR_NOT_INITIALIZED;
	if (!is_shared())
		return library->cuptiSubscribe(ret_subscriber, callback, user);
	return vt_broker_subscribe(library, ret_subscriber, callback, user);
}

int32_t cuptiSubscribe_v2(void **ret_subscriber, vt_cupti_callback *callback, void *user,
			  struct vt_cupti_subscriber_params *params)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	if (!library || !library->cuptiSubscribe_v2)
		return VT_CUPTI_ERROR_NOT_INITIALIZED;
	if (!is_shared())
		return library->cuptiSubscribe_v2(ret_subscriber, callback, user, params);
	return vt_broker_subscribe_v2(library, ret_subscriber, callback, user, params);
}

int32_t cuptiUnsubscribe(void *subscriber)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library ? vt_broker_unsubscribe(library, subscriber) : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library ? vt_broker_enable_callback(library, enable, subscriber, domain, cbid)
		       : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library ? vt_broker_enable_domain(library, enable, subscriber, domain) : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiEnableAllDomains(uint32_t enable, void *subscriber)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library ? vt_broker_enable_all(library, enable, subscriber) : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiGetCallbackState(uint32_t *ret_enabled, void *subscriber, uint32_t domain, uint32_t cbid)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library ? vt_broker_callback_state(library, ret_enabled, subscriber, domain, cbid)
		       : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiFinalize(void)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library ? vt_broker_finalize(library) : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

/* ---- activities: activity_share.h ---- */

int32_t cuptiActivityRegisterCallbacks(vt_cupti_buffer_request *request, vt_cupti_buffer_complete *complete)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library && library->cuptiActivityRegisterCallbacks
		       ? vt_activity_share_register(library, request, complete)
		       : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiActivityRegisterTimestampCallback(vt_cupti_clock *clock)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library && library->cuptiActivityRegisterTimestampCallback ? vt_activity_share_clock(library, clock)
									  : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiActivityEnable(uint32_t kind)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library && library->cuptiActivityEnable ? vt_activity_share_enable(library, kind)
						       : VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiActivityDisable(uint32_t kind)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library && library->cuptiActivityDisable ? vt_activity_share_disable(library, kind)
							: VT_CUPTI_ERROR_NOT_INITIALIZED;
}

int32_t cuptiActivityFlushAll(uint32_t flag)
{
	const struct vt_cupti_library *library = vt_cupti_library_mapped();

	return library && library->cuptiActivityFlushAll ? vt_activity_share_flush(library, flag)
							 : VT_CUPTI_ERROR_NOT_INITIALIZED;
}
