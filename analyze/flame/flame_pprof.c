/* flame_pprof.c - see flame.h: pprof's profile. The message is as large as the tree of stacks, and built whole. */
#include <errno.h>
#include <pprof.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/gzip.h"
#include "analyze/flame/flame.h"
#include "schema/base/bits.h"

#define VALUES ((size_t)2 * VT_FLAME_WEIGHTS)

/* Everything that the message points to, in arrays of its own. */
struct builder {
	const struct vt_flame *flame;
	Pprof__Profile profile;
	Pprof__ValueType types[VALUES], period;
	Pprof__ValueType *type_list[VALUES];
	Pprof__Mapping mapping, *mapping_list[1];
	Pprof__Location *locations, **location_list;
	Pprof__Line *lines, **line_list;
	Pprof__Function *functions, **function_list;
	Pprof__Sample *samples, **sample_list;
	Pprof__Label *labels, **label_list;
	struct vt_buf ids; /* uint64_t: the location_ids of all samples */
	int64_t (*values)[VALUES];
	struct vt_texts texts; /* the string table: text 0 is "" there as here */
	char **strings;
	int64_t comment;
	bool failed;
};

static void builder_done(struct builder *builder)
{
	free(builder->locations);
	free(builder->location_list);
	free(builder->lines);
	free(builder->line_list);
	free(builder->functions);
	free(builder->function_list);
	free(builder->samples);
	free(builder->sample_list);
	free(builder->labels);
	free(builder->label_list);
	vt_buf_done(&builder->ids);
	free(builder->values);
	vt_texts_done(&builder->texts);
	free(builder->strings);
}

static int64_t string_of(struct builder *builder, const char *text)
{
	uint32_t number = 0;

	if (vt_texts_add(&builder->texts, text, strlen(text), &number) < 0)
		builder->failed = true;
	return number;
}

static void *room(struct builder *builder, size_t count, size_t size)
{
	void *p = calloc(count + 1, size);

	builder->failed |= !p;
	return p;
}

static bool make_room(struct builder *builder)
{
	size_t frames = builder->flame->frames.count, nodes = builder->flame->nodes.count;

	builder->locations = room(builder, frames, sizeof(*builder->locations));
	builder->location_list = room(builder, frames, sizeof(void *));
	builder->lines = room(builder, frames, sizeof(*builder->lines));
	builder->line_list = room(builder, frames, sizeof(void *));
	builder->functions = room(builder, frames, sizeof(*builder->functions));
	builder->function_list = room(builder, frames, sizeof(void *));
	builder->samples = room(builder, nodes, sizeof(*builder->samples));
	builder->sample_list = room(builder, nodes, sizeof(void *));
	builder->labels = room(builder, nodes, sizeof(*builder->labels));
	builder->label_list = room(builder, nodes, sizeof(void *));
	builder->values = room(builder, nodes, sizeof(*builder->values));
	return !builder->failed;
}

/* The names are pprof's own for heaps where it has them: its viewers know them. */
static void set_types(struct builder *builder, enum vt_flame_weight weight)
{
	static const char *const names[VALUES] = { "inuse_objects", "inuse_space",	 "alloc_objects",
						   "alloc_space",   "temporary_objects", "temporary_space" };

	for (unsigned i = 0; i < VALUES; i++) {
		pprof__value_type__init(&builder->types[i]);
		builder->types[i].type = string_of(builder, names[i]);
		builder->types[i].unit = string_of(builder, i % 2 ? "bytes" : "count");
		builder->type_list[i] = &builder->types[i];
	}
	builder->profile.n_sample_type = VALUES;
	builder->profile.sample_type = builder->type_list;
	builder->profile.default_sample_type = builder->types[2 * (size_t)weight + 1].type;
	pprof__value_type__init(&builder->period);
	builder->period.type = string_of(builder, "space");
	builder->period.unit = string_of(builder, "bytes");
	builder->profile.period_type = &builder->period;
	builder->profile.period = 1;
}

/* A location and a function for each frame; ids count from 1. */
static void set_frames(struct builder *builder)
{
	for (uint32_t i = 0; i < builder->flame->frames.count; i++) {
		struct vt_flame_frame frame = vt_flame_frame(builder->flame, i);

		pprof__function__init(&builder->functions[i]);
		builder->functions[i].id = i + 1;
		builder->functions[i].name = builder->functions[i].system_name = string_of(builder, frame.function);
		builder->functions[i].filename = string_of(builder, frame.file);
		builder->function_list[i] = &builder->functions[i];
		pprof__line__init(&builder->lines[i]);
		builder->lines[i].function_id = i + 1;
		builder->lines[i].line = frame.line;
		builder->line_list[i] = &builder->lines[i];
		pprof__location__init(&builder->locations[i]);
		builder->locations[i].id = i + 1;
		builder->locations[i].mapping_id = 1;
		builder->locations[i].n_line = 1;
		builder->locations[i].line = &builder->line_list[i];
		builder->location_list[i] = &builder->locations[i];
	}
	builder->profile.n_location = builder->profile.n_function = builder->flame->frames.count;
	builder->profile.location = builder->location_list;
	builder->profile.function = builder->function_list;
}

