/* attribute.c - see attribute.h: the listener, and the marks. */
#include "analyze/attribute/attribute.h"

#include <stdlib.h>

#include "schema/base/bits.h"

/* A block whose life ended inside a node of the graph: the node's own end tells which forward op it belongs to. */
struct late {
	struct vt_attributed block;
	struct vt_mark_places places;
};

struct vt_attribution {
	struct vt_scopes scopes;
	struct vt_step_times times;
	struct vt_lives lives;
	struct vt_links links;
	struct vt_rules rules;
	struct vt_idmap site_map; /* process, op, stack */
	struct vt_marks marks;
	struct vt_buf late;	 /* struct late */
	struct vt_buf late_free; /* uint32_t: free places in late */
	uint64_t last_serial;
	int (*each)(void *self, const struct vt_attributed *block, struct vt_err *err);
	void *each_self;
	struct vt_err *err; /* of the callback that runs */
	bool each_failed;   /* and said why there */
};

static int finish(void *self, uint32_t index);

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for what is known of live blocks");
}

int vt_attribution_new(struct vt_attribution **ret, const struct vt_symbols *symbols, struct vt_err *err)
{
	struct vt_attribution *attribution = calloc(1, sizeof(*attribution));

	*ret = attribution;
	if (!attribution)
		return no_memory(err);
	attribution->scopes.symbols = symbols;
	attribution->links.lives = &attribution->lives;
	attribution->links.scopes = &attribution->scopes;
	attribution->links.times = &attribution->times;
	attribution->links.finish = finish;
	attribution->links.finish_self = attribution;
	return 0;
}

void vt_attribution_free(struct vt_attribution *attribution)
{
	if (!attribution)
		return;
	vt_marks_done(&attribution->marks);
	vt_buf_done(&attribution->late);
	vt_buf_done(&attribution->late_free);
	vt_idmap_done(&attribution->site_map);
	vt_rules_done(&attribution->rules);
	vt_links_done(&attribution->links);
	vt_lives_done(&attribution->lives);
	vt_step_times_done(&attribution->times);
	vt_scopes_done(&attribution->scopes);
	free(attribution);
}

void vt_attribution_each(struct vt_attribution *attribution,
			 int (*fn)(void *self, const struct vt_attributed *block, struct vt_err *err), void *self)
{
	attribution->each = fn;
	attribution->each_self = self;
}

int vt_attribution_mark(struct vt_attribution *attribution, uint32_t device, uint32_t *ret, struct vt_err *err)
{
	const struct vt_moment_mark mark = { .device = device, .last_serial = attribution->last_serial, .begun = true };

	return vt_marks_add(&attribution->marks, &mark, ret) < 0 ? no_memory(err) : 0;
}

int vt_attribution_mark_at(struct vt_attribution *attribution, uint64_t time_ns, uint32_t *ret, struct vt_err *err)
{
	const struct vt_moment_mark mark = { .device = UINT32_MAX, .begin_ns = time_ns };

	return vt_marks_add(&attribution->marks, &mark, ret) < 0 ? no_memory(err) : 0;
}

void vt_attribution_unmark(struct vt_attribution *attribution, uint32_t mark)
{
	vt_marks_forget(&attribution->marks, mark);
}

/* A function of links failed. */
static int links_failed(const struct vt_attribution *attribution, int r, struct vt_err *err)
{
	return attribution->each_failed ? r : no_memory(err);
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	struct vt_attribution *attribution = self;
	struct vt_link_process *process = vt_links_process(&attribution->links, item->process);
	struct vt_frames frames;
	struct vt_scope scope;
	struct vt_life *life;
	uint32_t index;
	int r;

	(void)replay;
	attribution->err = err;
	vt_marks_begin_due(&attribution->marks, item->time_ns, attribution->last_serial);
	if (!process || vt_lives_begin(&attribution->lives, block, &index) < 0 ||
	    vt_scopes_op(&attribution->scopes, item->process, block->op, &scope) < 0 ||
	    vt_scopes_stack(&attribution->scopes, item->process, block->stack, &frames) < 0)
		return no_memory(err);
	life = vt_lives_at(&attribution->lives, index);
	life->process = item->process;
	life->scope_flags = scope.flags;
	life->top = scope.top;
	life->range_step = scope.profiler_step;
	life->frames_flags = frames.flags;
	life->apply_line = frames.apply_line;
	life->module_line = frames.module_line;
	life->site =
		vt_idmap_add(&attribution->site_map, (struct vt_idmap_key){ item->process, block->op, block->stack });
	if (life->site == VT_IDMAP_NONE)
		return no_memory(err);
	if (frames.apply_line && (!process->apply_line || frames.apply_line < process->apply_line))
		process->apply_line = frames.apply_line;
	if (vt_step_times_alloc(&attribution->times, item->process, life->site, item->time_ns) < 0)
		return no_memory(err);
	r = vt_links_birth(&attribution->links, index);
	if (r < 0)
		return links_failed(attribution, r, err);
	attribution->last_serial = block->serial;
	vt_marks_end_announced(&attribution->marks, block->device, block->serial);
	return 0;
}

