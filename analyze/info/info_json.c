/* info_json.c - see info_print.h: JSON. Times are ns since the first event or process, as in all reports. */
#include "analyze/info/info_print.h"

#include "analyze/render/losses.h"

static void put_time(struct vt_json *json, const char *name, const struct vt_info *info, uint64_t time_ns)
{
	vt_json_name(json, name);
	if (time_ns)
		vt_json_u64(json, time_ns > info->first_ns ? time_ns - info->first_ns : 0);
	else
		vt_json_null(json);
}

static void put_processes(const struct vt_info *info, struct vt_json *json)
{
	vt_json_put_array(json, "processes");
	vt_info_each(struct vt_info_process, process, info->processes)
	{
		const struct vt_process_row *row = &process->row;

		vt_json_object(json);
		vt_json_put_u64(json, "process", row->id);
		vt_json_put_u64(json, "pid", row->pid);
		vt_json_put_u64(json, "parent_pid", row->parent_pid);
		vt_json_put_i64(json, "rank", row->rank);
		vt_json_put_i64(json, "local_rank", row->local_rank);
		vt_json_put_i64(json, "world_size", row->world_size);
		put_time(json, "start_ns", info, row->start_ns);
		put_time(json, "end_ns", info, row->end_ns);
		vt_json_put_string(json, "end", vt_info_end_words(row));
		vt_json_put_u64(json, "threads", process->threads);
		vt_json_put_string(json, "executable", vt_info_text(info, process->executable));
		vt_json_put_string(json, "command", vt_info_text(info, process->command));
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

/* Devices as the notes name them: value is the ordinal. */
static void put_devices(const struct vt_info *info, struct vt_json *json)
{
	vt_json_put_array(json, "devices");
	vt_info_each(struct vt_info_note, note, info->notes)
	{
		if (note->code != VT_note_code_DEVICE_NAME)
			continue;
		vt_json_object(json);
		vt_json_put_u64(json, "process", note->process);
		vt_json_put_u64(json, "device", note->value);
		vt_json_put_string(json, "name", vt_info_text(info, note->text));
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

static void put_kinds(const struct vt_info *info, struct vt_json *json)
{
	vt_json_put_array(json, "kinds");
	vt_info_each(struct vt_info_kind, kind, info->kinds)
	{
		vt_json_object(json);
		vt_json_put_u64(json, "id", kind->id);
		vt_json_put_string(json, "name", kind->event ? kind->event->name : "?");
		vt_json_put_u64(json, "events", kind->events);
		vt_json_put_u64(json, "chunks", kind->chunks);
		vt_json_put_u64(json, "stored_bytes", kind->blob_bytes);
		put_time(json, "first_ns", info, kind->first_ns);
		put_time(json, "last_ns", info, kind->last_ns);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

static void put_notes(const struct vt_info *info, struct vt_json *json)
{
	vt_json_put_array(json, "notes");
	vt_info_each(struct vt_info_note, note, info->notes)
	{
		const char *words = vt_enum_text("note_code", note->code);

		vt_json_object(json);
		put_time(json, "time_ns", info, note->time_ns);
		vt_json_put_u64(json, "process", note->process);
		vt_json_put_u64(json, "code", note->code);
		vt_json_put_string(json, "note", words ? words : "?");
		vt_json_put_u64(json, "value", note->value);
		vt_json_put_string(json, "text", vt_info_text(info, note->text));
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

int vt_info_json(const struct vt_info *info, struct vt_json *json, struct vt_err *err)
{
	vt_json_put_u64(json, "file_bytes", vt_store_file_bytes(info->store));
	vt_json_put_u64(json, "events", info->events);
	vt_json_put_u64(json, "span_ns", info->last_ns - info->first_ns);
	vt_json_name(json, "start_realtime_ns");
	if (info->clock.realtime_ns && info->first_ns)
		vt_json_u64(json, info->clock.realtime_ns + info->first_ns - info->clock.monotonic_ns);
	else
		vt_json_null(json);
	vt_json_put_object(json, "meta");
	for (const char *const *key = vt_info_meta_keys; *key; key++) {
		const char *value = vt_store_meta(info->store, *key);

		if (value)
			vt_json_put_string(json, *key, value);
	}
	vt_json_object_end(json);
	put_processes(info, json);
	put_devices(info, json);
	put_kinds(info, json);
	put_notes(info, json);
	vt_json_put_array(json, "unknown");
	vt_info_each(uint32_t, text, info->unknown) vt_json_string(json, vt_info_text(info, *text));
	vt_json_array_end(json);
	return vt_losses_json(json, info->store, err);
}
