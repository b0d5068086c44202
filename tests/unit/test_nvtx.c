/* test_nvtx.c - ranges, marks, domains and names, alone and among PyTorch's ops, from two copies of NVTX. */
#include <sys/wait.h>
#include <unistd.h>

#include <pthread.h>

#include "capture/agent/nvtx_domains.h"
#include "tests/fake/fake_aten.h"
#include "tests/fake/fake_nvtx.h"
#include "tests/unit/agent_rig.h"

#define FUNCTION 0
#define ALL 16u
#define SEEN_MAX 8192

int InitializeInjectionNvtx2(vt_nvtx_get_table_fn *get_table);

static struct fake_nvtx program, library;

/* What the rings hold, by id and in order. */
static struct {
	char strings[SEEN_MAX][VT_NVTX_TEXT_BYTES_MAX + 1];
	struct vt_op_node nodes[SEEN_MAX];
	struct vt_op ops[SEEN_MAX];
	struct vt_mark marks[SEEN_MAX];
	struct vt_note thread_name;
	uint32_t nops, nmarks;
} seen;

static void see(const struct vt_rec *rec, void *arg)
{
	(void)arg;
	if (rec->type == VT_EVENT_string) {
		const struct vt_string *string = (const struct vt_string *)rec;

		snprintf(seen.strings[string->id % SEEN_MAX], sizeof(seen.strings[0]), "%.*s", (int)string->size_bytes,
			 (const char *)(string + 1));
	} else if (rec->type == VT_EVENT_op_node) {
		const struct vt_op_node *node = (const struct vt_op_node *)rec;

		seen.nodes[node->id % SEEN_MAX] = *node;
	} else if (rec->type == VT_EVENT_op) {
		seen.ops[seen.nops++ % SEEN_MAX] = *(const struct vt_op *)rec;
	} else if (rec->type == VT_EVENT_mark) {
		seen.marks[seen.nmarks++ % SEEN_MAX] = *(const struct vt_mark *)rec;
	} else if (rec->type == VT_EVENT_note && ((const struct vt_note *)rec)->code == VT_note_code_THREAD_NAME) {
		seen.thread_name = *(const struct vt_note *)rec;
	}
}

/* How much of what was seen is older than the last look. */
static uint32_t op_base, mark_base;

static int by_time(const void *a, const void *b)
{
	const struct vt_mark *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Reads the rings, the one of each thread after the other. */
static void look(void)
{
	op_base = seen.nops;
	mark_base = seen.nmarks;
	memset(&seen, 0, sizeof(seen));
	rig_each(see, NULL);
	qsort(seen.marks, seen.nmarks, sizeof(seen.marks[0]), by_time);
}

static const char *path(uint32_t node)
{
	static char text[2048];
	size_t n = 0;

	text[0] = '\0';
	for (; node; node = seen.nodes[node].parent)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " < " : "",
				      seen.strings[seen.nodes[node].name]);
	return text;
}

static const char *op_path(uint32_t index)
{
	return path(seen.ops[op_base + index].node);
}

static const struct vt_mark *mark(uint32_t index)
{
	return &seen.marks[mark_base + index];
}

static const char *mark_name(uint32_t index)
{
	return seen.strings[mark(index)->name];
}

static uint32_t current_op(void)
{
	struct vt_thread *thread = vt_agent_enter();
	uint32_t op = vt_thread_op(thread);

	vt_agent_leave(thread);
	return op;
}

static struct vt_nvtx_attributes saying(int32_t type, const void *message)
{
	return (struct vt_nvtx_attributes){
		.version = 3, .size = sizeof(struct vt_nvtx_attributes), .message_type = type, .message = message
	};
}

static void test_ranges_nest_and_become_ops(void **state)
{
	(void)state;
	look();
	assert_int_equal(fake_nvtx_push(&program, "epoch"), 0);
	assert_int_equal(fake_nvtx_push(&program, "batch"), 1);
	uint32_t inner = current_op();

	assert_int_equal(fake_nvtx_pop(&program), 1);
	assert_int_equal(fake_nvtx_pop(&program), 0);
	assert_int_equal(fake_nvtx_pop(&program), VT_NVTX_NO_LEVEL);
	assert_int_equal(current_op(), 0);
	look();
	assert_int_equal(seen.nops - op_base, 2);
	assert_string_equal(op_path(0), "batch < epoch");
	assert_string_equal(op_path(1), "epoch");
	assert_int_equal(seen.ops[op_base].node, inner);
	assert_int_equal(seen.nodes[inner].scope, VT_op_scope_NVTX);
	assert_true(seen.ops[op_base].start_ns > seen.ops[op_base + 1].start_ns);
	assert_true(seen.ops[op_base].end_ns < seen.ops[op_base + 1].end_ns);
	assert_int_equal(seen.ops[op_base].sequence, -1);
}

