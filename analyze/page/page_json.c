/*
 * page_json.c - see page.h: what was gathered, as the page's program reads it (app/data.js).
 *
 * Times are nanoseconds since the origin. Lists named in plural of a row of numbers are differences from one to the next;
 * a series is pairs: so many bins further, so many bytes more.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/page/page_json.h"
#include "analyze/views/steps.h"

/* Longest text of a trace on the page, in bytes; longer ones are cut, and end in "…". */
#define TEXT_MAX 2000

void vt_page_put_text(struct vt_json *json, const char *text)
{
	size_t bytes = strnlen(text, TEXT_MAX + 1);
	char cut[TEXT_MAX + 4];

	if (bytes <= TEXT_MAX) {
		vt_json_bytes(json, text, bytes);
		return;
	}
	for (bytes = TEXT_MAX; bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80;)
		bytes--;
	memcpy(cut, text, bytes);
	memcpy(cut + bytes, "…", sizeof("…"));
	vt_json_bytes(json, cut, bytes + strlen("…"));
}

static uint64_t relative(const struct vt_page *page, uint64_t time_ns)
{
	return vt_session_relative_ns(page->session, time_ns);
}

/* ---------------------------------------------------------------- bins and series */

static void put_differences(const struct vt_page *page, struct vt_json *json, const char *name,
			    const struct vt_page_bins_device *device, size_t member)
{
	bool is_time =
		member == offsetof(struct vt_page_bin, first_ns) || member == offsetof(struct vt_page_bin, at_ns);
	uint64_t last = 0;

	vt_json_put_array(json, name);
	for (size_t i = 0; i < device->count; i++) {
		uint64_t value;

		memcpy(&value, (const char *)&device->list[i] + member, sizeof(value));
		value = is_time ? relative(page, value) : value;
		vt_json_i64(json, (int64_t)(value - last));
		last = value;
	}
	vt_json_array_end(json);
}

static void put_changes(struct vt_json *json, const uint64_t *changes, size_t count)
{
	size_t last = 0;

	vt_json_put_array(json, "changes");
	for (size_t i = 0; i < count; i++) {
		if (!changes[i])
			continue;
		vt_json_u64(json, i - last);
		vt_json_i64(json, (int64_t)changes[i]);
		last = i;
	}
	vt_json_array_end(json);
}

static void put_series(const struct vt_page *page, struct vt_json *json, uint32_t device)
{
	const struct vt_page_series *series = &page->series;
	size_t count = page->bins.devices[device].count;

	vt_json_put_object(json, "series");
	for (unsigned by = 0; by < VT_PAGE_BYS; by++) {
		vt_json_put_array(json, vt_page_by_name((enum vt_page_by)by));
		for (unsigned k = 0; k < series->kinds[by].count && device < series->device_room; k++) {
			const uint64_t *changes = series->devices[device].changes[by][k];

			if (!changes)
				continue;
			vt_json_object(json);
			vt_json_name(json, "label");
			vt_page_put_text(json, vt_texts_get(&series->texts, series->kinds[by].labels[k]));
			vt_json_put_bool(json, "rest", !k);
			put_changes(json, changes, count);
			vt_json_object_end(json);
		}
		vt_json_array_end(json);
	}
	vt_json_object_end(json);
}

/* ---------------------------------------------------------------- steps and segments */

