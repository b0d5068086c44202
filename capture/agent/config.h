/* config.h - what the environment asks of the agent: read once, before the host program's main. */
#ifndef VT_AGENT_CONFIG_H
#define VT_AGENT_CONFIG_H

#include <stdbool.h>

/* Longest session directory; the ring file's name comes behind it. */
#define VT_SESSION_BYTES_MAX 3840

struct vt_config {
	bool wanted;  /* a session directory was given: without one the agent is inert */
	bool host;    /* record host (CPU) tensors too */
	bool ops;     /* follow the framework's ops */
	bool python;  /* walk Python stacks */
	bool kernels; /* record kernels, copies, launches and waits */
	char session[VT_SESSION_BYTES_MAX];
};

/* The one configuration of the process; constant once main runs. */
extern struct vt_config vt_config;

/* Reads the environment (secure_getenv, so a privileged program is never captured). Makes no system call. */
void vt_config_load(void);

#endif
