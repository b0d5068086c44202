/* shm.h - the agent's side of the session file (schema/ring.h): makes it, and hands out its rings. */
#ifndef VT_AGENT_SHM_H
#define VT_AGENT_SHM_H

#include "capture/agent/state.h"

/*
 * Makes and maps `<session>/<pid>-<start ticks>.ring` (after an exec in the same process: `<pid>-<start ticks>.1.ring`
 * and so on) and fills its header in. NULL or a reason why not; on success agent->shm is set. Called under agent->lock.
 */
const char *vt_shm_make(struct vt_agent *agent);

/*
 * A ring for the calling thread, LIVE and backed by memory; NULL when all are in use or there is no memory for one
 * more. Called under agent->lock. *ret_data is where its bytes lie.
 */
struct vt_ring *vt_shm_take_ring(struct vt_agent *agent, uint32_t tid, uint8_t **ret_data);

/* The thread ends: the consumer drains what is left, then the ring may be taken over. Called under agent->lock. */
void vt_shm_close_ring(struct vt_agent *agent, struct vt_ring *ring);

#endif