static uint32_t step_of(const struct vt_attribution *attribution, const struct vt_life *life)
{
	if (life->range_step != UINT32_MAX)
		return life->range_step;
	return vt_step_times_at(&attribution->times, life->process, life->block.alloc_ns);
}

static struct late *late_at(const struct vt_attribution *attribution, uint32_t index)
{
	return (struct late *)(void *)attribution->late.data + index;
}

/* The life is over, and its place stays taken until the op around it ends. */
static int put_off(struct vt_attribution *attribution, uint32_t index, const struct vt_attributed *block)
{
	struct vt_life *life = vt_lives_at(&attribution->lives, index);
	uint32_t spare = (uint32_t)(attribution->late_free.bytes / sizeof(uint32_t));
	struct late late = { .block = *block };

	vt_lives_close(&attribution->lives, index);
	if (vt_marks_keep(&attribution->marks, block, &late.places) < 0)
		return -VT_E_NOMEM;
	if (spare) {
		attribution->late_free.bytes -= sizeof(uint32_t);
		life->late = ((const uint32_t *)(const void *)attribution->late_free.data)[spare - 1] + 1;
		*late_at(attribution, life->late - 1) = late;
		return 0;
	}
	life->late = (uint32_t)(attribution->late.bytes / sizeof(late)) + 1;
	return vt_buf_append(&attribution->late, &late, sizeof(late));
}

/* Of a life that was put off all is known now. */
static int finish(void *self, uint32_t index)
{
	struct vt_attribution *attribution = self;
	struct vt_life *life = vt_lives_at(&attribution->lives, index);
	uint32_t place = life->late - 1;
	struct late *late = late_at(attribution, place);
	int r = 0;

	late->block.forward_op = life->forward_op;
	late->block.forward_stack = life->forward_stack;
	vt_marks_complete(&attribution->marks, &late->places, &late->block);
	if (attribution->each)
		r = attribution->each(attribution->each_self, &late->block, attribution->err);
	attribution->each_failed |= r < 0;
	life->late = 0;
	if (!r)
		r = vt_buf_append(&attribution->late_free, &place, sizeof(place));
	return r ? r : vt_lives_end(&attribution->lives, index);
}

/* A life is over: what was it for, and which marks saw it? */
static int settle(struct vt_attribution *attribution, uint32_t index, const struct vt_ending *ending, uint64_t free_ns,
		  struct vt_err *err)
{
	const struct vt_life *life = vt_lives_at(&attribution->lives, index);
	const struct vt_link_process *process = vt_links_process(&attribution->links, life->process);
	struct vt_verdict verdict = vt_rules_decide(&attribution->rules, life, ending, process);
	const struct vt_attributed block = {
		.address = life->block.address,
		.size_bytes = life->block.size_bytes,
		.serial = life->block.serial,
		.alloc_ns = life->block.alloc_ns,
		.free_ns = free_ns,
		.device = life->block.device,
		.process = life->process,
		.thread = life->block.thread,
		.op = life->block.op,
		.stack = life->block.stack,
		.forward_op = life->forward_op,
		.forward_stack = life->forward_stack,
		.step = step_of(attribution, life),
		.category = verdict.category,
		.confidence = verdict.confidence,
		.phase = (uint8_t)vt_life_phase(life),
		.freed_in_backward = ending->dead && ending->in_backward,
		.range_step = life->range_step != UINT32_MAX,
	};
	int r = vt_rules_learn(&attribution->rules, life, verdict);

