/* trace_builder.c - see trace_builder.h. */
#include "trace_builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/buf.h"
#include "schema/store.h"

#define PROCESSES_MAX 16
#define DEVICES_MAX 32
/* Events a chunk: enough that a test of some hundred events gets one, and a benchmark what a collector makes. */
#define CHUNK_EVENTS 65536

struct live {
	uint64_t address;
	uint64_t bytes;
};

struct device {
	uint32_t process;
	uint16_t type;
	int16_t index;
	uint64_t allocated_bytes, reserved_bytes;
	struct vt_buf live; /* struct live */
};

struct string {
	char *text;
	uint32_t process, id;
};

struct vt_builder {
	struct vt_store *store;
	uint32_t nprocesses;
	uint32_t next_id;
	struct vt_buf strings; /* struct string */
	struct device devices[DEVICES_MAX];
	unsigned ndevices;
	struct vt_buf pending[PROCESSES_MAX][VT_COLS_MAX]; /* records, by process and event id */
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("trace_builder: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}

static void need(int result, const struct vt_err *err)
{
	if (result < 0)
		fail("%s", err->msg);
}

static void need_memory(int result)
{
	if (result < 0)
		fail("no memory");
}

struct vt_builder *vt_builder_new(const char *path)
{
	struct vt_builder *builder = calloc(1, sizeof(*builder));
	struct vt_err err = { 0 };

	if (!builder)
		fail("no memory");
	need(vt_store_create(&builder->store, path, VT_STORE_REPLACE, &err), &err);
	need(vt_store_begin(builder->store, &err), &err);
	return builder;
}

uint32_t vt_builder_process(struct vt_builder *builder, uint32_t pid, int32_t rank, const char *command)
{
	struct vt_process_row row = {
		.pid = pid,
		.parent_pid = 1,
		.rank = rank,
		.local_rank = rank,
		.world_size = rank < 0 ? -1 : 8,
		.pid_start_ticks = 1000 + pid,
		.start_ns = 1,
		.end_state = -1,
		.executable = "/usr/bin/python3",
		.command = command,
	};
	struct vt_err err = { 0 };
	uint32_t id;

	need(vt_store_put_process(builder->store, &row, &id, &err), &err);
	if (id >= PROCESSES_MAX)
		fail("more than %d processes", PROCESSES_MAX - 1);
	return id;
}

static void add_record(struct vt_builder *builder, uint32_t process, uint32_t kind, void *record, size_t bytes)
{
	struct vt_err err = { 0 };
	struct vt_rec *rec = record;

	rec->type = (uint16_t)kind;
	rec->len8 = (uint16_t)((bytes + 7) / 8);
	need(vt_store_add_record(builder->store, process, rec, &err), &err);
}

static uint32_t add_bytes(struct vt_builder *builder, uint32_t process, const void *bytes, size_t n)
{
	struct vt_string *string = calloc(1, sizeof(*string) + n + 8);

	if (!string)
		fail("no memory");
	string->id = ++builder->next_id;
	string->size_bytes = (uint32_t)n;
	memcpy(string + 1, bytes, n);
	add_record(builder, process, VT_EVENT_string, string, sizeof(*string) + n);
	free(string);
	return builder->next_id;
}

uint32_t vt_builder_touch(struct vt_builder *builder, uint32_t process, const uint64_t *addresses, uint32_t count)
{
	size_t bytes = count * sizeof(*addresses);
	struct vt_touch *touch = calloc(1, sizeof(*touch) + bytes);

	if (!touch)
		fail("no memory");
	touch->id = ++builder->next_id;
	touch->size_bytes = (uint32_t)bytes;
	memcpy(touch + 1, addresses, bytes);
	add_record(builder, process, VT_EVENT_touch, touch, sizeof(*touch) + bytes);
	free(touch);
	return builder->next_id;
}

uint32_t vt_builder_string(struct vt_builder *builder, uint32_t process, const char *text)
{
	const struct string *known = (const struct string *)(const void *)builder->strings.data;
	struct string string = { .process = process };

	for (size_t i = 0; i < builder->strings.bytes / sizeof(*known); i++)
		if (known[i].process == process && !strcmp(known[i].text, text))
			return known[i].id;
	string.id = add_bytes(builder, process, text, strlen(text));
	string.text = strdup(text);
	if (!string.text)
		fail("no memory");
	need_memory(vt_buf_append(&builder->strings, &string, sizeof(string)));
	return string.id;
}

uint32_t vt_builder_op(struct vt_builder *builder, uint32_t process, uint32_t parent, const char *name, uint32_t scope)
{
	struct vt_op_node node = {
		.parent = parent,
		.name = vt_builder_string(builder, process, name),
		.scope = scope,
	};

	node.id = ++builder->next_id;
	add_record(builder, process, VT_EVENT_op_node, &node, sizeof(node));
	return node.id;
}

uint32_t vt_builder_stack(struct vt_builder *builder, uint32_t process, uint32_t parent, const char *function,
			  const char *file, uint32_t line)
{
	/* A location table of Python 3.11 with one entry: no columns, one code unit, no lines more than the first. */
	static const uint8_t table[] = { 0x80 | 13 << 3, 0 };
	struct vt_code code = {
		.filename = vt_builder_string(builder, process, file),
		.qualname = vt_builder_string(builder, process, function),
		.linetable = add_bytes(builder, process, table, sizeof(table)),
		.first_line = line,
		.python = 0x030b,
	};
	struct vt_frame frame = { .instruction = 0 };
	struct vt_stack stack = { .parent = parent, .depth = 1 };

	code.id = ++builder->next_id;
	add_record(builder, process, VT_EVENT_code, &code, sizeof(code));
	frame.id = ++builder->next_id;
	frame.code = code.id;
	add_record(builder, process, VT_EVENT_frame, &frame, sizeof(frame));
	stack.id = ++builder->next_id;
	stack.frame = frame.id;
	add_record(builder, process, VT_EVENT_stack, &stack, sizeof(stack));
	return stack.id;
}

/* Sorts a chunk's records by column 1, equal ones in the order they were given. */
static int compare_records(const void *a, const void *b, void *size)
{
	uint64_t x, y;

	(void)size;
	memcpy(&x, (const char *)*(const void *const *)a + sizeof(struct vt_rec), sizeof(x));
	memcpy(&y, (const char *)*(const void *const *)b + sizeof(struct vt_rec), sizeof(y));
	if (x != y)
		return x < y ? -1 : 1;
	return *(const char *const *)a < *(const char *const *)b ? -1 : 1;
}

static void write_chunk(struct vt_builder *builder, uint32_t process, uint32_t kind)
{
	struct vt_buf *pending = &builder->pending[process][kind], sorted = { 0 };
	const struct vt_event *event = vt_event_find(kind);
	size_t n = pending->bytes / event->size;
	const uint8_t **order = calloc(n + 1, sizeof(*order));
	struct vt_chunk_rows rows;
	struct vt_err err = { 0 };
	int64_t id;

	if (!order)
		fail("no memory");
	for (size_t i = 0; i < n; i++)
		order[i] = pending->data + i * event->size;
	qsort_r(order, n, sizeof(*order), compare_records, NULL);
	for (size_t i = 0; i < n; i++)
		need_memory(vt_buf_append(&sorted, order[i], event->size));
	rows = (struct vt_chunk_rows){ event, sorted.data, (uint32_t)n, 0 };
	need(vt_store_add_chunk(builder->store, process, &rows, NULL, &id, &err), &err);
	vt_buf_clear(pending);
	vt_buf_done(&sorted);
	free(order);
}

void vt_builder_flush(struct vt_builder *builder)
{
	for (uint32_t process = 0; process < PROCESSES_MAX; process++)
		for (uint32_t kind = 0; kind < VT_COLS_MAX; kind++)
			if (builder->pending[process][kind].bytes)
				write_chunk(builder, process, kind);
}

void vt_builder_event(struct vt_builder *builder, uint32_t process, uint32_t kind, const void *record)
{
	const struct vt_event *event = vt_event_find(kind);
	struct vt_buf *pending;
	union {
		struct vt_rec rec;
		uint64_t room[64];
	} copy = { .room = { 0 } };

	if (!event || event->size > sizeof(copy))
		fail("no event %u", kind);
	memcpy(&copy, record, event->size);
	if (event->class != VT_CLASS_CHUNK) {
		add_record(builder, process, kind, &copy, event->size);
		return;
	}
	copy.rec.type = event->id;
	copy.rec.len8 = event->size / 8;
	pending = &builder->pending[process][kind];
	need_memory(vt_buf_append(pending, &copy, event->size));
	if (pending->bytes / event->size == CHUNK_EVENTS)
		write_chunk(builder, process, kind);
}

static struct device *find_device(struct vt_builder *builder, uint32_t process, uint16_t type, int16_t index)
{
	struct device *device;

	for (unsigned i = 0; i < builder->ndevices; i++) {
		device = &builder->devices[i];
		if (device->process == process && device->type == type && device->index == index)
			return device;
	}
	if (builder->ndevices == DEVICES_MAX)
		fail("more than %d devices", DEVICES_MAX);
	device = &builder->devices[builder->ndevices++];
	*device = (struct device){ .process = process, .type = type, .index = index };
	return device;
}

void vt_builder_alloc(struct vt_builder *builder, uint32_t process, const struct vt_tensor *tensor)
{
	struct device *device = find_device(builder, process, tensor->device_type, tensor->device);
	struct live live = { tensor->address, (uint64_t)tensor->size_bytes };
	struct vt_tensor event = *tensor;

	need_memory(vt_buf_append(&device->live, &live, sizeof(live)));
	device->allocated_bytes += live.bytes;
	event.allocated_bytes = device->allocated_bytes;
	event.reserved_bytes = device->reserved_bytes;
	event.thread = event.thread ? event.thread : 1;
	vt_builder_event(builder, process, VT_EVENT_tensor, &event);
}

void vt_builder_free(struct vt_builder *builder, uint32_t process, uint64_t time_ns, int16_t index, uint64_t address)
{
	struct device *device = find_device(builder, process, VT_device_type_CUDA, index);
	struct live *live = (struct live *)(void *)device->live.data;
	size_t n = device->live.bytes / sizeof(*live), at = n;

	while (at && live[at - 1].address != address)
		at--;
	if (!at)
		fail("free of 0x%llx, which is not live", (unsigned long long)address);
	device->allocated_bytes -= live[at - 1].bytes;
	const struct vt_tensor event = {
		.time_ns = time_ns,
		.address = address,
		.size_bytes = -(int64_t)live[at - 1].bytes,
		.allocated_bytes = device->allocated_bytes,
		.reserved_bytes = device->reserved_bytes,
		.thread = 1,
		.device = index,
		.device_type = VT_device_type_CUDA,
	};

	live[at - 1] = live[n - 1];
	device->live.bytes -= sizeof(*live);
	vt_builder_event(builder, process, VT_EVENT_tensor, &event);
}

void vt_builder_reserve(struct vt_builder *builder, uint32_t process, int16_t device, uint64_t bytes)
{
	find_device(builder, process, VT_device_type_CUDA, device)->reserved_bytes = bytes;
}

void vt_builder_note(struct vt_builder *builder, uint32_t process, uint64_t time_ns, uint32_t code, uint64_t value,
		     const char *text)
{
	const struct vt_note note = {
		.time_ns = time_ns,
		.value = value,
		.text = *text ? vt_builder_string(builder, process, text) : 0,
		.thread = 1,
		.code = code,
	};

	vt_builder_event(builder, process, VT_EVENT_note, &note);
}

void vt_builder_loss(struct vt_builder *builder, uint32_t process, uint32_t kind, uint64_t count)
{
	const struct vt_loss_row row = { process, kind, count };
	struct vt_err err = { 0 };

	need(vt_store_put_loss(builder->store, &row, &err), &err);
}

void vt_builder_close(struct vt_builder *builder)
{
	struct string *strings = (struct string *)(void *)builder->strings.data;
	struct vt_err err = { 0 };

	vt_builder_flush(builder);
	need(vt_store_commit(builder->store, &err), &err);
	need(vt_store_finish(builder->store, &err), &err);
	vt_store_close(builder->store);
	for (size_t i = 0; i < builder->strings.bytes / sizeof(*strings); i++)
		free(strings[i].text);
	vt_buf_done(&builder->strings);
	for (unsigned i = 0; i < builder->ndevices; i++)
		vt_buf_done(&builder->devices[i].live);
	for (uint32_t process = 0; process < PROCESSES_MAX; process++)
		for (uint32_t kind = 0; kind < VT_COLS_MAX; kind++)
			vt_buf_done(&builder->pending[process][kind]);
	free(builder);
}
