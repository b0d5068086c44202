/* check.c - see check.h. */
#include "analyze/check/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/check/definitions.h"
#include "analyze/render/losses.h"
#include "analyze/replay/replay.h"
#include "analyze/store/prefetch.h"
#include "schema/base/cleanup.h"

static int collect_chunk(void *arg, const struct vt_chunk_info *info)
{
	const struct vt_event *event = vt_event_find(info->kind);

	/* Kinds of later versions are told apart from damage by vt_store_each_unknown. */
	return event && event->class == VT_CLASS_CHUNK ? vt_buf_append(arg, info, sizeof(*info)) : 0;
}

/* Every chunk on its own, so that one that is broken hides no other. */
static int check_each(struct vt_check *check, struct vt_prefetch *prefetch, struct vt_definitions *definitions,
		      struct vt_err *err)
{
	struct vt_slot *slot;
	int r;

	for (;;) {
		r = vt_prefetch_take(prefetch, &slot, err);
		if (!r || r == -VT_E_NOMEM)
			return r;
		check->chunks++;
		if (r < 0) {
			check->broken_chunks++;
			vt_problems_add(&check->problems, "chunk",
					"its events are lost; record again, or report on the others with "
					"--process or --from and --to",
					"%s", err->msg);
			continue;
		}
		check->events += slot->rows.nrecords;
		vt_definitions_check(definitions, slot->info.process, slot->rows.event, slot->rows.records,
				     slot->rows.nrecords);
		vt_prefetch_recycle(prefetch, slot);
	}
}

static int check_chunks(struct vt_check *check, struct vt_store *store, struct vt_definitions *definitions,
			struct vt_err *err)
{
	VT_CLEANUP(vt_buf_done) struct vt_buf infos = { 0 };
	struct vt_prefetch prefetch;
	int r = vt_store_each_chunk(store, collect_chunk, &infos, err);

	if (r < 0)
		return r;
	vt_prefetch_init(&prefetch, store, (const void *)infos.data, infos.bytes / sizeof(struct vt_chunk_info));
	r = check_each(check, &prefetch, definitions, err);
	vt_prefetch_done(&prefetch);
	return r;
}

static int check_device(struct vt_check *check, struct vt_store *store, const struct vt_device *device,
			struct vt_err *err)
{
	const char *type = vt_enum_text("device_type", device->device_type);
	char place[96];
	uint64_t lost;
	int r;

	check->unknown_frees += device->unknown_frees;
	/* Host tensors of shared memory report a total of their own, not the allocator's. */
	if (!device->mismatches || device->device_type == VT_device_type_HOST)
		return 0;
	r = vt_losses_total(store, device->process, &lost, err);
	if (r < 0)
		return r;
	if (lost) {
		check->explained += device->mismatches;
		return 0;
	}
	(void)snprintf(place, sizeof(place), "process %" PRIu32 ", %s:%d", device->process, type ? type : "?",
		       device->device);
	vt_problems_add(
		&check->problems, place, "events are missing though no loss was counted: please report this trace",
		"%" PRIu64 " times the allocator's total moved by other than the event's bytes", device->mismatches);
	return 0;
}

static int replay_all(struct vt_check *check, struct vt_store *store, struct vt_replay *replay,
		      struct vt_cursor *cursor, struct vt_err *err)
{
	int r = vt_replay_run(replay, cursor, err);

	for (uint32_t i = 0; !r && i < vt_replay_device_count(replay); i++)
		r = check_device(check, store, vt_replay_device(replay, i), err);
	return r;
}

/* Our sum of live blocks against what the allocator says after each event. */
static int check_totals(struct vt_check *check, struct vt_store *store, struct vt_err *err)
{
	static const uint32_t wanted[] = { VT_EVENT_tensor, VT_EVENT_driver_memory, VT_EVENT_note };
	const struct vt_cursor_options options = { .kinds = wanted, .nkinds = sizeof(wanted) / sizeof(*wanted) };
	struct vt_cursor *cursor = NULL;
	struct vt_replay *replay = NULL;
	int r = vt_replay_new(&replay, err);

	if (!r)
		r = vt_cursor_open(&cursor, store, &options, err);
	if (!r)
		r = replay_all(check, store, replay, cursor, err);
	vt_cursor_close(cursor);
	vt_replay_free(replay);
	return r;
}

static int count_unknown(void *arg, const char *name)
{
	uint64_t *count = arg;

	(void)name;
	(*count)++;
	return 0;
}

static int run(struct vt_check *check, struct vt_store *store, struct vt_definitions *definitions, struct vt_err *err)
{
	int r = vt_definitions_load(definitions, store, err);

	if (r == -VT_E_CORRUPT) {
		vt_problems_add(&check->problems, "definitions", "names and stacks of this trace cannot be read", "%s",
				err->msg);
		return 0;
	}
	if (!r)
		r = check_chunks(check, store, definitions, err);
	if (r < 0)
		return r;
	check->definitions = definitions->count;
	vt_definitions_report(definitions, &check->problems);
	/* Sums over a file with holes say nothing. */
	return check->broken_chunks ? 0 : check_totals(check, store, err);
}

int vt_check_run(struct vt_check *check, struct vt_store *store, struct vt_err *err)
{
	struct vt_definitions *definitions = calloc(1, sizeof(*definitions));
	int r;

	*check = (struct vt_check){ .chunks = 0 };
	if (!definitions)
		return vt_err_set(err, VT_E_NOMEM, "no memory to check with");
	if (vt_store_check(store, err) < 0)
		vt_problems_add(&check->problems, "SQLite",
				"copy the file as it is; 'sqlite3 FILE .recover' may save tables from it", "%s",
				err->msg);
	if (vt_store_warning(store))
		vt_problems_add(&check->problems, "file", "look for the file beside the place where it was recorded",
				"%s", vt_store_warning(store));
	r = vt_store_each_unknown(store, count_unknown, &check->unknown_kinds, err);
	if (!r)
		r = run(check, store, definitions, err);
	vt_definitions_done(definitions);
	free(definitions);
	return r;
}