	if (!r && ending->dead && life->pending && !life->forward_op && (life->scope_flags & VT_SCOPE_BACKWARD))
		return put_off(attribution, index, &block) < 0 ? no_memory(err) : 0;
	if (!r)
		r = vt_marks_keep(&attribution->marks, &block, NULL);
	if (r < 0)
		return no_memory(err);
	r = attribution->each ? attribution->each(attribution->each_self, &block, err) : 0;
	if (r < 0)
		return r;
	return vt_lives_end(&attribution->lives, index) < 0 ? no_memory(err) : 0;
}

/* Who frees, and in the middle of what. */
static int find_ending(struct vt_attribution *attribution, const struct vt_item *item, const struct vt_life *life,
		       struct vt_ending *ret)
{
	uint32_t op = 0, thread_id = 0;
	const struct vt_link_process *process = vt_links_process(&attribution->links, item->process);
	const struct vt_link_thread *thread;
	struct vt_scope scope;

	if (item->event->id == VT_EVENT_tensor) {
		op = ((const struct vt_tensor *)(const void *)item->rec)->op;
		thread_id = ((const struct vt_tensor *)(const void *)item->rec)->thread;
	} else if (item->event->id == VT_EVENT_driver_memory) {
		op = ((const struct vt_driver_memory *)(const void *)item->rec)->op;
		thread_id = ((const struct vt_driver_memory *)(const void *)item->rec)->thread;
	}
	thread = vt_links_thread(&attribution->links, item->process, thread_id);
	if (!process || !thread || vt_scopes_op(&attribution->scopes, item->process, op, &scope) < 0)
		return -VT_E_NOMEM;
	*ret = (struct vt_ending){
		.dead = true,
		/* Between two nodes the engine frees without an op. */
		.in_backward = op ? scope.flags & VT_SCOPE_BACKWARD : thread->autograd || thread->in_backward,
		.same_unit = life->top && scope.top == life->top && thread_id == life->block.thread &&
			     thread->tops == life->tops,
		.nodes = process->nodes,
		.passes = process->passes,
		.optimizer_steps = process->optimizer_steps,
	};
	return 0;
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	struct vt_attribution *attribution = self;
	uint32_t index = block->serial ? vt_lives_find(&attribution->lives, block->serial) : VT_LIFE_NONE;
	struct vt_ending ending;
	int r;

	(void)replay;
	attribution->err = err;
	vt_marks_begin_due(&attribution->marks, item->time_ns, attribution->last_serial);
	if (index == VT_LIFE_NONE) {
		vt_marks_end_announced(&attribution->marks, block->device, attribution->last_serial);
		return 0;
	}
	if (find_ending(attribution, item, vt_lives_at(&attribution->lives, index), &ending) < 0)
		return no_memory(err);
	vt_marks_before_free(&attribution->marks, block->device);
	r = settle(attribution, index, &ending, item->time_ns, err);
	vt_marks_end_announced(&attribution->marks, block->device, attribution->last_serial);
	return r;
}

static int on_op(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	struct vt_attribution *attribution = self;

	int r;

	(void)replay;
	attribution->err = err;
	r = vt_links_op(&attribution->links, item->process, (const struct vt_op *)(const void *)item->rec);
	return r < 0 ? links_failed(attribution, r, err) : 0;
}

static int on_note(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	const struct vt_note *note = (const struct vt_note *)(const void *)item->rec;
	struct vt_attribution *attribution = self;

	(void)replay;
	(void)err;
	if (note->code == VT_note_code_GAP_END && note->thread == 0)
		vt_links_gap(&attribution->links, item->process);
	return 0;
}

static int on_peak(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		   struct vt_err *err)
{
	struct vt_attribution *attribution = self;

	(void)replay;
	(void)item;
	return vt_marks_announce(&attribution->marks, device) < 0 ? no_memory(err) : 0;
}

/* A driver event may raise a pool's total without a block of its own. */
static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	struct vt_attribution *attribution = self;

	(void)replay;
	(void)item;
	(void)err;
	vt_marks_end_announced(&attribution->marks, device, attribution->last_serial);
	return 0;
}

