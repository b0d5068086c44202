/*
 * fake_aten.h - a stand-in for libtorch_cpu: at::RecordFunction's entry points under their real names, over an object
 * laid out as PyTorch's is.
 */
#ifndef VT_FAKE_ATEN_H
#define VT_FAKE_ATEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which PyTorch's object: the offsets of sequence number and forward thread differ. */
enum fake_layout {
	FAKE_LAYOUT_CXX11,   /* 2.4 and later, new string ABI */
	FAKE_LAYOUT_OLD_ABI, /* 2.4 and later, old string ABI */
	FAKE_LAYOUT_1_13,    /* 1.13, old string ABI */
	FAKE_LAYOUT_BROKEN,  /* something that the agent must refuse */
	FAKE_LAYOUT_END,
};

/* Memory of one at::RecordFunction. */
struct fake_function {
	_Alignas(16) unsigned char bytes[512];
};

/* Before the agent attaches. */
void fake_aten_set_layout(enum fake_layout layout);
/* Callbacks registered so far. */
unsigned fake_aten_callbacks(void);

/* The op begins: constructed, filled, start callback. name must live until the end. */
void fake_op_begin(struct fake_function *function, const char *name, uint8_t scope, int64_t sequence,
		   uint64_t forward_thread);
/* The op may end on another thread. */
void fake_op_set_async(struct fake_function *function);
void fake_op_end(struct fake_function *function);

/* ns for one begin and end of an op below another, over n of them. */
double fake_op_bench(uint64_t n);

#endif
