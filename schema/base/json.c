/* json.c - see json.h. */
#include "schema/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/err.h"
#include "schema/base/utf8.h"

static void newline(struct vt_json *json)
{
	if (json->compact)
		return;
	(void)putc('\n', json->out);
	for (int i = 0; i < json->depth; i++)
		(void)fputs("  ", json->out);
}

/* Comma and line break in front of a name, or of a value that stands in an array. */
static void begin_item(struct vt_json *json)
{
	if (!json->depth)
		return;
	if (json->filled[json->depth - 1])
		(void)putc(',', json->out);
	json->filled[json->depth - 1] = true;
	newline(json);
}

static void begin_value(struct vt_json *json)
{
	if (json->named) {
		json->named = false;
		return;
	}
	assert(!json->depth || !json->object[json->depth - 1]);
	begin_item(json);
}

static void open_nest(struct vt_json *json, bool object)
{
	begin_value(json);
	assert(json->depth < VT_JSON_DEPTH_MAX);
	json->object[json->depth] = object;
	json->filled[json->depth] = false;
	json->depth++;
	(void)putc(object ? '{' : '[', json->out);
}

static void close_nest(struct vt_json *json, bool object)
{
	assert(json->depth > 0 && json->object[json->depth - 1] == object && !json->named);
	json->depth--;
	if (json->filled[json->depth])
		newline(json);
	(void)putc(object ? '}' : ']', json->out);
}

static void put_codepoint(FILE *out, uint32_t codepoint)
{
	char utf8[4];
	size_t length = vt_utf8_encode(utf8, codepoint);

	(void)fwrite(utf8, 1, length, out);
}

static void write_text(FILE *out, const char *text, size_t bytes)
{
	uint32_t codepoint;

	(void)putc('"', out);
	for (size_t at = 0; at < bytes;) {
		at += vt_utf8_decode(text + at, bytes - at, &codepoint);
		if (codepoint == '"' || codepoint == '\\')
			(void)fprintf(out, "\\%c", (char)codepoint);
		else if (codepoint == '\n')
			(void)fputs("\\n", out);
		else if (codepoint == '\t')
			(void)fputs("\\t", out);
		else if (codepoint < 0x20 || (codepoint >= 0x7f && codepoint < 0xa0))
			(void)fprintf(out, "\\u%04x", codepoint);
		else
			put_codepoint(out, codepoint);
	}
	(void)putc('"', out);
}

void vt_json_init(struct vt_json *json, FILE *out, bool compact)
{
	*json = (struct vt_json){ .out = out, .compact = compact };
}

int vt_json_done(struct vt_json *json)
{
	assert(!json->depth && !json->named);
	(void)putc('\n', json->out);
	if (fflush(json->out) || ferror(json->out))
		return -VT_E_IO;
	return 0;
}

void vt_json_object(struct vt_json *json)
{
	open_nest(json, true);
}

void vt_json_object_end(struct vt_json *json)
{
	close_nest(json, true);
}

void vt_json_array(struct vt_json *json)
{
	open_nest(json, false);
}

void vt_json_array_end(struct vt_json *json)
{
	close_nest(json, false);
}

void vt_json_name(struct vt_json *json, const char *name)
{
	assert(json->depth > 0 && json->object[json->depth - 1] && !json->named);
	begin_item(json);
	write_text(json->out, name, strlen(name));
	(void)fputs(json->compact ? ":" : ": ", json->out);
	json->named = true;
}

void vt_json_bytes(struct vt_json *json, const char *text, size_t bytes)
{
	begin_value(json);
	write_text(json->out, text, bytes);
}

void vt_json_string(struct vt_json *json, const char *text)
{
	vt_json_bytes(json, text, strlen(text));
}

void vt_json_u64(struct vt_json *json, uint64_t value)
{
	begin_value(json);
	(void)fprintf(json->out, "%" PRIu64, value);
}

void vt_json_i64(struct vt_json *json, int64_t value)
{
	begin_value(json);
	(void)fprintf(json->out, "%" PRId64, value);
}

void vt_json_double(struct vt_json *json, double value)
{
	char text[40];

	begin_value(json);
	if (!isfinite(value)) {
		(void)fputs("null", json->out);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, value);
		if (!(strtod(text, NULL) < value || strtod(text, NULL) > value))
			break;
	}
	(void)fputs(text, json->out);
}

void vt_json_bool(struct vt_json *json, bool value)
{
	begin_value(json);
	(void)fputs(value ? "true" : "false", json->out);
}

void vt_json_null(struct vt_json *json)
{
	begin_value(json);
	(void)fputs("null", json->out);
}

void vt_json_put_string(struct vt_json *json, const char *name, const char *text)
{
	vt_json_name(json, name);
	vt_json_string(json, text);
}

void vt_json_put_u64(struct vt_json *json, const char *name, uint64_t value)
{
	vt_json_name(json, name);
	vt_json_u64(json, value);
}

void vt_json_put_i64(struct vt_json *json, const char *name, int64_t value)
{
	vt_json_name(json, name);
	vt_json_i64(json, value);
}

void vt_json_put_double(struct vt_json *json, const char *name, double value)
{
	vt_json_name(json, name);
	vt_json_double(json, value);
}

void vt_json_put_bool(struct vt_json *json, const char *name, bool value)
{
	vt_json_name(json, name);
	vt_json_bool(json, value);
}

void vt_json_put_object(struct vt_json *json, const char *name)
{
	vt_json_name(json, name);
	vt_json_object(json);
}

void vt_json_put_array(struct vt_json *json, const char *name)
{
	vt_json_name(json, name);
	vt_json_array(json);
}
