/* page_assets.h - the parts of the page's file, embedded at build from app/ and third_party/uplot. */
#ifndef VT_ANALYZE_PAGE_ASSETS_H
#define VT_ANALYZE_PAGE_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct vt_page_asset {
	const char *before; /* markup in front of it; NULL ends the list */
	const unsigned char *data;
	const size_t *bytes; /* NULL: none */
	bool is_data;	     /* the trace's data stands here */
};

extern const struct vt_page_asset vt_page_assets[];

#endif
