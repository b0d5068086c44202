/* links.c - see links.h. */
#include "analyze/attribute/links.h"

#include <stdlib.h>

#include "schema/base/err.h"
#include "schema/event.h"

/* Blocks that may wait for the ops around them to end, on a thread. */
#define PENDING_MAX (1u << 17)

struct vt_link_block {
	uint32_t index;
	uint64_t serial;
};

struct vt_link_ask {
	uint64_t time_ns;
	uint32_t number;
};

/* A forward op that ran inside a node of the graph: autograd.grad(create_graph=True), torch.utils.checkpoint. */
struct made {
	uint32_t torch; /* index */
	int64_t sequence;
};

/* A thread as the framework numbers them. */
struct vt_link_torch {
	struct vt_forwards forwards;
	int64_t current; /* the highest sequence that an op carried */
	bool any;
	uint64_t standing_ns;	    /* begin of the last op with it */
	bool standing_outside;	    /* of backward passes */
	bool standing_first;	    /* the first forward op after backward work */
	uint64_t standing_backward; /* vt_link_process.backward_ops when it ended */
	struct vt_buf waiting;	    /* struct vt_link_block, allocated under that op: did it make a node? */
};

/*
 * What cuBLAS gets from PyTorch for each handle and stream: 32 MiB on compute capability 9.0, else 8 MiB + 128 KiB
 * (aten/src/ATen/cuda/CublasHandlePool.cpp).
 */
static bool is_workspace_size(uint64_t bytes)
{
	return bytes == UINT64_C(32) << 20 || bytes == (UINT64_C(8) << 20) + (128 << 10);
}

struct vt_link_thread *vt_links_thread(struct vt_links *links, uint32_t process, uint32_t thread)
{
	uint32_t index = vt_idmap_add(&links->thread_map, (struct vt_idmap_key){ process, thread, 0 });

	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&links->threads, &links->threads_room, index, sizeof(*links->threads)) < 0)
		return NULL;
	return &links->threads[index];
}

struct vt_link_process *vt_links_process(struct vt_links *links, uint32_t process)
{
	uint32_t index = vt_idmap_add(&links->process_map, (struct vt_idmap_key){ process, 0, 0 });

	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&links->processes, &links->processes_room, index, sizeof(*links->processes)) < 0)
		return NULL;
	return &links->processes[index];
}

static struct vt_link_torch *find_torch(struct vt_links *links, uint32_t process, uint32_t thread)
{
	uint32_t index = vt_idmap_add(&links->torch_map, (struct vt_idmap_key){ process, thread, 0 });

	if (index == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&links->torch, &links->torch_room, index, sizeof(*links->torch)) < 0)
		return NULL;
	return &links->torch[index];
}

/* What is known of the blocks that wait for it: whether the op they are from made a node. */
static void settle_waiting(struct vt_links *links, struct vt_link_torch *torch, enum vt_made_node made)
{
	const struct vt_link_block *block = (const struct vt_link_block *)(const void *)torch->waiting.data;

	for (size_t n = torch->waiting.bytes / sizeof(*block); n; n--, block++) {
		struct vt_life *life = vt_lives_get(links->lives, block->index, block->serial);

		if (life)
			life->node = (uint8_t)made;
	}
	vt_buf_clear(&torch->waiting);
}

static int count_node(struct vt_links *links, uint32_t process_id, const struct vt_link_torch *torch)
{
	struct vt_link_process *process = vt_links_process(links, process_id);
	int r = 0;

	if (!process)
		return -VT_E_NOMEM;
	if (!torch->standing_outside)
		return 0;
	if (torch->standing_first)
		process->passes++;
	if (torch->standing_first || !process->nodes)
		r = vt_step_times_forward(links->times, process_id, torch->standing_ns);
	/* The pass's last op may be counted as late as in the next backward, by the first op that a checkpoint runs
	 * again there. */
	if (process->backward_ops == torch->standing_backward)
		process->backward_ran = false;
	process->nodes++;
	return r;
}

/* An op with a sequence of its own ended: what does that say of those before it? */
static int advance(struct vt_links *links, uint32_t process_id, struct vt_link_torch *torch, const struct vt_op *op,
		   bool outside)
{
	const struct vt_link_process *process = vt_links_process(links, process_id);
	int r = 0;

	if (!process)
		return -VT_E_NOMEM;
	if (torch->any && op->sequence < torch->current)
		return 0;
	if (torch->any && op->sequence == torch->current) {
		/* Around the one that stands, or after it, which then has made no node. */
		if (op->start_ns <= torch->standing_ns)
			return 0;
		settle_waiting(links, torch, VT_NODE_NONE);
	} else if (torch->any) {
		settle_waiting(links, torch, VT_NODE_MADE);
		r = count_node(links, process_id, torch);
	}
	torch->any = true;
	torch->current = op->sequence;
	torch->standing_ns = op->start_ns;
	torch->standing_outside = outside;
	torch->standing_first = process->backward_ran;
	torch->standing_backward = process->backward_ops;
	return r;
}

