/*
 * keeper.h - a collector that may fail without anybody noticing but the trace: the program runs on.
 *
 * When the collector cannot go on (the disk is full, say) that is said once; the rings then fill, drop and count. Every
 * few seconds, and once more at the end, a new collector is tried on the same session and file. It goes on where the
 * file ends, as after a crash, and the drops are counted in the file.
 */
#ifndef VT_LAUNCH_KEEPER_H
#define VT_LAUNCH_KEEPER_H

#include "capture/collector/collector.h"

#define VT_KEEPER_RETRY_NS UINT64_C(5000000000)

struct vt_keeper {
	struct vt_collector *collector; /* NULL: failed */
	const char *command;		/* "record" or "collect", for messages */
	const char *session;
	const char *path;
	uint64_t failed_ns;
	bool told;
	uint32_t running; /* processes that had not ended at the finish */
};

int vt_keeper_start(struct vt_keeper *keeper, enum vt_store_mode mode, struct vt_err *err);
/* Does what is due; returns how long to wait, in milliseconds. */
int vt_keeper_poll(struct vt_keeper *keeper);
uint32_t vt_keeper_running(const struct vt_keeper *keeper);
/* What a caller who asked is told; errors leave the keeper as after vt_keeper_poll's. */
int vt_keeper_pause(struct vt_keeper *keeper, bool paused, struct vt_err *err);
int vt_keeper_flush(struct vt_keeper *keeper, struct vt_err *err);
/* -1: nothing to wait for. */
int vt_keeper_fd(const struct vt_keeper *keeper);
void vt_keeper_set_meta(struct vt_keeper *keeper, const char *key, const char *value);
/* False where the trace is not whole: the session then holds what is missing. */
bool vt_keeper_finish(struct vt_keeper *keeper);

#endif
