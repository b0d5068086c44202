/* test_replay.c - the states of devices after the events of small traces whose sums were made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/replay/replay.h"
#include "trace_builder.h"

#define MIB (UINT64_C(1) << 20)
static char path[64];

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/vt-replay-%d.vramtrace", getpid());
	return 0;
}

static int drop_path(void **state)
{
	(void)state;
	return unlink(path);
}

/* What listeners were told: "+1000" alloc, "-1000" free, "^" peak, "d" driver, "s" sample, "x" oom, "n" note, "." end.
 */
struct told {
	char log[2048];
	size_t at;
	uint64_t live_bytes; /* begun and not ended */
};

__attribute__((format(printf, 2, 3))) static void tell(struct told *told, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	told->at += (size_t)vsnprintf(told->log + told->at, sizeof(told->log) - told->at, format, args);
	va_end(args);
}

static int on_alloc(void *self, const struct vt_replay *replay, const struct vt_item *item,
		    const struct vt_block *block, struct vt_err *err)
{
	(void)replay, (void)err;
	assert_int_equal(block->alloc_ns, item->time_ns);
	assert_true(block->serial > 0);
	((struct told *)self)->live_bytes += block->size_bytes;
	tell(self, "+%llx ", (unsigned long long)block->address);
	return 0;
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	(void)replay, (void)item, (void)err;
	if (block->serial)
		((struct told *)self)->live_bytes -= block->size_bytes;
	tell(self, block->serial ? "-%llx " : "?%llx ", (unsigned long long)block->address);
	return 0;
}

static int on_device(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	(void)err;
	assert_non_null(vt_replay_device(replay, device));
	tell(self, "%c ", item->event->id == VT_EVENT_oom ? 'x' : item->event->name[1] == 'e' ? 's' : 'd');
	return 0;
}

static int on_peak(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		   struct vt_err *err)
{
	(void)err;
	assert_int_equal(vt_replay_device(replay, device)->peak_allocated_ns, item->time_ns);
	tell(self, "^");
	return 0;
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	(void)replay, (void)err;
	tell(self, ".");
	return 0;
}

struct run {
	struct vt_store *store;
	struct vt_cursor *cursor;
	struct vt_replay *replay;
	struct told told;
};

static void run(struct run *run)
{
	const struct vt_listener listener = {
		.self = &run->told,
		.alloc = on_alloc,
		.free = on_free,
		.driver = on_device,
		.sample = on_device,
		.oom = on_device,
		.peak = on_peak,
		.end = on_end,
	};
	struct vt_err err = { 0 };

	memset(run, 0, sizeof(*run));
	if (vt_store_open(&run->store, path, &err) < 0 || vt_cursor_open(&run->cursor, run->store, NULL, &err) < 0 ||
	    vt_replay_new(&run->replay, &err) < 0 || vt_replay_add(run->replay, &listener, &err) < 0 ||
	    vt_replay_run(run->replay, run->cursor, &err) < 0)
		fail_msg("%s", err.msg);
}

static void done(struct run *run)
{
	uint64_t live = 0;

	/* What listeners saw begin and not end is what is live. */
	for (uint32_t i = 0; i < vt_replay_device_count(run->replay); i++)
		live += vt_replay_device(run->replay, i)->allocated_bytes;
	assert_int_equal(run->told.live_bytes, live);
	vt_replay_free(run->replay);
	vt_cursor_close(run->cursor);
	vt_store_close(run->store);
}

static void alloc(struct vt_builder *builder, uint32_t process, uint64_t time_ns, uint64_t address, uint64_t bytes)
{
	vt_builder_alloc(builder, process,
			 &(struct vt_tensor){ .time_ns = time_ns,
					      .address = address,
					      .size_bytes = (int64_t)bytes,
					      .device_type = VT_device_type_CUDA });
}

static const struct vt_device *device_of(const struct run *run, uint32_t process, uint16_t type, int16_t index)
{
	for (uint32_t i = 0; i < vt_replay_device_count(run->replay); i++) {
		const struct vt_device *device = vt_replay_device(run->replay, i);

		if (device->process == process && device->device_type == type && device->device == index)
			return device;
	}
	fail_msg("no device %d of process %u", index, process);
	return NULL;
}

