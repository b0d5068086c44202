/* uses.c - see uses.h. */
#include "analyze/views/uses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/views/report.h"

int vt_uses_begin(struct vt_uses *uses, struct vt_session *session, struct vt_err *err)
{
	uint64_t until_ns = session->until_ns ? session->until_ns : UINT64_MAX;
	struct vt_listener listener;
	int r = vt_attribution_new(&uses->attribution, session->symbols, err);

	if (!r && session->moment == VT_MOMENT_NOW)
		r = vt_attribution_mark_at(uses->attribution, until_ns, &uses->mark, err);
	if (r < 0 || session->until_ns)
		return r;
	listener = vt_attribution_listener(uses->attribution);
	return vt_replay_add(session->replay, &listener, err);
}

int vt_uses_end(struct vt_uses *uses, const struct vt_session *session, bool quiet, struct vt_err *err)
{
	struct vt_session whole = *session;
	struct vt_listener listener = vt_attribution_listener(uses->attribution);
	int r;

	if (!session->until_ns)
		return 0;
	whole.until_ns = 0;
	r = vt_replay_new(&whole.replay, err);
	if (!r)
		r = vt_replay_add(whole.replay, &listener, err);
	if (!r)
		r = vt_session_run(&whole, quiet, err);
	vt_replay_free(whole.replay);
	return r;
}

void vt_uses_done(struct vt_uses *uses)
{
	vt_attribution_free(uses->attribution);
	*uses = (struct vt_uses){ .attribution = NULL };
}

struct vt_attributed_list vt_uses_blocks(const struct vt_uses *uses, const struct vt_session *session, uint32_t device)
{
	if (session->moment == VT_MOMENT_PEAK)
		return vt_attribution_peak(uses->attribution, device);
	return vt_attribution_marked(uses->attribution, uses->mark);
}

struct vt_use_sums vt_uses_sum(struct vt_attributed_list blocks, uint32_t device)
{
	struct vt_use_sums sums = { .step = VT_STEP_UNKNOWN };
	uint64_t last = 0;

	for (size_t i = 0; i < blocks.count; i++) {
		const struct vt_attributed *block = &blocks.list[i];

		if (block->device != device)
			continue;
		sums.bytes[block->category] += block->size_bytes;
		sums.blocks[block->category]++;
		sums.confidence_bytes[block->category][block->confidence] += block->size_bytes;
		sums.all_bytes += block->size_bytes;
		if (block->serial < last)
			continue;
		last = block->serial;
		sums.step = block->step;
		sums.phase = (enum vt_phase)block->phase;
	}
	return sums;
}

enum vt_category vt_use_sums_top(const struct vt_use_sums *sums)
{
	enum vt_category best = VT_CATEGORY_UNKNOWN;

	for (unsigned i = 0; i < VT_CATEGORIES; i++)
		if (sums->bytes[i] > sums->bytes[best])
			best = (enum vt_category)i;
	return best;
}

/* "71.20 GiB, step 4, backward" */
static const char *moment_text(char out[96], const struct vt_use_moment *moment, const struct vt_use_sums *sums)
{
	char bytes[VT_FORMAT_MAX], step[32] = "", phase[32] = "";

	if (moment->last_block && sums->step != VT_STEP_UNKNOWN && sums->step)
		(void)snprintf(step, sizeof(step), ", step %" PRIu32, sums->step);
	if (moment->last_block && sums->phase != VT_PHASE_OTHER)
		(void)snprintf(phase, sizeof(phase), ", %s", vt_phase_name(sums->phase));
	(void)snprintf(out, 96, "%s%s%s", vt_format_bytes(bytes, sums->all_bytes), step, phase);
	return out;
}

/* " (GPT2Attention, 24 modules x 896.00 MiB)", or with no modules to tell apart " (Block.forward, 24 blocks of 896.00 MiB)" */
static const char *blocks_text(char out[192], const struct vt_holder *holder)
{
	char count[VT_FORMAT_MAX], bytes[VT_FORMAT_MAX], size[VT_FORMAT_MAX + 8] = "";
	const char *function = holder->place.has_frame ? holder->place.frame.function : "";

	if (holder->module && holder->modules > 1 && holder->block_bytes && holder->blocks == holder->modules) {
		(void)snprintf(out, 192, " (%.80s, %s modules x %s)", holder->module,
			       vt_format_count(count, holder->modules), vt_format_bytes(bytes, holder->block_bytes));
		return out;
	}
	if (holder->block_bytes && holder->blocks > 1)
		(void)snprintf(size, sizeof(size), " of %s", vt_format_bytes(bytes, holder->block_bytes));
	(void)snprintf(out, 192, " (%.80s%s%s block%s%s)", function, *function ? ", " : "",
		       vt_format_count(count, holder->blocks), holder->blocks == 1 ? "" : "s", size);
	return out;
}

/* ", saved for backward 310 ms before they were used": what a backward op freed, it was the one to use. */
static const char *saved_text(char out[96], const struct vt_holder *holder, enum vt_category category)
{
	char kept[VT_FORMAT_MAX];

	out[0] = 0;
	if (category == VT_CATEGORY_ACTIVATION && holder->kept_bytes * 2 >= holder->bytes)
		(void)snprintf(out, 96, ", saved for backward %s before they were used",
			       vt_format_ns(kept, (uint64_t)(holder->kept_ns / (double)holder->kept_bytes)));
	return out;
}

