/* test_generated.c - lines of files that torch.compile made: what they are for, and what is no such file. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/symbols/generated.h"

#define PATH "/tmp/torchinductor_me/ab/cabcdef.py"

/* Line 1 begins at the first character. */
static const char text[] =
	"# AOT ID: ['3_backward']\n"								     /* 1 */
	"import torch\n"									     /* 2 */
	"\n"											     /* 3 */
	"    def call(self, args):\n"								     /* 4 */
	"        buf0 = empty_strided_cuda((8, 4), (4, 1), torch.float32)\n"			     /* 5 */
	"        buf10 = empty_strided_cuda((8, 4), (4, 1), torch.float32)\n"			     /* 6 */
	"        # Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.t, aten.addmm]\n" /* 7 */
	"        # Source node to ATen node mapping:\n"						     /* 8 */
	"        extern_kernels.addmm(a, b, alpha=1, out=buf0)\n"				     /* 9 */
	"        del buf10\n"									     /* 10 */
	"        triton_poi_fused_mul_relu_2.run(buf10, 32, stream=stream0)\n"			     /* 11 */
	"        # Source Nodes: [conv], Original ATen: [aten.convolution]\n"			     /* 12 */
	"        buf3 = extern_kernels.convolution(x, w, stride=(1, 1))\n"			     /* 13 */
	"        buf4 = empty_strided_cuda((8, 4), (4, 1), torch.float32)\n"			     /* 14 */
	"        # Original ATen: [aten.sum]\n"							     /* 15 */
	"        return (buf0, )";								     /* 16 */

static void check(uint32_t line, const char *want)
{
	char out[VT_GENERATED_MAX];

	assert_string_equal(vt_generated_text(out, text, PATH, line), want);
}

static void buffers_are_for_the_call_that_fills_them(void **state)
{
	(void)state;
	check(5, "graph 3_backward: y, z (aten.t, aten.addmm)");
	/* Not buf1, whose name is within: and what is deleted is not filled. */
	check(6, "graph 3_backward: fused mul_relu");
	check(13, "graph 3_backward: conv (aten.convolution)");
	/* Nobody fills it. */
	check(14, "graph 3_backward");
}

static void other_lines_name_the_graph(void **state)
{
	char out[VT_GENERATED_MAX];

	(void)state;
	check(0, "graph 3_backward");
	check(2, "graph 3_backward");
	check(16, "graph 3_backward");
	check(99, "graph 3_backward");
	assert_string_equal(vt_generated_text(out, "", PATH, 5), "graph in cabcdef.py");
	assert_string_equal(vt_generated_text(out, "x = 1\n", PATH, 1), "graph in cabcdef.py");
}

/* Lists without an end, and longer than what is shown. */
static void broken_text_is_cut(void **state)
{
	char out[VT_GENERATED_MAX], *big = malloc(100000);

	(void)state;
	assert_non_null(big);
	assert_string_equal(vt_generated_text(out, "# AOT ID: ['", PATH, 1), "graph in cabcdef.py");
	assert_string_equal(vt_generated_text(out, "buf0 = empty_strided(\n# Source Nodes: [a\nf(buf0)", PATH, 1),
			    "graph in cabcdef.py");
	memset(big, 'a', 99999);
	memcpy(big, "f = 1 # Source Nodes: [", 23);
	big[99999] = '\0';
	(void)vt_generated_text(out, big, PATH, 1);
	memcpy(big, "# AOT ID: ['", 12);
	big[99998] = ']';
	(void)vt_generated_text(out, big, PATH, 1);
	assert_true(strlen(out) < VT_GENERATED_MAX);
	free(big);
}

static void only_files_of_inductor_are_read(void **state)
{
	static const char *const others[] = { "/etc/passwd",
					      "torchinductor_x/a.py",
					      "/home/me/train.py",
					      "/tmp/torchinductor_me/../../etc/x.py",
					      "/tmp/torchinductor_me/fifo",
					      "/tmp/torchinductor_me/a.pyc",
					      "" };
	char dir[] = "/tmp/torchinductor_test_XXXXXX", path[96], *read;
	int fd;

	(void)state;
	assert_true(vt_is_generated_file(PATH));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_false(vt_is_generated_file(others[i]));
		assert_null(vt_generated_read(others[i]));
	}
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.py", dir);
	assert_null(vt_generated_read(path));
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
	close(fd);
	read = vt_generated_read(path);
	assert_non_null(read);
	assert_string_equal(read, text);
	free(read);
	/* A pipe would never end, a link may lead anywhere. */
	assert_int_equal(unlink(path) | mkfifo(path, 0600), 0);
	assert_null(vt_generated_read(path));
	assert_int_equal(unlink(path) | symlink("/etc/passwd", path), 0);
	assert_null(vt_generated_read(path));
	assert_int_equal(unlink(path) | rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_are_for_the_call_that_fills_them),
		cmocka_unit_test(other_lines_name_the_graph),
		cmocka_unit_test(broken_text_is_cut),
		cmocka_unit_test(only_files_of_inductor_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
