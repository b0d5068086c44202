/* block_pass.c - see block_pass.h. */
#include "analyze/sql/block_pass.h"

#include <pthread.h>
#include <stdlib.h>

#define BATCH 1024
/* Not an error: the taker has had enough. */
#define STOPPED (-1000)

struct batch {
	struct vt_block_row rows[BATCH];
	size_t count;
};

struct vt_block_pass {
	struct vt_block_request request;
	struct vt_store *store;
	struct vt_symbols *symbols;
	struct vt_replay *replay;
	struct vt_attribution *attribution;
	uint32_t mark;

	struct batch *making; /* the thread's */
	struct batch *taking; /* the caller's */
	size_t taken;

	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct batch *between; /* under lock, as all below: full (count > 0) or given back */
	bool finished, stop;
	int result;
	struct vt_err err;
};

/* Hands over what was made, and takes the empty batch for it. */
static int hand_over(struct vt_block_pass *pass)
{
	struct batch *full = pass->making;
	bool stop;

	if (!full->count)
		return 0;
	(void)pthread_mutex_lock(&pass->lock);
	while (pass->between->count && !pass->stop)
		(void)pthread_cond_wait(&pass->changed, &pass->lock);
	stop = pass->stop;
	if (!stop) {
		pass->making = pass->between;
		pass->between = full;
		(void)pthread_cond_signal(&pass->changed);
	}
	(void)pthread_mutex_unlock(&pass->lock);
	return stop ? STOPPED : 0;
}

static int add(void *self, const struct vt_attributed *block, struct vt_err *err)
{
	struct vt_block_pass *pass = self;
	const struct vt_device *device = vt_replay_device(pass->replay, block->device);
	struct vt_block_row *row = &pass->making->rows[pass->making->count++];

	(void)err;
	row->block = *block;
	row->device = (int16_t)(device ? device->device : -1);
	row->device_type = device ? device->device_type : 0;
	return pass->making->count == BATCH ? hand_over(pass) : 0;
}

static int add_list(struct vt_block_pass *pass, struct vt_attributed_list list, struct vt_err *err)
{
	int r = 0;

	for (size_t i = 0; i < list.count && r == 0; i++)
		r = add(pass, &list.list[i], err);
	return r;
}

static int run(struct vt_block_pass *pass, struct vt_err *err)
{
	const struct vt_cursor_options options = { .process = pass->request.process };
	struct vt_cursor *cursor;
	int r = vt_cursor_open(&cursor, pass->store, &options, err);

	if (r < 0)
		return r;
	r = vt_replay_run(pass->replay, cursor, err);
	vt_cursor_close(cursor);
	if (r >= 0 && pass->request.moment == VT_BLOCKS_AT)
		r = add_list(pass, vt_attribution_marked(pass->attribution, pass->mark), err);
	if (r >= 0 && pass->request.moment == VT_BLOCKS_PEAK)
		for (uint32_t i = 0; i < vt_replay_device_count(pass->replay) && r >= 0; i++)
			r = add_list(pass, vt_attribution_peak(pass->attribution, i), err);
	return r < 0 ? r : hand_over(pass);
}

static void *run_thread(void *arg)
{
	struct vt_block_pass *pass = arg;
	struct vt_err err = { .code = VT_E_OK };
	int r = run(pass, &err);

	(void)pthread_mutex_lock(&pass->lock);
	pass->finished = true;
	pass->result = r < 0 && r != STOPPED ? r : 0;
	pass->err = err;
	(void)pthread_cond_signal(&pass->changed);
	(void)pthread_mutex_unlock(&pass->lock);
	return NULL;
}

static int prepare(struct vt_block_pass *pass, const char *path, struct vt_err *err)
{
	struct vt_listener listener;
	int r = vt_store_open(&pass->store, path, err);

	if (r == 0)
		r = vt_symbols_open(&pass->symbols, pass->store, err);
	if (r == 0)
		r = vt_replay_new(&pass->replay, err);
	if (r == 0)
		r = vt_attribution_new(&pass->attribution, pass->symbols, err);
	if (r < 0)
		return r;
	if (pass->request.moment == VT_BLOCKS_ALL)
		vt_attribution_each(pass->attribution, add, pass);
	if (pass->request.moment == VT_BLOCKS_AT)
		r = vt_attribution_mark_at(pass->attribution, pass->request.at_ns, &pass->mark, err);
	listener = vt_attribution_listener(pass->attribution);
	return r < 0 ? r : vt_replay_add(pass->replay, &listener, err);
}

int vt_block_pass_start(struct vt_block_pass **ret, const char *path, const struct vt_block_request *request,
			struct vt_err *err)
{
	struct vt_block_pass *pass = calloc(1, sizeof(*pass));
	int r;

	*ret = pass;
	if (!pass)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a pass over the trace");
	(void)pthread_mutex_init(&pass->lock, NULL);
	(void)pthread_cond_init(&pass->changed, NULL);
	pass->request = *request;
	pass->making = calloc(1, sizeof(*pass->making));
	pass->taking = calloc(1, sizeof(*pass->taking));
	pass->between = calloc(1, sizeof(*pass->between));
	r = pass->making && pass->taking && pass->between
		    ? prepare(pass, path, err)
		    : vt_err_set(err, VT_E_NOMEM, "no memory for a pass over the trace");
	if (r >= 0 && pthread_create(&pass->thread, NULL, run_thread, pass) != 0)
		r = vt_err_set(err, VT_E_NOMEM, "no thread can be had for a pass over the trace");
	pass->running = r >= 0;
	if (r < 0) {
		vt_block_pass_stop(pass);
		*ret = NULL;
	}
	return r;
}

/* Waits for the next full batch; false where none will come. */
static bool take_batch(struct vt_block_pass *pass)
{
	bool full;

	pass->taking->count = pass->taken = 0;
	(void)pthread_mutex_lock(&pass->lock);
	while (!pass->between->count && !pass->finished)
		(void)pthread_cond_wait(&pass->changed, &pass->lock);
	full = pass->between->count > 0;
	if (full) {
		struct batch *empty = pass->taking;

		pass->taking = pass->between;
		pass->between = empty;
		(void)pthread_cond_signal(&pass->changed);
	}
	(void)pthread_mutex_unlock(&pass->lock);
	return full;
}

int vt_block_pass_next(struct vt_block_pass *pass, const struct vt_block_row **ret, struct vt_err *err)
{
	if (pass->taken == pass->taking->count && !take_batch(pass)) {
		/* It has finished, and set these before it said so. */
		*err = pass->err;
		return pass->result;
	}
	*ret = &pass->taking->rows[pass->taken++];
	return 1;
}

void vt_block_pass_stop(struct vt_block_pass *pass)
{
	if (!pass)
		return;
	if (pass->running) {
		(void)pthread_mutex_lock(&pass->lock);
		pass->stop = true;
		(void)pthread_cond_signal(&pass->changed);
		(void)pthread_mutex_unlock(&pass->lock);
		(void)pthread_join(pass->thread, NULL);
	}
	vt_replay_free(pass->replay);
	vt_attribution_free(pass->attribution);
	vt_symbols_close(pass->symbols);
	vt_store_close(pass->store);
	(void)pthread_cond_destroy(&pass->changed);
	(void)pthread_mutex_destroy(&pass->lock);
	free(pass->making);
	free(pass->taking);
	free(pass->between);
	free(pass);
}
