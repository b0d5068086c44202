/* kernels.c - see kernels.h: the listener and its rows. */
#include "analyze/views/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/symbols/table.h"
#include "analyze/views/idmap.h"
#include "schema/base/bits.h"

/* Launches whose kernels are still to come, by the low bits of their correlation: a GPU is seldom thousands behind. */
#define LAUNCHES (1u << 16)

struct waiting {
	uint32_t process, correlation;
	uint32_t op, stack;
	uint64_t start_ns;
};

/* A kernel that ended before its launching call returned, as happens where the call loads code first. */
struct early {
	uint32_t process; /* 0: none */
	struct vt_kernel kernel;
};

struct vt_kernels {
	struct vt_kernels_report *report;
	struct vt_map config_of; /* process and kernel_config -> place in configs */
	struct vt_buf configs;	 /* struct vt_kernel_config */
	struct vt_idmap map;	 /* process and what the row is by */
	size_t room;		 /* of report->rows */
	struct waiting *launches;
	struct early *early;	/* by the same bits */
	struct vt_idmap stacks; /* process, stack: the line of each ... */
	uint32_t *lines;	/* ... as a number in labels */
	size_t line_room;
	struct vt_texts labels;
};

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for the table of kernels");
}

int vt_kernels_parse_by(const char *text, enum vt_kernels_by *ret, struct vt_err *err)
{
	static const char *const words[] = { "kernel", "op", "line" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(words); i++)
		if (!strcmp(text, words[i])) {
			*ret = (enum vt_kernels_by)i;
			return 0;
		}
	return vt_err_set(err, VT_E_USAGE, "--by takes kernel, op or line, not '%.60s'", text);
}

static int keep_config(void *arg, uint32_t process, const struct vt_rec *rec)
{
	struct vt_kernels *state = arg;
	struct vt_kernel_config config;

	memcpy(&config, rec, sizeof(config));
	if (vt_map_put(&state->config_of, vt_symbols_key(process, config.id),
		       (uint32_t)(state->configs.bytes / sizeof(config))) < 0)
		return -VT_E_NOMEM;
	return vt_buf_append(&state->configs, &config, sizeof(config));
}

static const struct vt_kernel_config *find_config(const struct vt_kernels *state, uint32_t process, uint32_t id)
{
	static const struct vt_kernel_config none;
	uint32_t place = vt_map_find(&state->config_of, vt_symbols_key(process, id));

	return place == VT_MAP_NONE ? &none
				    : (const struct vt_kernel_config *)(const void *)state->configs.data + place;
}

/* A number that is equal for equal lines of user code, over all stacks and processes; 0: none. */
static int find_line(struct vt_kernels *state, uint32_t process, uint32_t stack, uint32_t *ret)
{
	uint32_t known = state->stacks.count, place;
	struct vt_frame_info frame;
	char label[1024];

	*ret = 0;
	if (!vt_symbols_user_frame(state->report->session->symbols, process, stack, &frame))
		return 0;
	place = vt_idmap_add(&state->stacks, (struct vt_idmap_key){ process, stack, 0 });
	if (place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&state->lines, &state->line_room, place, sizeof(*state->lines)) < 0)
		return -VT_E_NOMEM;
	if (place == known) {
		(void)snprintf(label, sizeof(label), "%.500s:%u %.400s", frame.file, frame.line, frame.function);
		if (vt_texts_add(&state->labels, label, strlen(label), &state->lines[place]) < 0)
			return -VT_E_NOMEM;
	}
	*ret = state->lines[place];
	return 0;
}

/* Rows of different processes are one where their text is. */
static int key_of(struct vt_kernels *state, uint32_t process, uint32_t name, const struct waiting *launch,
		  struct vt_idmap_key *ret)
{
	*ret = (struct vt_idmap_key){ 0, 0, 0 };
	if (state->report->by == VT_KERNELS_BY_KERNEL)
		*ret = (struct vt_idmap_key){ process, name, 0 };
	else if (launch && state->report->by == VT_KERNELS_BY_OP)
		ret->a = vt_symbols_op_name_key(state->report->session->symbols, process, launch->op);
	else if (launch)
		return find_line(state, process, launch->stack, &ret->a);
	return 0;
}

static void count(struct vt_kernel_row *row, const struct vt_kernel *kernel, const struct vt_kernel_config *config,
		  const struct waiting *launch)
{
	uint64_t ns = kernel->end_ns > kernel->start_ns ? kernel->end_ns - kernel->start_ns : 0;

	if (!row->launches || ns < row->least_ns)
		row->least_ns = ns;
	if (!row->launches || ns > row->most_ns) {
		row->most_ns = ns;
		row->config = *config;
		row->op = launch ? launch->op : 0;
	}
	row->launches++;
	row->busy_ns += ns;
	if (!launch)
		return;
	row->matched++;
	row->wait_ns += kernel->start_ns > launch->start_ns ? kernel->start_ns - launch->start_ns : 0;
}

