/* fake_cupti.c - see fake_cupti.h. One subscriber, as the real one up to CUDA 13.2. */
#include "tests/fake/fake_cupti.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define FAKE_EXPORT __attribute__((visibility("default")))
#define FN(name, need, parameters) FAKE_EXPORT int32_t name parameters;
#include "capture/agent/cupti_functions.def"

/* The levers are written by one thread at a time; the callbacks' threads read what is atomic. */
static struct fake_cupti fake;
static _Atomic(vt_cupti_callback *) callback;
static void *_Atomic user;
static _Atomic bool enabled[VT_CUPTI_DOMAINS][FAKE_CUPTI_CBIDS];
static _Atomic uint32_t correlations;
static char the_subscriber;

FAKE_EXPORT struct fake_cupti *fake_cupti(void);
FAKE_EXPORT struct fake_cupti *fake_cupti(void)
{
	fake.callback = atomic_load(&callback);
	fake.user = atomic_load(&user);
	for (int domain = 0; domain < VT_CUPTI_DOMAINS; domain++)
		for (int cbid = 0; cbid < FAKE_CUPTI_CBIDS; cbid++)
			fake.enabled[domain][cbid] = atomic_load(&enabled[domain][cbid]);
	return &fake;
}

static bool is_valid(const void *subscriber)
{
	return subscriber == &the_subscriber && atomic_load(&callback);
}

int32_t cuptiGetVersion(uint32_t *ret_version)
{
	*ret_version = 130001;
	return VT_CUPTI_SUCCESS;
}

int32_t cuptiGetResultString(int32_t result, const char **ret_text)
{
	*ret_text = result == VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS ? "FAKE_MULTIPLE_SUBSCRIBERS" : "FAKE_ERROR";
	return VT_CUPTI_SUCCESS;
}

int32_t cuptiSubscribe(void **ret_subscriber, vt_cupti_callback *function, void *argument)
{
	fake.subscribes++;
	if (fake.subscribe_result != VT_CUPTI_SUCCESS)
		return fake.subscribe_result;
	if (atomic_load(&callback))
		return VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS;
	atomic_store(&user, argument);
	atomic_store(&callback, function);
	*ret_subscriber = &the_subscriber;
	return VT_CUPTI_SUCCESS;
}

int32_t cuptiSubscribe_v2(void **ret_subscriber, vt_cupti_callback *function, void *argument,
			  struct vt_cupti_subscriber_params *params)
{
	int32_t result = fake.refuse_v2 ? VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS
					: cuptiSubscribe(ret_subscriber, function, argument);

	fake.params_bytes = params ? params->struct_bytes : 0;
	if (result != VT_CUPTI_SUCCESS && params && params->old_name && fake.holder)
		(void)snprintf(params->old_name, params->old_name_bytes, "%s", fake.holder);
	return result;
}

int32_t cuptiUnsubscribe(void *subscriber)
{
	if (!is_valid(subscriber))
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	fake.unsubscribes++;
	atomic_store(&callback, NULL);
	for (int domain = 0; domain < VT_CUPTI_DOMAINS; domain++)
		for (int cbid = 0; cbid < FAKE_CUPTI_CBIDS; cbid++)
			atomic_store(&enabled[domain][cbid], false);
	return VT_CUPTI_SUCCESS;
}

int32_t cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if (!is_valid(subscriber) || fake.refuse_all || domain == 0 || domain >= VT_CUPTI_DOMAINS ||
	    cbid >= FAKE_CUPTI_CBIDS)
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	if (domain == VT_CUPTI_DOMAIN_DRIVER_API && fake.unknown_from && cbid >= fake.unknown_from)
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	atomic_store(&enabled[domain][cbid], enable != 0);
	return VT_CUPTI_SUCCESS;
}

/* Has the fault of CUPTI 12.6 update 1: enabling a domain switches the others off. */
int32_t cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain)
{
	if (!is_valid(subscriber) || domain == 0 || domain >= VT_CUPTI_DOMAINS)
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	for (uint32_t other = 0; other < VT_CUPTI_DOMAINS; other++)
		for (int cbid = 0; cbid < FAKE_CUPTI_CBIDS; cbid++)
			if (enable || other == domain)
				atomic_store(&enabled[other][cbid], enable && other == domain);
	return VT_CUPTI_SUCCESS;
}

int32_t cuptiEnableAllDomains(uint32_t enable, void *subscriber)
{
	if (!is_valid(subscriber))
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	for (int domain = 1; domain < VT_CUPTI_DOMAINS; domain++)
		for (int cbid = 0; cbid < FAKE_CUPTI_CBIDS; cbid++)
			atomic_store(&enabled[domain][cbid], enable != 0);
	return VT_CUPTI_SUCCESS;
}

int32_t cuptiGetCallbackState(uint32_t *ret_enabled, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if (!is_valid(subscriber) || domain >= VT_CUPTI_DOMAINS || cbid >= FAKE_CUPTI_CBIDS)
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	*ret_enabled = atomic_load(&enabled[domain][cbid]);
	return VT_CUPTI_SUCCESS;
}

int32_t cuptiFinalize(void)
{
	fake.finalizes++;
	atomic_store(&callback, NULL);
	return VT_CUPTI_SUCCESS;
}

FAKE_EXPORT void fake_cupti_raise(uint32_t domain, uint32_t cbid, const void *data)
{
	vt_cupti_callback *function = atomic_load(&callback);

	if (function && atomic_load(&enabled[domain][cbid]))
		function(atomic_load(&user), domain, cbid, data);
}

FAKE_EXPORT void fake_cupti_call(uint32_t cbid, const void *params, uint64_t context, int32_t result,
				 void (*body)(void *), void *arg)
{
	uint64_t slot = 0;
	struct vt_cupti_callback_data data = { .site = VT_CUPTI_API_ENTER,
					       .function_name = "fake",
					       .params = params,
					       .context = context,
					       .context_uid = (uint32_t)context,
					       .correlation_data = &slot,
					       .correlation = atomic_fetch_add(&correlations, 1) + 1 };

	fake_cupti_raise(VT_CUPTI_DOMAIN_DRIVER_API, cbid, &data);
	if (body)
		body(arg);
	data.site = VT_CUPTI_API_EXIT;
	data.result = &result;
	fake_cupti_raise(VT_CUPTI_DOMAIN_DRIVER_API, cbid, &data);
}
