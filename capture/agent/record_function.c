/*
 * record_function.c - see record_function.h.
 *
 * The object is made in memory full of a pattern, for a scope whose number is known, and searched. What holds in
 * PyTorch 1.13 to 2.14: after the virtual table pointer and the callbacks' state (up to byte 104) come, somewhere, the
 * int64_t sequence_nr_ = -1, and behind the inputs, as neighbours, uint64_t fwd_thread_id_ = 0, uint64_t handle_,
 * bool is_async_ = false and int64_t debug_handle_ = -1. The scope is a byte within the callbacks' state.
 */
#include "capture/agent/record_function.h"

#include <stdalign.h>
#include <stddef.h>

#define OBJECT_BYTES 4096u /* sizeof(RecordFunction) is 344 at most so far */
#define PATTERN 0xaa
#define STATE_BEGIN 8u
#define STATE_END 104u
#define SCOPE_PROBE 7u /* RecordScope::USER_SCOPE: no other byte of a fresh object has this value */
#define NOT_FOUND 0u

/* The first int64_t -1 at or behind an offset. */
static uint32_t find_minus_one(const unsigned char *object, uint32_t from)
{
	for (uint32_t at = from; at + 8 <= OBJECT_BYTES; at += 8)
		if (vt_rf_u64(object, at) == UINT64_MAX)
			return at;
	return NOT_FOUND;
}

/* The last byte of that value: the number of the thread, which may be the same, lies before the scope. */
static uint32_t find_scope(const unsigned char *object)
{
	for (uint32_t at = STATE_END; at-- > STATE_BEGIN;)
		if (object[at] == SCOPE_PROBE)
			return at;
	return NOT_FOUND;
}

const char *vt_rf_calibrate(void *constructor, void *destructor, struct vt_rf_layout *ret)
{
	alignas(64) unsigned char object[OBJECT_BYTES];
	void (*construct)(void *self, uint8_t scope) = (void (*)(void *, uint8_t))constructor;
	void (*destroy)(void *self) = (void (*)(void *))destructor;
	struct vt_rf_layout layout;
	uint32_t debug_handle;
	uint64_t forward_thread;
	uint8_t is_async;

	memset(object, PATTERN, sizeof(object));
	construct(object, SCOPE_PROBE);
	layout.scope = find_scope(object);
	layout.sequence = find_minus_one(object, STATE_END);
	debug_handle = layout.sequence ? find_minus_one(object, layout.sequence + 8) : NOT_FOUND;
	layout.forward_thread = debug_handle - 24;
	layout.is_async = debug_handle - 8;
	forward_thread = debug_handle ? vt_rf_u64(object, layout.forward_thread) : UINT64_MAX;
	is_async = debug_handle ? vt_rf_u8(object, layout.is_async) : UINT8_MAX;
	destroy(object);
	if (layout.scope == NOT_FOUND || debug_handle == NOT_FOUND || debug_handle < layout.sequence + 32)
		return "at::RecordFunction has an unknown layout";
	if (forward_thread != 0 || is_async != 0)
		return "at::RecordFunction has an unknown layout behind its inputs";
	*ret = layout;
	return NULL;
}
