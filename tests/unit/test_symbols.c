/* test_symbols.c - names, stacks and lines of a trace; hostile ids, cycles and texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/symbols/symbols.h"
#include "analyze/symbols/tree.h"
#include "analyze/symbols/user_file.h"
#include "trace_builder.h"

static char path[64];

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/vt-symbols-%d.vramtrace", getpid());
	return 0;
}

static int drop_path(void **state)
{
	(void)state;
	return unlink(path);
}

struct opened {
	struct vt_store *store;
	struct vt_symbols *symbols;
};

static struct opened open_symbols(void)
{
	struct vt_err err = { 0 };
	struct opened opened;

	if (vt_store_open(&opened.store, path, &err) < 0 || vt_symbols_open(&opened.symbols, opened.store, &err) < 0)
		fail_msg("%s", err.msg);
	return opened;
}

static void close_symbols(struct opened *opened)
{
	vt_symbols_close(opened->symbols);
	vt_store_close(opened->store);
}

static void ops_and_stacks_are_found(void **state)
{
	struct vt_builder *b = vt_builder_new(path);
	uint32_t p = vt_builder_process(b, 10, -1, "a");
	uint32_t outer = vt_builder_op(b, p, 0, "my_region", VT_op_scope_USER);
	uint32_t inner = vt_builder_op(b, p, outer, "aten::mm", VT_op_scope_FUNCTION);
	uint32_t main_line = vt_builder_stack(b, p, 0, "main", "/home/me/train.py", 12);
	uint32_t torch_line = vt_builder_stack(b, p, main_line, "Linear.forward",
					       "/usr/lib/python3/dist-packages/torch/nn/linear.py", 116);
	struct vt_frame_info frame;
	struct vt_op_info op;
	struct opened o;

	(void)state;
	vt_builder_close(b);
	o = open_symbols();
	assert_true(vt_symbols_op(o.symbols, p, inner, &op));
	assert_string_equal(op.name, "aten::mm");
	assert_int_equal(op.parent, outer);
	assert_true(vt_symbols_op(o.symbols, p, outer, &op));
	assert_int_equal(op.scope, VT_op_scope_USER);
	assert_int_equal(op.parent, 0);
	assert_true(vt_symbols_frame(o.symbols, p, torch_line, &frame));
	assert_string_equal(frame.function, "Linear.forward");
	assert_int_equal(frame.line, 116);
	assert_int_equal(frame.parent, main_line);
	assert_true(vt_symbols_user_frame(o.symbols, p, torch_line, &frame));
	assert_string_equal(frame.file, "/home/me/train.py");
	assert_int_equal(frame.line, 12);
	/* Unknown: another process's id, an id never made, none. */
	assert_false(vt_symbols_op(o.symbols, p + 1, inner, &op));
	assert_string_equal(op.name, "");
	assert_false(vt_symbols_frame(o.symbols, p, 999999, &frame));
	assert_string_equal(frame.file, "");
	assert_false(vt_symbols_user_frame(o.symbols, p, 0, &frame));
	assert_string_equal(vt_symbols_string(o.symbols, p, 999999), "");
	assert_int_equal(vt_symbols_stack_key(o.symbols, p, 999999), 0);
	assert_int_equal(vt_symbols_op_name_key(o.symbols, p, 0), 0);
	close_symbols(&o);
}

static void stacks_of_libraries_alone_show_their_innermost_frame(void **state)
{
	struct vt_builder *b = vt_builder_new(path);
	uint32_t p = vt_builder_process(b, 10, -1, "a");
	uint32_t outer = vt_builder_stack(b, p, 0, "run", "/x/lib/python3.11/threading.py", 5);
	uint32_t inner = vt_builder_stack(b, p, outer, "pin", "/x/lib/python3.11/site-packages/torch/utils/pin.py", 6);
	struct vt_frame_info frame;
	struct opened o;

	(void)state;
	vt_builder_close(b);
	o = open_symbols();
	assert_true(vt_symbols_user_frame(o.symbols, p, inner, &frame));
	assert_string_equal(frame.function, "pin");
	close_symbols(&o);
}

static void keys_are_equal_for_equal_text(void **state)
{
	struct vt_builder *b = vt_builder_new(path);
	uint32_t p[2] = { vt_builder_process(b, 10, 0, "a"), vt_builder_process(b, 11, 1, "b") };
	uint32_t op[2], outer[2], stack[2], other;
	struct opened o;

	(void)state;
	for (int i = 0; i < 2; i++) {
		op[i] = vt_builder_op(b, p[i], 0, "aten::add", 0);
		outer[i] = vt_builder_stack(b, p[i], 0, "main", "/a.py", 1);
		stack[i] = vt_builder_stack(b, p[i], outer[i], "f", "/a.py", 9);
	}
	other = vt_builder_stack(b, p[1], 0, "f", "/a.py", 9);
	vt_builder_close(b);
	o = open_symbols();
	assert_int_equal(vt_symbols_op_name_key(o.symbols, p[0], op[0]),
			 vt_symbols_op_name_key(o.symbols, p[1], op[1]));
	assert_int_not_equal(vt_symbols_op_name_key(o.symbols, p[0], op[0]), 0);
	assert_int_equal(vt_symbols_stack_key(o.symbols, p[0], stack[0]),
			 vt_symbols_stack_key(o.symbols, p[1], stack[1]));
	assert_int_not_equal(vt_symbols_stack_key(o.symbols, p[0], stack[0]),
			     vt_symbols_stack_key(o.symbols, p[0], outer[0]));
	/* The same innermost frame, called from elsewhere. */
	assert_int_not_equal(vt_symbols_stack_key(o.symbols, p[1], stack[1]),
			     vt_symbols_stack_key(o.symbols, p[1], other));
	close_symbols(&o);
}

