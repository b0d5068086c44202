/*
 * pf_event.h - the bytes of a message that is written very often: a track event, a render stage.
 *
 * protobuf-c asks each message for its size before it packs it, field by field through a table; for the packets that a
 * trace has millions of, their fields are put down here one after the other. Their order is ours, which readers of
 * protocol buffers must take; test_perfetto.c holds them against what protobuf-c unpacks and packs.
 *
 * The room is fixed: a field that does not fit any more is left out, which bounded texts (vt_pf_put_text) never reach.
 */
#ifndef VT_ANALYZE_PF_EVENT_H
#define VT_ANALYZE_PF_EVENT_H

#include <stdint.h>
#include <string.h>

#include "schema/base/utf8.h"
#include "schema/varint.h"

#define VT_PF_EVENT_ROOM 2048
/* Longest text inside an event. */
#define VT_PF_TEXT_MAX 512

/* Only data[0 .. bytes) is defined; bytes 0 is empty. */
struct vt_pf_event {
	size_t bytes;
	uint8_t data[VT_PF_EVENT_ROOM];
};

enum vt_pf_wire { VT_PF_WIRE_VARINT = 0, VT_PF_WIRE_FIXED64 = 1, VT_PF_WIRE_BYTES = 2 };

/* At most `more` bytes of payload behind a tag and a length. */
static inline bool vt_pf_has_room(const struct vt_pf_event *event, size_t more)
{
	return VT_LIKELY(more + (size_t)2 * VT_VARINT_MAX <= VT_PF_EVENT_ROOM - event->bytes);
}

static inline void vt_pf_put_number(struct vt_pf_event *event, uint32_t field, uint64_t value)
{
	uint8_t *at = event->data + event->bytes;

	if (!vt_pf_has_room(event, 0))
		return;
	at = vt_varint_put(at, (uint64_t)field << 3 | VT_PF_WIRE_VARINT);
	event->bytes = (size_t)(vt_varint_put(at, value) - event->data);
}

static inline void vt_pf_put_fixed64(struct vt_pf_event *event, uint32_t field, uint64_t value)
{
	uint8_t *at = event->data + event->bytes;

	if (!vt_pf_has_room(event, 0))
		return;
	at = vt_varint_put(at, (uint64_t)field << 3 | VT_PF_WIRE_FIXED64);
	memcpy(at, &value, sizeof(value));
	event->bytes = (size_t)(at + sizeof(value) - event->data);
}

static inline void vt_pf_put_double(struct vt_pf_event *event, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	vt_pf_put_fixed64(event, field, bits);
}

static inline void vt_pf_put_bytes(struct vt_pf_event *event, uint32_t field, const void *data, size_t bytes)
{
	uint8_t *at = event->data + event->bytes;

	if (!vt_pf_has_room(event, bytes))
		return;
	at = vt_varint_put(at, (uint64_t)field << 3 | VT_PF_WIRE_BYTES);
	at = vt_varint_put(at, bytes);
	memcpy(at, data, bytes);
	event->bytes = (size_t)(at + bytes - event->data);
}

/* A message inside: its fields as they stand in `inner`. */
static inline void vt_pf_put_message(struct vt_pf_event *event, uint32_t field, const struct vt_pf_event *inner)
{
	vt_pf_put_bytes(event, field, inner->data, inner->bytes);
}

/* The bytes of a text up to `most`, cut between two characters. */
size_t vt_pf_text_bytes(const char *text, size_t most);
/* At most VT_PF_TEXT_MAX bytes of it. The text must be UTF-8. */
void vt_pf_put_text(struct vt_pf_event *event, uint32_t field, const char *text);

#endif