static int count_live(void *arg, const struct vt_block *block)
{
	(void)block;
	(*(unsigned *)arg)++;
	return 0;
}

static void totals_follow_the_allocator(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	const struct vt_device *device;
	unsigned live = 0;
	struct run r;

	(void)state;
	vt_builder_reserve(builder, p, 0, 2 * MIB);
	alloc(builder, p, 100, 0x1000, 512);
	alloc(builder, p, 200, 0x2000, 1024);
	vt_builder_free(builder, p, 300, 0, 0x1000);
	vt_builder_reserve(builder, p, 0, 22 * MIB);
	alloc(builder, p, 400, 0x3000, 20 * MIB);
	vt_builder_free(builder, p, 500, 0, 0x3000);
	vt_builder_reserve(builder, p, 0, 2 * MIB);
	alloc(builder, p, 600, 0x1000, 2048);
	vt_builder_close(builder);
	run(&r);
	device = device_of(&r, p, VT_device_type_CUDA, 0);
	assert_int_equal(device->allocated_bytes, 1024 + 2048);
	assert_int_equal(device->reported_bytes, 1024 + 2048);
	assert_int_equal(device->peak_allocated_bytes, 20 * MIB + 1024);
	assert_int_equal(device->peak_allocated_ns, 400);
	assert_int_equal(device->reserved_bytes, 2 * MIB);
	assert_int_equal(device->peak_reserved_bytes, 22 * MIB);
	assert_int_equal(device->peak_reserved_ns, 400);
	assert_int_equal(device->allocs, 4);
	assert_int_equal(device->frees, 2);
	assert_int_equal(device->allocated_total_bytes, 512 + 1024 + 20 * MIB + 2048);
	assert_int_equal(device->freed_total_bytes, 512 + 20 * MIB);
	assert_int_equal(device->live_blocks, 2);
	assert_int_equal(device->mismatches, 0);
	assert_int_equal(device->unknown_frees, 0);
	assert_false(device->pool_backend);
	assert_int_equal(vt_replay_first_ns(r.replay), 100);
	assert_int_equal(vt_replay_last_ns(r.replay), 600);
	assert_int_equal(vt_replay_each_live(r.replay, UINT32_MAX, count_live, &live), 0);
	assert_int_equal(live, 2);
	assert_string_equal(r.told.log, "^+1000 ^+2000 -1000 ^+3000 -3000 +1000 .");
	done(&r);
}

/* The capture began late, lost events, and a graph's restore hands out addresses anew. */
static void what_does_not_fit_is_counted(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	struct vt_tensor event = { .device_type = VT_device_type_CUDA, .thread = 1 };
	const struct vt_device *device;
	struct run r;

	(void)state;
	event.time_ns = 100, event.address = 0x9000, event.size_bytes = -512, event.allocated_bytes = 10000;
	vt_builder_event(builder, p, VT_EVENT_tensor, &event);
	event.time_ns = 200, event.address = 0x1000, event.size_bytes = 1000, event.allocated_bytes = 11000;
	vt_builder_event(builder, p, VT_EVENT_tensor, &event);
	/* 500 bytes came from an event that is not here. */
	event.time_ns = 300, event.address = 0x2000, event.size_bytes = 100, event.allocated_bytes = 11600;
	vt_builder_event(builder, p, VT_EVENT_tensor, &event);
	event.time_ns = 400, event.address = 0x1000, event.size_bytes = 3000, event.allocated_bytes = 14600;
	vt_builder_event(builder, p, VT_EVENT_tensor, &event);
	vt_builder_close(builder);
	run(&r);
	device = device_of(&r, p, VT_device_type_CUDA, 0);
	assert_int_equal(device->unknown_frees, 1);
	assert_int_equal(device->mismatches, 1);
	assert_int_equal(device->replaced_blocks, 1);
	assert_int_equal(device->allocated_bytes, 3100);
	assert_int_equal(device->reported_bytes, 14600);
	assert_int_equal(device->peak_allocated_bytes, 14600);
	assert_int_equal(device->live_blocks, 2);
	assert_int_equal(device->frees, 1);
	assert_string_equal(r.told.log, "^?9000 ^+1000 ^+2000 -1000 ^+1000 .");
	done(&r);
}