/* The blocks that were allocated while the op ran take its sequence, unless an op inside had one. */
static int give_sequence(struct vt_links *links, struct vt_link_thread *thread, struct vt_link_torch *torch,
			 const struct vt_op *op)
{
	const struct vt_link_block *list = (const struct vt_link_block *)(const void *)thread->pending.data;

	for (size_t i = thread->pending.bytes / sizeof(*list); i-- > 0;) {
		struct vt_life *life = vt_lives_get(links->lives, list[i].index, list[i].serial);

		if (!life)
			continue;
		if (life->block.alloc_ns < op->start_ns)
			break;
		if (life->sequence >= 0)
			continue;
		life->sequence = op->sequence;
		life->torch_thread = op->torch_thread;
		life->node = op->sequence < torch->current ? VT_NODE_MADE : VT_NODE_UNKNOWN;
		if (op->sequence == torch->current && vt_buf_append(&torch->waiting, &list[i], sizeof(list[i])) < 0)
			return -VT_E_NOMEM;
	}
	return 0;
}

static int on_forward(struct vt_links *links, uint32_t process_id, const struct vt_op *op, bool outside)
{
	struct vt_link_torch *torch = find_torch(links, process_id, op->torch_thread);
	const struct vt_link_process *process = vt_links_process(links, process_id);
	struct vt_link_thread *thread = vt_links_thread(links, process_id, op->thread);
	uint32_t stack = op->stack;
	int r;

	if (!torch || !process || !thread)
		return -VT_E_NOMEM;
	/* Traces of before ops had stacks of their own. */
	if (!stack && thread->last_alloc_ns >= op->start_ns)
		stack = thread->last_stack;
	r = advance(links, process_id, torch, op, outside);
	if (!r)
		r = vt_forwards_enter(&torch->forwards, &(struct vt_forward){ op->sequence, op->start_ns, op->node,
									      stack, process->passes });
	if (!r && !outside) {
		const struct made made = { (uint32_t)(torch - links->torch), op->sequence };

		r = vt_buf_append(&thread->made, &made, sizeof(made));
	}
	if (!r)
		r = give_sequence(links, thread, torch, op);
	return r;
}

/*
 * A node ended. Ops with a number that ran inside it belong where its own forward op was called: that is the line of
 * the program behind a second backward pass. Not those that Python called from inside the node: they have lines.
 */
static void give_line(struct vt_links *links, struct vt_link_thread *thread, const struct vt_op *node, uint32_t stack)
{
	const struct made *list = (const struct made *)(const void *)thread->made.data;
	size_t n = thread->made.bytes / sizeof(*list);

	for (; n; n--) {
		struct vt_forward *forward =
			vt_forwards_exact(&links->torch[list[n - 1].torch].forwards, list[n - 1].sequence);

		if (!forward)
			continue;
		if (forward->start_ns < node->start_ns)
			break;
		if (stack && (!forward->stack || forward->stack == node->stack))
			forward->stack = stack;
	}
	thread->made.bytes = n * sizeof(*list);
}

static void give_answers(struct vt_links *links, const struct vt_link_thread *thread, uint64_t since_ns)
{
	const struct vt_link_ask *ask = (const struct vt_link_ask *)(const void *)thread->asks.data;

	for (size_t n = thread->asks.bytes / sizeof(*ask); n; n--, ask++) {
		struct vt_link_forward *answer = (struct vt_link_forward *)(void *)links->answers.data + ask->number;

		if (ask->time_ns >= since_ns && !answer->op)
			*answer = (struct vt_link_forward){ thread->node_op, thread->node_stack };
	}
}

