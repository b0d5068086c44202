/* export_json.c - events, and the tables behind them, as JSON lines: see export.h. */
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/views/place.h"
#include "schema/base/bits.h"
#include "schema/base/cleanup.h"
#include "schema/base/json.h"

struct writer {
	struct vt_json json;
	FILE *out;
	const struct vt_symbols *symbols;
	const struct vt_event *event; /* of the table under way */
	bool stacks;
};

static void close_symbols(struct vt_symbols **symbols)
{
	vt_symbols_close(*symbols);
}

static void close_cursor(struct vt_cursor **cursor)
{
	vt_cursor_close(*cursor);
}

static void begin(struct writer *writer, const char *event, uint32_t process)
{
	vt_json_init(&writer->json, writer->out, true);
	vt_json_object(&writer->json);
	vt_json_put_string(&writer->json, "event", event);
	if (process)
		vt_json_put_u64(&writer->json, "process", process);
}

static int end(struct writer *writer, struct vt_err *err)
{
	vt_json_object_end(&writer->json);
	return vt_json_done(&writer->json) < 0 ? vt_err_set(err, VT_E_IO, "the output cannot be written") : 0;
}

static void put_frames(struct writer *writer, uint32_t process, uint32_t stack)
{
	struct vt_frame_info frame;
	char module[VT_PLACE_MAX];

	vt_json_put_array(&writer->json, "stack_frames");
	for (int depth = 0; depth < 256 && vt_symbols_frame(writer->symbols, process, stack, &frame); depth++) {
		vt_json_object(&writer->json);
		vt_json_put_string(&writer->json, "function", frame.function);
		vt_json_put_string(&writer->json, "file", frame.file);
		vt_json_put_u64(&writer->json, "line", frame.line);
		if (frame.module)
			vt_json_put_string(&writer->json, "module", vt_place_module(module, &frame));
		vt_json_object_end(&writer->json);
		stack = frame.parent;
	}
	vt_json_array_end(&writer->json);
}

/* The text that belongs to an id or a number, under the column's name with a suffix. */
static void put_text(struct writer *writer, const struct vt_event *event, uint32_t process, const struct vt_col *col,
		     int64_t value)
{
	const char *enum_name = vt_export_enum(event, col);
	const char *text = NULL;
	const char *suffix = "_text";
	char name[64];
	struct vt_op_info op;

	if (enum_name)
		text = vt_enum_text(enum_name, value);
	else if (col->type == VT_TYPE_STR && value)
		text = vt_symbols_string(writer->symbols, process, (uint32_t)value);
	else if (col->type == VT_TYPE_OPNODE && vt_symbols_op(writer->symbols, process, (uint32_t)value, &op)) {
		text = op.name;
		suffix = "_name";
	}
	if (text && (size_t)snprintf(name, sizeof(name), "%s%s", col->name, suffix) < sizeof(name))
		vt_json_put_string(&writer->json, name, text);
	if (writer->stacks && col->type == VT_TYPE_STACK && value)
		put_frames(writer, process, (uint32_t)value);
}

static void put_columns(struct writer *writer, uint32_t process, const struct vt_event *event, const struct vt_rec *rec)
{
	for (uint32_t i = 0; i < event->ncols; i++) {
		const struct vt_col *col = &event->cols[i];
		int64_t value;

		if (vt_col_is_pad(col))
			continue;
		value = vt_export_value(rec, col);
		if (vt_col_is_signed(col))
			vt_json_put_i64(&writer->json, col->name, value);
		else
			vt_json_put_u64(&writer->json, col->name, (uint64_t)value);
		put_text(writer, event, process, col, value);
	}
}

/* ------------------------------------------------------------------ tables */

static int put_process(void *arg, const struct vt_process_row *row)
{
	struct writer *writer = arg;

	begin(writer, "process", row->id);
	vt_json_put_u64(&writer->json, "pid", row->pid);
	vt_json_put_u64(&writer->json, "parent_pid", row->parent_pid);
	vt_json_put_i64(&writer->json, "rank", row->rank);
	vt_json_put_i64(&writer->json, "local_rank", row->local_rank);
	vt_json_put_i64(&writer->json, "world_size", row->world_size);
	vt_json_put_u64(&writer->json, "pid_start_ticks", row->pid_start_ticks);
	vt_json_put_u64(&writer->json, "start_ns", row->start_ns);
	vt_json_put_u64(&writer->json, "end_ns", row->end_ns);
	vt_json_put_i64(&writer->json, "end_state", row->end_state);
	vt_json_put_string(&writer->json, "executable", row->executable);
	vt_json_put_string(&writer->json, "command", row->command);
	return end(writer, NULL);
}

