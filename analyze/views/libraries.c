/* libraries.c - see libraries.h. */
#include "analyze/views/libraries.h"

#include <stdlib.h>

#include "analyze/views/idmap.h"

struct vt_libraries {
	struct vt_idmap map; /* device, caller */
	struct vt_library_use *uses;
	size_t room;
};

static int no_memory(struct vt_err *err)
{
	return vt_err_set(err, VT_E_NOMEM, "no memory for the libraries behind driver calls");
}

int vt_libraries_new(struct vt_libraries **ret, struct vt_err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : no_memory(err);
}

void vt_libraries_free(struct vt_libraries *libraries)
{
	if (!libraries)
		return;
	vt_idmap_done(&libraries->map);
	free(libraries->uses);
	free(libraries);
}

static int on_driver(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		     struct vt_err *err)
{
	const struct vt_driver_change change = vt_replay_driver_change(replay);
	struct vt_libraries *libraries = self;
	uint32_t place;

	(void)item;
	if (!change.bytes)
		return 0;
	place = vt_idmap_add(&libraries->map, (struct vt_idmap_key){ device, change.owner, 0 });
	if (place == VT_IDMAP_NONE ||
	    vt_array_reach((void **)&libraries->uses, &libraries->room, place, sizeof(*libraries->uses)) < 0)
		return no_memory(err);
	libraries->uses[place].caller = change.owner;
	libraries->uses[place].calls++;
	libraries->uses[place].held_bytes += change.bytes;
	return 0;
}

static int on_peak(void *self, const struct vt_replay *replay, const struct vt_item *item, uint32_t device,
		   struct vt_err *err)
{
	struct vt_libraries *libraries = self;

	(void)replay;
	(void)item;
	(void)err;
	for (uint32_t i = 0; i < libraries->map.count; i++)
		if (libraries->map.keys[i].a == device)
			libraries->uses[i].peak_bytes = libraries->uses[i].held_bytes;
	return 0;
}

struct vt_listener vt_libraries_listener(struct vt_libraries *libraries)
{
	return (struct vt_listener){ .self = libraries, .driver = on_driver, .peak = on_peak };
}

static int by_peak(const void *a, const void *b)
{
	const struct vt_library_use *x = a, *y = b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	return (x->caller > y->caller) - (x->caller < y->caller);
}

static int by_held(const void *a, const void *b)
{
	const struct vt_library_use *x = a, *y = b;

	if (x->held_bytes != y->held_bytes)
		return x->held_bytes < y->held_bytes ? 1 : -1;
	return (x->caller > y->caller) - (x->caller < y->caller);
}

int vt_libraries_list(const struct vt_libraries *libraries, uint32_t device, bool at_peak, struct vt_library_use **ret,
		      size_t *ret_count, struct vt_err *err)
{
	bool named = false;

	*ret_count = 0;
	*ret = calloc((size_t)libraries->map.count + 1, sizeof(**ret));
	if (!*ret)
		return no_memory(err);
	for (uint32_t i = 0; i < libraries->map.count; i++) {
		if (libraries->map.keys[i].a != device)
			continue;
		named = named || libraries->uses[i].caller;
		(*ret)[(*ret_count)++] = libraries->uses[i];
	}
	if (!named)
		*ret_count = 0;
	qsort(*ret, *ret_count, sizeof(**ret), at_peak ? by_peak : by_held);
	return 0;
}