static void put_steps(const struct vt_page *page, struct vt_json *json, uint32_t device, uint32_t process)
{
	vt_json_put_string(json, "steps_found",
			   vt_steps_how_text(vt_attribution_steps_how(page->attribution, process)));
	vt_json_put_array(json, "steps");
	for (size_t i = 0; device < page->steps.room && i < page->steps.devices[device].count; i++) {
		const struct vt_page_step *step = &page->steps.devices[device].list[i];

		vt_json_object(json);
		vt_json_name(json, "step");
		if (step->step == VT_STEP_UNKNOWN)
			vt_json_null(json);
		else
			vt_json_u64(json, step->step);
		vt_json_put_u64(json, "first_ns", relative(page, step->first_ns));
		vt_json_put_u64(json, "last_ns", relative(page, step->last_ns));
		vt_json_put_u64(json, "peak_allocated_bytes", step->peak_bytes);
		vt_json_put_u64(json, "peak_time_ns", relative(page, step->peak_ns));
		vt_json_put_u64(json, "allocated_bytes", step->end_bytes);
		vt_json_put_u64(json, "allocations", step->allocs);
		vt_json_put_u64(json, "allocations_bytes", step->allocated_bytes);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

static void put_segment(const struct vt_page *page, struct vt_json *json, const struct vt_page_segment *segment)
{
	const struct vt_page_piece *pieces = (const struct vt_page_piece *)(const void *)page->space.pieces.data;
	char address[24];
	uint64_t last = 0;

	(void)snprintf(address, sizeof(address), "0x%" PRIx64, segment->start);
	vt_json_array(json);
	vt_json_string(json, address);
	vt_json_u64(json, segment->bytes);
	vt_json_u64(json, segment->small);
	vt_json_array(json);
	for (size_t i = 0; i < segment->npieces; i++) {
		const struct vt_page_piece *piece = &pieces[segment->first_piece + i];

		vt_json_u64(json, piece->offset - last);
		vt_json_u64(json, piece->bytes);
		last = piece->offset + piece->bytes;
	}
	vt_json_array_end(json);
	vt_json_array_end(json);
}

static void put_moments(const struct vt_page *page, struct vt_json *json, uint32_t device)
{
	const struct vt_page_moment *moments = (const struct vt_page_moment *)(const void *)page->space.moments.data;
	const struct vt_page_segment *segments =
		(const struct vt_page_segment *)(const void *)page->space.segments.data;

	vt_json_put_array(json, "moments");
	for (size_t i = 0; i < page->space.moments.bytes / sizeof(*moments); i++) {
		const struct vt_page_moment *moment = &moments[i];

		if (moment->device != device)
			continue;
		vt_json_object(json);
		vt_json_put_u64(json, "time_ns", relative(page, moment->time_ns));
		vt_json_put_bool(json, "oom", moment->oom);
		vt_json_put_u64(json, "live_bytes", moment->live_bytes);
		vt_json_put_u64(json, "outside_bytes", moment->stray_bytes);
		vt_json_put_array(json, "segments");
		for (size_t k = 0; k < moment->nsegments; k++)
			put_segment(page, json, &segments[moment->first_segment + k]);
		vt_json_array_end(json);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

/* ---------------------------------------------------------------- the whole */

static void put_device(const struct vt_page *page, struct vt_json *json, struct vt_page_names *names, uint32_t device)
{
	static const struct {
		const char *name;
		size_t member;
	} lists[] = {
		{ "firsts", offsetof(struct vt_page_bin, first_ns) },
		{ "ats", offsetof(struct vt_page_bin, at_ns) },
		{ "allocateds", offsetof(struct vt_page_bin, allocated_bytes) },
		{ "reserveds", offsetof(struct vt_page_bin, reserved_bytes) },
		{ "drivers", offsetof(struct vt_page_bin, driver_bytes) },
		{ "useds", offsetof(struct vt_page_bin, used_bytes) },
	};
	const struct vt_device *state = vt_replay_device(page->session->replay, device);

	vt_json_object(json);
	vt_session_json_device(page->session, json, state);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		put_differences(page, json, lists[i].name, &page->bins.devices[device], lists[i].member);
	put_series(page, json, device);
	put_steps(page, json, device, state->process);
	put_moments(page, json, device);
	vt_page_put_blocks(page, json, names, device);
	vt_json_object_end(json);
}

static void put_flame(const struct vt_page *page, struct vt_json *json)
{
	const struct vt_flame *flame = &page->flame;
	char text[80];

	vt_json_put_object(json, "flame");
	vt_json_put_array(json, "weights");
	for (unsigned i = 0; i < VT_FLAME_WEIGHTS; i++)
		vt_json_string(json, vt_flame_weight_text(flame, text, (enum vt_flame_weight)i));
	vt_json_array_end(json);
	vt_json_put_array(json, "frames");
	for (uint32_t i = 0; i < flame->frames.count; i++) {
		struct vt_flame_frame frame = vt_flame_frame(flame, i);

		vt_json_array(json);
		vt_page_put_text(json, frame.function);
		vt_page_put_text(json, frame.file);
		vt_json_u64(json, frame.line);
		vt_json_array_end(json);
	}
	vt_json_array_end(json);
	/* parent (-1: a device's root) and frame, then bytes and blocks of each weight */
	vt_json_put_array(json, "nodes");
	for (uint32_t i = 0; i < flame->nodes.count; i++) {
		const struct vt_idmap_key *key = &flame->nodes.keys[i];
		char label[96];

		vt_json_array(json);
		vt_json_i64(json, vt_flame_is_root(flame, i) ? -1 : (int64_t)key->a);
		if (vt_flame_is_root(flame, i))
			vt_json_string(json, vt_flame_root_label(flame, label, i));
		else
			vt_json_u64(json, key->b);
		for (unsigned k = 0; k < VT_FLAME_WEIGHTS; k++) {
			vt_json_u64(json, flame->sums[i].bytes[k]);
			vt_json_u64(json, flame->sums[i].blocks[k]);
		}
		vt_json_array_end(json);
	}
	vt_json_array_end(json);
	vt_json_object_end(json);
}

int vt_page_json(const struct vt_page *page, FILE *out, struct vt_err *err)
{
	struct vt_page_names names = { .page = page };
	struct vt_json json;
	int r = vt_page_names_begin(&names, err);

	if (r < 0)
		return r;
	vt_json_init(&json, out, true);
	vt_json_object(&json);
	vt_json_put_string(&json, "version", VT_VERSION);
	vt_json_put_string(&json, "moment", page->session->moment_word);
	vt_json_put_u64(&json, "events_per_bin", page->bins.events_per_bin);
	vt_json_put_u64(&json, "blocks_seen", page->blocks.seen);
	vt_json_put_u64(&json, "blocks_kept", page->blocks.count);
	vt_json_put_bool(&json, "touches_captured", page->touches.captured);
	vt_json_put_array(&json, "devices");
	for (uint32_t i = 0; i < page->bins.room; i++)
		if (page->bins.devices[i].count && vt_session_wants(page->session, i))
			put_device(page, &json, &names, i);
	vt_json_array_end(&json);
	put_flame(page, &json);
	vt_page_names_put(&names, &json);
	vt_json_object_end(&json);
	if (names.failed || vt_json_done(&json) < 0)
		r = vt_err_set(err, VT_E_NOMEM, "no memory for the page's data");
	vt_page_names_done(&names);
	return r;
}
