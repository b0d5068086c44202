/* page_series.c - see page_series.h. */
#include "analyze/page/page_series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MAX 160

static const struct {
	const char *name;
	enum vt_dimension dimension;
} kinds[VT_PAGE_BYS] = {
	[VT_PAGE_CATEGORY] = { "category", VT_BY_CATEGORY },
	[VT_PAGE_OP] = { "op", VT_BY_OP },
	[VT_PAGE_MODULE] = { "module", VT_BY_MODULE },
	[VT_PAGE_LINE] = { "line", VT_BY_LINE },
};

const char *vt_page_by_name(enum vt_page_by by)
{
	return kinds[by].name;
}

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for the series of the page");
}

/* ---------------------------------------------------------------- the first pass */

static int weigh(struct vt_page_series *series, const struct vt_replay *replay, const struct vt_block *block,
		 uint64_t end_ns)
{
	const struct vt_device *device = vt_replay_device(replay, block->device);
	struct vt_idmap_key key = { device ? device->process : 0, block->op, block->stack };
	uint32_t site;

	if (!block->serial)
		return 0;
	site = vt_idmap_add(&series->sites, key);
	if (site == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&series->site_weights, &series->site_room, site, sizeof(*series->site_weights)) < 0)
		return -VT_E_NOMEM;
	series->site_weights[site] += (double)block->size_bytes * (double)(end_ns - block->alloc_ns + 1);
	return 0;
}

static int on_free(void *self, const struct vt_replay *replay, const struct vt_item *item, const struct vt_block *block,
		   struct vt_err *err)
{
	return weigh(self, replay, block, item->time_ns) < 0 ? no_memory(err) : 0;
}

struct ending {
	struct vt_page_series *series;
	const struct vt_replay *replay;
};

static int weigh_live(void *arg, const struct vt_block *block)
{
	const struct ending *ending = arg;

	return weigh(ending->series, ending->replay, block, vt_replay_last_ns(ending->replay));
}

static int on_end(void *self, const struct vt_replay *replay, struct vt_err *err)
{
	struct ending ending = { self, replay };

	return vt_replay_each_live(replay, UINT32_MAX, weigh_live, &ending) < 0 ? no_memory(err) : 0;
}

struct vt_listener vt_page_series_scout(struct vt_page_series *series)
{
	return (struct vt_listener){ .self = series, .free = on_free, .end = on_end };
}

/* ---------------------------------------------------------------- labels */

/* A chain of modules as one label, the innermost whole: "Sequential > Block > Linear". */
static int join(struct vt_texts *texts, const struct vt_path *path, uint32_t *ret)
{
	char label[LABEL_MAX] = "", longer[LABEL_MAX];
	unsigned i = path->count;

	while (i--) {
		int n = snprintf(longer, sizeof(longer), "%s%s%s", vt_texts_get(texts, path->labels[i]),
				 *label ? " > " : "", label);

		if (n < 0 || (size_t)n >= sizeof(longer))
			break;
		memcpy(label, longer, sizeof(label));
	}
	return vt_texts_add(texts, label, strlen(label), ret);
}

int vt_page_labels(struct vt_page_series *series, const struct vt_attributed *block, uint32_t ret[VT_PAGE_BYS])
{
	for (unsigned by = 0; by < VT_PAGE_BYS; by++) {
		const struct vt_path_by one = { .list = { kinds[by].dimension }, .count = 1 };
		struct vt_path path;

		if (vt_path_find(&path, &series->texts, series->session, &one, block) < 0)
			return -VT_E_NOMEM;
		ret[by] = path.count ? path.labels[path.count - 1] : 0;
		if (by == VT_PAGE_MODULE && path.count && join(&series->texts, &path, &ret[by]) < 0)
			return -VT_E_NOMEM;
	}
	return 0;
}

/* ---------------------------------------------------------------- which have a series */

struct weight {
	uint32_t text;
	double weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->text > y->text) - (x->text < y->text);
}

static int choose_heaviest(struct vt_page_kind *kind, struct weight *weights, size_t count)
{
	qsort(weights, count, sizeof(*weights), by_weight);
	for (size_t i = 0; i < count && kind->count < VT_PAGE_SERIES_MAX; i++) {
		if (!(weights[i].weight > 0))
			break;
		kind->labels[kind->count] = weights[i].text;
		if (vt_map_put(&kind->series, weights[i].text, kind->count++) < 0)
			return -VT_E_NOMEM;
	}
	return 0;
}

/* weights: by kind, so many places for texts each. */
static int weigh_labels(struct vt_page_series *series, struct vt_buf weights[VT_PAGE_BYS])
{
	for (uint32_t i = 0; i < series->sites.count; i++) {
		const struct vt_idmap_key *site = &series->sites.keys[i];
		const struct vt_attributed block = { .process = site->a, .op = site->b, .stack = site->c };
		uint32_t labels[VT_PAGE_BYS];

		if (vt_page_labels(series, &block, labels) < 0)
			return -VT_E_NOMEM;
		for (unsigned by = 0; by < VT_PAGE_BYS; by++) {
			struct weight *list;

			while (weights[by].bytes / sizeof(*list) <= labels[by]) {
				const struct weight none = { .text = (uint32_t)(weights[by].bytes / sizeof(*list)) };

				if (vt_buf_append(&weights[by], &none, sizeof(none)) < 0)
					return -VT_E_NOMEM;
			}
			list = (struct weight *)(void *)weights[by].data;
			list[labels[by]].weight += series->site_weights[i];
		}
	}
	return 0;
}

