/* policy.c - see policy.h. */
#include "analyze/simulate/policy.h"

/* Requests that failed in the recorded run never had a block: they pass through this slot, and are freed at once. */
#define SCRATCH_SLOT 0u

int vt_policy_open(struct vt_policy *policy, struct vt_err *err)
{
	int r = vt_allocator_new(&policy->allocator, &policy->settings, err);

	if (!r && policy->capacity_bytes)
		vt_allocator_set_device(policy->allocator, policy->capacity_bytes, 0);
	return r;
}

void vt_policy_done(struct vt_policy *policy)
{
	vt_allocator_free(policy->allocator);
	policy->allocator = NULL;
}

bool vt_policy_survives(const struct vt_policy *policy)
{
	return !policy->died && !policy->agreement.ooms_matched;
}

bool vt_policy_agrees(const struct vt_policy *policy)
{
	const struct vt_policy_agreement *agreement = &policy->agreement;

	return !policy->died && !agreement->reserved_differs && !agreement->elsewhere && !agreement->ooms_missed;
}

static void differs(struct vt_policy *policy, uint64_t time_ns)
{
	if (!policy->agreement.first_differs_ns)
		policy->agreement.first_differs_ns = time_ns;
}

static void compare_total(struct vt_policy *policy, const struct vt_feed_event *event)
{
	policy->agreement.compared++;
	if (vt_allocator_stats(policy->allocator)->reserved_bytes == event->reserved_bytes)
		return;
	policy->agreement.reserved_differs++;
	differs(policy, event->time_ns);
}

static void compare_block(struct vt_policy *policy, const struct vt_feed_event *event)
{
	struct vt_range block = { 0, 0 };

	policy->agreement.blocks++;
	(void)vt_allocator_block(policy->allocator, event->slot, &block);
	if (block.start == event->address && block.bytes == event->block_bytes)
		return;
	policy->agreement.elsewhere++;
	differs(policy, event->time_ns);
}

static int ask(struct vt_policy *policy, const struct vt_feed_event *event, uint32_t slot)
{
	const struct vt_alloc_request request = { .bytes = event->bytes, .stream = event->stream, .slot = slot };

	return vt_allocator_alloc(policy->allocator, &request);
}

static int take_alloc(struct vt_policy *policy, const struct vt_feed_event *event)
{
	int r = ask(policy, event, event->slot);

	if (r < 0)
		return r;
	if (r == 1) {
		policy->died = true;
		policy->died_ns = event->time_ns;
		policy->died_bytes = event->bytes;
		if (policy->recorded)
			differs(policy, event->time_ns);
		return 0;
	}
	if (policy->recorded) {
		compare_block(policy, event);
		compare_total(policy, event);
	}
	return 0;
}

static int take_oom(struct vt_policy *policy, const struct vt_feed_event *event)
{
	int r = ask(policy, event, SCRATCH_SLOT);

	if (r < 0)
		return r;
	if (r == 1) {
		policy->agreement.ooms_matched++;
		if (policy->recorded)
			compare_total(policy, event);
		return 0;
	}
	policy->saved++;
	if (policy->recorded) {
		policy->agreement.ooms_missed++;
		differs(policy, event->time_ns);
	}
	return vt_allocator_release(policy->allocator, SCRATCH_SLOT, false);
}

static int take_device(struct vt_policy *policy, const struct vt_feed_event *event)
{
	if (policy->capacity_bytes)
		vt_allocator_set_device(policy->allocator, policy->capacity_bytes, event->address);
	else
		vt_allocator_set_device(policy->allocator, event->bytes, event->address + event->others_bytes);
	return 0;
}

static int take_one(struct vt_policy *policy, const struct vt_feed_event *event)
{
	const struct vt_range range = { event->address, event->bytes };
	int r;

	switch (event->kind) {
	case VT_FEED_ALLOC:
		r = take_alloc(policy, event);
		vt_addresses_forget(vt_allocator_addresses(policy->allocator));
		return r;
	case VT_FEED_FREE:
		r = vt_allocator_release(policy->allocator, event->slot, false);
		if (!r && policy->recorded)
			compare_total(policy, event);
		return r;
	case VT_FEED_OOM:
		return take_oom(policy, event);
	case VT_FEED_EMPTY_CACHE:
		return vt_allocator_empty_cache(policy->allocator);
	case VT_FEED_DEVICE:
		return take_device(policy, event);
	case VT_FEED_SEGMENT:
		return policy->recorded ? vt_addresses_hint(vt_allocator_addresses(policy->allocator), range) : 0;
	case VT_FEED_RESERVE:
		return policy->recorded ? vt_addresses_hint_reserve(vt_allocator_addresses(policy->allocator), range)
					: 0;
	default:
		return 0;
	}
}

int vt_policy_take(struct vt_policy *policy, const struct vt_feed_event *events, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && !r && !policy->died; i++)
		r = take_one(policy, &events[i]);
	return r;
}
