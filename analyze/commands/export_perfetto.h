/* export_perfetto.h - the Perfetto file of a session, as `export` and `open` write it. */
#ifndef VT_ANALYZE_EXPORT_PERFETTO_H
#define VT_ANALYZE_EXPORT_PERFETTO_H

#include "analyze/perfetto/perfetto.h"
#include "analyze/views/session.h"

struct vt_perfetto_request {
	struct vt_cursor_options cursor;
	enum vt_pf_detail detail;
	uint64_t max_bytes; /* 0: as large as it becomes */
};

/* What was written. */
struct vt_perfetto_result {
	uint64_t bytes;
	enum vt_pf_detail detail; /* what fitted */
	bool coarse;		  /* less than even low: counters at the greatest moments of some events each */
};

int vt_export_perfetto(struct vt_session *session, FILE *out, const struct vt_perfetto_request *request,
		       struct vt_perfetto_result *ret, struct vt_err *err);

#endif