static void processes_and_devices_are_kept_apart(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t a = vt_builder_process(builder, 10, 0, "a"), b = vt_builder_process(builder, 11, 1, "b");
	struct run r;

	(void)state;
	for (uint32_t p = a; p <= b; p++)
		for (int16_t index = 0; index < 2; index++)
			vt_builder_alloc(builder, p,
					 &(struct vt_tensor){ .time_ns = 100 * p + (uint64_t)index,
							      .address = 0x1000,
							      .size_bytes = 1000 * (int64_t)p + index,
							      .device = index,
							      .device_type = VT_device_type_CUDA });
	vt_builder_alloc(builder, a,
			 &(struct vt_tensor){ .time_ns = 900,
					      .address = 0x1000,
					      .size_bytes = 77,
					      .device = -1,
					      .device_type = VT_device_type_HOST });
	vt_builder_close(builder);
	run(&r);
	assert_int_equal(vt_replay_device_count(r.replay), 5);
	assert_int_equal(device_of(&r, a, VT_device_type_CUDA, 1)->allocated_bytes, 1001);
	assert_int_equal(device_of(&r, b, VT_device_type_CUDA, 0)->allocated_bytes, 2000);
	assert_int_equal(device_of(&r, a, VT_device_type_HOST, -1)->allocated_bytes, 77);
	assert_int_equal(device_of(&r, a, VT_device_type_CUDA, 0)->replaced_blocks, 0);
	done(&r);
}

static void driver(struct vt_builder *builder, uint32_t process, uint64_t time_ns, uint16_t api,
		   struct vt_driver_memory call)
{
	call.time_ns = time_ns;
	call.start_ns = time_ns - 1;
	call.api = api;
	vt_builder_event(builder, process, VT_EVENT_driver_memory, &call);
}

static void driver_calls_add_up(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	const struct vt_device *device;
	struct run r;

	(void)state;
	driver(builder, p, 100, VT_driver_api_MEM_ALLOC,
	       (struct vt_driver_memory){ .address = 0x100000, .size_bytes = 20 * MIB });
	driver(builder, p, 110, VT_driver_api_MEM_ALLOC,
	       (struct vt_driver_memory){ .address = 0x900000, .size_bytes = 5 * MIB, .device = -1 });
	driver(builder, p, 120, VT_driver_api_MEM_ALLOC,
	       (struct vt_driver_memory){ .size_bytes = 900 * MIB, .result = 2 });
	driver(builder, p, 130, VT_driver_api_MEM_ALLOC,
	       (struct vt_driver_memory){ .size_bytes = 900 * MIB, .result = 1 });
	driver(builder, p, 140, VT_driver_api_MEM_HOST_ALLOC,
	       (struct vt_driver_memory){ .address = 0x7f0000, .size_bytes = 3 * MIB });
	driver(builder, p, 150, VT_driver_api_MEM_ALLOC_MANAGED,
	       (struct vt_driver_memory){ .address = 0xa00000, .size_bytes = 7 * MIB });
	driver(builder, p, 160, VT_driver_api_MEM_ADDRESS_RESERVE,
	       (struct vt_driver_memory){ .address = 0xb00000, .size_bytes = 1000 * MIB });
	driver(builder, p, 170, VT_driver_api_MEM_FREE, (struct vt_driver_memory){ .address = 0x100000, .device = -1 });
	driver(builder, p, 180, VT_driver_api_MEM_FREE, (struct vt_driver_memory){ .address = 0xa00000 });
	driver(builder, p, 190, VT_driver_api_MEM_FREE, (struct vt_driver_memory){ .address = 0xdead00 });
	vt_builder_close(builder);
	run(&r);
	device = device_of(&r, p, VT_device_type_CUDA, 0);
	assert_int_equal(device->driver_bytes, 5 * MIB);
	assert_int_equal(device->peak_driver_bytes, 25 * MIB);
	assert_int_equal(device->driver_failures, 1);
	assert_int_equal(device_of(&r, p, VT_device_type_HOST, -1)->driver_bytes, 3 * MIB);
	assert_int_equal(device->allocs, 0);
	done(&r);
}

