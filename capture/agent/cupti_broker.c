/* cupti_broker.c - see cupti_broker.h. */
#include "capture/agent/cupti_broker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "capture/agent/agent.h"
#include "capture/agent/cupti_decode.h"
#include "capture/agent/cupti_memory.h"
#include "capture/agent/cupti_work.h"
#include "schema/base/bits.h"

/* CUPTI numbers its callbacks from 1; the largest domain has about 800. */
#define CBIDS_MAX 2048u
#define WORDS (CBIDS_MAX / 64)

/* The program's client. */
struct client {
	vt_cupti_callback *_Atomic callback; /* NULL: there is none. Written last (B1), read first by the callback */
	void *_Atomic user;
	_Atomic uint64_t enabled[VT_CUPTI_DOMAINS][WORDS];
};

static struct client client;
static void *_Atomic subscription; /* the one real subscription; NULL: none */
static _Atomic bool joined;	   /* we take part in it */
static void *_Atomic guest;	   /* subscription of a client that we left CUPTI to; NULL: none */
/* Serialises subscribing and unsubscribing; taken before CUPTI's own locks and never inside a callback of ours. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_joined(void)
{
	return atomic_load_explicit(&joined, memory_order_relaxed);
}

static bool has_client(void)
{
	return atomic_load_explicit(&client.callback, memory_order_relaxed) != NULL;
}

static void *held(void)
{
	return atomic_load_explicit(&subscription, memory_order_acquire);
}

static void note(enum vt_note_code code, int32_t value, const char *text)
{
	struct vt_thread *thread = vt_agent_enter_paused();

	if (!thread)
		return;
	vt_agent_note(thread, code, (uint64_t)value, text);
	vt_agent_leave(thread);
}

/* ---- what is enabled ---- */

static bool is_ours(uint32_t domain, uint32_t cbid)
{
	return is_joined() &&
	       ((domain == VT_CUPTI_DOMAIN_DRIVER_API && (vt_call_find(cbid) || vt_work_is_watched(cbid))) ||
		(domain == VT_CUPTI_DOMAIN_STATE && cbid == VT_CUPTI_STATE_FATAL_ERROR));
}

static bool is_possible(uint32_t domain, uint32_t cbid)
{
	return domain > 0 && domain < VT_CUPTI_DOMAINS && cbid < CBIDS_MAX;
}

static bool is_clients(uint32_t domain, uint32_t cbid)
{
	return is_possible(domain, cbid) &&
	       (atomic_load_explicit(&client.enabled[domain][cbid / 64], memory_order_relaxed) >> (cbid % 64) & 1);
}

static void set_clients(uint32_t domain, uint32_t cbid, bool enable)
{
	uint64_t bit = UINT64_C(1) << (cbid % 64);

	if (enable)
		atomic_fetch_or_explicit(&client.enabled[domain][cbid / 64], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&client.enabled[domain][cbid / 64], ~bit, memory_order_relaxed);
}

static void set_clients_domain(uint32_t domain, bool enable)
{
	for (uint32_t i = 0; i < WORDS; i++)
		atomic_store_explicit(&client.enabled[domain][i], enable ? UINT64_MAX : 0, memory_order_relaxed);
}

/* Enables all that we watch; harmless when it is enabled already. Result: that of cuMemAlloc_v2, the first. */
static int32_t enable_ours(const struct vt_cupti_library *library, unsigned *ret_refused)
{
	int32_t first = VT_CUPTI_SUCCESS;
	uint32_t cbid;

	*ret_refused = 0;
	for (uint32_t i = 0; (cbid = vt_call_cbid(i)) != 0; i++) {
		int32_t result = library->cuptiEnableCallback(1, held(), VT_CUPTI_DOMAIN_DRIVER_API, cbid);

		if (result != VT_CUPTI_SUCCESS)
			(*ret_refused)++;
		if (i == 0)
			first = result;
	}
	for (uint32_t i = 0; (cbid = vt_work_cbid(i)) != 0; i++)
		if (library->cuptiEnableCallback(1, held(), VT_CUPTI_DOMAIN_DRIVER_API, cbid) != VT_CUPTI_SUCCESS)
			(*ret_refused)++;
	/* Since CUDA 12.2; without it a CUPTI that gave up is not noticed. */
	(void)library->cuptiEnableCallback(1, held(), VT_CUPTI_DOMAIN_STATE, VT_CUPTI_STATE_FATAL_ERROR);
	return first;
}

