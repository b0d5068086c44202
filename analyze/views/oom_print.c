/* oom_print.c - the post-mortem as a note for people: see oom.h. */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/render/losses.h"
#include "analyze/views/oom.h"
#include "analyze/views/report.h"

#define FRAMES_SHOWN 12

static void print_asked(const struct vt_oom_report *report, const struct vt_screen *screen,
			const struct vt_oom_story *story)
{
	const struct vt_oom_facts *facts = &story->facts;
	char asked[VT_FORMAT_MAX], tried[VT_FORMAT_MAX], size[VT_FORMAT_MAX], given[VT_FORMAT_MAX], n[VT_FORMAT_MAX];
	const char *call = vt_enum_text("driver_api", facts->attempt.api);

	(void)report;
	vt_screen_heading(screen, "What was asked");
	if (facts->from_driver) {
		vt_screen_text(screen, 2, "%s of %s, which returned out of memory.", call ? call : "A driver call",
			       vt_format_bytes(asked, facts->requested_bytes));
		return;
	}
	vt_screen_text(
		screen, 2,
		"A block of %s, for which PyTorch wanted a segment of %s (its message: \"Tried to allocate %s\").",
		vt_format_bytes(asked, facts->requested_bytes), vt_format_bytes(tried, facts->tried_bytes), tried);
	if (facts->attempt.failures)
		vt_screen_text(screen, 2, "%s of %s returned out of memory (failed calls for this request: %s).",
			       call ? call : "The driver call", vt_format_bytes(size, facts->attempt.size_bytes),
			       vt_format_count(n, facts->attempt.failures));
	else if (facts->has_driver)
		vt_screen_text(screen, 2, "No driver call failed for it.");
	else
		vt_screen_text(screen, 2, "The driver call that failed was not captured.");
	if (facts->released_bytes)
		vt_screen_text(screen, 2, "Between its tries PyTorch gave %s of cached segments back.",
			       vt_format_bytes(given, facts->released_bytes));
}

static void print_asker(const struct vt_oom_report *report, const struct vt_screen *screen,
			const struct vt_oom_story *story)
{
	const struct vt_symbols *symbols = report->session->symbols;
	struct vt_frame_info frame;
	struct vt_op_info op;
	const struct vt_link_forward forward = vt_attribution_answer(report->attribution, story->question);
	uint32_t node = story->rec.op, stack = story->rec.stack;
	char ops[512];
	size_t used = 0;

	ops[0] = 0;
	for (int depth = 0; depth < FRAMES_SHOWN && used < sizeof(ops) - 1; depth++, node = op.parent) {
		if (!vt_symbols_op(symbols, story->process, node, &op))
			break;
		used += (size_t)snprintf(ops + used, sizeof(ops) - used, "%s%.100s", depth ? " < " : "", op.name);
	}
	vt_screen_text(screen, 2, "Asked by %s.", ops[0] ? ops : "code outside any op that was captured");
	/* Memory of a backward pass: the line that the forward op was called at says more than that of backward(). */
	if (forward.op && vt_symbols_op(symbols, story->process, forward.op, &op)) {
		vt_screen_text(screen, 2, "It is the backward of %.100s%s", op.name,
			       forward.stack ? ", called at" : ".");
		stack = forward.stack;
	} else if (!vt_symbols_frame(symbols, story->process, stack, &frame)) {
		vt_screen_text(screen, 2, "No Python line is known for it.");
		return;
	}
	for (int depth = 0; depth < FRAMES_SHOWN && vt_symbols_frame(symbols, story->process, stack, &frame);
	     depth++, stack = frame.parent)
		vt_screen_text(screen, 4, "%s:%" PRIu32 " %s", frame.file, frame.line, frame.function);
	if (vt_symbols_frame(symbols, story->process, stack, &frame))
		vt_screen_text(screen, 4, "...");
}

/* The figures in the words of the exception, so that a reader finds them again. */
static void print_message(const struct vt_screen *screen, const struct vt_oom_facts *facts)
{
	char total[VT_FORMAT_MAX], free_text[VT_FORMAT_MAX], process[VT_FORMAT_MAX], allocated[VT_FORMAT_MAX];
	char unallocated[VT_FORMAT_MAX];

	if (facts->total_bytes)
		vt_screen_text(screen, 2, "Total capacity of %s of which %s is free.",
			       vt_format_bytes(total, facts->total_bytes),
			       vt_format_bytes(free_text, facts->free_bytes));
	if (facts->process_bytes)
		vt_screen_text(screen, 2, "Including non-PyTorch memory, this process has %s memory in use.",
			       vt_format_bytes(process, facts->process_bytes));
	vt_screen_text(
		screen, 2,
		"Of the allocated memory %s is allocated by PyTorch, and %s is reserved by PyTorch but unallocated.",
		vt_format_bytes(allocated, facts->allocated_bytes),
		vt_format_bytes(unallocated, vt_oom_unallocated(facts)));
}

