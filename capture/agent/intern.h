/*
 * intern.h - names for contents: gives a definition an id, and writes it to the caller's ring before anyone else can
 * see the id. The public part (strings, op nodes) is in agent.h.
 *
 * The key of a definition is a 64-bit hash of its content; two contents with one hash would get one id. With a million
 * definitions the odds of that are 3 in 100 million.
 */
#ifndef VT_AGENT_INTERN_H
#define VT_AGENT_INTERN_H

#include "capture/agent/agent.h"

/* A longer string is cut: its record must fit the smallest ring four times. */
#define VT_STRING_BYTES_MAX (VT_REC_BYTES_MAX - (uint32_t)sizeof(struct vt_string))

/* Content hash, never 0. */
uint64_t vt_hash_bytes(const char *bytes, size_t size);
/* Hash of two words, never 0; order matters. */
uint64_t vt_hash_words(uint64_t a, uint64_t b);

/* As vt_intern_string, the hash known. */
uint32_t vt_intern_string_hashed(struct vt_thread *thread, uint64_t hash, const char *bytes, uint32_t size_bytes);

/* What a code object says of itself; the strings are interned already. */
struct vt_code_text {
	uint32_t filename;
	uint32_t qualname;
	uint32_t linetable;
	uint32_t first_line;
	uint32_t python; /* PY_VERSION_HEX >> 16 */
};
uint32_t vt_intern_code(struct vt_thread *thread, const struct vt_code_text *text);
uint32_t vt_intern_frame(struct vt_thread *thread, uint32_t code, uint32_t instruction);
/* id is filled in here. */
uint32_t vt_intern_stack(struct vt_thread *thread, const struct vt_stack *stack);
/* A program that makes modules all the time must not fill the tables: further ones have no id. */
#define VT_MODULES_MAX 65536u
/* A module by where it and its class lie; class_name: the string's id. 0 where there are too many. */
uint32_t vt_intern_module(struct vt_thread *thread, const void *module, const void *class, uint32_t class_name);

/* config->id and its header are filled in here. */
uint32_t vt_intern_kernel_config(struct vt_thread *thread, const struct vt_kernel_config *config);
/* A list of addresses; the order matters. */
uint32_t vt_intern_touch(struct vt_thread *thread, const uint64_t *addresses, uint32_t count);

#endif