static void test_domains_count_and_close_their_own(void **state)
{
	const void *mine = fake_nvtx_domain(&program, "trainer"), *theirs = fake_nvtx_domain(&library, "NCCL");
	struct vt_nvtx_attributes step = saying(VT_NVTX_MESSAGE_ASCII, "step");
	struct vt_nvtx_attributes reduce =
		saying(VT_NVTX_MESSAGE_REGISTERED, fake_nvtx_register(&library, theirs, "ncclAllReduce"));

	(void)state;
	look();
	assert_ptr_equal(fake_nvtx_domain(&library, "trainer"), mine);
	assert_int_equal(fake_nvtx_domain_push(&program, mine, &step), 0);
	assert_int_equal(fake_nvtx_domain_push(&library, theirs, &reduce), 0);
	/* The outer one ends first: the inner goes on. */
	assert_int_equal(fake_nvtx_domain_pop(&program, mine), 0);
	uint32_t op = current_op();

	assert_int_equal(fake_nvtx_domain_pop(&program, mine), VT_NVTX_NO_LEVEL);
	assert_int_equal(fake_nvtx_domain_pop(&library, theirs), 0);
	assert_int_equal(current_op(), 0);
	look();
	assert_string_equal(op_path(0), "trainer: step");
	assert_string_equal(op_path(1), "NCCL: ncclAllReduce < trainer: step");
	assert_int_equal(seen.ops[op_base + 1].node, op);
}

static void test_ops_and_ranges_need_not_nest(void **state)
{
	struct fake_function outer, inner;

	(void)state;
	look();
	fake_op_begin(&outer, "aten::outer", FUNCTION, -1, 0);
	fake_nvtx_push(&program, "range");
	fake_op_begin(&inner, "aten::inner", FUNCTION, -1, 0);
	uint32_t deepest = current_op();

	/* The range ends while an op that began in it is open. */
	assert_int_equal(fake_nvtx_pop(&program), 0);
	assert_int_equal(current_op(), deepest);
	fake_nvtx_push(&program, "second");
	/* Ops end while a range that began in them is open. */
	fake_op_end(&inner);
	fake_op_end(&outer);
	look();
	assert_string_equal(path(current_op()), "second < aten::inner < range < aten::outer");
	assert_int_equal(fake_nvtx_pop(&program), 0);
	assert_int_equal(current_op(), 0);
	look();
	assert_int_equal(seen.nops, op_base + 1);
	op_base -= 3;
	assert_string_equal(op_path(0), "range < aten::outer");
	assert_string_equal(op_path(1), "aten::inner < range < aten::outer");
	assert_string_equal(op_path(2), "aten::outer");
	assert_string_equal(op_path(3), "second < aten::inner < range < aten::outer");
}

/* An op whose end is never told, inside a range inside an op. */
static void test_missing_op_ends_leave_ranges_alone(void **state)
{
	struct fake_function outer, lost;

	(void)state;
	fake_op_begin(&outer, "aten::outer", FUNCTION, -1, 0);
	fake_op_begin(&lost, "aten::lost", FUNCTION, -1, 0);
	fake_nvtx_push(&program, "kept");
	fake_op_end(&outer);
	look();
	assert_string_equal(path(current_op()), "kept < aten::lost < aten::outer");
	assert_int_equal(fake_nvtx_pop(&program), 0);
	assert_int_equal(current_op(), 0);
}

static void test_deeper_than_the_stack(void **state)
{
	struct fake_function ops[40];

	(void)state;
	fake_nvtx_push(&program, "bottom");
	for (int i = 0; i < 40; i++)
		fake_op_begin(&ops[i], "aten::deep", FUNCTION, -1, 0);
	for (int i = 0; i < 200; i++)
		(void)fake_nvtx_push(&library, "deeper");
	for (int i = 0; i < 200; i++)
		(void)fake_nvtx_pop(&library);
	for (int i = 40; i-- > 0;)
		fake_op_end(&ops[i]);
	look();
	assert_string_equal(path(current_op()), "bottom");
	assert_int_equal(fake_nvtx_pop(&program), 0);
	assert_int_equal(current_op(), 0);
}

