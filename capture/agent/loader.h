/* loader.h - finds libraries that the host program has loaded, in whatever scope. Takes the loader's lock. */
#ifndef VT_AGENT_LOADER_H
#define VT_AGENT_LOADER_H

/*
 * A handle of the loaded library whose file is called `name` ("libc10.so"; a version may follow), NULL where there is
 * none. Loads nothing. The handle keeps the library loaded and is never closed: we call into it until the end.
 */
void *vt_loader_find(const char *name);

#endif
