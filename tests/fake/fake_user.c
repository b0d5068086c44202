/* fake_user.c - see fake_user.h. */
#include "tests/fake/fake_user.h"

void fake_user_call(fake_driver_call *call, uint32_t cbid, const void *params, uint64_t context)
{
	call(cbid, params, context, 0, NULL, NULL);
	__asm__ volatile("" ::: "memory"); /* no tail call: this frame is what is looked for */
}
