/* test_base.c - numbers for people, JSON, UTF-8, the map. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/base/err.h"
#include "schema/base/format.h"
#include "schema/base/hash.h"
#include "schema/base/json.h"
#include "schema/base/utf8.h"

static void bytes_read_as_pytorch_writes_them(void **state)
{
	char out[VT_FORMAT_MAX];

	(void)state;
	/* Pairs taken from messages of torch.OutOfMemoryError and from c10's format_size. */
	assert_string_equal(vt_format_bytes(out, 0), "0 bytes");
	assert_string_equal(vt_format_bytes(out, 1024), "1024 bytes");
	assert_string_equal(vt_format_bytes(out, 1025), "1.00 KiB");
	assert_string_equal(vt_format_bytes(out, 1u << 20), "1024.00 KiB");
	assert_string_equal(vt_format_bytes(out, 20u << 20), "20.00 MiB");
	assert_string_equal(vt_format_bytes(out, 1u << 30), "1024.00 MiB");
	assert_string_equal(vt_format_bytes(out, UINT64_C(150121545728)), "139.81 GiB");
	assert_string_equal(vt_format_signed_bytes(out, -1536), "-1.50 KiB");
	assert_string_equal(vt_format_signed_bytes(out, INT64_MIN), "-8589934592.00 GiB");
}