int vt_uses_sentence(char out[VT_USES_SENTENCE_MAX], const struct vt_session *session,
		     const struct vt_use_moment *moment, struct vt_err *err)
{
	const struct vt_use_sums sums = vt_uses_sum(moment->blocks, moment->device);
	enum vt_category top = vt_use_sums_top(&sums);
	char when[96], bytes[VT_FORMAT_MAX], most[VT_FORMAT_MAX], what[192], saved[96], place[VT_PLACE_MAX];
	struct vt_holders holders;
	int r = vt_holders_build(&holders, session->symbols, moment->blocks,
				 (struct vt_holders_filter){ moment->device, (int)top }, err);

	out[0] = 0;
	if (!r && holders.count)
		(void)snprintf(out, VT_USES_SENTENCE_MAX,
			       "%s (%s) %s are %s; %s of them come from %s%s%s (estimated by scope and lifetime).",
			       moment->word, moment_text(when, moment, &sums), vt_format_bytes(bytes, sums.bytes[top]),
			       vt_category_plural(top), vt_format_bytes(most, holders.list[0].bytes),
			       vt_place_sentence(place, &holders.list[0].place), blocks_text(what, &holders.list[0]),
			       saved_text(saved, &holders.list[0], top));
	vt_holders_done(&holders);
	return r;
}

static int by_bytes(const void *a, const void *b, void *arg)
{
	const struct vt_use_sums *sums = arg;
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	if (sums->bytes[x] != sums->bytes[y])
		return sums->bytes[x] < sums->bytes[y] ? 1 : -1;
	return (x > y) - (x < y);
}

/* The categories, those with most bytes first. */
static void order(unsigned out[VT_CATEGORIES], const struct vt_use_sums *sums)
{
	struct vt_use_sums copy = *sums;

	for (unsigned i = 0; i < VT_CATEGORIES; i++)
		out[i] = i;
	qsort_r(out, VT_CATEGORIES, sizeof(*out), by_bytes, &copy);
}

/* The confidence that most bytes have. */
static enum vt_confidence most_confidence(const struct vt_use_sums *sums, unsigned category)
{
	const uint64_t *bytes = sums->confidence_bytes[category];
	enum vt_confidence best = VT_CONFIDENCE_LOW;

	for (unsigned i = 0; i < 3; i++)
		if (bytes[i] > bytes[best])
			best = (enum vt_confidence)i;
	return best;
}

int vt_uses_print(const struct vt_screen *screen, const struct vt_use_sums *sums)
{
	struct vt_table *table = vt_table_new();
	char bytes[VT_FORMAT_MAX], share[VT_FORMAT_MAX], count[VT_FORMAT_MAX];
	unsigned categories[VT_CATEGORIES];

	order(categories, sums);
	vt_table_column(table, "Bytes", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Share", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Blocks", VT_ALIGN_RIGHT, false);
	vt_table_column(table, "Category", VT_ALIGN_LEFT, false);
	vt_table_column(table, "Confidence", VT_ALIGN_LEFT, true);
	for (unsigned i = 0; i < VT_CATEGORIES; i++) {
		unsigned category = categories[i];

		if (!sums->blocks[category])
			continue;
		vt_table_cell(table, "%s", vt_format_bytes(bytes, sums->bytes[category]));
		vt_table_cell(table, "%s", vt_report_share(share, sums->bytes[category], sums->all_bytes));
		vt_table_cell(table, "%s", vt_format_count(count, sums->blocks[category]));
		vt_table_cell(table, "%s", vt_category_plural((enum vt_category)category));
		vt_table_cell(table, "%s", vt_confidence_name(most_confidence(sums, category)));
	}
	return vt_table_print(table, screen);
}

void vt_uses_json(struct vt_json *json, const struct vt_use_sums *sums)
{
	unsigned categories[VT_CATEGORIES];

	order(categories, sums);
	vt_json_put_object(json, "estimates");
	vt_json_put_string(json, "method", "by scope and lifetime");
	vt_json_put_array(json, "categories");
	for (unsigned i = 0; i < VT_CATEGORIES; i++) {
		unsigned category = categories[i];
		const uint64_t *confidence = sums->confidence_bytes[category];

		if (!sums->blocks[category])
			continue;
		vt_json_object(json);
		vt_json_put_string(json, "category", vt_category_name((enum vt_category)category));
		vt_json_put_u64(json, "live_bytes", sums->bytes[category]);
		vt_json_put_u64(json, "count", sums->blocks[category]);
		vt_json_put_u64(json, "high_confidence_bytes", confidence[VT_CONFIDENCE_HIGH]);
		vt_json_put_u64(json, "medium_confidence_bytes", confidence[VT_CONFIDENCE_MEDIUM]);
		vt_json_put_u64(json, "low_confidence_bytes", confidence[VT_CONFIDENCE_LOW]);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
	vt_json_object_end(json);
}
