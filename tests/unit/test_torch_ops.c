/* test_torch_ops.c - the op stack against a fake at::RecordFunction: nesting, links, and everything that goes wrong. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fake/fake_aten.h"
#include "tests/unit/agent_rig.h"

#define FUNCTION 0
#define BACKWARD 1
#define BUILD_FEATURE 5
#define USER 7

static enum fake_layout layout;

/* What the rings hold, by id. */
static struct {
	char strings[4096][64];
	struct vt_op_node nodes[4096];
	struct vt_op ops[4096];
	uint32_t nops;
	uint32_t notes[VT_note_code_END];
	char off[128];
} seen;

static void see(const struct vt_rec *rec, void *arg)
{
	(void)arg;
	if (rec->type == VT_EVENT_string) {
		const struct vt_string *string = (const struct vt_string *)rec;

		snprintf(seen.strings[string->id], 64, "%.*s", (int)string->size_bytes, (const char *)(string + 1));
	} else if (rec->type == VT_EVENT_op_node) {
		const struct vt_op_node *node = (const struct vt_op_node *)rec;

		seen.nodes[node->id] = *node;
	} else if (rec->type == VT_EVENT_op) {
		seen.ops[seen.nops++ % 4096] = *(const struct vt_op *)rec;
	} else if (rec->type == VT_EVENT_note) {
		const struct vt_note *note = (const struct vt_note *)rec;

		seen.notes[note->code]++;
		if (note->code == VT_note_code_TORCH_OPS_OFF)
			snprintf(seen.off, sizeof(seen.off), "%s", seen.strings[note->text]);
	}
}

static void look(void)
{
	memset(&seen, 0, sizeof(seen));
	rig_each(see, NULL);
}

/* "inner < outer" of a node. */
static const char *path(uint32_t node)
{
	static char text[1024];
	size_t n = 0;

	text[0] = '\0';
	for (; node; node = seen.nodes[node].parent)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " < " : "",
				      seen.strings[seen.nodes[node].name]);
	return text;
}

static const struct vt_op *last_op(uint32_t back)
{
	assert_true(seen.nops > back);
	return &seen.ops[seen.nops - 1 - back];
}

/* The innermost op that an event raised now would carry. */
static uint32_t current_op(void)
{
	struct vt_thread *thread = vt_agent_enter();
	uint32_t op = vt_agent_context(thread).op;

	vt_agent_leave(thread);
	return op;
}

static void test_attached_once(void **state)
{
	(void)state;
	look();
	assert_int_equal(seen.notes[VT_note_code_TORCH_OPS_ON], 1);
	assert_int_equal(fake_aten_callbacks(), 1);
}

static void test_nesting_and_links(void **state)
{
	struct fake_function outer, middle, inner;
	char range[16] = "step_1";

	(void)state;
	fake_op_begin(&outer, range, USER, -1, 0);
	fake_op_begin(&middle, "aten::linear", FUNCTION, 41, 0);
	fake_op_begin(&inner, "AddmmBackward0", BACKWARD, 42, 3);
	uint32_t op = current_op();

	fake_op_end(&inner);
	fake_op_end(&middle);
	fake_op_end(&outer);
	assert_int_equal(current_op(), 0);
	/* A user range's name is a temporary string: the same memory holds another name the next time. */
	strcpy(range, "step_2");
	fake_op_begin(&outer, range, USER, -1, 0);
	fake_op_end(&outer);
	look();
	assert_string_equal(path(op), "AddmmBackward0 < aten::linear < step_1");
	assert_string_equal(path(last_op(0)->node), "step_2");
	assert_string_equal(path(last_op(1)->node), "step_1");
	assert_int_equal(seen.nodes[last_op(1)->node].scope, USER);
	assert_int_equal(last_op(2)->sequence, 41);
	assert_int_equal(last_op(3)->sequence, 42);
	assert_int_equal(last_op(3)->forward_thread, 3);
	assert_true(last_op(3)->torch_thread > 0);
	assert_int_equal(seen.nodes[last_op(3)->node].scope, BACKWARD);
	assert_true(last_op(3)->start_ns < last_op(3)->end_ns && last_op(3)->end_ns < last_op(2)->end_ns);
}

static void test_unwanted_scopes_are_not_asked_for(void **state)
{
	struct fake_function function;

	(void)state;
	look();
	uint32_t before = seen.nops;

	fake_op_begin(&function, "feature", BUILD_FEATURE, -1, 0);
	assert_int_equal(current_op(), 0);
	fake_op_end(&function);
	look();
	assert_int_equal(seen.nops, before);
}

static void test_end_of_an_unknown_op_is_ignored(void **state)
{
	struct fake_function known = { 0 }, unknown = { 0 };

	(void)state;
	fake_op_begin(&known, "known", FUNCTION, -1, 0);
	uint32_t op = current_op();

	fake_op_end(&unknown);
	assert_int_equal(current_op(), op);
	fake_op_end(&known);
	memset(&unknown, 0, sizeof(unknown));
	fake_op_end(&unknown);
	assert_int_equal(current_op(), 0);
}

static void test_missing_ends_are_made_good(void **state)
{
	struct fake_function outer, inner;

	(void)state;
	fake_op_begin(&outer, "outer", FUNCTION, -1, 0);
	fake_op_begin(&inner, "never ended", FUNCTION, -1, 0);
	fake_op_end(&outer);
	assert_int_equal(current_op(), 0);
	look();
	assert_string_equal(path(last_op(0)->node), "outer");
}

