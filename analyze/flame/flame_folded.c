/* flame_folded.c - see flame.h: folded stacks, and speedscope's JSON. */
#include "analyze/flame/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A walk keeps the path down to where it is. */
struct path {
	uint32_t *nodes;
	uint32_t depth;
};

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash && slash[1] ? slash + 1 : file;
}

/* ';' parts frames in this format. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++)
		(void)putc(*text == ';' ? ',' : *text, out);
}

static void put_frame(const struct vt_flame *flame, FILE *out, uint32_t node)
{
	struct vt_flame_frame frame = vt_flame_frame(flame, flame->nodes.keys[node].b);

	put_text(out, frame.function);
	if (!*frame.file)
		return;
	(void)fputs(" (", out);
	put_text(out, base_name(frame.file));
	(void)fprintf(out, ":%" PRIu32 ")", frame.line);
}

/* The path to a node that comes next in vt_flame_order: its parent is on the path of the one before. */
static void go_to(const struct vt_flame *flame, struct path *path, uint32_t node)
{
	uint32_t parent = flame->nodes.keys[node].a;

	while (path->depth && path->nodes[path->depth - 1] != parent)
		path->depth--;
	path->nodes[path->depth++] = node;
}

static uint32_t count_roots(const struct vt_flame *flame)
{
	uint32_t roots = 0;

	for (uint32_t i = 0; i < flame->nodes.count; i++)
		roots += vt_flame_is_root(flame, i);
	return roots;
}

/* Free order and path->nodes in any case. */
static int begin(const struct vt_flame *flame, uint32_t **order, struct path *path, struct vt_err *err)
{
	*order = vt_flame_order(flame);
	path->nodes = malloc(((size_t)flame->nodes.count + 1) * sizeof(*path->nodes));
	path->depth = 0;
	return *order && path->nodes ? 0 : vt_err_set(err, VT_E_NOMEM, "no memory for a flame graph");
}

int vt_flame_folded(const struct vt_flame *flame, FILE *out, enum vt_flame_weight weight, struct vt_err *err)
{
	bool several = count_roots(flame) > 1;
	uint32_t *order;
	struct path path;
	char label[96];
	int r = begin(flame, &order, &path, err);

	for (uint32_t i = 0; i < flame->nodes.count && !r; i++) {
		go_to(flame, &path, order[i]);
		if (!flame->sums[order[i]].bytes[weight])
			continue;
		if (several)
			put_text(out, vt_flame_root_label(flame, label, path.nodes[0]));
		for (uint32_t k = 1; k < path.depth; k++) {
			if (k > 1 || several)
				(void)putc(';', out);
			put_frame(flame, out, path.nodes[k]);
		}
		(void)fprintf(out, " %" PRIu64 "\n", flame->sums[order[i]].bytes[weight]);
	}
	free(path.nodes);
	free(order);
	return r;
}

struct profile {
	const uint32_t *order;
	struct path path;
	uint32_t root;
	enum vt_flame_weight weight;
};

static void put_profile(const struct vt_flame *flame, struct vt_json *json, struct profile *profile)
{
	char label[96], text[80], name[200];
	uint64_t sum = 0;

	(void)snprintf(name, sizeof(name), "%s: %s", vt_flame_root_label(flame, label, profile->root),
		       vt_flame_weight_text(flame, text, profile->weight));
	vt_json_object(json);
	vt_json_put_string(json, "type", "sampled");
	vt_json_put_string(json, "name", name);
	vt_json_put_string(json, "unit", "bytes");
	vt_json_put_array(json, "samples");
	profile->path.depth = 0;
	for (uint32_t i = 0; i < flame->nodes.count; i++) {
		uint32_t node = profile->order[i];

		go_to(flame, &profile->path, node);
		if (profile->path.nodes[0] != profile->root || !flame->sums[node].bytes[profile->weight])
			continue;
		vt_json_array(json);
		for (uint32_t k = 1; k < profile->path.depth; k++)
			vt_json_u64(json, flame->nodes.keys[profile->path.nodes[k]].b);
		vt_json_array_end(json);
	}
	vt_json_array_end(json);
	vt_json_put_array(json, "weights");
	for (uint32_t i = 0; i < flame->nodes.count; i++) {
		uint32_t node = profile->order[i];
		uint64_t bytes = flame->sums[node].bytes[profile->weight];

		if (!bytes || vt_flame_root(flame, node) != profile->root)
			continue;
		vt_json_u64(json, bytes);
		sum += bytes;
	}
	vt_json_array_end(json);
	vt_json_put_u64(json, "startValue", 0);
	vt_json_put_u64(json, "endValue", sum);
	vt_json_object_end(json);
}

static void put_frames(const struct vt_flame *flame, struct vt_json *json)
{
	vt_json_put_object(json, "shared");
	vt_json_put_array(json, "frames");
	for (uint32_t i = 0; i < flame->frames.count; i++) {
		struct vt_flame_frame frame = vt_flame_frame(flame, i);

		vt_json_object(json);
		vt_json_put_string(json, "name", frame.function);
		if (*frame.file) {
			vt_json_put_string(json, "file", frame.file);
			vt_json_put_u64(json, "line", frame.line);
		}
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
	vt_json_object_end(json);
}

static int write_speedscope(const struct vt_flame *flame, FILE *out, enum vt_flame_weight weight,
			    struct profile *profile)
{
	struct vt_json json;

	vt_json_init(&json, out, true);
	vt_json_object(&json);
	vt_json_put_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	vt_json_put_string(&json, "exporter", "vramtrace " VT_VERSION);
	vt_json_put_string(&json, "name", base_name(vt_store_path(flame->session->store)));
	vt_json_put_u64(&json, "activeProfileIndex", 0);
	put_frames(flame, &json);
	vt_json_put_array(&json, "profiles");
	for (unsigned k = 0; k < VT_FLAME_WEIGHTS; k++)
		for (uint32_t i = 0; i < flame->nodes.count; i++)
			if (vt_flame_is_root(flame, i)) {
				profile->root = i;
				/* The one asked for comes first. */
				profile->weight = (weight + k) % VT_FLAME_WEIGHTS;
				put_profile(flame, &json, profile);
			}
	vt_json_array_end(&json);
	vt_json_object_end(&json);
	return vt_json_done(&json);
}

int vt_flame_speedscope(const struct vt_flame *flame, FILE *out, enum vt_flame_weight weight, struct vt_err *err)
{
	struct profile profile;
	uint32_t *order;
	int r = begin(flame, &order, &profile.path, err);

	profile.order = order;
	if (r == 0 && write_speedscope(flame, out, weight, &profile) < 0)
		r = vt_err_set(err, VT_E_IO, "speedscope's JSON cannot be written: %s", strerror(errno));
	free(profile.path.nodes);
	free(order);
	return r;
}
