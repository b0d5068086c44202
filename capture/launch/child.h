/* child.h - the recorded program as our child: started, signalled, waited for. */
#ifndef VT_LAUNCH_CHILD_H
#define VT_LAUNCH_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/base/err.h"

struct vt_child {
	pid_t pid;
	int gate_fd;   /* the child waits until a byte comes; -1 once it has */
	int signal_fd; /* our own signals, to be passed on */
	bool ended;    /* wait_status is valid */
	bool stopped;
	int wait_status;
	bool interrupted;	/* a signal that means "end" came for us after the child had ended */
	uint64_t stop_asked_ns; /* when the terminal or somebody asked us to stop; 0: not */
};

/*
 * Forks a child that waits, with the signal mask and the dispositions that this process had, until vt_child_start.
 * From now on this process's signals come through signal_fd, and it adopts orphans of the child (subreaper).
 */
int vt_child_fork(struct vt_child *ret, char **program, struct vt_err *err);
/* Lets the child execute its program. */
void vt_child_start(struct vt_child *child);
/* Before vt_child_start: the child ends without having run anything. */
void vt_child_cancel(struct vt_child *child);
void vt_child_done(struct vt_child *child);

/* Passes signals on, and stops this process when the child has been stopped from the terminal. */
void vt_child_pass_signals(struct vt_child *child);
/* Collects the ended; true while this process has children, adopted ones included. */
bool vt_child_reap(struct vt_child *child);
/* What a shell says in $?: the exit status, or 128 + the signal. */
int vt_child_exit_status(const struct vt_child *child);

#endif
