/* info.h - what is in a trace, gathered without decoding a chunk. */
#ifndef VT_ANALYZE_INFO_H
#define VT_ANALYZE_INFO_H

#include "analyze/symbols/text.h"
#include "schema/base/buf.h"
#include "schema/store.h"

struct vt_info_kind {
	uint32_t id;
	const struct vt_event *event; /* NULL: a kind of a later version */
	uint64_t events;
	uint64_t chunks;	    /* 0: rows of a table */
	uint64_t blob_bytes;	    /* as stored */
	uint64_t first_ns, last_ns; /* 0: a kind without times */
};

struct vt_info_process {
	struct vt_process_row row;    /* its texts are those below */
	uint32_t executable, command; /* texts */
	uint32_t threads;
};

struct vt_info_note {
	uint64_t time_ns, value;
	uint32_t process, code;
	uint32_t text;
};

struct vt_info {
	struct vt_store *store;
	struct vt_buf kinds;	 /* struct vt_info_kind */
	struct vt_buf processes; /* struct vt_info_process */
	struct vt_buf notes;	 /* struct vt_info_note, in order of time */
	struct vt_buf unknown;	 /* uint32_t: texts */
	struct vt_texts texts;
	struct vt_clock_row clock;  /* the first; all 0: none */
	uint64_t first_ns, last_ns; /* of events and processes; 0: none */
	uint64_t events;
	uint64_t chunk_events, chunk_bytes; /* of kinds in chunks: what an event costs */
};

/* The holder calls vt_info_done in any case. */
int vt_info_load(struct vt_info *info, struct vt_store *store, struct vt_err *err);
void vt_info_done(struct vt_info *info);

#define vt_info_each(type, item, buf)                                                                                  \
	for (const type *item = (const type *)(const void *)(buf).data,                                                \
			*end_##item = item ? item + (buf).bytes / sizeof(type) : item;                                 \
	     item != end_##item; item++)

/* Text for people, never NULL. */
const char *vt_info_text(const struct vt_info *info, uint32_t text);
/* "exited", "killed or running", ... */
const char *vt_info_end_words(const struct vt_process_row *row);

#endif
