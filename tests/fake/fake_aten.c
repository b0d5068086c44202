/* fake_aten.c - see fake_aten.h. Built as libtorch_cpu.so. */
#include "tests/fake/fake_aten.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define ADD _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE
#define CONSTRUCT _ZN2at14RecordFunctionC1ENS_11RecordScopeE
#define DESTROY _ZN2at14RecordFunctionD1Ev
#define GET_NAME _ZNK2at14RecordFunction4nameEv
#define THREAD_ID _ZN2at14RecordFunction15currentThreadIdEv

struct callback {
	void *(*start)(void **ret_context, const void *function);
	void (*end)(const void *function, void *context);
	double sampling_probability;
	uint8_t scopes[10];
	uint8_t needs[3];
};

API uint64_t ADD(struct callback callback);
API void CONSTRUCT(void *self, uint8_t scope);
API void DESTROY(void *self);
API const char *GET_NAME(const void *self);
API uint64_t THREAD_ID(void);

/* Bytes of the object in each PyTorch; where the fields lie. */
struct offsets {
	unsigned bytes, thread, scope, sequence, forward_thread, is_async, debug_handle;
};
static const struct offsets all_offsets[FAKE_LAYOUT_END] = {
	[FAKE_LAYOUT_CXX11] = { 344, 88, 96, 200, 304, 320, 328 },
	[FAKE_LAYOUT_OLD_ABI] = { 320, 88, 96, 176, 280, 296, 304 },
	[FAKE_LAYOUT_1_13] = { 288, 88, 96, 176, 224, 240, 248 },
	[FAKE_LAYOUT_BROKEN] = { 344, 88, 96, 328, 304, 320, 336 },
};
#define NAME_OFFSET 160 /* in the place of fn_ */

static const struct offsets *offsets = &all_offsets[FAKE_LAYOUT_CXX11];
static struct callback registered;
static _Atomic unsigned callbacks;
static _Atomic uint64_t next_thread;
static __thread uint64_t this_thread;

uint64_t ADD(struct callback callback)
{
	registered = callback;
	return atomic_fetch_add(&callbacks, 1) + 1;
}

uint64_t THREAD_ID(void)
{
	if (!this_thread)
		this_thread = atomic_fetch_add(&next_thread, 1) + 1;
	return this_thread;
}

static void put(void *self, unsigned offset, const void *value, size_t size)
{
	memcpy((unsigned char *)self + offset, value, size);
}

void CONSTRUCT(void *self, uint8_t scope)
{
	uint64_t zero = 0, thread = THREAD_ID();
	int64_t none = -1;
	uint8_t no = 0;

	put(self, 0, &self, 8);
	put(self, offsets->thread, &thread, 8);
	put(self, offsets->scope, &scope, 1);
	put(self, offsets->sequence, &none, 8);
	put(self, offsets->forward_thread, &zero, 8);
	put(self, offsets->forward_thread + 8, &zero, 8);
	put(self, offsets->is_async, &no, 1);
	put(self, offsets->debug_handle, &none, 8);
}

void DESTROY(void *self)
{
	memset(self, 0xdd, offsets->bytes);
}

const char *GET_NAME(const void *self)
{
	const char *name;

	memcpy(&name, (const unsigned char *)self + NAME_OFFSET, sizeof(name));
	return name;
}

API void fake_aten_set_layout(enum fake_layout layout)
{
	offsets = &all_offsets[layout];
}

API unsigned fake_aten_callbacks(void)
{
	return callbacks;
}

API void fake_op_begin(struct fake_function *function, const char *name, uint8_t scope, int64_t sequence,
		       uint64_t forward_thread)
{
	void *context = function;

	CONSTRUCT(function, scope);
	put(function, NAME_OFFSET, &name, sizeof(name));
	put(function, offsets->sequence, &sequence, 8);
	put(function, offsets->forward_thread, &forward_thread, 8);
	if (registered.start && registered.scopes[scope])
		registered.start(&context, function);
}

API void fake_op_set_async(struct fake_function *function)
{
	uint8_t yes = 1;

	put(function, offsets->is_async, &yes, 1);
}

API void fake_op_end(struct fake_function *function)
{
	uint8_t scope = function->bytes[offsets->scope];

	if (registered.end && registered.scopes[scope])
		registered.end(function, NULL);
	DESTROY(function);
}

API double fake_op_bench(uint64_t n)
{
	static const char *const names[] = { "aten::empty", "aten::addmm", "aten::native_layer_norm", "aten::add_" };
	struct fake_function outer, inner;
	struct timespec a, b;

	fake_op_begin(&outer, "bench", 7, -1, 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint64_t i = 0; i < n; i++) {
		fake_op_begin(&inner, names[i % 4], 0, (int64_t)i, 0);
		fake_op_end(&inner);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	fake_op_end(&outer);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)n;
}
