/* attribute.c - see attribute.h: the listener, and the marks. */
#include "analyze/attribute/attribute.h"

#include <stdlib.h>

#include "schema/base/bits.h"

/* A moment whose live blocks are kept. */
struct mark {
	uint32_t device;      /* UINT32_MAX: all */
	uint64_t begin_ns;    /* begins after the last event up to this, if it has not begun */
	uint64_t last_serial; /* of the last block that was allocated before it */
	bool begun;
	bool unused;	      /* forgotten */
	struct vt_buf blocks; /* struct vt_attributed */
};

/* The mark of a device's last peak. */
struct peak {
	struct mark mark;
	bool pending; /* a peak was announced; the event that makes it has not come here yet */
};

struct vt_attribution {
	struct vt_scopes scopes;
	struct vt_step_times times;
	struct vt_lives lives;
	struct vt_links links;
	struct vt_rules rules;
	struct vt_idmap site_map; /* process, op, stack */
	struct peak *peaks;	  /* by device */
	size_t peaks_room;
	struct vt_buf marks; /* struct mark */
	uint64_t last_serial;
	int (*each)(void *self, const struct vt_attributed *block, struct vt_err *err);
	void *each_self;
};

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
	return 0;
}

static struct mark *marks(const struct vt_attribution *attribution)
{
	return (struct mark *)(void *)attribution->marks.data;
}

static size_t mark_count(const struct vt_attribution *attribution)
{
	return attribution->marks.bytes / sizeof(struct mark);
}

void vt_attribution_free(struct vt_attribution *attribution)
{
	if (!attribution)
		return;
	for (size_t i = 0; i < attribution->peaks_room; i++)
		vt_buf_done(&attribution->peaks[i].mark.blocks);
	for (size_t i = 0; i < mark_count(attribution); i++)
		vt_buf_done(&marks(attribution)[i].blocks);
	free(attribution->peaks);
	vt_buf_done(&attribution->marks);
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

static int add_mark(struct vt_attribution *attribution, const struct mark *mark, uint32_t *ret, struct vt_err *err)
{
	for (*ret = 0; *ret < mark_count(attribution); ++*ret)
		if (marks(attribution)[*ret].unused) {
			marks(attribution)[*ret] = *mark;
			return 0;
		}
	return vt_buf_append(&attribution->marks, mark, sizeof(*mark)) < 0 ? no_memory(err) : 0;
}

int vt_attribution_mark(struct vt_attribution *attribution, uint32_t device, uint32_t *ret, struct vt_err *err)
{
	const struct mark mark = { .device = device, .last_serial = attribution->last_serial, .begun = true };

	return add_mark(attribution, &mark, ret, err);
}

int vt_attribution_mark_at(struct vt_attribution *attribution, uint64_t time_ns, uint32_t *ret, struct vt_err *err)
{
	const struct mark mark = { .device = UINT32_MAX, .begin_ns = time_ns };

	return add_mark(attribution, &mark, ret, err);
}

void vt_attribution_unmark(struct vt_attribution *attribution, uint32_t mark)
{
	vt_buf_done(&marks(attribution)[mark].blocks);
	marks(attribution)[mark] = (struct mark){ .begin_ns = UINT64_MAX, .unused = true };
}

static void begin(struct vt_attribution *attribution, struct mark *mark)
{
	mark->begun = true;
	mark->last_serial = attribution->last_serial;
	vt_buf_clear(&mark->blocks);
}

/* Marks whose time has passed when an event of this time comes. */
static void begin_due(struct vt_attribution *attribution, uint64_t time_ns)
{
	struct mark *mark = marks(attribution);

	for (size_t n = mark_count(attribution); n; n--, mark++)
		if (VT_UNLIKELY(!mark->begun && mark->begin_ns < time_ns))
			begin(attribution, mark);
}

static void end_pending(struct vt_attribution *attribution, uint32_t device)
{
	if (device >= attribution->peaks_room || !attribution->peaks[device].pending)
		return;
	attribution->peaks[device].pending = false;
	begin(attribution, &attribution->peaks[device].mark);
}

static int keep(struct mark *mark, const struct vt_attributed *block)
{
	if (!mark->begun || mark->unused || block->serial > mark->last_serial ||
	    (mark->device != UINT32_MAX && mark->device != block->device))
		return 0;
	return vt_buf_append(&mark->blocks, block, sizeof(*block));
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

	(void)replay;
	begin_due(attribution, item->time_ns);
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
	if (vt_links_birth(&attribution->links, index) < 0 ||
	    vt_step_times_alloc(&attribution->times, item->process, life->site, item->time_ns) < 0)
		return no_memory(err);
	attribution->last_serial = block->serial;
	end_pending(attribution, block->device);
	return 0;
}

static uint32_t step_of(const struct vt_attribution *attribution, const struct vt_life *life)
{
	if (life->range_step != UINT32_MAX)
		return life->range_step;
	return vt_step_times_at(&attribution->times, life->process, life->block.alloc_ns);
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
	struct mark *mark = marks(attribution);
	int r = vt_rules_learn(&attribution->rules, life, verdict);

	if (!r && life->block.device < attribution->peaks_room)
		r = keep(&attribution->peaks[life->block.device].mark, &block);
	for (size_t n = mark_count(attribution); n && !r; n--, mark++)
		r = keep(mark, &block);
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
	begin_due(attribution, item->time_ns);
	if (index == VT_LIFE_NONE) {
		end_pending(attribution, block->device);
		return 0;
	}
	if (find_ending(attribution, item, vt_lives_at(&attribution->lives, index), &ending) < 0)
		return no_memory(err);
	if (block->device < attribution->peaks_room && attribution->peaks[block->device].pending) {
		/* The total is the highest without this block, so the peak's mark must not see it. */
		struct mark *mark = &attribution->peaks[block->device].mark;

		mark->begun = false;
	}
	r = settle(attribution, index, &ending, item->time_ns, err);
	end_pending(attribution, block->device);
	return r;
}

static int on_op(void *self, const struct vt_replay *replay, const struct vt_item *item, struct vt_err *err)
{
	struct vt_attribution *attribution = self;

	(void)replay;
	return vt_links_op(&attribution->links, item->process, (const struct vt_op *)(const void *)item->rec) < 0
		       ? no_memory(err)
		       : 0;
}

static int on_peak(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		   struct vt_err *err)
{
	struct vt_attribution *attribution = self;

	(void)replay;
	(void)item;
	if (vt_array_reach((void **)&attribution->peaks, &attribution->peaks_room, device,
			   sizeof(*attribution->peaks)) < 0)
		return no_memory(err);
	attribution->peaks[device].pending = true;
	attribution->peaks[device].mark.device = device;
	return 0;
}

/* A driver event may raise a pool's total without a block of its own. */
static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	(void)replay;
	(void)item;
	(void)err;
	end_pending(self, device);
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

		if (!life->block.serial || vt_rules_turn(&attribution->rules, life) > turn)
			continue;
		process = vt_links_process(&attribution->links, life->process);
		if (!process)
			return no_memory(err);
		ending = open_ending(process);
		r = settle(attribution, i, &ending, UINT64_MAX, err);
	}
	return r;
}