static void print_space(const struct vt_screen *screen, const struct vt_oom_facts *facts)
{
	const struct vt_free_space *space = &facts->space;
	char bytes[VT_FORMAT_MAX], ranges[VT_FORMAT_MAX], largest[VT_FORMAT_MAX], asked[VT_FORMAT_MAX],
		other[VT_FORMAT_MAX];
	bool small = facts->requested_bytes <= VT_TORCH_SMALL_REQUEST;

	if (facts->from_driver)
		return;
	if (!facts->has_segments) {
		vt_screen_text(screen, 2,
			       "The segments are not in the trace (no driver calls were captured), so the free ranges "
			       "inside them are not known.");
		return;
	}
	vt_screen_text(screen, 2,
		       "The %s segments, which serve such a request, have %s free in %s ranges; the largest is %s%s.",
		       small ? "small" : "large", vt_format_bytes(bytes, space->free_bytes),
		       vt_format_count(ranges, space->free_ranges), vt_format_bytes(largest, space->largest_bytes),
		       space->largest_bytes < facts->requested_bytes ? ", too small" : "");
	if (space->other_free_bytes)
		vt_screen_text(screen, 2, "%s more is free in the %s segments, which do not serve it.",
			       vt_format_bytes(other, space->other_free_bytes), small ? "large" : "small");
	if (space->stray_blocks)
		vt_screen_text(
			screen, 2,
			"%s blocks (%s) lie in no segment that was seen: some segments are older than the capture.",
			vt_format_count(ranges, space->stray_blocks), vt_format_bytes(asked, space->stray_bytes));
	if (space->segment_bytes != facts->reserved_bytes)
		vt_screen_text(screen, 2, "Segments seen add up to %s of the %s that PyTorch has reserved.",
			       vt_format_bytes(bytes, space->segment_bytes),
			       vt_format_bytes(largest, facts->reserved_bytes));
}

static void print_next(const struct vt_screen *screen, const struct vt_oom_facts *facts)
{
	char text[VT_OOM_TEXT_MAX];
	unsigned n = 0;

	vt_screen_heading(screen, "What to do next");
	for (unsigned i = 0; i < vt_oom_nrules; i++) {
		if (!vt_oom_rules[i].applies(facts))
			continue;
		vt_oom_rules[i].say(text, facts);
		vt_screen_text(screen, 2, "%u. %s", ++n, vt_oom_rules[i].title);
		vt_screen_text(screen, 5, "%s", text);
	}
	if (!n)
		vt_screen_text(screen, 2, "The figures single nothing out: begin with the largest holders above.");
}

static int print_story(const struct vt_oom_report *report, const struct vt_screen *screen,
		       const struct vt_oom_story *story, uint64_t top)
{
	const struct vt_session *session = report->session;
	char at[VT_FORMAT_MAX], number[VT_FORMAT_MAX], count[VT_FORMAT_MAX];

	vt_session_print_device(session, screen, story->device);
	vt_screen_text(screen, 0, "Out-of-memory error %s of %s, at %s after the start.",
		       vt_format_count(number, story->number), vt_format_count(count, report->ooms),
		       vt_session_time(session, at, story->rec.time_ns));
	(void)putc('\n', screen->out);
	print_asked(report, screen, story);
	print_asker(report, screen, story);
	(void)putc('\n', screen->out);
	vt_screen_heading(screen, "Where the memory was");
	print_message(screen, &story->facts);
	if (vt_report_print_levels(session, screen, &story->levels) < 0)
		return -VT_E_NOMEM;
	print_space(screen, &story->facts);
	(void)putc('\n', screen->out);
	vt_screen_heading(screen, "Who held it");
	if (!story->holders.count)
		vt_screen_text(screen, 2, "No block of a framework was captured.");
	else if (vt_report_print_holders(screen, &story->holders, story->facts.allocated_bytes, top) < 0)
		return -VT_E_NOMEM;
	(void)putc('\n', screen->out);
	if (story->holders.count) {
		vt_screen_heading(screen, "What it was for (estimated by scope and lifetime)");
		vt_screen_text(screen, 2, "%s", story->sentence);
		if (vt_uses_print(screen, &story->uses) < 0)
			return -VT_E_NOMEM;
		(void)putc('\n', screen->out);
	}
	print_next(screen, &story->facts);
	(void)putc('\n', screen->out);
	return 0;
}

/* Without an error there is no advice that would say it. */
static void print_growth(const struct vt_screen *screen, const struct vt_growth *growth)
{
	char rise[VT_FORMAT_MAX];

	vt_screen_text(screen, 0,
		       "What stays allocated rose at the end of each of the last %" PRIu64
		       " optimizer steps, by %s in all: like a leak.",
		       growth->rising, vt_format_bytes(rise, growth->rise_bytes));
}

int vt_oom_report_print(const struct vt_oom_report *report, const struct vt_screen *screen, uint64_t top,
			struct vt_err *err)
{
	char count[VT_FORMAT_MAX];

	if (!report->ooms)
		vt_screen_text(screen, 0, "No out-of-memory error is in this trace%s.",
			       report->session->device >= 0 ? " for that device" : "");
	if (!report->ooms && report->growing)
		print_growth(screen, &report->growth);
	for (unsigned i = 0; i < report->nstories; i++) {
		const struct vt_oom_story *story = &report->stories[i];
		uint64_t skipped = i ? story->number - report->stories[i - 1].number - 1 : 0;

		if (skipped)
			vt_screen_text(screen, 0, "(%s more, not told in full)\n\n", vt_format_count(count, skipped));
		if (print_story(report, screen, story, top) < 0)
			return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	}
	return vt_losses_print(screen, report->session->store, err);
}