/* launch NULL: not in the trace. */
static int take_kernel(struct vt_kernels *state, uint32_t process, const struct vt_kernel *kernel,
		       const struct waiting *launch, struct vt_err *err)
{
	const struct vt_kernel_config *config = find_config(state, process, kernel->config);
	struct vt_kernels_report *report = state->report;
	struct vt_kernel_row *row;
	struct vt_idmap_key key;
	uint32_t place;

	if (key_of(state, process, config->name, launch, &key) < 0)
		return no_memory(err);
	place = vt_idmap_add(&state->map, key);
	if (place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&report->rows, &state->room, place, sizeof(*report->rows)) < 0)
		return no_memory(err);
	row = &report->rows[place];
	if (!row->launches) {
		row->process = process;
		row->id = report->by == VT_KERNELS_BY_KERNEL ? config->name
			  : !launch			     ? 0
			  : report->by == VT_KERNELS_BY_OP   ? launch->op
							     : launch->stack;
	}
	count(row, kernel, config, launch);
	return 0;
}

static int on_launch(struct vt_kernels *state, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_launch *launch = (const struct vt_launch *)(const void *)item->rec;
	struct waiting *waiting = &state->launches[launch->correlation % LAUNCHES];
	struct early *early = &state->early[launch->correlation % LAUNCHES];
	uint32_t process = early->process;

	*waiting = (struct waiting){ item->process, launch->correlation, launch->op, launch->stack, launch->start_ns };
	if (process != item->process || early->kernel.correlation != launch->correlation)
		return 0;
	early->process = 0;
	return take_kernel(state, process, &early->kernel, waiting, err);
}

static int on_kernel(struct vt_kernels *state, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_kernel *kernel = (const struct vt_kernel *)(const void *)item->rec;
	const struct waiting *launch = &state->launches[kernel->correlation % LAUNCHES];
	struct early *early = &state->early[kernel->correlation % LAUNCHES];
	struct early before = *early;

	if (state->report->session->device >= 0 && kernel->device != state->report->session->device)
		return 0;
	if (launch->process == item->process && launch->correlation == kernel->correlation)
		return take_kernel(state, item->process, kernel, launch, err);
	early->process = item->process;
	memcpy(&early->kernel, kernel, sizeof(early->kernel));
	return before.process ? take_kernel(state, before.process, &before.kernel, NULL, err) : 0;
}

static int on_work(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	(void)replay;
	if (item->event->id == VT_EVENT_launch)
		return on_launch(self, item, err);
	return item->event->id == VT_EVENT_kernel ? on_kernel(self, item, err) : 0;
}

/* Those whose launch never came. */
static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_kernels *state = self;
	int r = 0;

	(void)replay;
	for (uint32_t i = 0; i < LAUNCHES && r == 0; i++)
		if (state->early[i].process)
			r = take_kernel(state, state->early[i].process, &state->early[i].kernel, NULL, err);
	return r;
}

static int by_busy(const void *a, const void *b)
{
	const struct vt_kernel_row *x = a, *y = b;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns < y->busy_ns ? 1 : -1;
	if (x->process != y->process)
		return x->process > y->process ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

int vt_kernels_report_run(struct vt_kernels_report *report, struct vt_session *session, bool quiet, struct vt_err *err)
{
	struct vt_kernels *state = calloc(1, sizeof(*state));
	struct vt_listener listener = { .self = state, .work = on_work, .end = on_end };
	int r;

	report->session = session;
	report->state = state;
	if (!state)
		return no_memory(err);
	state->report = report;
	state->launches = calloc(LAUNCHES, sizeof(*state->launches));
	state->early = calloc(LAUNCHES, sizeof(*state->early));
	if (!state->launches || !state->early)
		return no_memory(err);
	r = vt_store_each_record(session->store, vt_event_find(VT_EVENT_kernel_config), keep_config, state, err);
	if (r == -VT_E_NOMEM)
		return no_memory(err);
	if (r == 0)
		r = vt_replay_add(session->replay, &listener, err);
	if (r == 0)
		r = vt_session_run(session, quiet, err);
	report->nrows = state->map.count;
	for (size_t i = 0; i < report->nrows; i++) {
		report->launches += report->rows[i].launches;
		report->busy_ns += report->rows[i].busy_ns;
	}
	if (report->nrows)
		qsort(report->rows, report->nrows, sizeof(*report->rows), by_busy);
	return r;
}

void vt_kernels_report_done(struct vt_kernels_report *report)
{
	if (report->state) {
		vt_map_done(&report->state->config_of);
		vt_buf_done(&report->state->configs);
		vt_idmap_done(&report->state->map);
		vt_idmap_done(&report->state->stacks);
		vt_texts_done(&report->state->labels);
		free(report->state->lines);
		free(report->state->launches);
		free(report->state->early);
	}
	free(report->state);
	free(report->rows);
	report->state = NULL;
	report->rows = NULL;
	report->nrows = 0;
}
