/* settings.c - see settings.h. */
#include "analyze/simulate/settings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/views/segments.h"
#include "schema/base/bits.h"

#define MIB (UINT64_C(1) << 20)
#define MIN_BLOCK UINT64_C(512)
#define VALUE_MAX 128

void vt_alloc_settings_default(struct vt_alloc_settings *ret)
{
	*ret = (struct vt_alloc_settings){
		.max_split_bytes = UINT64_MAX,
		.max_non_split_bytes = VT_TORCH_LARGE_SEGMENT,
		.large_segment_bytes = VT_TORCH_LARGE_SEGMENT,
	};
}

static int take_flag(const char *value, bool *ret)
{
	if (strcasecmp(value, "true") != 0 && strcasecmp(value, "false") != 0)
		return -VT_E_USAGE;
	*ret = !strcasecmp(value, "true");
	return 0;
}

static int take_mib(const char *value, uint64_t least, uint64_t *ret)
{
	char *end;
	unsigned long long mib = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || mib < least || mib > UINT64_C(1) << 32)
		return -VT_E_USAGE;
	*ret = mib * MIB;
	return 0;
}

static int take_share(const char *value, double *ret)
{
	char *end;
	double share = strtod(value, &end);

	if (end == value || *end || !(share > 0 && share <= 1))
		return -VT_E_USAGE;
	*ret = share;
	return 0;
}

static unsigned roundup_class(uint64_t bytes)
{
	unsigned log2 = bytes ? 63u - (unsigned)__builtin_clzll(bytes) : 0;

	return log2 < 20 ? 0 : log2 - 20 < VT_ROUNDUP_CLASSES ? log2 - 20 : VT_ROUNDUP_CLASSES - 1;
}

static int take_divisions(const char *text, char **ret_end, uint32_t *ret)
{
	unsigned long value = strtoul(text, ret_end, 10);

	if (*text < '0' || *text > '9' || value > 1u << 20 || (value & (value - 1)))
		return -VT_E_USAGE;
	*ret = (uint32_t)value;
	return 0;
}

/* "4", or "[256:1,512:2,>:8]" keyed by MiB: the first key also fills all below it, the last all above. */
static int take_roundup(const char *value, uint32_t classes[VT_ROUNDUP_CLASSES])
{
	unsigned last = 0;
	uint32_t divisions = 0;
	char *end;

	if (*value != '[') {
		if (take_divisions(value, &end, &divisions) < 0 || *end)
			return -VT_E_USAGE;
		for (unsigned i = 0; i < VT_ROUNDUP_CLASSES; i++)
			classes[i] = divisions;
		return 0;
	}
	for (bool first = true; *value != ']'; first = false) {
		bool rest = value[1] == '>';
		uint64_t mib = rest ? 0 : strtoull(value + 1, &end, 10);
		unsigned class = rest ? last : roundup_class(mib * MIB);
		const char *colon = rest ? value + 2 : end;

		if (*colon != ':' || (!rest && (mib == 0 || (mib & (mib - 1)))) ||
		    take_divisions(colon + 1, &end, &divisions) < 0 || (*end != ',' && *end != ']'))
			return -VT_E_USAGE;
		for (unsigned i = first ? 0 : class; i <= class; i++)
			classes[i] = divisions;
		for (unsigned i = class; rest && i < VT_ROUNDUP_CLASSES; i++)
			classes[i] = divisions;
		last = class;
		value = end;
	}
	return value[1] ? -VT_E_USAGE : 0;
}

static int take_setting(struct vt_alloc_settings *ret, const char *name, const char *value)
{
	static const char *const others[] = {
		"release_lock_on_cudamalloc",
		"throw_on_cudamalloc_oom",
		"graph_capture_record_stream_reuse",
	};

	if (!strcmp(name, "backend")) {
		ret->async_backend = !strcmp(value, "cudaMallocAsync");
		return ret->async_backend || !strcmp(value, "native") ? 0 : -VT_E_USAGE;
	}
	if (!strcmp(name, "expandable_segments"))
		return take_flag(value, &ret->expandable);
	if (!strcmp(name, "max_split_size_mb"))
		return take_mib(value, 20, &ret->max_split_bytes);
	if (!strcmp(name, "max_non_split_rounding_mb"))
		return take_mib(value, 1, &ret->max_non_split_bytes);
	if (!strcmp(name, "large_segment_size_mb"))
		return take_mib(value, 2, &ret->large_segment_bytes);
	if (!strcmp(name, "garbage_collection_threshold"))
		return take_share(value, &ret->gc_threshold);
	if (!strcmp(name, "per_process_memory_fraction"))
		return take_share(value, &ret->fraction);
	if (!strcmp(name, "roundup_power2_divisions"))
		return take_roundup(value, ret->roundup);
	for (size_t i = 0; i < VT_ARRAY_SIZE(others); i++)
		if (!strcmp(name, others[i]))
			return 0;
	return strncmp(name, "pinned_", 7) ? -VT_E_USAGE : 0;
}

