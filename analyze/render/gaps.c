/* gaps.c - see gaps.h. */
#include "analyze/render/gaps.h"

#include <inttypes.h>

#include "schema/base/buf.h"
#include "schema/base/cleanup.h"
#include "schema/base/format.h"

/* More are counted, not listed. */
#define LINES_MAX 8u

struct gap {
	uint64_t begin_ns;
	uint64_t end_ns; /* 0: not ended */
	uint32_t process;
	bool kernels; /* of kernels and copies alone */
};

struct gaps {
	struct vt_buf list; /* struct gap, as they began */
	uint64_t origin_ns; /* start of the first process */
};

static struct gap *gap_at(const struct gaps *gaps, size_t index)
{
	return (struct gap *)(void *)gaps->list.data + index;
}

static size_t count_gaps(const struct gaps *gaps)
{
	return gaps->list.bytes / sizeof(struct gap);
}

static int take_process(void *arg, const struct vt_process_row *row)
{
	struct gaps *gaps = arg;

	if (!gaps->origin_ns || row->start_ns < gaps->origin_ns)
		gaps->origin_ns = row->start_ns;
	return 0;
}

static int take_note(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)rec;
	struct gap gap = { .begin_ns = note->time_ns, .process = process, .kernels = note->thread != 0 };
	struct gaps *gaps = arg;

	if (note->code == VT_note_code_GAP_BEGIN)
		return vt_buf_append(&gaps->list, &gap, sizeof(gap));
	if (note->code != VT_note_code_GAP_END)
		return 0;
	for (size_t i = count_gaps(gaps); i-- > 0;) {
		struct gap *open = gap_at(gaps, i);

		if (open->process == process && open->kernels == gap.kernels && !open->end_ns) {
			open->end_ns = note->time_ns;
			break;
		}
	}
	return 0;
}

static int load(struct gaps *gaps, struct vt_store *store, struct vt_err *err)
{
	int r = vt_store_each_process(store, take_process, gaps, err);

	if (r == 0)
		r = vt_store_each_record(store, vt_event_find(VT_EVENT_note), take_note, gaps, err);
	return r == -VT_E_NOMEM ? vt_err_set(err, VT_E_NOMEM, "no memory for the gaps of a recording") : r;
}

static uint64_t relative(const struct gaps *gaps, uint64_t time_ns)
{
	return time_ns > gaps->origin_ns ? time_ns - gaps->origin_ns : 0;
}

static void print_gap(const struct vt_screen *screen, const struct gaps *gaps, const struct gap *gap)
{
	char begin[VT_FORMAT_MAX], end[VT_FORMAT_MAX];

	(void)vt_format_ns(begin, relative(gaps, gap->begin_ns));
	if (gap->end_ns)
		(void)vt_format_ns(end, relative(gaps, gap->end_ns));
	vt_screen_text(screen, 0, "%s of process %" PRIu32 " was recorded from %s to %s%s.",
		       gap->kernels ? "No kernel and no copy" : "Nothing", gap->process, begin,
		       gap->end_ns ? end : "the end",
		       gap->kernels  ? ""
		       : gap->end_ns ? ": blocks of before are not followed beyond it"
				     : "");
}

int vt_gaps_print(const struct vt_screen *screen, struct vt_store *store, struct vt_err *err)
{
	struct gaps gaps = { .origin_ns = 0 };
	int r = load(&gaps, store, err);
	size_t n = count_gaps(&gaps);

	for (size_t i = 0; r == 0 && i < n && i < LINES_MAX; i++)
		print_gap(screen, &gaps, gap_at(&gaps, i));
	if (r == 0 && n > LINES_MAX)
		vt_screen_text(screen, 0, "There are %zu more such gaps.", n - LINES_MAX);
	vt_buf_done(&gaps.list);
	return r;
}

int vt_gaps_json(struct vt_json *json, struct vt_store *store, struct vt_err *err)
{
	struct gaps gaps = { .origin_ns = 0 };
	int r = load(&gaps, store, err);

	vt_json_put_array(json, "gaps");
	for (size_t i = 0; r == 0 && i < count_gaps(&gaps); i++) {
		const struct gap *gap = gap_at(&gaps, i);

		vt_json_object(json);
		vt_json_put_u64(json, "process", gap->process);
		vt_json_put_u64(json, "begin_ns", relative(&gaps, gap->begin_ns));
		vt_json_name(json, "end_ns");
		if (gap->end_ns)
			vt_json_u64(json, relative(&gaps, gap->end_ns));
		else
			vt_json_null(json);
		vt_json_put_string(json, "what", gap->kernels ? "kernels" : "everything");
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
	vt_buf_done(&gaps.list);
	return r;
}