/* How the life of a block looks that is live when the trace ends. */
static struct vt_ending open_ending(const struct vt_link_process *process)
{
	return (struct vt_ending){
		.backward_open = process->last_was_backward,
		.nodes = process->nodes,
		.passes = process->passes,
		.optimizer_steps = process->optimizer_steps,
	};
}

static int settle_live(struct vt_attribution *attribution, unsigned turn, struct vt_err *err)
{
	int r = 0;

	for (uint32_t i = 0; i < vt_lives_places(&attribution->lives) && !r; i++) {
		const struct vt_life *life = vt_lives_at(&attribution->lives, i);
		const struct vt_link_process *process;
		struct vt_ending ending;

		if (!life->block.serial || life->late || vt_rules_turn(&attribution->rules, life) > turn)
			continue;
		process = vt_links_process(&attribution->links, life->process);
		if (!process)
			return no_memory(err);
		ending = open_ending(process);
		r = settle(attribution, i, &ending, UINT64_MAX, err);
	}
	return r;
}

/* Ops that had not ended. */
static int finish_rest(struct vt_attribution *attribution)
{
	int r = 0;

	for (uint32_t i = 0; i < vt_lives_places(&attribution->lives) && !r; i++)
		if (vt_lives_at(&attribution->lives, i)->late)
			r = finish(attribution, i);
	return r;
}

/* A step that was found late. */
static void renew_step(void *self, struct vt_attributed *block)
{
	const struct vt_attribution *attribution = self;

	if (!block->range_step)
		block->step = vt_step_times_at(&attribution->times, block->process, block->alloc_ns);
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_attribution *attribution = self;
	int r;

	(void)replay;
	attribution->err = err;
	vt_marks_begin_due(&attribution->marks, UINT64_MAX, attribution->last_serial);
	vt_marks_begin_rest(&attribution->marks, attribution->last_serial);
	r = finish_rest(attribution);
	if (r < 0)
		return links_failed(attribution, r, err);
	for (uint32_t i = 0; i < vt_lives_places(&attribution->lives) && !r; i++)
		if (vt_lives_at(&attribution->lives, i)->block.serial)
			r = vt_rules_learn_initial(&attribution->rules, vt_lives_at(&attribution->lives, i));
	if (r < 0 || vt_step_times_settle(&attribution->times) < 0)
		return no_memory(err);
	for (unsigned turn = 0; turn < VT_RULES_TURNS && !r; turn++)
		r = settle_live(attribution, turn, err);
	vt_marks_each(&attribution->marks, renew_step, attribution);
	return r;
}

struct vt_listener vt_attribution_listener(struct vt_attribution *attribution)
{
	return (struct vt_listener){
		.self = attribution,
		.alloc = on_alloc,
		.free = on_free,
		.driver = on_driver,
		.op = on_op,
		.note = on_note,
		.peak = on_peak,
		.end = on_end,
	};
}

struct vt_attributed_list vt_attribution_marked(const struct vt_attribution *attribution, uint32_t mark)
{
	return vt_marks_blocks(&attribution->marks, mark);
}

struct vt_attributed_list vt_attribution_peak(const struct vt_attribution *attribution, uint32_t device)
{
	return vt_marks_peak(&attribution->marks, device);
}

int vt_attribution_ask(struct vt_attribution *attribution, const struct vt_link_question *question, uint32_t *ret,
		       struct vt_err *err)
{
	return vt_links_ask(&attribution->links, question, ret) < 0 ? no_memory(err) : 0;
}

struct vt_link_forward vt_attribution_answer(const struct vt_attribution *attribution, uint32_t question)
{
	return ((const struct vt_link_forward *)(const void *)attribution->links.answers.data)[question];
}

uint32_t vt_attribution_step(const struct vt_attribution *attribution, uint32_t process, uint64_t time_ns)
{
	return vt_step_times_at(&attribution->times, process, time_ns);
}

enum vt_steps_how vt_attribution_steps_how(const struct vt_attribution *attribution, uint32_t process)
{
	return vt_step_times_how(&attribution->times, process);
}

uint32_t vt_attribution_steps(const struct vt_attribution *attribution, uint32_t process)
{
	return vt_step_times_count(&attribution->times, process);
}