/* The end of the setting at text: commas inside brackets belong to it. */
static size_t setting_length(const char *text)
{
	size_t n = 0;

	for (bool inside = false; text[n] && (inside || text[n] != ','); n++)
		inside = text[n] == '[' || (inside && text[n] != ']');
	return n;
}

int vt_alloc_settings_parse(struct vt_alloc_settings *ret, const char *text, struct vt_err *err)
{
	char setting[VALUE_MAX], *value;

	vt_alloc_settings_default(ret);
	while (text && *text) {
		size_t length = setting_length(text), used = 0;

		for (size_t i = 0; i < length && used < sizeof(setting) - 1; i++)
			if (text[i] != ' ')
				setting[used++] = text[i];
		setting[used] = 0;
		value = strchr(setting, ':');
		if (value)
			*value++ = 0;
		if (*setting && (!value || take_setting(ret, setting, value) < 0))
			return vt_err_set(err, VT_E_USAGE,
					  "'%.*s' is no setting of PYTORCH_CUDA_ALLOC_CONF that is understood here",
					  (int)(length < 100 ? length : 100), text);
		text += length + (text[length] == ',');
	}
	if (ret->max_split_bytes < ret->large_segment_bytes)
		return vt_err_set(err, VT_E_USAGE,
				  "max_split_size_mb must not be below large_segment_size_mb (%" PRIu64 ")",
				  ret->large_segment_bytes / MIB);
	/* As PyTorch does: a fraction of 1 is no limit. */
	if (ret->fraction >= 1)
		ret->fraction = 0;
	return 0;
}

__attribute__((format(printf, 3, 4))) static void add(char *out, size_t *used, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(out + *used, VT_ALLOC_SETTINGS_MAX - *used, format, args);
	va_end(args);
	if (n > 0)
		*used = *used + (size_t)n < VT_ALLOC_SETTINGS_MAX ? *used + (size_t)n : VT_ALLOC_SETTINGS_MAX - 1;
}

static void add_roundup(char *out, size_t *used, const uint32_t classes[VT_ROUNDUP_CLASSES])
{
	bool same = true;

	for (unsigned i = 1; i < VT_ROUNDUP_CLASSES; i++)
		same = same && classes[i] == classes[0];
	if (same && !classes[0])
		return;
	if (same) {
		add(out, used, ",roundup_power2_divisions:%" PRIu32, classes[0]);
		return;
	}
	add(out, used, ",roundup_power2_divisions:[");
	for (unsigned i = 0; i < VT_ROUNDUP_CLASSES; i++)
		if (!i || classes[i] != classes[i - 1] || (i + 1 < VT_ROUNDUP_CLASSES && classes[i + 1] != classes[i]))
			add(out, used, "%s%u:%" PRIu32, i ? "," : "", 1u << i, classes[i]);
	add(out, used, ",>:%" PRIu32 "]", classes[VT_ROUNDUP_CLASSES - 1]);
}

const char *vt_alloc_settings_text(char out[VT_ALLOC_SETTINGS_MAX], const struct vt_alloc_settings *settings)
{
	struct vt_alloc_settings plain;
	size_t used = 0;

	vt_alloc_settings_default(&plain);
	out[0] = 0;
	if (settings->async_backend)
		add(out, &used, ",backend:cudaMallocAsync");
	if (settings->expandable)
		add(out, &used, ",expandable_segments:True");
	if (settings->max_split_bytes != plain.max_split_bytes)
		add(out, &used, ",max_split_size_mb:%" PRIu64, settings->max_split_bytes / MIB);
	if (settings->max_non_split_bytes != plain.max_non_split_bytes)
		add(out, &used, ",max_non_split_rounding_mb:%" PRIu64, settings->max_non_split_bytes / MIB);
	if (settings->large_segment_bytes != plain.large_segment_bytes)
		add(out, &used, ",large_segment_size_mb:%" PRIu64, settings->large_segment_bytes / MIB);
	add_roundup(out, &used, settings->roundup);
	if (settings->gc_threshold > 0)
		add(out, &used, ",garbage_collection_threshold:%g", settings->gc_threshold);
	if (settings->fraction > 0)
		add(out, &used, ",per_process_memory_fraction:%g", settings->fraction);
	if (used)
		memmove(out, out + 1, used);
	return out;
}

uint64_t vt_alloc_round(const struct vt_alloc_settings *settings, uint64_t bytes)
{
	uint64_t divisions = settings->roundup[roundup_class(bytes)], floor, step;

	if (bytes < MIN_BLOCK)
		return MIN_BLOCK;
	if (divisions <= 1 || bytes <= MIN_BLOCK * divisions)
		return vt_align_up(bytes, MIN_BLOCK);
	if (!(bytes & (bytes - 1)))
		return bytes;
	floor = UINT64_C(1) << (63 - __builtin_clzll(bytes));
	step = floor / divisions;
	return step ? vt_align_up(bytes, step) : floor * 2;
}

uint64_t vt_alloc_segment_bytes(const struct vt_alloc_settings *settings, uint64_t rounded_bytes)
{
	return vt_torch_segment_bytes(rounded_bytes, settings->large_segment_bytes);
}
