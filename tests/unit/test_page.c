/* test_page.c - what the page gathers, on small traces made by hand: bins, kept blocks, kernels that touched them, steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/page/page.h"
#include "trace_builder.h"

#define KIB UINT64_C(1024)
#define A UINT64_C(0x7f0000000000)
#define B UINT64_C(0x7f0000100000)
#define C UINT64_C(0x7f0000200000)

static char path[] = "/tmp/test_page_XXXXXX";

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int drop_path(void **state)
{
	(void)state;
	return unlink(path);
}

static void alloc(struct vt_builder *b, uint32_t process, uint64_t time_ns, uint64_t address, uint64_t bytes)
{
	vt_builder_alloc(b, process,
			 &(struct vt_tensor){ .time_ns = time_ns,
					      .address = address,
					      .size_bytes = (int64_t)bytes,
					      .device_type = VT_device_type_CUDA });
}

static void launch(struct vt_builder *b, uint32_t process, uint64_t time_ns, uint32_t correlation, uint32_t touches)
{
	vt_builder_event(b, process, VT_EVENT_launch,
			 &(struct vt_launch){ .time_ns = time_ns,
					      .start_ns = time_ns - 10,
					      .correlation = correlation,
					      .touches = touches,
					      .thread = 1,
					      .api = VT_launch_api_KERNEL });
}

static void kernel(struct vt_builder *b, uint32_t process, uint64_t end_ns, uint32_t correlation, uint32_t config)
{
	vt_builder_event(
		b, process, VT_EVENT_kernel,
		&(struct vt_kernel){
			.end_ns = end_ns, .start_ns = end_ns - 50, .correlation = correlation, .config = config });
}

static void gather(struct vt_session *session, struct vt_page *page, uint64_t bins)
{
	const struct vt_common_options options = { .device = -1, .process = -1 };
	struct vt_err err = { .code = VT_E_OK };

	if (vt_session_open(session, path, &options, "peak", &err) < 0)
		fail_msg("%s", err.msg);
	*page = (struct vt_page){ .session = session };
	if (vt_page_gather(page, bins, &err) < 0)
		fail_msg("%s", err.msg);
}

static void finish(struct vt_session *session, struct vt_page *page)
{
	vt_page_done(page);
	vt_session_done(session);
}

static const struct vt_page_block *find_block(const struct vt_page *page, uint64_t address, uint64_t alloc_ns)
{
	for (size_t i = 0; i < page->blocks.count; i++)
		if (page->blocks.list[i].block.address == address && page->blocks.list[i].block.alloc_ns == alloc_ns)
			return &page->blocks.list[i];
	fail_msg("no block at %llx of %llu", (unsigned long long)address, (unsigned long long)alloc_ns);
	return NULL;
}

/*
 *  100 A lives to 900; 200 B to 500; 600 another block at B's address, to the end; 300 C to the end
 *  launches: 250 names A and B's middle (twice, once past its end), 550 an address that is nobody's then, 650 B's address,
 *  700 A by its last byte, 800 the byte behind A
 */
static void test_touches(void **state)
{
	const uint64_t first[] = { A, B + 2048, B + 3000, B + 4096 }, second[] = { B }, third[] = { A + 4095 },
		       fourth[] = { A + 4096 };
	struct vt_builder *b = vt_builder_new(path);
	uint32_t process = vt_builder_process(b, 77, -1, "test");
	struct vt_session session;
	struct vt_page page;
	const struct vt_page_block *block;
	uint32_t touch[4];

	(void)state;
	touch[0] = vt_builder_touch(b, process, first, 4);
	touch[1] = vt_builder_touch(b, process, second, 1);
	touch[2] = vt_builder_touch(b, process, third, 1);
	touch[3] = vt_builder_touch(b, process, fourth, 1);
	alloc(b, process, 100, A, 4 * KIB);
	alloc(b, process, 200, B, 4 * KIB);
	launch(b, process, 250, 1, touch[0]);
	alloc(b, process, 300, C, 1 * KIB);
	kernel(b, process, 400, 1, 9);
	vt_builder_free(b, process, 500, 0, B);
	launch(b, process, 550, 2, touch[1]);
	alloc(b, process, 600, B, 2 * KIB);
	launch(b, process, 650, 3, touch[1]);
	launch(b, process, 700, 4, touch[2]);
	launch(b, process, 800, 5, touch[3]);
	kernel(b, process, 810, 3, 8);
	kernel(b, process, 820, 4, 9);
	kernel(b, process, 830, 2, 7);
	vt_builder_free(b, process, 900, 0, A);
	vt_builder_close(b);

	gather(&session, &page, 100);
	assert_true(page.touches.captured);
	assert_int_equal(page.blocks.count, 4);
	assert_int_equal(page.blocks.seen, 4);
	block = find_block(&page, A, 100);
	assert_int_equal(block->touches, 2);
	assert_int_equal(block->first_touch_ns, 250);
	assert_int_equal(block->last_touch_ns, 700);
	assert_int_equal(block->nkernels, 1);
	assert_int_equal(block->kernels[0], 9);
	assert_int_equal(block->kernel_counts[0], 2);
	block = find_block(&page, B, 200);
	assert_int_equal(block->touches, 1); /* once a launch, however many addresses */
	assert_int_equal(block->last_touch_ns, 250);
	assert_int_equal(block->kernels[0], 9);
	block = find_block(&page, B, 600);
	assert_int_equal(block->touches, 1);
	assert_int_equal(block->first_touch_ns, 650);
	assert_int_equal(block->kernels[0], 8);
	assert_int_equal(block->kernel_counts[0], 1);
	block = find_block(&page, C, 300);
	assert_int_equal(block->touches, 0);
	assert_int_equal(block->nkernels, 0);
	finish(&session, &page);
}

