/* trace_facts.c - see trace_facts.h. */
#include "tests/fake/trace_facts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/buf.h"
#include "schema/chunk.h"

/* A definition, or an id that somebody refers to. */
struct name {
	uint32_t process, kind, id;
};

struct moment {
	uint32_t process, thread;
	uint64_t time_ns;
};

struct reading {
	struct trace_facts *facts;
	struct vt_store *store;
	struct vt_chunk_coder *coder;
	struct vt_err *err;
	const struct vt_event *event; /* of the table that is being read */
	struct vt_buf defined, wanted, moments;
};

static struct trace_process_facts *of_id(struct trace_facts *facts, uint32_t id)
{
	static struct trace_process_facts nobody;

	for (size_t i = 0; i < facts->nprocesses; i++)
		if (facts->processes[i].id == id)
			return &facts->processes[i];
	return &nobody;
}

const struct trace_process_facts *trace_facts_of_pid(const struct trace_facts *facts, uint32_t pid)
{
	for (size_t i = 0; i < facts->nprocesses; i++)
		if (facts->processes[i].pid == pid)
			return &facts->processes[i];
	return NULL;
}

static uint32_t kind_of_type(unsigned type)
{
	switch (type) {
	case VT_TYPE_STR:
		return VT_EVENT_string;
	case VT_TYPE_OPNODE:
		return VT_EVENT_op_node;
	case VT_TYPE_CODE:
		return VT_EVENT_code;
	case VT_TYPE_FRAME:
		return VT_EVENT_frame;
	case VT_TYPE_STACK:
		return VT_EVENT_stack;
	case VT_TYPE_CONFIG:
		return VT_EVENT_kernel_config;
	case VT_TYPE_TOUCH:
		return VT_EVENT_touch;
	case VT_TYPE_MODULE:
		return VT_EVENT_module;
	default:
		return 0;
	}
}

static int want_names(struct reading *reading, uint32_t process, const struct vt_event *event, const uint8_t *record)
{
	for (unsigned i = 0; i < event->ncols; i++) {
		struct name name = { .process = process, .kind = kind_of_type(event->cols[i].type) };

		if (!name.kind)
			continue;
		memcpy(&name.id, record + event->cols[i].offset, sizeof(name.id));
		if (name.id && vt_buf_append(&reading->wanted, &name, sizeof(name)) < 0)
			return -VT_E_NOMEM;
	}
	return 0;
}

/* ------------------------------------------------------------------ rows */

static int take_process(void *arg, const struct vt_process_row *row)
{
	struct trace_facts *facts = ((struct reading *)arg)->facts;

	if (facts->nprocesses == FACTS_PROCESSES_MAX)
		return -VT_E_INPUT;
	facts->processes[facts->nprocesses++] = (struct trace_process_facts){
		.id = row->id, .pid = row->pid, .end_state = row->end_state, .end_ns = row->end_ns
	};
	return 0;
}

static int take_thread(void *arg, const struct vt_thread_row *row)
{
	struct trace_process_facts *process = of_id(((struct reading *)arg)->facts, row->process);

	process->threads++;
	process->thread_records += row->events;
	return 0;
}

static int take_loss(void *arg, const struct vt_loss_row *row)
{
	if (row->kind < VT_loss_END)
		of_id(((struct reading *)arg)->facts, row->process)->lost[row->kind] += row->count;
	return 0;
}

static int take_clock(void *arg, const struct vt_clock_row *row)
{
	(void)row;
	((struct reading *)arg)->facts->clocks++;
	return 0;
}

static int take_record(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct reading *reading = arg;
	struct trace_process_facts *facts = of_id(reading->facts, process);
	struct name name = { .process = process, .kind = reading->event->id };
	const struct vt_col *id = vt_event_col_name(reading->event, "id");

	if (id) {
		memcpy(&name.id, (const uint8_t *)rec + id->offset, sizeof(name.id));
		facts->definitions++;
		if (vt_buf_append(&reading->defined, &name, sizeof(name)) < 0)
			return -VT_E_NOMEM;
	} else {
		facts->events++;
		facts->ooms += reading->event->id == VT_EVENT_oom;
	}
	return want_names(reading, process, reading->event, (const uint8_t *)rec);
}

/* ------------------------------------------------------------------ chunks */

