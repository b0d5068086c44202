/* fake_user.h - libfake_user.so makes a driver call, as cuBLAS or NCCL do: the library that a record must name. */
#ifndef VT_TESTS_FAKE_USER_H
#define VT_TESTS_FAKE_USER_H

#include <stddef.h>
#include <stdint.h>

typedef void fake_driver_call(uint32_t cbid, const void *params, uint64_t context, int32_t result, void (*body)(void *),
			      void *arg);

/* call: fake_cupti_call. It succeeds. */
void fake_user_call(fake_driver_call *call, uint32_t cbid, const void *params, uint64_t context);

#endif
