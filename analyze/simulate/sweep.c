/* sweep.c - which settings are tried, and in what order they are shown. See simulate.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/simulate/simulate.h"
#include "schema/base/bits.h"

/*
 * What users turn: each alone, and the pairs that go together. max_split_size_mb does not go with expandable segments;
 * garbage collection needs a fraction below 1.
 */
static const char *const swept[] = {
	"expandable_segments:True",
	"expandable_segments:True,roundup_power2_divisions:4",
	"expandable_segments:True,roundup_power2_divisions:8",
	"expandable_segments:True,roundup_power2_divisions:16",
	"roundup_power2_divisions:2",
	"roundup_power2_divisions:4",
	"roundup_power2_divisions:8",
	"roundup_power2_divisions:16",
	"max_split_size_mb:32",
	"max_split_size_mb:64",
	"max_split_size_mb:128",
	"max_split_size_mb:256",
	"max_split_size_mb:512",
	"max_split_size_mb:1024",
	"max_split_size_mb:128,roundup_power2_divisions:8",
	"max_split_size_mb:256,roundup_power2_divisions:8",
	"max_split_size_mb:512,roundup_power2_divisions:8",
	"garbage_collection_threshold:0.6,per_process_memory_fraction:0.95",
	"garbage_collection_threshold:0.8,per_process_memory_fraction:0.95",
	"garbage_collection_threshold:0.8,max_split_size_mb:128,per_process_memory_fraction:0.95",
	"backend:cudaMallocAsync",
};

static const char *const usual[] = {
	"expandable_segments:True",
	"max_split_size_mb:128",
	"roundup_power2_divisions:8",
	"backend:cudaMallocAsync",
};

static bool is_there(const struct vt_simulated_device *device, const struct vt_alloc_settings *settings)
{
	char wanted[VT_ALLOC_SETTINGS_MAX], have[VT_ALLOC_SETTINGS_MAX];

	vt_alloc_settings_text(wanted, settings);
	for (unsigned i = 0; i < device->npolicies; i++)
		if (!strcmp(wanted, vt_alloc_settings_text(have, &device->policies[i].settings)))
			return true;
	return false;
}

static int add(struct vt_simulated_device *device, const char *conf, struct vt_err *err)
{
	struct vt_policy *policy = &device->policies[device->npolicies];
	struct vt_alloc_settings settings;
	char text[VT_ALLOC_SETTINGS_MAX];
	int r = vt_alloc_settings_parse(&settings, conf, err);

	if (r || is_there(device, &settings))
		return r;
	if (device->npolicies == VT_SIMULATE_POLICIES_MAX)
		return vt_err_set(err, VT_E_USAGE, "more than %d settings at once", VT_SIMULATE_POLICIES_MAX);
	*policy = (struct vt_policy){ .settings = settings, .capacity_bytes = device->report->options.capacity_bytes };
	vt_alloc_settings_text(text, &settings);
	(void)snprintf(policy->name, sizeof(policy->name), "%.*s", VT_POLICY_NAME_MAX - 1,
		       *text ? text : "(the defaults)");
	device->npolicies++;
	return vt_policy_open(policy, err);
}

static int add_list(struct vt_simulated_device *device, const char *list, struct vt_err *err)
{
	char conf[VT_ALLOC_SETTINGS_MAX];
	int r = 0;

	while (!r && *list) {
		size_t length = strcspn(list, ";");

		if (length >= sizeof(conf))
			return vt_err_set(err, VT_E_USAGE, "--conf: '%.60s...' is too long", list);
		memcpy(conf, list, length);
		conf[length] = 0;
		r = add(device, conf, err);
		list += length + (list[length] == ';');
	}
	return r;
}

int vt_simulate_add_policies(struct vt_simulated_device *device, struct vt_err *err)
{
	const struct vt_simulate_options *options = &device->report->options;
	const char *const *list = options->sweep ? swept : usual;
	size_t count = options->sweep ? VT_ARRAY_SIZE(swept) : VT_ARRAY_SIZE(usual);
	int r = add(device, "", err);

	if (!r && options->conf)
		r = add_list(device, options->conf, err);
	if (options->conf && !options->sweep)
		return r;
	for (size_t i = 0; i < count && !r; i++)
		r = add(device, list[i], err);
	return r;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct vt_simulated_device *device = *(const struct vt_simulated_device **)arg;
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	const struct vt_policy *p = &device->policies[x], *q = &device->policies[y];
	const struct vt_alloc_stats *s = vt_allocator_stats(p->allocator), *t = vt_allocator_stats(q->allocator);
	uint64_t p_calls = s->device_allocs + s->device_frees, q_calls = t->device_allocs + t->device_frees;

	if (vt_policy_survives(p) != vt_policy_survives(q))
		return vt_policy_survives(p) ? -1 : 1;
	if (p->died && q->died && p->died_ns != q->died_ns)
		return p->died_ns < q->died_ns ? 1 : -1;
	if (s->peak_reserved_bytes != t->peak_reserved_bytes)
		return s->peak_reserved_bytes < t->peak_reserved_bytes ? -1 : 1;
	if (p_calls != q_calls)
		return p_calls < q_calls ? -1 : 1;
	return (x > y) - (x < y);
}

void vt_simulate_rank(const struct vt_simulated_device *device, unsigned order[VT_SIMULATE_POLICIES_MAX])
{
	for (unsigned i = 0; i < device->npolicies; i++)
		order[i] = i;
	qsort_r(order, device->npolicies, sizeof(*order), compare, &device);
}
