/* no_cupti.c - what takes the place of cupti.c and device.c in a build without the CUDA headers: nothing is known. */
#include "capture/agent/agent.h"

void vt_cupti_attach(struct vt_thread *thread)
{
	vt_agent_note(thread, VT_note_code_CUPTI_OFF, 0, "this agent was built without the CUPTI headers");
}

void vt_cupti_detach(void)
{
}

bool vt_device_memory(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	(void)device, (void)ret_free_bytes, (void)ret_total_bytes;
	return false;
}

bool vt_device_process_bytes(int device, uint64_t *ret_bytes)
{
	(void)device, (void)ret_bytes;
	return false;
}