/* Too deep to be held, and what was at the bottom ends first. */
static void test_bottom_range_ends_below_deep_ops(void **state)
{
	static struct fake_function ops[200];

	(void)state;
	fake_nvtx_push(&program, "bottom");
	for (int i = 0; i < 200; i++)
		fake_op_begin(&ops[i], i ? "aten::deep" : "aten::first", FUNCTION, -1, 0);
	assert_int_equal(fake_nvtx_pop(&program), 0);
	for (int i = 200; i-- > 1;)
		fake_op_end(&ops[i]);
	look();
	assert_string_equal(path(current_op()), "aten::first < bottom");
	fake_op_end(&ops[0]);
	assert_int_equal(current_op(), 0);
}

static void *end_range(void *arg)
{
	fake_nvtx_end(&library, *(const uint64_t *)arg);
	return NULL;
}

static void test_marks_and_ranges_with_an_id(void **state)
{
	const void *domain = fake_nvtx_domain(&program, "io");
	struct vt_nvtx_attributes load = saying(VT_NVTX_MESSAGE_UNICODE, L"lädt \x1f680");
	pthread_t other;
	uint64_t id, unended;

	(void)state;
	look();
	fake_nvtx_mark(&program, "checkpoint");
	id = fake_nvtx_domain_start(&program, domain, &load);
	unended = fake_nvtx_start(&program, "never ends");
	assert_true(id != 0 && unended != 0 && id != unended);
	/* It is no part of the thread's stack, and another thread may end it. */
	assert_int_equal(current_op(), 0);
	fake_nvtx_push(&program, "around");
	fake_nvtx_domain_mark(&program, domain, &load);
	assert_int_equal(pthread_create(&other, NULL, end_range, &id), 0);
	pthread_join(other, NULL);
	fake_nvtx_end(&program, id);
	fake_nvtx_end(&program, 0);
	fake_nvtx_end(&program, UINT64_MAX);
	fake_nvtx_pop(&program);
	look();
	assert_int_equal(seen.nmarks - mark_base, 3);
	assert_string_equal(mark_name(0), "checkpoint");
	assert_int_equal(mark(0)->kind, VT_mark_kind_MARK);
	assert_int_equal(mark(0)->start_ns, mark(0)->time_ns);
	assert_string_equal(mark_name(1), "io: lädt \xf0\x9f\x9a\x80");
	assert_string_equal(path(mark(1)->op), "around");
	assert_string_equal(mark_name(2), mark_name(1));
	assert_int_equal(mark(2)->kind, VT_mark_kind_RANGE);
	assert_true(mark(2)->start_ns < mark(1)->time_ns && mark(2)->time_ns > mark(1)->time_ns);
	assert_int_not_equal(mark(2)->thread, mark(0)->thread);
}

static void test_more_ranges_than_slots(void **state)
{
	static uint64_t ids[3000];

	(void)state;
	look();
	for (int i = 0; i < 3000; i++)
		ids[i] = fake_nvtx_start(&program, "many");
	for (int i = 0; i < 3000; i++)
		fake_nvtx_end(&program, ids[i]);
	look();
	assert_in_range(seen.nmarks - mark_base, 1000, 1024);
	ids[0] = fake_nvtx_start(&program, "afterwards");
	fake_nvtx_end(&program, ids[0]);
	look();
	assert_string_equal(mark_name(0), "afterwards");
}

static void test_threads_are_named(void **state)
{
	(void)state;
	fake_nvtx_name_thread(&program, 4711, "loader 1");
	look();
	assert_int_equal(seen.thread_name.value, 4711);
	assert_string_equal(seen.strings[seen.thread_name.text], "loader 1");
}

/* Whatever a program hands us must do no harm. */
static void test_odd_arguments(void **state)
{
	struct vt_nvtx_attributes none = saying(0, NULL), strange = saying(77, &none),
				  unregistered = saying(VT_NVTX_MESSAGE_REGISTERED, &none), small = saying(1, "text");
	static char name[5000];
	static char broken[600];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	/* 511 bytes, then a character of two: cut before it, not in it. */
	memset(broken, 'x', VT_NVTX_TEXT_BYTES_MAX - 1);
	memcpy(broken + VT_NVTX_TEXT_BYTES_MAX - 1, "\xc3\xa4", 3);
	small.size = 16;
	look();
	fake_nvtx_domain_mark(&program, NULL, NULL);
	fake_nvtx_domain_mark(&program, &none, &none);
	fake_nvtx_domain_mark(&program, NULL, &strange);
	fake_nvtx_domain_mark(&program, NULL, &unregistered);
	fake_nvtx_domain_mark(&program, NULL, &small);
	fake_nvtx_mark(&program, NULL);
	fake_nvtx_mark(&program, name);
	fake_nvtx_mark(&program, broken);
	fake_nvtx_push_wide(&program, NULL);
	fake_nvtx_pop(&program);
	look();
	assert_int_equal(seen.nmarks - mark_base, 8);
	for (uint32_t i = 0; i < 6; i++)
		assert_string_equal(mark_name(i), "(no name)");
	assert_int_equal(strlen(mark_name(6)), VT_NVTX_TEXT_BYTES_MAX);
	assert_int_equal(strlen(mark_name(7)), VT_NVTX_TEXT_BYTES_MAX - 1);
	assert_null(fake_nvtx_register(&program, NULL, NULL));
}

