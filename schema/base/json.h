/*
 * json.h - writes JSON to a FILE as it goes: nothing is held in memory but the nesting.
 *
 * Misuse (a value without a name inside an object, ...) is an assert. Strings are taken as bytes: invalid UTF-8 becomes
 * U+FFFD, control characters are escaped. Integers are written whole: readers must take 64 bits.
 */
#ifndef VT_BASE_JSON_H
#define VT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define VT_JSON_DEPTH_MAX 32

struct vt_json {
	FILE *out;
	int depth;
	bool compact; /* no newlines or indentation */
	bool named;   /* a name was written; the value comes next */
	bool object[VT_JSON_DEPTH_MAX];
	bool filled[VT_JSON_DEPTH_MAX];
};

void vt_json_init(struct vt_json *json, FILE *out, bool compact);
/* Call at depth 0: ends the line. 0, or a negative code if the file could not take it all. */
int vt_json_done(struct vt_json *json);

void vt_json_object(struct vt_json *json); /* { ... */
void vt_json_object_end(struct vt_json *json);
void vt_json_array(struct vt_json *json); /* [ ... */
void vt_json_array_end(struct vt_json *json);
void vt_json_name(struct vt_json *json, const char *name);
void vt_json_string(struct vt_json *json, const char *text);
void vt_json_bytes(struct vt_json *json, const char *text, size_t bytes);
void vt_json_u64(struct vt_json *json, uint64_t value);
void vt_json_i64(struct vt_json *json, int64_t value);
void vt_json_double(struct vt_json *json, double value); /* shortest that reads back; null for nan and inf */
void vt_json_bool(struct vt_json *json, bool value);
void vt_json_null(struct vt_json *json);

/* name and value in one line */
void vt_json_put_string(struct vt_json *json, const char *name, const char *text);
void vt_json_put_u64(struct vt_json *json, const char *name, uint64_t value);
void vt_json_put_i64(struct vt_json *json, const char *name, int64_t value);
void vt_json_put_double(struct vt_json *json, const char *name, double value);
void vt_json_put_bool(struct vt_json *json, const char *name, bool value);
void vt_json_put_object(struct vt_json *json, const char *name); /* "name": { ... */
void vt_json_put_array(struct vt_json *json, const char *name);	 /* "name": [ ... */

#endif