/* Physical memory counts once, however often it is mapped, and until it is both released and unmapped. */
static void physical_memory_counts_once(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	struct run r;

	(void)state;
	driver(builder, p, 100, VT_driver_api_MEM_CREATE,
	       (struct vt_driver_memory){ .handle = 7, .size_bytes = 2 * MIB });
	driver(builder, p, 110, VT_driver_api_MEM_MAP,
	       (struct vt_driver_memory){ .handle = 7, .address = 0x200000, .size_bytes = 2 * MIB });
	driver(builder, p, 120, VT_driver_api_MEM_MAP,
	       (struct vt_driver_memory){ .handle = 7, .address = 0x800000, .size_bytes = 2 * MIB });
	driver(builder, p, 130, VT_driver_api_MEM_RELEASE, (struct vt_driver_memory){ .handle = 7 });
	/* The driver may give the same handle again. */
	driver(builder, p, 140, VT_driver_api_MEM_CREATE,
	       (struct vt_driver_memory){ .handle = 7, .size_bytes = 4 * MIB });
	driver(builder, p, 150, VT_driver_api_MEM_MAP,
	       (struct vt_driver_memory){ .handle = 7, .address = 0x400000, .size_bytes = 4 * MIB });
	vt_builder_close(builder);
	run(&r);
	assert_int_equal(device_of(&r, p, VT_device_type_CUDA, 0)->driver_bytes, 6 * MIB);
	done(&r);

	builder = vt_builder_new(path);
	p = vt_builder_process(builder, 10, -1, "a");
	driver(builder, p, 100, VT_driver_api_MEM_CREATE,
	       (struct vt_driver_memory){ .handle = 7, .size_bytes = 2 * MIB });
	driver(builder, p, 110, VT_driver_api_MEM_CREATE,
	       (struct vt_driver_memory){ .handle = 8, .size_bytes = 2 * MIB });
	driver(builder, p, 120, VT_driver_api_MEM_MAP,
	       (struct vt_driver_memory){ .handle = 7, .address = 0x200000, .size_bytes = 2 * MIB });
	driver(builder, p, 130, VT_driver_api_MEM_MAP,
	       (struct vt_driver_memory){ .handle = 8, .address = 0x400000, .size_bytes = 2 * MIB });
	driver(builder, p, 140, VT_driver_api_MEM_RELEASE, (struct vt_driver_memory){ .handle = 7 });
	/* One call for both mappings. */
	driver(builder, p, 150, VT_driver_api_MEM_UNMAP,
	       (struct vt_driver_memory){ .address = 0x200000, .size_bytes = 4 * MIB });
	vt_builder_close(builder);
	run(&r);
	assert_int_equal(device_of(&r, p, VT_device_type_CUDA, 0)->driver_bytes, 2 * MIB);
	assert_int_equal(device_of(&r, p, VT_device_type_CUDA, 0)->peak_driver_bytes, 4 * MIB);
	done(&r);
}

static void build_pool(struct vt_builder *builder, uint32_t p)
{
	driver(builder, p, 100, VT_driver_api_MEM_ALLOC_ASYNC,
	       (struct vt_driver_memory){ .address = 0x1000,
					  .size_bytes = 1000,
					  .op = 3,
					  .stack = 4,
					  .thread = 5,
					  .pool_reserved_bytes = 32 * MIB,
					  .pool_used_bytes = 1024 });
	driver(builder, p, 200, VT_driver_api_MEM_ALLOC_ASYNC,
	       (struct vt_driver_memory){ .address = 0x2000,
					  .size_bytes = 40 * MIB,
					  .pool_reserved_bytes = 64 * MIB,
					  .pool_used_bytes = 40 * MIB + 1024 });
	driver(builder, p, 300, VT_driver_api_MEM_FREE_ASYNC,
	       (struct vt_driver_memory){
		       .address = 0x2000, .pool_reserved_bytes = 64 * MIB, .pool_used_bytes = 1024 });
}

static void pool_is_the_allocator_where_no_tensor_events_come(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	const struct vt_device *device;
	struct run r;

	(void)state;
	build_pool(builder, p);
	vt_builder_close(builder);
	run(&r);
	device = device_of(&r, p, VT_device_type_CUDA, 0);
	assert_true(device->pool_backend);
	assert_int_equal(device->reported_bytes, 1024);
	assert_int_equal(device->allocated_bytes, 1000);
	assert_int_equal(device->peak_allocated_bytes, 40 * MIB + 1024);
	assert_int_equal(device->peak_allocated_ns, 200);
	assert_int_equal(device->reserved_bytes, 64 * MIB);
	assert_int_equal(device->driver_bytes, 64 * MIB);
	assert_int_equal(device->allocs, 2);
	assert_int_equal(device->frees, 1);
	assert_int_equal(device->live_blocks, 1);
	assert_string_equal(r.told.log, "^+1000 d ^+2000 d -2000 d .");
	done(&r);
}