/* ---- the one callback ---- */

static void on_fatal_error(const struct vt_cupti_state_data *data)
{
	atomic_store_explicit(&joined, false, memory_order_relaxed);
	note(VT_note_code_CUPTI_OFF, data ? data->result : 0,
	     data && data->message ? data->message : "CUPTI met a fatal error and switched itself off");
}

static void on_callback(void *unused, uint32_t domain, uint32_t cbid, const void *data)
{
	vt_cupti_callback *callback;

	(void)unused;
	if (is_joined()) {
		if (domain == VT_CUPTI_DOMAIN_DRIVER_API && vt_work_is_watched(cbid))
			vt_work_call(cbid, data);
		else if (domain == VT_CUPTI_DOMAIN_DRIVER_API)
			vt_cupti_memory_call(cbid, data);
		else if (domain == VT_CUPTI_DOMAIN_STATE && cbid == VT_CUPTI_STATE_FATAL_ERROR)
			on_fatal_error(data);
	}
	callback = atomic_load_explicit(&client.callback, memory_order_acquire); /* B1 */
	if (callback && is_clients(domain, cbid))
		callback(atomic_load_explicit(&client.user, memory_order_relaxed), domain, cbid, data);
}

/* Makes the real subscription if there is none. Called with the lock. */
static int32_t ensure_subscription(const struct vt_cupti_library *library)
{
	void *made = NULL;
	int32_t result;

	if (held())
		return VT_CUPTI_SUCCESS;
	result = library->cuptiSubscribe(&made, on_callback, NULL);
	if (result == VT_CUPTI_SUCCESS)
		atomic_store_explicit(&subscription, made, memory_order_release);
	return result;
}

/* Ends the real subscription. Called with the lock. */
static int32_t end_subscription(const struct vt_cupti_library *library)
{
	void *handle = atomic_exchange_explicit(&subscription, NULL, memory_order_acq_rel);

	return handle ? library->cuptiUnsubscribe(handle) : VT_CUPTI_SUCCESS;
}

int32_t vt_broker_join(const struct vt_cupti_library *library, unsigned *ret_refused)
{
	int32_t result;

	*ret_refused = 0;
	(void)pthread_mutex_lock(&lock);
	result = ensure_subscription(library);
	if (result == VT_CUPTI_SUCCESS) {
		atomic_store_explicit(&joined, true, memory_order_relaxed);
		result = enable_ours(library, ret_refused);
		if (result != VT_CUPTI_SUCCESS) {
			atomic_store_explicit(&joined, false, memory_order_relaxed);
			if (!has_client())
				(void)end_subscription(library);
		}
	}
	(void)pthread_mutex_unlock(&lock);
	return result;
}

void vt_broker_leave(void)
{
	atomic_store_explicit(&joined, false, memory_order_relaxed);
}

/* ---- the program's side ---- */

int32_t vt_broker_subscribe(const struct vt_cupti_library *library, void **ret_subscriber, vt_cupti_callback *callback,
			    void *user)
{
	int32_t result;

	if (!ret_subscriber || !callback)
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	(void)pthread_mutex_lock(&lock);
	/* A second client of the program is refused, as it would be without us. */
	result = has_client() ? VT_CUPTI_ERROR_MULTIPLE_SUBSCRIBERS : ensure_subscription(library);
	if (result == VT_CUPTI_SUCCESS) {
		for (uint32_t domain = 0; domain < VT_CUPTI_DOMAINS; domain++)
			set_clients_domain(domain, false);
		atomic_store_explicit(&client.user, user, memory_order_relaxed);
		atomic_store_explicit(&client.callback, callback, memory_order_release); /* B1 */
		*ret_subscriber = held();
	}
	(void)pthread_mutex_unlock(&lock);
	return result;
}