static void test_more_domains_and_strings_than_fit(void **state)
{
	const void *last = NULL, *handle;
	char name[32];
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * VT_NVTX_DOMAINS_MAX; i++) {
		snprintf(name, sizeof(name), "domain %u", i);
		last = fake_nvtx_domain(&program, name);
		assert_non_null(last);
	}
	assert_int_equal(fake_nvtx_domain_push(&program, last, NULL), 0);
	assert_int_equal(fake_nvtx_domain_pop(&program, last), 0);
	while ((handle = fake_nvtx_register(&program, last, "a string of some length")))
		n++;
	assert_in_range(n, 1000, VT_NVTX_STRINGS_BYTES / 24);
}

/* An NVTX of before there were domains has shorter tables. */
static void test_old_tables(void **state)
{
	static struct fake_nvtx old;

	(void)state;
	assert_int_equal(fake_nvtx_attach(&old, InitializeInjectionNvtx2, VT_NVTX_RANGE_PUSH_A + 1), 1);
	assert_non_null(old.core[VT_NVTX_RANGE_PUSH_A]);
	assert_null(old.core[VT_NVTX_RANGE_POP]);
	assert_int_equal(InitializeInjectionNvtx2(NULL), 0);
}

static void test_child_keeps_handles_not_ranges(void **state)
{
	const void *domain = fake_nvtx_domain(&program, "trainer");
	struct vt_nvtx_attributes step = saying(VT_NVTX_MESSAGE_ASCII, "step");
	uint64_t id = fake_nvtx_start(&program, "of the parent");
	int status = 0;
	pid_t child;

	(void)state;
	fake_nvtx_push(&program, "parent's");
	child = fork();
	if (child == 0) {
		int level;

		fake_nvtx_end(&program, id);
		if (fake_nvtx_pop(&program) != VT_NVTX_NO_LEVEL)
			_exit(1);
		level = fake_nvtx_domain_push(&program, domain, &step);
		if (level != 0 || current_op() == 0 || fake_nvtx_domain_pop(&program, domain) != 0 || current_op() != 0)
			_exit(2);
		look();
		(void)remove(vt_agent_get()->path);
		_exit(seen.nmarks != 0 || seen.nops != 1 ? 3 : strcmp(path(seen.ops[0].node), "trainer: step") ? 4 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(fake_nvtx_pop(&program), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_nest_and_become_ops),
		cmocka_unit_test(test_domains_count_and_close_their_own),
		cmocka_unit_test(test_ops_and_ranges_need_not_nest),
		cmocka_unit_test(test_missing_op_ends_leave_ranges_alone),
		cmocka_unit_test(test_deeper_than_the_stack),
		cmocka_unit_test(test_bottom_range_ends_below_deep_ops),
		cmocka_unit_test(test_marks_and_ranges_with_an_id),
		cmocka_unit_test(test_more_ranges_than_slots),
		cmocka_unit_test(test_threads_are_named),
		cmocka_unit_test(test_odd_arguments),
		cmocka_unit_test(test_more_domains_and_strings_than_fit),
		cmocka_unit_test(test_old_tables),
		cmocka_unit_test(test_child_keeps_handles_not_ranges),
	};
	struct vt_thread *thread;
	int r;

	/* Without a session there is no tool. */
	if (InitializeInjectionNvtx2(NULL) != 0)
		return 2;
	fake_aten_set_layout(FAKE_LAYOUT_CXX11);
	rig_start();
	thread = vt_agent_enter();
	vt_torch_attach(thread);
	vt_agent_leave(thread);
	if (!fake_nvtx_attach(&program, InitializeInjectionNvtx2, ALL) ||
	    !fake_nvtx_attach(&library, InitializeInjectionNvtx2, ALL))
		return 2;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	rig_stop();
	return r;
}