static int put_thread(void *arg, const struct vt_thread_row *row)
{
	struct writer *writer = arg;

	begin(writer, "thread", row->process);
	vt_json_put_u64(&writer->json, "ring", row->ring);
	vt_json_put_u64(&writer->json, "generation", row->generation);
	vt_json_put_u64(&writer->json, "thread", row->tid);
	vt_json_put_string(&writer->json, "name", row->name);
	vt_json_put_u64(&writer->json, "events", row->events);
	return end(writer, NULL);
}

static int put_clock(void *arg, const struct vt_clock_row *row)
{
	struct writer *writer = arg;

	begin(writer, "clock", 0);
	vt_json_put_u64(&writer->json, "monotonic_ns", row->monotonic_ns);
	vt_json_put_u64(&writer->json, "realtime_ns", row->realtime_ns);
	vt_json_put_u64(&writer->json, "boottime_ns", row->boottime_ns);
	return end(writer, NULL);
}

static int put_loss(void *arg, const struct vt_loss_row *row)
{
	const char *text = vt_enum_text("loss", row->kind);
	struct writer *writer = arg;

	begin(writer, "loss", row->process);
	vt_json_put_u64(&writer->json, "kind", row->kind);
	if (text)
		vt_json_put_string(&writer->json, "kind_text", text);
	vt_json_put_u64(&writer->json, "count", row->count);
	return end(writer, NULL);
}

static int put_definition(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct writer *writer = arg;
	const struct vt_event *event = writer->event;

	begin(writer, event->name, process);
	put_columns(writer, process, event, rec);
	if (event->class == VT_CLASS_BLOB) {
		int64_t bytes = vt_export_value(rec, vt_event_col_name(event, "size_bytes"));

		vt_json_name(&writer->json, "bytes");
		vt_json_bytes(&writer->json, (const char *)rec + event->size, (size_t)bytes);
	}
	return end(writer, NULL);
}

/* oom and note come with the events, in their place in time. */
static bool is_timed(const struct vt_event *event)
{
	return event->id == VT_EVENT_oom || event->id == VT_EVENT_note;
}

static int put_tables(struct writer *writer, struct vt_store *store, struct vt_err *err)
{
	int r = vt_store_each_process(store, put_process, writer, err);

	if (r == 0)
		r = vt_store_each_thread(store, put_thread, writer, err);
	if (r == 0)
		r = vt_store_each_clock(store, put_clock, writer, err);
	if (r == 0)
		r = vt_store_each_loss(store, put_loss, writer, err);
	for (size_t i = 0; i < vt_nevents && r == 0; i++) {
		writer->event = &vt_events[i];
		if (writer->event->class != VT_CLASS_CHUNK && !is_timed(writer->event))
			r = vt_store_each_record(store, writer->event, put_definition, writer, err);
	}
	return r;
}

int vt_export_json(FILE *out, struct vt_store *store, const struct vt_export_options *options, struct vt_err *err)
{
	VT_CLEANUP(close_symbols) struct vt_symbols *symbols = NULL;
	VT_CLEANUP(close_cursor) struct vt_cursor *cursor = NULL;
	struct writer writer = { .out = out, .stacks = options->stacks };
	struct vt_item item;
	int r = vt_symbols_open(&symbols, store, err);

	writer.symbols = symbols;
	if (r == 0 && options->definitions)
		r = put_tables(&writer, store, err);
	if (r == 0)
		r = vt_cursor_open(&cursor, store, &options->cursor, err);
	while (r == 0 && (r = vt_cursor_next(cursor, &item, err)) > 0) {
		begin(&writer, item.event->name, item.process);
		put_columns(&writer, item.process, item.event, item.rec);
		r = end(&writer, err);
	}
	return r;
}