int vt_links_ask(struct vt_links *links, const struct vt_link_question *question, uint32_t *ret)
{
	struct vt_link_thread *thread = vt_links_thread(links, question->process, question->thread);
	const struct vt_link_ask ask = { question->time_ns,
					 (uint32_t)(links->answers.bytes / sizeof(struct vt_link_forward)) };
	struct vt_link_forward answer = { 0, 0 };
	struct vt_frames frames;
	struct vt_scope scope;

	*ret = ask.number;
	if (!thread || vt_scopes_op(links->scopes, question->process, question->op, &scope) < 0 ||
	    vt_scopes_stack(links->scopes, question->process, question->stack, &frames) < 0)
		return -VT_E_NOMEM;
	if ((scope.flags & VT_SCOPE_ENGINE) && thread->node_ended)
		answer = (struct vt_link_forward){ thread->node_op, thread->node_stack };
	else if ((scope.flags & VT_SCOPE_BACKWARD) && !(frames.flags & VT_FRAMES_RECOMPUTE) &&
		 vt_buf_append(&thread->asks, &ask, sizeof(ask)) < 0)
		return -VT_E_NOMEM;
	return vt_buf_append(&links->answers, &answer, sizeof(answer));
}

/* What was allocated since then belongs to the forward op of the node that ran last. */
static int give_forward(struct vt_links *links, const struct vt_link_thread *thread, uint64_t since_ns)
{
	const struct vt_link_block *list = (const struct vt_link_block *)(const void *)thread->pending.data;
	int r = 0;

	give_answers(links, thread, since_ns);
	for (size_t i = thread->pending.bytes / sizeof(*list); thread->node_op && i-- > 0 && !r;) {
		struct vt_life *life = vt_lives_get(links->lives, list[i].index, list[i].serial);

		if (!life)
			continue;
		if (life->block.alloc_ns < since_ns)
			break;
		/* What is computed again has lines of its own. */
		if (life->forward_op || (life->frames_flags & VT_FRAMES_RECOMPUTE))
			continue;
		life->forward_op = thread->node_op;
		life->forward_stack = thread->node_stack;
		if (life->late)
			r = links->finish(links->finish_self, list[i].index);
	}
	return r;
}

/* No op is open: what was allocated in those before has all the links that there are. */
static int end_pending(struct vt_links *links, struct vt_link_thread *thread)
{
	const struct vt_link_block *list = (const struct vt_link_block *)(const void *)thread->pending.data;
	int r = 0;

	for (size_t n = thread->pending.bytes / sizeof(*list); n && !r; n--, list++) {
		struct vt_life *life = vt_lives_get(links->lives, list->index, list->serial);

		if (!life)
			continue;
		life->pending = false;
		if (life->late)
			r = links->finish(links->finish_self, list->index);
	}
	vt_buf_clear(&thread->pending);
	return r;
}

/* A node of the graph ran: what was allocated meanwhile belongs to the forward op that made it. */
static int on_backward(struct vt_links *links, uint32_t process_id, const struct vt_op *op)
{
	struct vt_link_torch *torch = find_torch(links, process_id, op->forward_thread);
	const struct vt_link_process *process = vt_links_process(links, process_id);
	struct vt_link_thread *thread = vt_links_thread(links, process_id, op->thread);
	const struct vt_forward *forward;

	if (!torch || !process || !thread)
		return -VT_E_NOMEM;
	if (torch->any && torch->current == op->sequence)
		settle_waiting(links, torch, VT_NODE_MADE);
	forward = vt_forwards_find(&torch->forwards, op->sequence);
	thread->node_op = forward ? forward->node : 0;
	thread->node_stack = forward ? forward->stack : 0;
	thread->node_pass = process->passes;
	thread->node_ended = true;
	give_line(links, thread, op, thread->node_stack);
	return give_forward(links, thread, op->start_ns);
}

/*
 * AccumulateGrad has no forward op. The engine runs it as soon as the last node that feeds it has ended, before any
 * other (torch/csrc/autograd/engine.cpp: its sequence number is the highest), so that node ran before it on the thread.
 */
static int on_accumulate(struct vt_links *links, uint32_t process_id, const struct vt_op *op)
{
	const struct vt_link_process *process = vt_links_process(links, process_id);
	struct vt_link_thread *thread = vt_links_thread(links, process_id, op->thread);

	if (!process || !thread)
		return -VT_E_NOMEM;
	return thread->node_pass == process->passes ? give_forward(links, thread, op->start_ns) : 0;
}

