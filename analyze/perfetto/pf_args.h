/* pf_args.h - the arguments of a track event, as its details show them. */
#ifndef VT_ANALYZE_PF_ARGS_H
#define VT_ANALYZE_PF_ARGS_H

#include "analyze/perfetto/pf_sequence.h"

/* Each appends one debug annotation to a track event. */
void vt_pf_arg_number(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name, uint64_t value);
void vt_pf_arg_address(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name, uint64_t value);
/* At most VT_PF_TEXT_MAX bytes of it. */
void vt_pf_arg_text(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name, const char *text);

/* A track event's begin: its type, and its row (0: the sequence's default). */
void vt_pf_event_begin(struct vt_pf_event *event, Pf__TrackEvent__Type type, uint64_t track);
/* Its name; "?" for "". */
void vt_pf_event_name(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name);

/* Fields of TrackEvent that others put down themselves. */
enum {
	VT_PF_EXTRA_COUNTER_VALUES = 12,
	VT_PF_NAME_IID = 10,
	VT_PF_COUNTER_VALUE = 30,
	VT_PF_DOUBLE_COUNTER_VALUE = 44,
	VT_PF_CALLSTACK_IID = 56,
	VT_PF_CALLSTACK_WEIGHT = 57,
	VT_PF_GPU_CORRELATION = 3000,
	VT_PF_GPU_API = 3001,
};

#endif