static int take_tensor(struct reading *reading, uint32_t process, const struct vt_tensor *tensor)
{
	struct trace_process_facts *facts = of_id(reading->facts, process);
	struct moment moment = { .process = process, .thread = tensor->thread, .time_ns = tensor->time_ns };

	facts->allocs += tensor->size_bytes >= 0;
	facts->frees += tensor->size_bytes < 0;
	return vt_buf_append(&reading->moments, &moment, sizeof(moment));
}

static int take_rows(struct reading *reading, const struct vt_chunk_info *info, const struct vt_chunk_rows *rows)
{
	uint64_t last = 0, time, first = 0;
	bool lies = rows->nrecords != info->events;
	int r = 0;

	for (uint32_t i = 0; i < rows->nrecords && r == 0; i++) {
		const uint8_t *record = (const uint8_t *)rows->records + (size_t)i * rows->event->size;

		memcpy(&time, record + rows->event->cols[0].offset, sizeof(time));
		lies |= time < last;
		first = i ? first : time;
		last = time;
		r = want_names(reading, info->process, rows->event, record);
		if (r == 0 && rows->event->id == VT_EVENT_tensor)
			r = take_tensor(reading, info->process, (const struct vt_tensor *)(const void *)record);
	}
	reading->facts->unsorted += lies || first != info->first_ns || last != info->last_ns;
	return r;
}

static int take_chunk(void *arg, const struct vt_chunk_info *info)
{
	struct reading *reading = arg;
	struct vt_chunk_rows rows;
	const void *blob;
	size_t bytes;
	int r = vt_store_read_chunk(reading->store, info->id, &blob, &bytes, reading->err);

	if (r == 0)
		r = vt_chunk_decode(reading->coder, blob, bytes, info->kind, &rows, reading->err);
	if (r < 0)
		return r;
	reading->facts->chunks++;
	of_id(reading->facts, info->process)->events += rows.nrecords;
	return take_rows(reading, info, &rows);
}

/* ------------------------------------------------------------------ all of it */

static int compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void judge(struct reading *reading)
{
	struct name *wanted = (struct name *)(void *)reading->wanted.data;
	struct name *defined = (struct name *)(void *)reading->defined.data;
	struct moment *moments = (struct moment *)(void *)reading->moments.data;
	size_t nwanted = reading->wanted.bytes / sizeof(*wanted), ndefined = reading->defined.bytes / sizeof(*defined);
	size_t nmoments = reading->moments.bytes / sizeof(*moments);

	if (ndefined)
		qsort(defined, ndefined, sizeof(*defined), compare_names);
	for (size_t i = 0; i < nwanted; i++)
		if (!ndefined || !bsearch(&wanted[i], defined, ndefined, sizeof(*defined), compare_names))
			reading->facts->undefined++;
	if (nmoments)
		qsort(moments, nmoments, sizeof(*moments), compare_moments);
	for (size_t i = 1; i < nmoments; i++)
		reading->facts->doubled += compare_moments(&moments[i - 1], &moments[i]) == 0;
}

static int read_all(struct reading *reading)
{
	struct vt_store *store = reading->store;
	struct vt_err *err = reading->err;
	int r = vt_store_check(store, err);

	if (r == 0)
		r = vt_store_each_process(store, take_process, reading, err);
	if (r == 0)
		r = vt_store_each_thread(store, take_thread, reading, err);
	if (r == 0)
		r = vt_store_each_loss(store, take_loss, reading, err);
	if (r == 0)
		r = vt_store_each_clock(store, take_clock, reading, err);
	for (size_t i = 0; i < vt_nevents && r == 0; i++) {
		reading->event = &vt_events[i];
		if (vt_events[i].class != VT_CLASS_CHUNK)
			r = vt_store_each_record(store, &vt_events[i], take_record, reading, err);
	}
	if (r == 0)
		r = vt_store_each_chunk(store, take_chunk, reading, err);
	if (r == 0)
		judge(reading);
	return r;
}

int trace_facts_read(struct trace_facts *ret, const char *path, struct vt_err *err)
{
	struct reading reading = { .facts = ret, .err = err };
	int r;

	memset(ret, 0, sizeof(*ret));
	reading.coder = vt_chunk_coder_new();
	if (!reading.coder)
		return vt_err_set(err, VT_E_NOMEM, "no memory");
	r = vt_store_open(&reading.store, path, err);
	if (r == 0)
		r = read_all(&reading);
	vt_store_close(reading.store);
	vt_chunk_coder_free(reading.coder);
	vt_buf_done(&reading.defined);
	vt_buf_done(&reading.wanted);
	vt_buf_done(&reading.moments);
	return r;
}
