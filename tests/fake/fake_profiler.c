/*
 * fake_profiler.c - a program with a CUPTI client of its own, as PyTorch has one: linked with (a fake) libcupti, so
 * that a preloaded agent's functions come first. Starts the agent as the CUDA driver does, then profiles as Kineto
 * does. Ends with 0 if its callbacks came as without an agent.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "tests/fake/fake_cupti.h"

#define FN(name, need, parameters) int32_t name parameters;
#include "capture/agent/cupti_functions.def"

#define CONTEXT_CREATED 1

static int contexts;

static void on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)data;
	if (domain == VT_CUPTI_DOMAIN_RESOURCE && cbid == CONTEXT_CREATED)
		contexts++;
	else
		contexts = -1000; /* nothing else was asked for */
}

int main(void)
{
	int (*inject)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "InitializeInjection");
	uint64_t address = 0x1000;
	struct vt_cu_alloc alloc = { &address, 64 };
	struct vt_cu_free release = { 0x1000 };
	void *subscriber = NULL;

	if (inject && inject() != 1)
		return 1;
	fake_cupti_call(243, &alloc, 1, 0, NULL, NULL);
	if (cuptiSubscribe(&subscriber, on_callback, NULL) != 0 ||
	    cuptiEnableCallback(1, subscriber, VT_CUPTI_DOMAIN_RESOURCE, CONTEXT_CREATED) != 0)
		return 2;
	fake_cupti_raise(VT_CUPTI_DOMAIN_RESOURCE, CONTEXT_CREATED, &address);
	fake_cupti_call(245, &release, 1, 0, NULL, NULL);
	printf("%d context(s), %u subscription(s)\n", contexts, fake_cupti()->subscribes);
	return contexts == 1 ? 0 : 3;
}