static void times_never_round_up_to_a_foreign_unit(void **state)
{
	char out[VT_FORMAT_MAX];

	(void)state;
	assert_string_equal(vt_format_ns(out, 850), "850 ns");
	assert_string_equal(vt_format_ns(out, 12345), "12.3 us");
	assert_string_equal(vt_format_ns(out, 999949), "999.9 us");
	assert_string_equal(vt_format_ns(out, 999950), "1.00 ms");
	assert_string_equal(vt_format_ns(out, 4560000), "4.56 ms");
	assert_string_equal(vt_format_ns(out, 999994999), "999.99 ms");
	assert_string_equal(vt_format_ns(out, 999995000), "1.000 s");
	assert_string_equal(vt_format_ns(out, 1234000000), "1.234 s");
	assert_string_equal(vt_format_ns(out, UINT64_C(59999499999)), "59.999 s");
	assert_string_equal(vt_format_ns(out, UINT64_C(59999500000)), "1 min 00 s");
	assert_string_equal(vt_format_ns(out, UINT64_C(123000000000)), "2 min 03 s");
	assert_string_equal(vt_format_ns(out, UINT64_C(7260000000000)), "2 h 01 min");
	assert_string_equal(vt_format_count(out, 12345678), "12,345,678");
	assert_string_equal(vt_format_count(out, 999), "999");
	assert_string_equal(vt_format_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void bytes_are_parsed_whole_or_not_at_all(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "1536", 1536 },
		{ "64KiB", 65536 },
		{ "64k", 65536 },
		{ "1.5G", UINT64_C(1610612736) },
		{ "2 GiB", 2ull << 30 },
		{ "0", 0 },
		{ "0.5K", 512 },
		{ "1.", 1 },
		{ "3 bytes", 3 },
		{ "1T", 1ull << 40 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = { "",
					   "-1",
					   "+1",
					   "K",
					   ".5K",
					   "1.5.5",
					   "1 X",
					   "1K5",
					   " 1",
					   "1e3",
					   "0x10",
					   "18446744073709551616",
					   "17179869184G",
					   "nan" };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(vt_parse_bytes(good[i].text, &bytes), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (vt_parse_bytes(bad[i], &bytes) != -VT_E_USAGE)
			fail_msg("'%s' was taken", bad[i]);
}

static void json_nests_and_escapes(void **state)
{
	struct vt_json json;
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	(void)state;
	vt_json_init(&json, out, true);
	vt_json_object(&json);
	vt_json_put_string(&json, "a\"b", "x\\y\n\001\xff\xc3\xa9");
	vt_json_put_array(&json, "list");
	vt_json_u64(&json, UINT64_MAX);
	vt_json_i64(&json, INT64_MIN);
	vt_json_double(&json, 0.1);
	vt_json_double(&json, INFINITY);
	vt_json_bool(&json, true);
	vt_json_null(&json);
	vt_json_array_end(&json);
	vt_json_put_object(&json, "empty");
	vt_json_object_end(&json);
	vt_json_object_end(&json);
	assert_int_equal(vt_json_done(&json), 0);
	fclose(out);
	assert_string_equal(text, "{\"a\\\"b\":\"x\\\\y\\n\\u0001\xef\xbf\xbd\xc3\xa9\",\"list\":[18446744073709551615,"
				  "-9223372036854775808,0.1,null,true,null],\"empty\":{}}\n");
	free(text);
}

static void json_indents(void **state)
{
	struct vt_json json;
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	(void)state;
	vt_json_init(&json, out, false);
	vt_json_object(&json);
	vt_json_put_u64(&json, "a", 1);
	vt_json_put_array(&json, "b");
	vt_json_u64(&json, 2);
	vt_json_array_end(&json);
	vt_json_object_end(&json);
	assert_int_equal(vt_json_done(&json), 0);
	fclose(out);
	assert_string_equal(text, "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}\n");
	free(text);
}

/* Each broken sequence and how many U+FFFD it must give (Unicode, section 3.9, "maximal subparts"). */
static void broken_utf8_is_replaced_by_maximal_parts(void **state)
{
	static const struct {
		const char *bytes;
		int replacements, others;
	} cases[] = {
		{ "\xf1\x80\x80\xe1\x80\xc2"
		  "a",
		  3, 1 },
		{ "\xc0\xaf", 2, 0 },	      /* overlong */
		{ "\xed\xa0\x80", 3, 0 },     /* surrogate */
		{ "\xf4\x90\x80\x80", 4, 0 }, /* beyond U+10FFFF */
		{ "\xe2\x82", 1, 0 },	      /* cut short */
		{ "\xe2\x82\xac\xf0\x9f\x98\x80", 0, 2 },
	};
	uint32_t codepoint;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = strlen(cases[i].bytes);
		int replacements = 0, others = 0;

		for (size_t at = 0; at < n;) {
			at += vt_utf8_decode(cases[i].bytes + at, n - at, &codepoint);
			if (codepoint == VT_UTF8_REPLACEMENT)
				replacements++;
			else
				others++;
			assert_true(at <= n);
		}
		assert_int_equal(replacements, cases[i].replacements);
		assert_int_equal(others, cases[i].others);
	}
}

static void utf8_round_trips(void **state)
{
	uint32_t back;
	char out[4];

	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x3000 ? 1 : 7) {
		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		size_t n = vt_utf8_encode(out, c);

		assert_int_equal(vt_utf8_decode(out, n, &back), n);
		assert_int_equal(back, c);
	}
	assert_int_equal(vt_utf8_columns("a\xe6\xbc\xa2"
					 "e\xcc\x81",
					 7),
			 4);
}

/* Against a plain array, over many puts and takes of few keys. */
static void map_agrees_with_an_array(void **state)
{
	enum { KEYS = 300 };
	uint32_t truth[KEYS];
	struct vt_map map = { 0 };
	uint64_t random = 1;

	(void)state;
	memset(truth, 0xff, sizeof(truth));
	for (uint32_t i = 0; i < 200000; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		uint32_t key = (uint32_t)(random >> 33) % KEYS;

		if (random >> 63) {
			assert_int_equal(vt_map_put(&map, key, i), 0);
			truth[key] = i;
		} else {
			assert_int_equal(vt_map_take(&map, key), truth[key]);
			truth[key] = VT_MAP_NONE;
		}
		key = (uint32_t)(random >> 13) % KEYS;
		assert_int_equal(vt_map_find(&map, key), truth[key]);
	}
	vt_map_done(&map);
	assert_int_equal(vt_map_find(&map, 1), VT_MAP_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_read_as_pytorch_writes_them),
		cmocka_unit_test(times_never_round_up_to_a_foreign_unit),
		cmocka_unit_test(bytes_are_parsed_whole_or_not_at_all),
		cmocka_unit_test(json_nests_and_escapes),
		cmocka_unit_test(json_indents),
		cmocka_unit_test(broken_utf8_is_replaced_by_maximal_parts),
		cmocka_unit_test(utf8_round_trips),
		cmocka_unit_test(map_agrees_with_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
