/*
 * serve.h - hands one file to one web page, over HTTP on the loopback interface, and ends.
 *
 * Who may have it: a request for the very path (which holds a number nobody can guess) at our own host name, from no page
 * or from a page of the allowed origin. So neither another user's program nor another site in the same browser, nor one
 * that has its name resolve to 127.0.0.1, gets at the trace.
 */
#ifndef VT_ANALYZE_SERVE_H
#define VT_ANALYZE_SERVE_H

#include <stdint.h>
#include <stdio.h>

#include "schema/base/err.h"

#define VT_SERVE_PATH_MAX 160

struct vt_served {
	char path[VT_SERVE_PATH_MAX]; /* "/4711.../run.pftrace" */
	const char *origin;	      /* "https://ui.perfetto.dev" */
	FILE *file;
	uint16_t port;
};

/* A path that nobody can guess, ending in a name in which only letters, digits, dot, dash and underscore are kept. */
int vt_serve_path(char out[VT_SERVE_PATH_MAX], const char *name, struct vt_err *err);
/* A listening socket on 127.0.0.1 in *ret_fd; the caller closes it. port 0: any; *ret_port is what it became. */
int vt_serve_listen(uint16_t port, int *ret_fd, uint16_t *ret_port, struct vt_err *err);
/* Answers until the whole file was sent once. */
int vt_serve_once(int listener, const struct vt_served *served, struct vt_err *err);

#endif
