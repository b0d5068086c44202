/* pf_args.c - see pf_args.h. */
#include "analyze/perfetto/pf_args.h"

/* Fields of TrackEvent and DebugAnnotation. */
enum { DEBUG_ANNOTATIONS = 4, TYPE = 9, NAME_IID = 10, TRACK_UUID = 11 };
enum { ARG_NAME_IID = 1, ARG_UINT = 3, ARG_TEXT = 6, ARG_POINTER = 7 };

static void put_arg(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name, uint32_t field,
		    uint64_t value)
{
	struct vt_pf_event arg;

	arg.bytes = 0;
	vt_pf_put_number(&arg, ARG_NAME_IID, vt_pf_text(sequence, VT_PF_ANNOTATION_NAME, name));
	vt_pf_put_number(&arg, field, value);
	vt_pf_put_message(event, DEBUG_ANNOTATIONS, &arg);
}

void vt_pf_arg_number(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name, uint64_t value)
{
	put_arg(sequence, event, name, ARG_UINT, value);
}

void vt_pf_arg_address(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name, uint64_t value)
{
	put_arg(sequence, event, name, ARG_POINTER, value);
}

void vt_pf_arg_text(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name, const char *text)
{
	struct vt_pf_event arg;

	arg.bytes = 0;
	vt_pf_put_number(&arg, ARG_NAME_IID, vt_pf_text(sequence, VT_PF_ANNOTATION_NAME, name));
	vt_pf_put_text(&arg, ARG_TEXT, text);
	vt_pf_put_message(event, DEBUG_ANNOTATIONS, &arg);
}

void vt_pf_event_begin(struct vt_pf_event *event, Pf__TrackEvent__Type type, uint64_t track)
{
	event->bytes = 0;
	vt_pf_put_number(event, TYPE, type);
	if (track)
		vt_pf_put_number(event, TRACK_UUID, track);
}

void vt_pf_event_name(struct vt_pf_sequence *sequence, struct vt_pf_event *event, const char *name)
{
	vt_pf_put_number(event, NAME_IID, vt_pf_text(sequence, VT_PF_EVENT_NAME, name[0] ? name : "?"));
}
