/* idmap.c - see idmap.h: open addressing with linear probing. */
#include "analyze/views/idmap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/base/err.h"

#define SLOTS_FIRST 64
#define COUNT_MAX (UINT32_MAX / 4)

static uint32_t hash(struct vt_idmap_key key)
{
	return (uint32_t)vt_mix64(vt_mix64((uint64_t)key.a << 32 | key.b) + key.c);
}

static bool same(struct vt_idmap_key x, struct vt_idmap_key y)
{
	return x.a == y.a && x.b == y.b && x.c == y.c;
}

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t probe(const struct vt_idmap *map, struct vt_idmap_key key)
{
	uint32_t at = hash(key) & (map->nslots - 1);

	while (map->slots[at] && !same(map->keys[map->slots[at] - 1], key))
		at = (at + 1) & (map->nslots - 1);
	return at;
}

static int grow(struct vt_idmap *map)
{
	uint32_t nslots = map->nslots ? map->nslots * 2 : SLOTS_FIRST;
	struct vt_idmap_key *keys;
	uint32_t *slots;

	if (map->count >= COUNT_MAX)
		return -VT_E_NOMEM;
	keys = realloc(map->keys, sizeof(*keys) * (nslots / 2));
	if (!keys)
		return -VT_E_NOMEM;
	map->keys = keys;
	slots = calloc(nslots, sizeof(*slots));
	if (!slots)
		return -VT_E_NOMEM;
	free(map->slots);
	map->slots = slots;
	map->nslots = nslots;
	map->room = nslots / 2;
	for (uint32_t i = 0; i < map->count; i++)
		map->slots[probe(map, map->keys[i])] = i + 1;
	return 0;
}

uint32_t vt_idmap_add(struct vt_idmap *map, struct vt_idmap_key key)
{
	uint32_t at = map->nslots ? probe(map, key) : 0;

	if (map->nslots && map->slots[at])
		return map->slots[at] - 1;
	if (map->count == map->room) {
		if (grow(map) < 0)
			return VT_IDMAP_NONE;
		at = probe(map, key);
	}
	map->keys[map->count] = key;
	map->slots[at] = ++map->count;
	return map->count - 1;
}

uint32_t vt_idmap_find(const struct vt_idmap *map, struct vt_idmap_key key)
{
	uint32_t at;

	if (!map->nslots)
		return VT_IDMAP_NONE;
	at = probe(map, key);
	return map->slots[at] ? map->slots[at] - 1 : VT_IDMAP_NONE;
}

void vt_idmap_done(struct vt_idmap *map)
{
	free(map->keys);
	free(map->slots);
	*map = (struct vt_idmap){ .count = 0 };
}

int vt_array_reach(void **array, size_t *room, size_t index, size_t size)
{
	size_t more = *room ? *room : 16;
	char *grown;

	if (index < *room)
		return 0;
	while (more <= index) {
		if (more > SIZE_MAX / 2 / size)
			return -VT_E_NOMEM;
		more *= 2;
	}
	grown = realloc(*array, more * size);
	if (!grown)
		return -VT_E_NOMEM;
	memset(grown + *room * size, 0, (more - *room) * size);
	*array = grown;
	*room = more;
	return 0;
}
