/* make_hostile_trace.c - make_hostile_trace FILE: a small trace whose names are chosen to break out of whatever shows them. */
#include <stdio.h>

#include "trace_builder.h"

#define MIB (UINT64_C(1) << 20)

static const char *const texts[] = {
	"</script><script>window.broken = 1</script>",
	"<img src=x onerror=\"window.broken = 2\">",
	"<!--<script>",
	"\"];window.broken=3;//",
	"${window.broken = 4}`",
	"&lt;b&gt; &amp; \xe2\x80\xaegnp.exe\xe2\x80\xac \xe2\x80\x8f\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe2\x81\xa6x",
	"\x1e\x1f\x01 controls\r\n\t and broken \xff\xc3 UTF-8",
	"a;b;c 123",
	/* tests/e2e/page.py makes a text of 1 MiB of it, more than a ring record holds. */
	"LONGEST",
};

int main(int argc, char **argv)
{
	struct vt_builder *builder;
	uint32_t process, stack = 0;

	if (argc != 2) {
		(void)fputs("usage: make_hostile_trace FILE\n", stderr);
		return 2;
	}
	builder = vt_builder_new(argv[1]);
	process = vt_builder_process(builder, 1, -1, "</script><script>window.broken = 5</script>");
	vt_builder_reserve(builder, process, 0, 64 * MIB);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint32_t op = vt_builder_op(builder, process, 0, texts[i], VT_op_scope_FUNCTION);

		stack = vt_builder_stack(builder, process, stack, texts[i], texts[i], (uint32_t)i + 1);
		vt_builder_alloc(builder, process,
				 &(struct vt_tensor){ .time_ns = 1000 * (i + 1),
						      .address = 0x7f0000000000 + 4 * MIB * i,
						      .size_bytes = (int64_t)(MIB * (i + 1)),
						      .op = op,
						      .stack = stack,
						      .device_type = VT_device_type_CUDA });
	}
	vt_builder_close(builder);
	return 0;
}