static void test_depth_overflow(void **state)
{
	static struct fake_function functions[VT_OP_DEPTH_MAX + 10];
	uint32_t deepest;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < VT_OP_DEPTH_MAX; i++)
			fake_op_begin(&functions[i], "deep", FUNCTION, -1, 0);
		deepest = current_op();
		for (unsigned i = VT_OP_DEPTH_MAX; i < VT_OP_DEPTH_MAX + 10; i++)
			fake_op_begin(&functions[i], "deeper", FUNCTION, -1, 0);
		assert_int_equal(current_op(), deepest);
		for (unsigned i = VT_OP_DEPTH_MAX + 10; i-- > VT_OP_DEPTH_MAX;)
			fake_op_end(&functions[i]);
		assert_int_equal(current_op(), deepest);
		for (unsigned i = VT_OP_DEPTH_MAX; i-- > 0;)
			fake_op_end(&functions[i]);
		assert_int_equal(current_op(), 0);
	}
	look();
	assert_int_equal(seen.notes[VT_note_code_OP_STACK_OVERFLOW], 1);
}

static void *end_elsewhere(void *arg)
{
	fake_op_end(arg);
	return NULL;
}

static void test_async_op_ends_on_another_thread(void **state)
{
	struct fake_function work, outer, next;
	pthread_t other;

	(void)state;
	fake_op_begin(&outer, "outer", FUNCTION, -1, 0);
	fake_op_begin(&work, "nccl:all_reduce", USER, -1, 0);
	fake_op_set_async(&work);
	assert_int_equal(pthread_create(&other, NULL, end_elsewhere, &work), 0);
	pthread_join(other, NULL);
	/* It is over, though this thread never saw its end: what comes now is not below it. */
	fake_op_begin(&next, "aten::mul", FUNCTION, -1, 0);
	uint32_t op = current_op();

	fake_op_end(&next);
	fake_op_end(&outer);
	assert_int_equal(current_op(), 0);
	look();
	assert_string_equal(path(op), "aten::mul < outer");
}

static void test_threads_have_their_own_stacks(void **state)
{
	struct fake_function function;
	pthread_t other;
	struct fake_function theirs;

	(void)state;
	fake_op_begin(&theirs, "theirs", FUNCTION, -1, 0);
	fake_op_end(&theirs);
	fake_op_begin(&function, "mine", FUNCTION, -1, 0);
	uint32_t op = current_op();

	memset(&theirs, 0, sizeof(theirs));
	assert_int_equal(pthread_create(&other, NULL, end_elsewhere, &theirs), 0);
	pthread_join(other, NULL);
	assert_int_equal(current_op(), op);
	fake_op_end(&function);
}

static void test_long_name_is_cut(void **state)
{
	static char name[5000];
	struct fake_function function;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	fake_op_begin(&function, name, USER, -1, 0);
	assert_int_not_equal(current_op(), 0);
	fake_op_end(&function);
}

static void test_child_follows_no_ops_until_it_allocates(void **state)
{
	struct fake_function outer, inner;
	int status = 0;
	pid_t child;

	(void)state;
	fake_op_begin(&outer, "outer", FUNCTION, -1, 0);
	child = fork();
	if (child == 0) {
		bool passive;

		/* As a data loader's worker: ops alone make no file. */
		fake_op_begin(&inner, "inner", FUNCTION, -1, 0);
		passive = !vt_agent_is_on();
		fake_op_end(&inner);
		fake_op_end(&outer);
		/* The first allocation does, and the parent's open ops are not the child's. */
		if (!passive || current_op() != 0 || !vt_agent_is_on())
			_exit(1);
		fake_op_begin(&inner, "inner", FUNCTION, -1, 0);
		if (current_op() == 0)
			_exit(2);
		(void)remove(vt_agent_get()->path);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fake_op_end(&outer);
}

static void test_broken_layout_is_refused(void **state)
{
	(void)state;
	look();
	assert_int_equal(fake_aten_callbacks(), 0);
	assert_int_equal(seen.notes[VT_note_code_TORCH_OPS_ON], 0);
	assert_int_equal(seen.notes[VT_note_code_TORCH_OPS_OFF], 1);
	assert_string_equal(seen.off, "at::RecordFunction has an unknown layout");
}

/* The argument is the number of the layout: an agent attaches once in the life of a process. */
int main(int argc, char **argv)
{
	const struct CMUnitTest good[] = {
		cmocka_unit_test(test_attached_once),
		cmocka_unit_test(test_nesting_and_links),
		cmocka_unit_test(test_unwanted_scopes_are_not_asked_for),
		cmocka_unit_test(test_end_of_an_unknown_op_is_ignored),
		cmocka_unit_test(test_missing_ends_are_made_good),
		cmocka_unit_test(test_depth_overflow),
		cmocka_unit_test(test_async_op_ends_on_another_thread),
		cmocka_unit_test(test_threads_have_their_own_stacks),
		cmocka_unit_test(test_long_name_is_cut),
		cmocka_unit_test(test_child_follows_no_ops_until_it_allocates),
	};
	const struct CMUnitTest broken[] = { cmocka_unit_test(test_broken_layout_is_refused) };
	struct vt_thread *thread;
	int r;

	layout = argc == 2 ? (enum fake_layout)atoi(argv[1]) : FAKE_LAYOUT_CXX11;
	if (layout >= FAKE_LAYOUT_END)
		return 2;
	fake_aten_set_layout(layout);
	rig_start();
	for (int i = 0; i < 3; i++) {
		thread = vt_agent_enter();
		vt_torch_attach(thread);
		vt_agent_leave(thread);
	}
	r = layout == FAKE_LAYOUT_BROKEN ? cmocka_run_group_tests(broken, NULL, NULL)
					 : cmocka_run_group_tests(good, NULL, NULL);
	rig_stop();
	return r;
}