static void texts_cannot_reach_the_terminal(void **state)
{
	struct vt_builder *b = vt_builder_new(path);
	uint32_t p = vt_builder_process(b, 10, -1, "a");
	uint32_t escape = vt_builder_string(b, p, "\033[31mred\n"), bidi = vt_builder_string(b, p, "a\u202eb\u200bc");
	uint32_t broken = vt_builder_string(b, p, "x\xff\xc3"), good = vt_builder_string(b, p, "模型.py é");
	struct opened o;

	(void)state;
	vt_builder_close(b);
	o = open_symbols();
	assert_string_equal(vt_symbols_string(o.symbols, p, escape), "\ufffd[31mred\ufffd");
	assert_string_equal(vt_symbols_string(o.symbols, p, bidi), "a\ufffdb\ufffdc");
	assert_string_equal(vt_symbols_string(o.symbols, p, broken), "x\ufffd\ufffd");
	assert_string_equal(vt_symbols_string(o.symbols, p, good), "模型.py é");
	close_symbols(&o);
}

static void walk_ends(const struct vt_symbols *symbols, uint32_t process, uint32_t node)
{
	struct vt_op_info op;
	int steps = 0;

	for (; vt_symbols_op(symbols, process, node, &op); node = op.parent)
		if (++steps > 10000)
			fail_msg("a walk outwards does not end");
}

static void cycles_are_cut(void **state)
{
	struct vt_builder *b = vt_builder_new(path);
	uint32_t p = vt_builder_process(b, 10, -1, "a"), name = vt_builder_string(b, p, "x");
	/* 1001 -> 1002 -> 1003 -> 1001, 1004 -> 1004, 1005 -> 1001, 1006 -> one that is nowhere */
	static const uint32_t parents[] = { 1002, 1003, 1001, 1004, 1001, 77777 };
	struct opened o;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		const struct vt_op_node node = { .id = 1001 + i, .parent = parents[i], .name = name };
		const struct vt_stack stack = { .id = 1001 + i, .parent = parents[i], .frame = 5 + i };

		vt_builder_event(b, p, VT_EVENT_op_node, &node);
		vt_builder_event(b, p, VT_EVENT_stack, &stack);
	}
	vt_builder_close(b);
	o = open_symbols();
	for (uint32_t i = 0; i < 6; i++) {
		struct vt_frame_info frame;

		walk_ends(o.symbols, p, 1001 + i);
		assert_true(vt_symbols_frame(o.symbols, p, 1001 + i, &frame));
		assert_string_equal(frame.function, "");
		assert_int_equal(frame.line, 0);
		assert_int_not_equal(vt_symbols_stack_key(o.symbols, p, 1001 + i), 0);
	}
	close_symbols(&o);
}

static void check_module(const struct opened *o, uint32_t process, uint32_t stack, const char *class, uint32_t index,
			 uint32_t count)
{
	struct vt_frame_info frame;

	assert_true(vt_symbols_frame(o->symbols, process, stack, &frame));
	if (!class) {
		assert_null(frame.module);
		return;
	}
	assert_non_null(frame.module);
	assert_string_equal(frame.module, class);
	assert_int_equal(frame.module_index, index);
	assert_int_equal(frame.module_count, count);
}

/*
 * Net (1) calls Block 2 and Block 3; Block 3 was met by two threads at once and has the id 4 too. Each is called by way of
 * two functions of torch.nn.Module. Block 2 calls Leaf 5, which Net calls as well.
 */