/* A library beside torch used the pool first: torch's events show whose totals count. */
static void tensor_events_end_the_pools_role(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	const struct vt_device *device;
	struct run r;

	(void)state;
	build_pool(builder, p);
	vt_builder_reserve(builder, p, 0, 2 * MIB);
	alloc(builder, p, 400, 0x5000, 512);
	driver(builder, p, 500, VT_driver_api_MEM_ALLOC_ASYNC,
	       (struct vt_driver_memory){ .address = 0x6000,
					  .size_bytes = 1000,
					  .pool_reserved_bytes = 64 * MIB,
					  .pool_used_bytes = 2048 });
	vt_builder_close(builder);
	run(&r);
	device = device_of(&r, p, VT_device_type_CUDA, 0);
	assert_false(device->pool_backend);
	assert_int_equal(device->reported_bytes, 512);
	assert_int_equal(device->peak_allocated_bytes, 512);
	assert_int_equal(device->reserved_bytes, 2 * MIB);
	assert_int_equal(device->allocs, 1);
	assert_int_equal(device->live_blocks, 1);
	assert_int_equal(device->driver_bytes, 64 * MIB);
	assert_int_equal(device->mismatches, 0);
	done(&r);
}

/* With the backend known, only its pool counts: the device's default one, or none. */
static void the_backend_note_decides(void **state)
{
	for (uint64_t backend = 0; backend < 2; backend++) {
		struct vt_builder *builder = vt_builder_new(path);
		uint32_t p = vt_builder_process(builder, 10, -1, "a");
		const struct vt_device *device;
		struct run r;

		(void)state;
		vt_builder_note(builder, p, 1, VT_note_code_ALLOCATOR_BACKEND, backend,
				backend ? "cudaMallocAsync" : "native");
		build_pool(builder, p);
		driver(builder, p, 400, VT_driver_api_MEM_ALLOC_FROM_POOL_ASYNC,
		       (struct vt_driver_memory){ .address = 0x8000,
						  .size_bytes = 4 * MIB,
						  .handle = 99,
						  .pool_reserved_bytes = 8 * MIB,
						  .pool_used_bytes = 4 * MIB });
		vt_builder_close(builder);
		run(&r);
		device = device_of(&r, p, VT_device_type_CUDA, 0);
		assert_int_equal(device->pool_backend, backend == 1);
		assert_int_equal(device->reported_bytes, backend ? 1024 : 0);
		assert_int_equal(device->allocs, backend ? 2 : 0);
		assert_int_equal(device->driver_bytes, 72 * MIB);
		done(&r);
	}
}

static void samples_and_ooms_set_the_devices_figures(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	struct vt_device_sample sample = {
		.time_ns = 100, .free_bytes = 900, .total_bytes = 1000, .process_bytes = 50
	};
	const struct vt_oom oom = {
		.time_ns = 300, .device_free_bytes = 100, .device_total_bytes = 1000, .device_type = 1
	};
	const struct vt_device *device;
	struct run r;

	(void)state;
	vt_builder_event(builder, p, VT_EVENT_device_sample, &sample);
	sample.time_ns = 200, sample.free_bytes = 300, sample.process_bytes = 0;
	vt_builder_event(builder, p, VT_EVENT_device_sample, &sample);
	vt_builder_event(builder, p, VT_EVENT_oom, &oom);
	sample.time_ns = 400, sample.free_bytes = 700;
	vt_builder_event(builder, p, VT_EVENT_device_sample, &sample);
	vt_builder_close(builder);
	run(&r);
	device = device_of(&r, p, VT_device_type_CUDA, 0);
	assert_int_equal(device->total_bytes, 1000);
	assert_int_equal(device->free_bytes, 700);
	assert_int_equal(device->min_free_bytes, 100);
	assert_int_equal(device->process_bytes, 50);
	assert_string_equal(r.told.log, "s s x s .");
	done(&r);
}