static bool has_values(const struct vt_flame_sums *sums)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < VT_FLAME_WEIGHTS; i++)
		any |= sums->bytes[i] | sums->blocks[i];
	return any;
}

static int64_t clamp(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void set_sample(struct builder *builder, uint32_t node, size_t at)
{
	const struct vt_flame *flame = builder->flame;
	Pprof__Sample *sample = &builder->samples[at];
	uint32_t root = node;
	char label[96];

	pprof__sample__init(sample);
	for (; !vt_flame_is_root(flame, root); root = flame->nodes.keys[root].a) {
		uint64_t id = (uint64_t)flame->nodes.keys[root].b + 1;

		builder->failed |= vt_buf_append(&builder->ids, &id, sizeof(id)) < 0;
		sample->n_location_id++;
	}
	for (size_t i = 0; i < VT_FLAME_WEIGHTS; i++) {
		builder->values[at][2 * i] = clamp(flame->sums[node].blocks[i]);
		builder->values[at][2 * i + 1] = clamp(flame->sums[node].bytes[i]);
	}
	sample->n_value = VALUES;
	sample->value = builder->values[at];
	pprof__label__init(&builder->labels[at]);
	builder->labels[at].key = string_of(builder, "device");
	builder->labels[at].str = string_of(builder, vt_flame_root_label(flame, label, root));
	builder->label_list[at] = &builder->labels[at];
	sample->n_label = 1;
	sample->label = &builder->label_list[at];
	builder->sample_list[at] = sample;
}

static void set_samples(struct builder *builder)
{
	size_t count = 0, at = 0;

	for (uint32_t i = 0; i < builder->flame->nodes.count && !builder->failed; i++)
		if (has_values(&builder->flame->sums[i]))
			set_sample(builder, i, count++);
	/* The ids stay where they are from here on. */
	for (size_t i = 0; i < count && !builder->failed; i++) {
		builder->samples[i].location_id = &((uint64_t *)(void *)builder->ids.data)[at];
		at += builder->samples[i].n_location_id;
	}
	builder->profile.n_sample = count;
	builder->profile.sample = builder->sample_list;
}

static void set_rest(struct builder *builder)
{
	const struct vt_session *session = builder->flame->session;
	char word[80], comment[160];

	pprof__mapping__init(&builder->mapping);
	builder->mapping.id = 1;
	builder->mapping.filename = string_of(builder, session->nprocesses ? session->processes[0].command : "");
	/* Else pprof looks for binaries to find names in. */
	builder->mapping.has_functions = builder->mapping.has_filenames = builder->mapping.has_line_numbers = 1;
	builder->mapping_list[0] = &builder->mapping;
	builder->profile.n_mapping = 1;
	builder->profile.mapping = builder->mapping_list;
	(void)snprintf(comment, sizeof(comment), "vramtrace %s; inuse: %s; temporary: estimated", VT_VERSION,
		       vt_flame_weight_text(builder->flame, word, VT_FLAME_LIVE));
	builder->comment = string_of(builder, comment);
	builder->profile.n_comment = 1;
	builder->profile.comment = &builder->comment;
}

/* Last: the texts must not move any more. */
static void set_strings(struct builder *builder)
{
	size_t count = builder->texts.offsets.bytes / sizeof(size_t);

	builder->strings = room(builder, count, sizeof(*builder->strings));
	for (size_t i = 0; i < count && !builder->failed; i++)
		builder->strings[i] = (char *)builder->texts.bytes.data +
				      ((const size_t *)(const void *)builder->texts.offsets.data)[i];
	builder->profile.n_string_table = count;
	builder->profile.string_table = builder->strings;
}

/* The message in gzip, to out. */
static int write_profile(const Pprof__Profile *profile, FILE *out, struct vt_err *err)
{
	size_t bytes = pprof__profile__get_packed_size(profile);
	uint8_t *packed = malloc(bytes ? bytes : 1);
	struct vt_buf gzip = { .data = NULL };
	int r;

	if (!packed)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a profile of %zu bytes", bytes);
	pprof__profile__pack(profile, packed);
	r = vt_gzip(packed, bytes, &gzip, err);
	if (!r && fwrite(gzip.data, 1, gzip.bytes, out) != gzip.bytes)
		r = vt_err_set(err, VT_E_IO, "a profile cannot be written: %s", strerror(errno));
	vt_buf_done(&gzip);
	free(packed);
	return r;
}

int vt_flame_pprof(const struct vt_flame *flame, FILE *out, enum vt_flame_weight weight, struct vt_err *err)
{
	struct builder builder = { .flame = flame };
	int r;

	pprof__profile__init(&builder.profile);
	if (make_room(&builder)) {
		set_types(&builder, weight);
		set_frames(&builder);
		set_samples(&builder);
		set_rest(&builder);
		set_strings(&builder);
	}
	r = builder.failed ? vt_err_set(err, VT_E_NOMEM, "no memory for a profile")
			   : write_profile(&builder.profile, out, err);
	builder_done(&builder);
	return r;
}
