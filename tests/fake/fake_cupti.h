/*
 * fake_cupti.h - levers of the fake libcupti. For faults that a real one cannot be made to show on demand; what the
 * real one does is tested on the device.
 */
#ifndef VT_TESTS_FAKE_CUPTI_H
#define VT_TESTS_FAKE_CUPTI_H

#include <stdbool.h>

#include "capture/agent/cupti_abi.h"

#define FAKE_CUPTI_CBIDS 1024

struct fake_cupti {
	/* what a test sets */
	int32_t subscribe_result; /* what every subscribing gives, 0: as CUPTI does */
	const char *holder;	  /* name that a refused cuptiSubscribe_v2 tells */
	uint32_t unknown_from;	  /* driver calls from this number on are refused; 0: none */
	bool refuse_all;	  /* cuptiEnableCallback refuses everything */
	bool refuse_v2;		  /* cuptiSubscribe_v2 refuses */
	/* what a test reads */
	vt_cupti_callback *callback; /* of the one subscriber; NULL: none */
	void *user;
	size_t params_bytes; /* structSize of the last cuptiSubscribe_v2 */
	unsigned subscribes;
	unsigned unsubscribes;
	unsigned finalizes;
	bool enabled[VT_CUPTI_DOMAINS][FAKE_CUPTI_CBIDS];
};

struct fake_cupti *fake_cupti(void);

/* Plays a driver call: its entry, `body` (may be NULL), its exit with the result. Any thread. */
void fake_cupti_call(uint32_t cbid, const void *params, uint64_t context, int32_t result, void (*body)(void *),
		     void *arg);
/* One callback of another domain. */
void fake_cupti_raise(uint32_t domain, uint32_t cbid, const void *data);

#endif