static void modules_are_numbered(void **state)
{
	static const struct {
		uint32_t id, parent, module;
	} nodes[] = { { 1001, 0, 1 },	 { 1002, 1001, 1 }, { 1003, 1002, 2 }, { 1004, 1003, 2 },
		      { 1005, 1002, 3 }, { 1006, 1002, 4 }, { 1007, 1004, 5 }, { 1008, 1002, 5 },
		      { 1009, 1008, 0 }, { 1010, 0, 99 },   { 1011, 1010, 3 }, { 1012, 1010, 5 } };
	struct vt_builder *b = vt_builder_new(path);
	uint32_t p = vt_builder_process(b, 10, -1, "a");
	const struct vt_module modules[] = {
		{ .id = 1, .class = vt_builder_string(b, p, "Net"), .address = 0x100 },
		{ .id = 2, .class = vt_builder_string(b, p, "Block"), .address = 0x200 },
		{ .id = 3, .class = vt_builder_string(b, p, "Block"), .address = 0x300 },
		{ .id = 4, .class = vt_builder_string(b, p, "Block"), .address = 0x300 },
		{ .id = 5, .class = vt_builder_string(b, p, "Leaf"), .address = 0x400 },
	};
	struct vt_frame_info frame;
	struct opened o;

	(void)state;
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		vt_builder_event(b, p, VT_EVENT_module, &modules[i]);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
		vt_builder_event(
			b, p, VT_EVENT_stack,
			&(struct vt_stack){ .id = nodes[i].id, .parent = nodes[i].parent, .module = nodes[i].module });
	vt_builder_close(b);
	o = open_symbols();
	check_module(&o, p, 1001, "Net", 0, 1);
	check_module(&o, p, 1002, NULL, 0, 0);
	check_module(&o, p, 1003, "Block", 0, 2);
	check_module(&o, p, 1004, NULL, 0, 0);
	check_module(&o, p, 1005, "Block", 1, 2);
	check_module(&o, p, 1006, "Block", 1, 2);
	check_module(&o, p, 1007, "Leaf", 0, 1);
	check_module(&o, p, 1008, "Leaf", 0, 1);
	check_module(&o, p, 1009, NULL, 0, 0);
	check_module(&o, p, 1010, NULL, 0, 0);
	/* Block 3 again, from outside of all: it is Net's. Of a Leaf that two modules call nothing can be said. */
	check_module(&o, p, 1011, "Block", 1, 2);
	assert_true(vt_symbols_frame(o.symbols, p, 1011, &frame));
	assert_int_equal(frame.module_parent, 1002);
	check_module(&o, p, 1012, "Leaf", 0, 1);
	assert_true(vt_symbols_frame(o.symbols, p, 1012, &frame));
	assert_int_equal(frame.module_parent, 1010);
	close_symbols(&o);
}

/* Every tree, settled: parents come before children, nothing is left out, depths are bounded. */
static void trees_settle(void **state)
{
	enum { N = 20000 };
	uint32_t *parents = malloc(N * sizeof(*parents)), *order = malloc(N * sizeof(*order));
	uint32_t *depths = malloc(N * sizeof(*depths)), *place = malloc(N * sizeof(*place));
	uint64_t random = 3;

	(void)state;
	assert_true(parents && order && depths && place);
	for (int round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < N; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			/* At random (cycles galore), one long way, the same backwards, all outermost. */
			parents[i] = round == 0	  ? (uint32_t)(random >> 40) % (N + N / 8)
				     : round == 1 ? i - 1
				     : round == 2 ? i + 1
						  : VT_TREE_NONE;
		}
		memset(place, 0xff, N * sizeof(*place));
		vt_tree_settle(parents, N, order, depths);
		for (uint32_t i = 0; i < N; i++) {
			assert_true(order[i] < N);
			assert_int_equal(place[order[i]], UINT32_MAX);
			place[order[i]] = i;
		}
		for (uint32_t i = 0; i < N; i++) {
			assert_in_range(depths[i], 1, VT_TREE_DEPTH_MAX);
			if (parents[i] == VT_TREE_NONE)
				continue;
			assert_true(place[parents[i]] < place[i]);
			assert_int_equal(depths[i], depths[parents[i]] + 1);
		}
	}
	free(parents), free(order), free(depths), free(place);
}

static void user_files_are_told_from_others(void **state)
{
	static const char *const user[] = { "/home/me/train.py",
					    "train.py",
					    "<stdin>",
					    "<string>",
					    "/opt/lib/pythonic/x.py",
					    "/home/me/pythons/python3/x.py",
					    "/home/me/lib/model.py",
					    "/workspace/torch/my.py" };
	static const char *const other[] = { "",
					     "/usr/lib/python3.11/threading.py",
					     "/x/lib64/python3.9/abc.py",
					     "/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py",
					     "/usr/lib/python3/dist-packages/numpy/core.py",
					     "/usr/lib/python311.zip/abc.py",
					     "<frozen importlib._bootstrap>",
					     "<eval_with_key>.5",
					     "/tmp/torchinductor_me/ab/cab.py",
					     "/src/pytorch/torch/_tensor.py" };

	(void)state;
	for (size_t i = 0; i < sizeof(user) / sizeof(*user); i++)
		if (!vt_is_user_file(user[i]))
			fail_msg("'%s' is the user's", user[i]);
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (vt_is_user_file(other[i]))
			fail_msg("'%s' is not the user's", other[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops_and_stacks_are_found),
		cmocka_unit_test(stacks_of_libraries_alone_show_their_innermost_frame),
		cmocka_unit_test(keys_are_equal_for_equal_text),
		cmocka_unit_test(texts_cannot_reach_the_terminal),
		cmocka_unit_test(cycles_are_cut),
		cmocka_unit_test(modules_are_numbered),
		cmocka_unit_test(trees_settle),
		cmocka_unit_test(user_files_are_told_from_others),
	};

	return cmocka_run_group_tests(tests, make_path, drop_path);
}
