/* export_flame.h - flame graphs as formats of `vramtrace export`, and what all of its formats write to. */
#ifndef VT_ANALYZE_EXPORT_FLAME_H
#define VT_ANALYZE_EXPORT_FLAME_H

#include <stdio.h>

#include "analyze/commands/options.h"

struct vt_flame_request {
	const char *format; /* one that vt_is_flame_format takes */
	const char *what;   /* NULL: live */
	const char *output; /* NULL: standard output */
};

bool vt_is_flame_format(const char *format);
int vt_export_flame(const char *path, const struct vt_common_options *options, const struct vt_flame_request *request,
		    struct vt_err *err);

/* NULL and "-" are standard output, which vt_close_output leaves open. */
int vt_open_output(const char *path, FILE **ret, struct vt_err *err);
void vt_close_output(FILE **file);

#endif