/* Steps that were found late, for the blocks that are kept. */
static void renew_steps(const struct vt_attribution *attribution, struct mark *mark)
{
	struct vt_attributed *block = (struct vt_attributed *)(void *)mark->blocks.data;

	for (size_t n = mark->blocks.bytes / sizeof(*block); n; n--, block++)
		if (!block->range_step)
			block->step = vt_step_times_at(&attribution->times, block->process, block->alloc_ns);
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct vt_attribution *attribution = self;
	int r = 0;

	(void)replay;
	for (uint32_t i = 0; i < attribution->peaks_room; i++)
		end_pending(attribution, i);
	begin_due(attribution, UINT64_MAX);
	for (size_t i = 0; i < mark_count(attribution); i++)
		if (!marks(attribution)[i].begun)
			begin(attribution, &marks(attribution)[i]);
	for (uint32_t i = 0; i < vt_lives_places(&attribution->lives) && !r; i++)
		if (vt_lives_at(&attribution->lives, i)->block.serial)
			r = vt_rules_learn_initial(&attribution->rules, vt_lives_at(&attribution->lives, i));
	if (r < 0 || vt_step_times_settle(&attribution->times) < 0)
		return no_memory(err);
	for (unsigned turn = 0; turn < VT_RULES_TURNS && !r; turn++)
		r = settle_live(attribution, turn, err);
	for (size_t i = 0; i < mark_count(attribution); i++)
		renew_steps(attribution, &marks(attribution)[i]);
	for (size_t i = 0; i < attribution->peaks_room; i++)
		renew_steps(attribution, &attribution->peaks[i].mark);
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
		.peak = on_peak,
		.end = on_end,
	};
}

static struct vt_attributed_list list_of(const struct mark *mark)
{
	return (struct vt_attributed_list){
		(const struct vt_attributed *)(const void *)mark->blocks.data,
		mark->blocks.bytes / sizeof(struct vt_attributed),
	};
}

struct vt_attributed_list vt_attribution_marked(const struct vt_attribution *attribution, uint32_t mark)
{
	return list_of(&marks(attribution)[mark]);
}

struct vt_attributed_list vt_attribution_peak(const struct vt_attribution *attribution, uint32_t device)
{
	if (device >= attribution->peaks_room)
		return (struct vt_attributed_list){ NULL, 0 };
	return list_of(&attribution->peaks[device].mark);
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
