/* test_views_rules.c - the advice after an OOM: each condition on both sides of its bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/views/oom_rules.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static bool advised(const struct vt_oom_facts *facts, const char *key)
{
	char text[VT_OOM_TEXT_MAX];

	for (unsigned i = 0; i < vt_oom_nrules; i++) {
		if (strcmp(vt_oom_rules[i].key, key) != 0)
			continue;
		if (!vt_oom_rules[i].applies(facts))
			return false;
		vt_oom_rules[i].say(text, facts);
		/* Nothing was cut off. */
		assert_true(strlen(text) > 20 && strlen(text) < VT_OOM_TEXT_MAX - 1);
		assert_int_equal(text[strlen(text) - 1], '.');
		return true;
	}
	fail_msg("no rule %s", key);
	return false;
}

/* An 80 GiB device that is full, all of it by this process, nothing fragmented. */
static struct vt_oom_facts full_device(void)
{
	return (struct vt_oom_facts){ .requested_bytes = 2 * GIB,
				      .tried_bytes = 2 * GIB,
				      .total_bytes = 80 * GIB,
				      .free_bytes = 1 * GIB,
				      .process_bytes = 79 * GIB,
				      .has_driver = true,
				      .driver_bytes = 78 * GIB,
				      .reserved_bytes = 78 * GIB,
				      .allocated_bytes = 77 * GIB,
				      .attempt = { .failures = 2, .size_bytes = 2 * GIB },
				      .top_bytes = 10 * GIB,
				      .top_place = "aten::mm at model.py:88" };
}

static void test_rules_full_device(void **state)
{
	struct vt_oom_facts facts = full_device();
	unsigned n = 0;

	(void)state;
	assert_true(advised(&facts, "shortfall"));
	for (unsigned i = 0; i < vt_oom_nrules; i++)
		n += vt_oom_rules[i].applies(&facts);
	assert_int_equal(n, 1);
}

static void test_rules_too_large(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.tried_bytes = 80 * GIB;
	assert_false(advised(&facts, "request_exceeds_device"));
	facts.tried_bytes = 80 * GIB + 2 * MIB;
	assert_true(advised(&facts, "request_exceeds_device"));
	assert_false(advised(&facts, "shortfall"));
	facts.total_bytes = 0;
	assert_false(advised(&facts, "request_exceeds_device"));
}

static void test_rules_own_limit(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.free_bytes = 40 * GIB;
	facts.process_bytes = 40 * GIB;
	assert_false(advised(&facts, "own_limit"));
	facts.attempt.failures = 0;
	assert_true(advised(&facts, "own_limit"));
	assert_false(advised(&facts, "other_processes"));
	facts.free_bytes = 2 * GIB - 1;
	assert_false(advised(&facts, "own_limit"));
	facts.free_bytes = 40 * GIB;
	facts.has_driver = false;
	assert_false(advised(&facts, "own_limit"));
}

static void test_rules_others(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	/* 79 used, 78 by us: 1 + 1 GiB would do, just. */
	facts.process_bytes = 78 * GIB;
	assert_true(advised(&facts, "other_processes"));
	facts.tried_bytes += 1;
	assert_false(advised(&facts, "other_processes"));
	/* The driver did not say what is ours: a context's worth is left out of account. */
	facts = full_device();
	facts.process_bytes = 0;
	assert_false(advised(&facts, "outside_process"));
	facts.driver_bytes = facts.reserved_bytes = 76 * GIB;
	facts.allocated_bytes = 76 * GIB;
	assert_true(advised(&facts, "outside_process"));
	facts.tried_bytes = 3 * GIB + 1;
	assert_false(advised(&facts, "outside_process"));
}

static void test_rules_fragmentation(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.allocated_bytes = 76 * GIB; /* 2 GiB unallocated: as much as asked for */
	assert_true(advised(&facts, "fragmentation"));
	facts.has_segments = true;
	facts.space = (struct vt_free_space){ .free_ranges = 9, .largest_bytes = 2 * GIB - 512 };
	assert_true(advised(&facts, "fragmentation"));
	assert_false(advised(&facts, "free_range_out_of_reach"));
	facts.space.largest_bytes = 2 * GIB;
	assert_false(advised(&facts, "fragmentation"));
	assert_true(advised(&facts, "free_range_out_of_reach"));
	facts.space.largest_bytes = GIB;
	facts.expandable = true;
	assert_false(advised(&facts, "fragmentation"));
	assert_true(advised(&facts, "fragmentation_expandable"));
	facts.allocated_bytes += 1;
	assert_false(advised(&facts, "fragmentation_expandable"));
}

static void test_rules_steps(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.growth = (struct vt_growth){ .steps = 9, .last_ns = 5, .rising = 4, .rise_bytes = 4 * GIB };
	facts.survived_bytes = 70 * GIB;
	assert_true(advised(&facts, "growth"));
	assert_false(advised(&facts, "model_state"));
	facts.growth.rising = 3;
	assert_false(advised(&facts, "growth"));
	assert_true(advised(&facts, "model_state"));
	assert_false(advised(&facts, "step_memory"));
	facts.survived_bytes = 20 * GIB;
	assert_true(advised(&facts, "step_memory"));
	assert_false(advised(&facts, "model_state"));
	/* Rising by less than a twentieth is breathing. */
	facts.growth.rising = 100;
	facts.growth.rise_bytes = 77 * GIB / 20 - 1;
	assert_false(advised(&facts, "growth"));
	facts.growth.steps = 0;
	assert_false(advised(&facts, "step_memory"));
}

static void test_rules_one_holder(void **state)
{
	struct vt_oom_facts facts = full_device();

	(void)state;
	facts.top_bytes = 77 * GIB / 2;
	assert_true(advised(&facts, "one_holder"));
	facts.top_bytes -= 1;
	assert_false(advised(&facts, "one_holder"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_full_device),   cmocka_unit_test(test_rules_too_large),
		cmocka_unit_test(test_rules_own_limit),	    cmocka_unit_test(test_rules_others),
		cmocka_unit_test(test_rules_fragmentation), cmocka_unit_test(test_rules_steps),
		cmocka_unit_test(test_rules_one_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
