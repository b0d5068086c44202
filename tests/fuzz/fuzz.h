/* fuzz.h - what a fuzz target is: libFuzzer's entry, which replay_main.c calls as well. */
#ifndef VT_TESTS_FUZZ_H
#define VT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* One input, whatever it is. Never fails; a finding is a crash, a sanitizer's report, or an abort of the target's own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