static int choose_categories(struct vt_page_series *series)
{
	struct vt_page_kind *kind = &series->kinds[VT_PAGE_CATEGORY];

	for (unsigned i = 0; i < VT_CATEGORIES; i++) {
		const char *name = vt_category_name((enum vt_category)i);

		if (vt_texts_add(&series->texts, name, strlen(name), &kind->labels[kind->count]) < 0 ||
		    vt_map_put(&kind->series, kind->labels[kind->count], kind->count) < 0)
			return -VT_E_NOMEM;
		kind->count++;
	}
	return 0;
}

int vt_page_series_choose(struct vt_page_series *series, struct vt_err *err)
{
	struct vt_buf weights[VT_PAGE_BYS] = { { .data = NULL } };
	int r = 0;

	for (unsigned by = 0; by < VT_PAGE_BYS && !r; by++) {
		r = vt_texts_add(&series->texts, "other", 5, &series->kinds[by].labels[0]);
		series->kinds[by].count = 1;
	}
	if (!r)
		r = weigh_labels(series, weights);
	if (!r)
		r = choose_categories(series);
	for (unsigned by = VT_PAGE_OP; by < VT_PAGE_BYS && !r; by++)
		r = choose_heaviest(&series->kinds[by], (struct weight *)(void *)weights[by].data,
				    weights[by].bytes / sizeof(struct weight));
	for (unsigned by = 0; by < VT_PAGE_BYS; by++)
		vt_buf_done(&weights[by]);
	return r < 0 ? no_memory(err) : 0;
}

/* ---------------------------------------------------------------- the second pass */

/* The series' numbers of a block: but for the category, they depend on where it was allocated. */
static int numbers_of(struct vt_page_series *series, const struct vt_attributed *block, uint8_t ret[VT_PAGE_BYS])
{
	uint32_t labels[VT_PAGE_BYS], kind;

	kind = vt_idmap_add(&series->known[0], (struct vt_idmap_key){ block->process, block->op, block->stack });
	if (kind == VT_IDMAP_NONE)
		return -VT_E_NOMEM;
	kind = vt_idmap_add(&series->known[1], (struct vt_idmap_key){ kind, block->forward_op, block->forward_stack });
	if (kind == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&series->numbers, &series->number_room, kind, sizeof(*series->numbers)) < 0)
		return -VT_E_NOMEM;
	if (!series->numbers[kind][VT_PAGE_CATEGORY]) {
		if (vt_page_labels(series, block, labels) < 0)
			return -VT_E_NOMEM;
		for (unsigned by = VT_PAGE_OP; by < VT_PAGE_BYS; by++) {
			uint32_t number = vt_map_find(&series->kinds[by].series, labels[by]);

			series->numbers[kind][by] = number == VT_MAP_NONE ? 0 : (uint8_t)number;
		}
		series->numbers[kind][VT_PAGE_CATEGORY] = 1; /* known from here on */
	}
	memcpy(ret, series->numbers[kind], VT_PAGE_BYS);
	ret[VT_PAGE_CATEGORY] = (uint8_t)(1 + block->category);
	return 0;
}

static int change(struct vt_page_series *series, const struct vt_attributed *block, enum vt_page_by by, uint8_t number)
{
	const struct vt_page_bins_device *bins = &series->bins->devices[block->device];
	uint64_t **changes = &series->devices[block->device].changes[by][number];
	size_t first = vt_page_bins_find(bins, block->alloc_ns);
	size_t end = block->free_ns == UINT64_MAX ? bins->count : vt_page_bins_find(bins, block->free_ns);

	if (!*changes)
		*changes = calloc(bins->count + 1, sizeof(**changes));
	if (!*changes)
		return -VT_E_NOMEM;
	(*changes)[first] += block->size_bytes;
	(*changes)[end] -= block->size_bytes;
	return 0;
}

int vt_page_series_add(struct vt_page_series *series, const struct vt_attributed *block, struct vt_err *err)
{
	uint8_t numbers[VT_PAGE_BYS];
	int r = 0;

	if (block->device >= series->bins->room)
		return 0;
	if (vt_array_reach((void **)&series->devices, &series->device_room, block->device, sizeof(*series->devices)) <
		    0 ||
	    numbers_of(series, block, numbers) < 0)
		return no_memory(err);
	for (unsigned by = 0; by < VT_PAGE_BYS && !r; by++)
		r = change(series, block, (enum vt_page_by)by, numbers[by]);
	return r < 0 ? no_memory(err) : 0;
}

void vt_page_series_done(struct vt_page_series *series)
{
	for (size_t i = 0; i < series->device_room; i++)
		for (unsigned by = 0; by < VT_PAGE_BYS; by++)
			for (unsigned k = 0; k < VT_PAGE_SERIES_MAX; k++)
				free(series->devices[i].changes[by][k]);
	free(series->devices);
	vt_texts_done(&series->texts);
	vt_idmap_done(&series->sites);
	free(series->site_weights);
	for (unsigned by = 0; by < VT_PAGE_BYS; by++)
		vt_map_done(&series->kinds[by].series);
	vt_idmap_done(&series->known[0]);
	vt_idmap_done(&series->known[1]);
	free(series->numbers);
	*series = (struct vt_page_series){ .session = NULL };
}