/* Leaves CUPTI to a client that wants it in a way that cannot be shared. */
static int32_t subscribe_guest(const struct vt_cupti_library *library, void **ret_subscriber,
			       vt_cupti_callback *callback, void *user, struct vt_cupti_subscriber_params *params)
{
	bool was_joined = is_joined();
	unsigned refused;
	int32_t result;

	(void)pthread_mutex_lock(&lock);
	vt_broker_leave();
	(void)end_subscription(library);
	result = library->cuptiSubscribe_v2(ret_subscriber, callback, user, params);
	if (result == VT_CUPTI_SUCCESS)
		atomic_store_explicit(&guest, *ret_subscriber, memory_order_relaxed);
	(void)pthread_mutex_unlock(&lock);
	if (!was_joined)
		return result;
	if (result == VT_CUPTI_SUCCESS)
		note(VT_note_code_GAP_BEGIN, 0, "the program uses a multi-subscriber session of CUPTI");
	else if (vt_broker_join(library, &refused) != VT_CUPTI_SUCCESS)
		note(VT_note_code_GAP_BEGIN, result, "a refused multi-subscriber session ended the use of CUPTI");
	return result;
}

int32_t vt_broker_subscribe_v2(const struct vt_cupti_library *library, void **ret_subscriber,
			       vt_cupti_callback *callback, void *user, struct vt_cupti_subscriber_params *params)
{
	if (!library->cuptiSubscribe_v2)
		return VT_CUPTI_ERROR_NOT_INITIALIZED;
	if (!has_client() && params && params->struct_bytes > sizeof(*params))
		return subscribe_guest(library, ret_subscriber, callback, user, params);
	return vt_broker_subscribe(library, ret_subscriber, callback, user);
}

/* Undoes what only the client had enabled in a domain. */
static void disable_clients_domain(const struct vt_cupti_library *library, uint32_t domain)
{
	for (uint32_t cbid = 0; cbid < CBIDS_MAX; cbid++) {
		if (!is_clients(domain, cbid))
			continue;
		set_clients(domain, cbid, false);
		if (!is_ours(domain, cbid))
			(void)library->cuptiEnableCallback(0, held(), domain, cbid);
	}
}

static int32_t unsubscribe_guest(const struct vt_cupti_library *library, void *subscriber)
{
	int32_t result = library->cuptiUnsubscribe(subscriber);
	unsigned refused;
	int32_t back;

	if (result != VT_CUPTI_SUCCESS)
		return result;
	atomic_store_explicit(&guest, NULL, memory_order_relaxed);
	back = vt_broker_join(library, &refused);
	note(back == VT_CUPTI_SUCCESS ? VT_note_code_GAP_END : VT_note_code_CUPTI_OFF, back,
	     back == VT_CUPTI_SUCCESS ? "the program's CUPTI session has ended"
				      : "could not subscribe again after the program's CUPTI session");
	return result;
}

int32_t vt_broker_unsubscribe(const struct vt_cupti_library *library, void *subscriber)
{
	int32_t result = VT_CUPTI_SUCCESS;

	if (subscriber && subscriber == atomic_load_explicit(&guest, memory_order_relaxed))
		return unsubscribe_guest(library, subscriber);
	if (!subscriber || subscriber != held())
		return library->cuptiUnsubscribe(subscriber);
	if (!has_client())
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	(void)pthread_mutex_lock(&lock);
	atomic_store_explicit(&client.callback, NULL, memory_order_release);
	if (is_joined())
		for (uint32_t domain = 1; domain < VT_CUPTI_DOMAINS; domain++)
			disable_clients_domain(library, domain);
	else
		result = end_subscription(library);
	(void)pthread_mutex_unlock(&lock);
	return result;
}

