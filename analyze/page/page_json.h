/* page_json.h - parts of the page's JSON: the blocks, and the names that they refer to. */
#ifndef VT_ANALYZE_PAGE_JSON_H
#define VT_ANALYZE_PAGE_JSON_H

#include "analyze/page/page.h"

/* Ops, frames and kernels that blocks name, each written once: numbers count from 0. */
struct vt_page_names {
	const struct vt_page *page;
	struct vt_idmap ops;	    /* process, op_node */
	struct vt_idmap frames;	    /* process, stack node */
	struct vt_idmap kernels;    /* process, config */
	struct vt_map kernel_names; /* process and config -> string id */
	bool failed;
};

int vt_page_names_begin(struct vt_page_names *names, struct vt_err *err);
/* "ops": [[name, caller]], "frames": [[function, file, line, caller]], "kernels": [name]; caller -1: outermost. */
void vt_page_names_put(struct vt_page_names *names, struct vt_json *json);
void vt_page_names_done(struct vt_page_names *names);

/* "blocks" of a device. */
void vt_page_put_blocks(const struct vt_page *page, struct vt_json *json, struct vt_page_names *names, uint32_t device);
/* A text of the trace, cut where it is very long. */
void vt_page_put_text(struct vt_json *json, const char *text);

#endif
