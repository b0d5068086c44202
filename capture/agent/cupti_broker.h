/*
 * cupti_broker.h - one CUPTI subscription shared by us and one client of the host program.
 *
 * CUPTI admits one subscriber. PyTorch's profiler (Kineto) subscribes at its first use, never unsubscribes, and gives
 * up GPU activities for good if it is refused, although it wants nothing of the subscription but a callback at the
 * making of a context (its kernels and copies come through the activity API, which needs no subscription). So neither
 * keeping the subscription nor giving it away serves both. Instead the program's calls about subscriptions come to us
 * first (cupti_interpose.c): there is one real subscription, whose callback goes to us and to the program's client,
 * each for what it has enabled. The client is given the real handle, so any other function of CUPTI takes it too.
 * The activity API is shared in turns: activity_share.h.
 *
 * A client that asks for CUPTI's own multi-subscriber session (cuptiSubscribe_v2 with parameters newer than
 * CUDA 13.0's) cannot be served so: for its time we unsubscribe. The trace says so: GAP_BEGIN, GAP_END.
 */
#ifndef VT_AGENT_CUPTI_BROKER_H
#define VT_AGENT_CUPTI_BROKER_H

#include <stdbool.h>

#include "capture/agent/cupti_load.h"

/* ---- our side ---- */

/*
 * Subscribes, or joins the program's subscription, and enables all watched calls. Result: of CUPTI; *ret_refused counts
 * the calls that this CUPTI does not know.
 */
int32_t vt_broker_join(const struct vt_cupti_library *library, unsigned *ret_refused);
/* From now on no callback reaches us. Calls nothing in CUPTI: fit for the end of the process. */
void vt_broker_leave(void);

/* ---- the program's side; each does what the CUPTI function of that name does ---- */

int32_t vt_broker_subscribe(const struct vt_cupti_library *library, void **ret_subscriber, vt_cupti_callback *callback,
			    void *user);
int32_t vt_broker_subscribe_v2(const struct vt_cupti_library *library, void **ret_subscriber,
			       vt_cupti_callback *callback, void *user, struct vt_cupti_subscriber_params *params);
int32_t vt_broker_unsubscribe(const struct vt_cupti_library *library, void *subscriber);
int32_t vt_broker_enable_callback(const struct vt_cupti_library *library, uint32_t enable, void *subscriber,
				  uint32_t domain, uint32_t cbid);
int32_t vt_broker_enable_domain(const struct vt_cupti_library *library, uint32_t enable, void *subscriber,
				uint32_t domain);
int32_t vt_broker_enable_all(const struct vt_cupti_library *library, uint32_t enable, void *subscriber);
int32_t vt_broker_callback_state(const struct vt_cupti_library *library, uint32_t *ret_enabled, void *subscriber,
				 uint32_t domain, uint32_t cbid);
int32_t vt_broker_finalize(const struct vt_cupti_library *library);

#endif