/* Ten events in bins of three, then a long silence: each bin's greatest moment, and the state that the silence begins with. */
static void test_bins(void **state)
{
	struct vt_builder *b = vt_builder_new(path);
	uint32_t process = vt_builder_process(b, 77, -1, "test");
	struct vt_session session;
	struct vt_page page;
	const struct vt_page_bins_device *bins;

	(void)state;
	alloc(b, process, 1000, A, 4 * KIB);	       /* 4 */
	alloc(b, process, 1100, B, 4 * KIB);	       /* 8: the greatest */
	vt_builder_free(b, process, 1200, 0, B);       /* 4 */
	alloc(b, process, 1300, B, 2 * KIB);	       /* 6 */
	vt_builder_free(b, process, 1400, 0, B);       /* 4 */
	alloc(b, process, 1500, B, 3 * KIB);	       /* 7: the greatest */
	alloc(b, process, 1600, C, 9 * KIB);	       /* 16: the greatest */
	vt_builder_free(b, process, 1700, 0, C);       /* 7: stands through the silence */
	alloc(b, process, 1000000000, C, 1 * KIB);     /* 8 */
	vt_builder_free(b, process, 1000000100, 0, C); /* 7 */
	vt_builder_close(b);

	gather(&session, &page, 4); /* ten events in four: three each */
	assert_int_equal(page.bins.events_per_bin, 3);
	bins = &page.bins.devices[0];
	assert_int_equal(bins->count, 6);
	assert_int_equal(bins->list[0].first_ns, 1000);
	assert_int_equal(bins->list[0].at_ns, 1100);
	assert_int_equal(bins->list[0].allocated_bytes, 8 * KIB);
	assert_int_equal(bins->list[1].first_ns, 1300);
	assert_int_equal(bins->list[1].at_ns, 1500);
	assert_int_equal(bins->list[2].at_ns, 1600);
	assert_int_equal(bins->list[2].allocated_bytes, 16 * KIB);
	assert_int_equal(bins->list[3].first_ns, 1700);
	assert_int_equal(bins->list[3].allocated_bytes, 7 * KIB);
	assert_int_equal(bins->list[4].at_ns, 1000000000);
	assert_int_equal(bins->list[4].allocated_bytes, 8 * KIB);
	assert_int_equal(bins->list[5].at_ns, 1000000100);
	assert_int_equal(bins->list[5].allocated_bytes, 7 * KIB);
	assert_int_equal(vt_page_bins_find(bins, 0), 0);
	assert_int_equal(vt_page_bins_find(bins, 1100), 0);
	assert_int_equal(vt_page_bins_find(bins, 1101), 1);
	assert_int_equal(vt_page_bins_find(bins, UINT64_MAX), 6);
	finish(&session, &page);
}

/* Of ten blocks two by bytes times life and two by bytes are kept: the long-lived small one is, the many short ones are not. */
static void test_kept_blocks(void **state)
{
	struct vt_page_blocks blocks = { .most = 2 };
	struct vt_err err;

	(void)state;
	for (uint64_t i = 1; i <= 10; i++) {
		const struct vt_attributed block = {
			.serial = i,
			.size_bytes = i == 3 ? 100 : 1000 + i,
			.alloc_ns = 0,
			.free_ns = i == 3   ? UINT64_MAX
				   : i == 5 ? 50
					    : 10,
		};

		assert_int_equal(vt_page_blocks_add(&blocks, &block, 100000), 0);
	}
	assert_int_equal(vt_page_blocks_finish(&blocks, &err), 0);
	/* By time: 3 (100 * 100000) and 5; by size: 10 and 9. */
	assert_int_equal(blocks.seen, 10);
	assert_int_equal(blocks.count, 4);
	assert_int_equal(blocks.list[0].block.serial, 3);
	assert_int_equal(blocks.list[1].block.serial, 5);
	assert_int_equal(blocks.list[2].block.serial, 9);
	assert_int_equal(blocks.list[3].block.serial, 10);
	assert_int_equal(blocks.list[0].last_touch_ns, 0);
	vt_page_blocks_done(&blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_touches),
		cmocka_unit_test(test_bins),
		cmocka_unit_test(test_kept_blocks),
	};

	return cmocka_run_group_tests(tests, make_path, drop_path);
}
