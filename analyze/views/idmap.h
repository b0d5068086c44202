/* idmap.h - gives small numbers, from 0, to triples of ids: what lets a view keep its counters in a plain array. */
#ifndef VT_ANALYZE_IDMAP_H
#define VT_ANALYZE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#define VT_IDMAP_NONE UINT32_MAX

struct vt_idmap_key {
	uint32_t a, b, c;
};

/* Zero-initialised is empty; the holder calls vt_idmap_done. keys[0 .. count) are in order of first sight. */
struct vt_idmap {
	struct vt_idmap_key *keys;
	uint32_t *slots; /* index + 1 into keys; 0: empty */
	uint32_t count;
	uint32_t room;	 /* of keys */
	uint32_t nslots; /* a power of two, at least twice count */
};

/* The number of the triple; a new one is given where it has none. VT_IDMAP_NONE: no memory. */
uint32_t vt_idmap_add(struct vt_idmap *map, struct vt_idmap_key key);
/* VT_IDMAP_NONE: not there. */
uint32_t vt_idmap_find(const struct vt_idmap *map, struct vt_idmap_key key);
void vt_idmap_done(struct vt_idmap *map);

/*
 * Makes *array (of *room elements of `size` bytes) hold element `index`; new elements are zero. 0 or -VT_E_NOMEM with
 * the array unchanged. Called as vt_array_reach((void **)&array, &room, index, sizeof(*array)).
 */
int vt_array_reach(void **array, size_t *room, size_t index, size_t size);

#endif