/* Many blocks that come and go, against a plain array. */
static void live_set_agrees_with_an_array(void **state)
{
	enum { SLOTS = 30000, EVENTS = 200000 };
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	uint32_t *size = calloc(SLOTS, sizeof(*size));
	uint64_t random = 5, total = 0, peak = 0, blocks = 0;
	const struct vt_device *device;
	unsigned live = 0;
	struct run r;

	(void)state;
	assert_non_null(size);
	for (uint64_t i = 0; i < EVENTS; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		size_t slot = (size_t)(random >> 40) % SLOTS;
		uint32_t bytes = 512 + (uint32_t)(random >> 20) % 8192;
		struct vt_tensor event = { .time_ns = 100 + i,
					   .address = 0x7f0000000000 + slot * 0x4000,
					   .device_type = 1 };

		event.size_bytes = size[slot] ? -(int64_t)size[slot] : (int64_t)bytes;
		blocks += size[slot] ? (uint64_t)-1 : 1;
		size[slot] = size[slot] ? 0 : bytes;
		total += (uint64_t)event.size_bytes;
		peak = total > peak ? total : peak;
		event.allocated_bytes = total;
		vt_builder_event(builder, p, VT_EVENT_tensor, &event);
	}
	vt_builder_close(builder);
	memset(&r, 0, sizeof(r));
	struct vt_err err = { 0 };

	assert_int_equal(vt_store_open(&r.store, path, &err), 0);
	assert_int_equal(vt_cursor_open(&r.cursor, r.store, NULL, &err), 0);
	assert_int_equal(vt_replay_new(&r.replay, &err), 0);
	assert_int_equal(vt_replay_run(r.replay, r.cursor, &err), 0);
	device = device_of(&r, p, VT_device_type_CUDA, 0);
	assert_int_equal(device->allocated_bytes, total);
	assert_int_equal(device->peak_allocated_bytes, peak);
	assert_int_equal(device->live_blocks, blocks);
	assert_int_equal(device->mismatches + device->unknown_frees + device->replaced_blocks, 0);
	vt_replay_each_live(r.replay, 0, count_live, &live);
	assert_int_equal(live, blocks);
	r.told.live_bytes = total;
	done(&r);
	free(size);
}

static int refuse(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		  struct vt_err *err)
{
	(void)self, (void)replay, (void)item, (void)block;
	return vt_err_set(err, VT_E_INPUT, "enough");
}

static void a_listener_ends_the_replay(void **state)
{
	struct vt_builder *builder = vt_builder_new(path);
	uint32_t p = vt_builder_process(builder, 10, -1, "a");
	const struct vt_listener listener = { .alloc = refuse };
	struct vt_err err = { 0 };
	struct run r = { 0 };

	(void)state;
	alloc(builder, p, 100, 0x1000, 512);
	alloc(builder, p, 200, 0x2000, 512);
	vt_builder_close(builder);
	assert_int_equal(vt_store_open(&r.store, path, &err), 0);
	assert_int_equal(vt_cursor_open(&r.cursor, r.store, NULL, &err), 0);
	assert_int_equal(vt_replay_new(&r.replay, &err), 0);
	assert_int_equal(vt_replay_add(r.replay, &listener, &err), 0);
	assert_int_equal(vt_replay_run(r.replay, r.cursor, &err), -VT_E_INPUT);
	assert_string_equal(err.msg, "enough");
	assert_int_equal(vt_replay_device(r.replay, 0)->allocs, 1);
	vt_replay_free(r.replay);
	vt_cursor_close(r.cursor);
	vt_store_close(r.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_follow_the_allocator),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(processes_and_devices_are_kept_apart),
		cmocka_unit_test(driver_calls_add_up),
		cmocka_unit_test(physical_memory_counts_once),
		cmocka_unit_test(pool_is_the_allocator_where_no_tensor_events_come),
		cmocka_unit_test(tensor_events_end_the_pools_role),
		cmocka_unit_test(the_backend_note_decides),
		cmocka_unit_test(samples_and_ooms_set_the_devices_figures),
		cmocka_unit_test(live_set_agrees_with_an_array),
		cmocka_unit_test(a_listener_ends_the_replay),
	};

	return cmocka_run_group_tests(tests, make_path, drop_path);
}