int32_t vt_broker_enable_callback(const struct vt_cupti_library *library, uint32_t enable, void *subscriber,
				  uint32_t domain, uint32_t cbid)
{
	int32_t result = VT_CUPTI_SUCCESS;

	if (!subscriber || subscriber != held())
		return library->cuptiEnableCallback(enable, subscriber, domain, cbid);
	if (!has_client() || !is_possible(domain, cbid))
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	if (!is_ours(domain, cbid))
		result = library->cuptiEnableCallback(enable, subscriber, domain, cbid);
	if (result == VT_CUPTI_SUCCESS)
		set_clients(domain, cbid, enable != 0);
	return result;
}

int32_t vt_broker_enable_domain(const struct vt_cupti_library *library, uint32_t enable, void *subscriber,
				uint32_t domain)
{
	unsigned refused;
	int32_t result;

	if (!library->cuptiEnableDomain)
		return VT_CUPTI_ERROR_NOT_INITIALIZED;
	if (!subscriber || subscriber != held())
		return library->cuptiEnableDomain(enable, subscriber, domain);
	if (!has_client() || domain == 0 || domain >= VT_CUPTI_DOMAINS)
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	if (!enable && is_joined()) {
		disable_clients_domain(library, domain);
		return VT_CUPTI_SUCCESS;
	}
	result = library->cuptiEnableDomain(enable, subscriber, domain);
	if (result == VT_CUPTI_SUCCESS)
		set_clients_domain(domain, enable != 0);
	/* CUPTI 12.6 update 1 could switch off other domains here (its release notes). */
	if (is_joined())
		(void)enable_ours(library, &refused);
	return result;
}

int32_t vt_broker_enable_all(const struct vt_cupti_library *library, uint32_t enable, void *subscriber)
{
	int32_t result = VT_CUPTI_SUCCESS;

	if (!library->cuptiEnableAllDomains)
		return VT_CUPTI_ERROR_NOT_INITIALIZED;
	if (!subscriber || subscriber != held())
		return library->cuptiEnableAllDomains(enable, subscriber);
	if (!has_client())
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	if (enable || !is_joined())
		result = library->cuptiEnableAllDomains(enable, subscriber);
	for (uint32_t domain = 1; domain < VT_CUPTI_DOMAINS && result == VT_CUPTI_SUCCESS; domain++) {
		if (enable || !is_joined())
			set_clients_domain(domain, enable != 0);
		else
			disable_clients_domain(library, domain);
	}
	return result;
}

int32_t vt_broker_callback_state(const struct vt_cupti_library *library, uint32_t *ret_enabled, void *subscriber,
				 uint32_t domain, uint32_t cbid)
{
	if (!library->cuptiGetCallbackState)
		return VT_CUPTI_ERROR_NOT_INITIALIZED;
	if (!subscriber || subscriber != held())
		return library->cuptiGetCallbackState(ret_enabled, subscriber, domain, cbid);
	if (!has_client() || !ret_enabled || !is_possible(domain, cbid))
		return VT_CUPTI_ERROR_INVALID_PARAMETER;
	*ret_enabled = is_clients(domain, cbid);
	return VT_CUPTI_SUCCESS;
}

/*
 * Finalising takes CUPTI out of the process to save its remaining cost. While we use CUPTI there is nothing to save,
 * and our subscription would be gone: the client's part ends, CUPTI stays.
 */
int32_t vt_broker_finalize(const struct vt_cupti_library *library)
{
	if (!is_joined()) {
		atomic_store_explicit(&client.callback, NULL, memory_order_release);
		atomic_store_explicit(&subscription, NULL, memory_order_release);
		return library->cuptiFinalize ? library->cuptiFinalize() : VT_CUPTI_ERROR_NOT_INITIALIZED;
	}
	return has_client() ? vt_broker_unsubscribe(library, held()) : VT_CUPTI_SUCCESS;
}
