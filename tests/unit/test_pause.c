/* test_pause.c - the agent obeys the control word: nothing recorded while it is odd, nothing stale afterwards. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include "capture/agent/mark.h"
#include "tests/fake/fake_aten.h"
#include "tests/unit/agent_rig.h"

#define FUNCTION 0

void vramtrace_agent_mark(const char *name);
void vramtrace_agent_range_push(const char *name);
void vramtrace_agent_range_pop(void);

static struct {
	uint32_t marks, ops, notes;
} seen;

static void see(const struct vt_rec *rec, void *arg)
{
	(void)arg;
	seen.marks += rec->type == VT_EVENT_mark;
	seen.ops += rec->type == VT_EVENT_op;
	seen.notes += rec->type == VT_EVENT_note;
}

static void look(void)
{
	memset(&seen, 0, sizeof(seen));
	rig_each(see, NULL);
}

static void turn(void)
{
	atomic_fetch_add(&vt_agent_get()->shm->control, 1);
}

static uint32_t current_op(void)
{
	struct vt_thread *thread = vt_agent_enter();
	uint32_t op = vt_thread_op(thread);

	vt_agent_leave(thread);
	return op;
}

static void test_nothing_is_recorded_while_paused(void **state)
{
	uint32_t marks;

	(void)state;
	vramtrace_agent_mark("before");
	look();
	marks = seen.marks;
	turn();
	assert_null(vt_agent_enter());
	assert_null(vt_agent_enter_live());
	vramtrace_agent_mark("unseen");
	look();
	assert_int_equal(seen.marks, marks);
	turn();
	vramtrace_agent_mark("after");
	look();
	assert_int_equal(seen.marks, marks + 1);
}

/* Notes on the capture itself are written all the same. */
static void test_notes_are_written_while_paused(void **state)
{
	struct vt_thread *thread;
	uint32_t notes;

	(void)state;
	look();
	notes = seen.notes;
	turn();
	thread = vt_agent_enter_paused();
	assert_non_null(thread);
	vt_agent_note(thread, VT_note_code_DRIVER_VERSION, 1, NULL);
	vt_agent_leave(thread);
	turn();
	look();
	assert_int_equal(seen.notes, notes + 1);
}

static void test_what_was_open_is_forgotten(void **state)
{
	struct fake_function outer, inner;
	uint32_t ops;

	(void)state;
	fake_op_begin(&outer, "outer", FUNCTION, -1, 0);
	vramtrace_agent_range_push("range");
	assert_int_not_equal(current_op(), 0);
	look();
	ops = seen.ops;
	turn();
	vramtrace_agent_range_pop();
	fake_op_begin(&inner, "inner", FUNCTION, -1, 0);
	fake_op_end(&inner);
	turn();
	/* The end of an op of before the pause finds nothing to end. */
	fake_op_end(&outer);
	assert_int_equal(current_op(), 0);
	look();
	assert_int_equal(seen.ops, ops);
	fake_op_begin(&inner, "inner", FUNCTION, -1, 0);
	assert_int_not_equal(current_op(), 0);
	fake_op_end(&inner);
	look();
	assert_int_equal(seen.ops, ops + 1);
}

/* Paused and resumed between two events of a thread: it must notice all the same. */
static void test_a_pause_that_nobody_saw(void **state)
{
	struct fake_function outer;

	(void)state;
	fake_op_begin(&outer, "outer", FUNCTION, -1, 0);
	turn();
	turn();
	assert_int_equal(current_op(), 0);
	fake_op_end(&outer);
}

static void *first_event(void *arg)
{
	vramtrace_agent_mark(arg);
	return NULL;
}

static void test_a_thread_that_begins_while_paused(void **state)
{
	pthread_t thread;
	uint32_t marks;

	(void)state;
	look();
	marks = seen.marks;
	turn();
	assert_int_equal(pthread_create(&thread, NULL, first_event, (char[]){ "unseen" }), 0);
	pthread_join(thread, NULL);
	turn();
	assert_int_equal(pthread_create(&thread, NULL, first_event, (char[]){ "seen" }), 0);
	pthread_join(thread, NULL);
	look();
	assert_int_equal(seen.marks, marks + 1);
}

/* The marker file tells processes that begin. */
static void test_a_process_that_begins_while_paused(void **state)
{
	char path[128];
	int status = 0, fd;
	pid_t child;

	(void)state;
	snprintf(path, sizeof(path), "%s/" VT_SESSION_PAUSED, rig_session);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	child = fork();
	if (child == 0) {
		vramtrace_agent_mark("unseen");
		look();
		(void)remove(vt_agent_get()->path);
		/* Not the mark; but who it is. */
		_exit(seen.marks != 0 ? 1 : seen.notes == 0 ? 2 : atomic_load(&vt_agent_get()->shm->control) != 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	(void)remove(path);
}

static void *spin(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		vramtrace_agent_range_push("work");
		vramtrace_agent_range_pop();
	}
	return arg;
}

/* For the thread sanitizer, and that nothing is torn: threads record while the word turns. */
static void test_turns_while_threads_record(void **state)
{
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, spin, NULL), 0);
	for (int i = 0; i < 200; i++) {
		turn();
		usleep(50);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(current_op(), 0);
	look();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_recorded_while_paused),
		cmocka_unit_test(test_notes_are_written_while_paused),
		cmocka_unit_test(test_what_was_open_is_forgotten),
		cmocka_unit_test(test_a_pause_that_nobody_saw),
		cmocka_unit_test(test_a_thread_that_begins_while_paused),
		cmocka_unit_test(test_a_process_that_begins_while_paused),
		cmocka_unit_test(test_turns_while_threads_record),
	};
	struct vt_thread *thread;
	int r;

	fake_aten_set_layout(FAKE_LAYOUT_CXX11);
	rig_start();
	thread = vt_agent_enter();
	vt_torch_attach(thread);
	vt_agent_leave(thread);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	rig_stop();
	return r;
}