int vt_links_birth(struct vt_links *links, uint32_t index)
{
	struct vt_life *life = vt_lives_at(links->lives, index);
	const struct vt_link_block pending = { index, life->block.serial };
	struct vt_link_process *process = vt_links_process(links, life->process);
	struct vt_link_thread *thread = vt_links_thread(links, life->process, life->block.thread);

	if (!process || !thread)
		return -VT_E_NOMEM;
	life->sequence = -1;
	life->tops = thread->tops;
	life->passes = process->passes;
	life->nodes = process->nodes;
	life->optimizer_steps = process->optimizer_steps;
	if (thread->autograd && !life->block.stack)
		life->scope_flags |= VT_SCOPE_BACKWARD;
	if (life->scope_flags & VT_SCOPE_MATMUL && is_workspace_size(life->block.size_bytes))
		life->workspace = ++thread->workspaces <= 2;
	/* The engine sums up what a node gave, to the shape of its input, when the node itself has ended. */
	if ((life->scope_flags & VT_SCOPE_ENGINE) && thread->node_ended) {
		life->forward_op = thread->node_op;
		life->forward_stack = thread->node_stack;
	}
	thread->last_alloc_ns = life->block.alloc_ns;
	thread->last_stack = life->block.stack;
	if (!life->block.op || (life->scope_flags & VT_SCOPE_RANGE))
		return end_pending(links, thread);
	/* More than that in one op is not put off. */
	life->pending = thread->pending.bytes < PENDING_MAX * sizeof(pending);
	return vt_buf_append(&thread->pending, &pending, sizeof(pending));
}

static int end_op(struct vt_links *links, uint32_t process_id, const struct vt_op *op, const struct vt_scope *scope)
{
	struct vt_link_process *process = vt_links_process(links, process_id);
	struct vt_link_thread *thread = vt_links_thread(links, process_id, op->thread);
	bool backward = scope->flags & VT_SCOPE_BACKWARD;
	int r = 0;

	if (!process || !thread)
		return -VT_E_NOMEM;
	thread->tops += scope->top == op->node;
	thread->in_backward = backward;
	process->backward_ran |= backward;
	process->backward_ops += backward;
	process->last_was_backward = backward;
	if (backward && op->forward_thread && !thread->last_stack)
		thread->autograd = true;
	/* Until the engine's own range ends. */
	if (scope->flags & VT_SCOPE_IS_ENGINE)
		thread->node_ended = false;
	if (scope->flags & VT_SCOPE_OUTERMOST) {
		r = end_pending(links, thread);
		vt_buf_clear(&thread->made);
		vt_buf_clear(&thread->asks);
	}
	if (!r && (scope->flags & VT_SCOPE_IS_PROFILER_STEP))
		return vt_step_times_profiler(links->times, process_id, scope->profiler_step, op->start_ns, op->end_ns);
	if (r || !(scope->flags & VT_SCOPE_IS_STEP))
		return r;
	process->optimizer_steps++;
	return vt_step_times_optimizer(links->times, process_id,
				       vt_symbols_op_name_key(links->scopes->symbols, process_id, op->node),
				       op->end_ns);
}

int vt_links_op(struct vt_links *links, uint32_t process, const struct vt_op *op)
{
	struct vt_op_info info;
	struct vt_scope scope;
	int r = vt_scopes_op(links->scopes, process, op->node, &scope);

	if (r < 0)
		return r;
	vt_symbols_op(links->scopes->symbols, process, op->node, &info);
	if (op->sequence >= 0 && op->forward_thread)
		r = on_backward(links, process, op);
	else if (op->sequence >= 0 && info.scope != VT_op_scope_USER)
		r = on_forward(links, process, op, !(scope.flags & VT_SCOPE_BACKWARD));
	else if (info.scope == VT_op_scope_BACKWARD)
		r = on_accumulate(links, process, op);
	return r < 0 ? r : end_op(links, process, op, &scope);
}

void vt_links_gap(struct vt_links *links, uint32_t process)
{
	for (uint32_t i = 0; i < links->torch_map.count; i++)
		if (links->torch_map.keys[i].a == process && links->torch[i].any)
			vt_forwards_gap(&links->torch[i].forwards, links->torch[i].current);
}

void vt_links_done(struct vt_links *links)
{
	for (uint32_t i = 0; i < links->thread_map.count; i++) {
		vt_buf_done(&links->threads[i].pending);
		vt_buf_done(&links->threads[i].made);
		vt_buf_done(&links->threads[i].asks);
	}
	for (uint32_t i = 0; i < links->torch_map.count; i++) {
		vt_buf_done(&links->torch[i].waiting);
		vt_forwards_done(&links->torch[i].forwards);
	}
	vt_buf_done(&links->answers);
	vt_idmap_done(&links->thread_map);
	vt_idmap_done(&links->torch_map);
	vt_idmap_done(&links->process_map);
	free(links->threads);
	free(links->torch);
	free(links->processes);
}
