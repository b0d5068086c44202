/*
 * links.h - ties memory to the forward op it belongs to, from op events and their autograd sequence numbers.
 *
 * A forward op that makes a node of the autograd graph takes the next number of its thread; the backward op that runs
 * that node names the thread and the number. The number is read when an op begins, so ops that make no node, and
 * composite ops around the one that does, carry the same number: the last one with it, and the innermost of that, is
 * meant. That also tells whether an op made a node at all: the next op has a higher number. The op event has the Python
 * stack of the call, so that the line is known of ops that allocate nothing too.
 *
 * Op events come when ops end. A block is on its thread's list of pending ones from its allocation until the outermost
 * op around it has ended. Memory: the live set's part of that, and for each thread a table of the forward ops of the
 * current and the last pass (at most VT_FORWARDS_MAX).
 */
#ifndef VT_ANALYZE_LINKS_H
#define VT_ANALYZE_LINKS_H

#include "analyze/attribute/forwards.h"
#include "analyze/attribute/lives.h"
#include "analyze/attribute/scope.h"
#include "analyze/attribute/step_times.h"

/* A kernel thread. */
struct vt_link_thread {
	struct vt_buf pending; /* struct vt_link_block, in order of allocation */
	struct vt_buf asks;    /* struct vt_link_ask: questions that the open ops will answer */
	struct vt_buf made;    /* ops with a number that ran inside the nodes that are open, as they ended */
	uint32_t workspaces;   /* blocks of a workspace's size that matrix products allocated */
	uint32_t tops;	       /* units of work (scope.h) that ended */
	uint32_t last_stack;   /* of the last allocation */
	uint64_t last_alloc_ns;
	uint32_t node_op, node_stack; /* the forward op of the last node of the graph that ran; 0: not known */
	uint32_t node_pass;	      /* vt_link_process.passes when it ended */
	bool node_ended;	      /* it has, and the engine is not done with its results */
	bool autograd;		      /* it has run backward ops, and no Python was below them */
	bool in_backward;	      /* the last op that ended was a backward one */
};

/* The forward op that something belongs to; 0: not known, or no backward work. */
struct vt_link_forward {
	uint32_t op, stack;
};

/* Which forward op does what a thread does now belong to? */
struct vt_link_question {
	uint32_t process, thread;
	uint32_t op, stack; /* where it is */
	uint64_t time_ns;
};

struct vt_link_process {
	uint64_t nodes;		  /* forward ops that made a node, outside of backward passes */
	uint32_t passes;	  /* backward passes that were followed by forward work */
	uint32_t optimizer_steps; /* ranges that ended */
	uint32_t apply_line;	  /* scope.h: the lowest one seen; 0: none */
	uint64_t backward_ops;	  /* that ended */
	bool backward_ran;	  /* since the last forward op */
	bool last_was_backward;	  /* the last op that ended */
};

/* Zero-initialised, then the first five set; the holder calls vt_links_done. */
struct vt_links {
	struct vt_lives *lives;
	struct vt_scopes *scopes;
	struct vt_step_times *times;
	/* Of a life that was put off (life->late) nothing more will become known. */
	int (*finish)(void *self, uint32_t life);
	void *finish_self;
	struct vt_buf answers;	    /* struct vt_link_forward, by number of the question */
	struct vt_idmap thread_map; /* process, kernel thread */
	struct vt_link_thread *threads;
	size_t threads_room;
	struct vt_idmap torch_map; /* process, the framework's number of the thread */
	struct vt_link_torch *torch;
	size_t torch_room;
	struct vt_idmap process_map;
	struct vt_link_process *processes;
	size_t processes_room;
};

/* A life began and its fields from scopes are set; the rest is filled in here, now or as ops end. */
int vt_links_birth(struct vt_links *links, uint32_t index);
int vt_links_op(struct vt_links *links, uint32_t process, const struct vt_op *op);
/* For a time nothing of the process was recorded. */
void vt_links_gap(struct vt_links *links, uint32_t process);
/* The answer comes with the ops that end: it will be answers[*ret]. */
int vt_links_ask(struct vt_links *links, const struct vt_link_question *question, uint32_t *ret);
/* NULL: no memory. Valid until the next call of any function of links. */
struct vt_link_thread *vt_links_thread(struct vt_links *links, uint32_t process, uint32_t thread);
struct vt_link_process *vt_links_process(struct vt_links *links, uint32_t process);
void vt_links_done(struct vt_links *links);

#endif
