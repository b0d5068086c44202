/* hash.c - see hash.h: open addressing, linear probing, deletion by shifting back. */
#include "schema/base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "schema/base/bits.h"
#include "schema/base/err.h"

struct vt_map_slot {
	uint64_t key;
	uint64_t value_plus_1; /* 0: empty */
};

uint64_t vt_hash_seed(void)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		return seed;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return vt_mix64((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32);
}

uint64_t vt_hash_bytes(uint64_t seed, const void *data, size_t bytes)
{
	const char *p = data;
	uint64_t hash = vt_mix64(seed ^ bytes), word;

	for (; bytes >= 8; p += 8, bytes -= 8) {
		memcpy(&word, p, 8);
		hash = vt_mix64(hash ^ word) + seed;
	}
	word = 0;
	memcpy(&word, p, bytes);
	return vt_mix64(hash ^ word);
}

static size_t home(const struct vt_map *map, uint64_t key)
{
	return (size_t)vt_mix64(key ^ map->seed) & (map->room - 1);
}

/* The key's slot, or the empty one where it would go. room > used. */
static size_t locate(const struct vt_map *map, uint64_t key)
{
	size_t at = home(map, key);

	while (map->slots[at].value_plus_1 && map->slots[at].key != key)
		at = (at + 1) & (map->room - 1);
	return at;
}

uint32_t vt_map_find(const struct vt_map *map, uint64_t key)
{
	size_t at;

	if (!map->room)
		return VT_MAP_NONE;
	at = locate(map, key);
	return map->slots[at].value_plus_1 ? (uint32_t)(map->slots[at].value_plus_1 - 1) : VT_MAP_NONE;
}

static int grow(struct vt_map *map)
{
	struct vt_map larger = { .room = map->room ? map->room * 2 : 64, .used = map->used, .seed = map->seed };

	if (!map->room)
		larger.seed = vt_hash_seed();
	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return -VT_E_NOMEM;
	for (size_t i = 0; i < map->room; i++)
		if (map->slots[i].value_plus_1)
			larger.slots[locate(&larger, map->slots[i].key)] = map->slots[i];
	free(map->slots);
	*map = larger;
	return 0;
}

int vt_map_put(struct vt_map *map, uint64_t key, uint32_t value)
{
	size_t at;
	int r;

	if (map->used >= map->room / 2) {
		r = grow(map);
		if (r < 0)
			return r;
	}
	at = locate(map, key);
	map->used += !map->slots[at].value_plus_1;
	map->slots[at] = (struct vt_map_slot){ key, (uint64_t)value + 1 };
	return 0;
}

uint32_t vt_map_take(struct vt_map *map, uint64_t key)
{
	size_t hole, at, mask = map->room - 1;
	uint64_t found;

	if (!map->room)
		return VT_MAP_NONE;
	hole = locate(map, key);
	found = map->slots[hole].value_plus_1;
	if (!found)
		return VT_MAP_NONE;
	/* Whoever stands behind the hole and could be found there moves into it. */
	for (at = (hole + 1) & mask; map->slots[at].value_plus_1; at = (at + 1) & mask) {
		if (((at - home(map, map->slots[at].key)) & mask) < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole].value_plus_1 = 0;
	map->used--;
	return (uint32_t)(found - 1);
}

void vt_map_done(struct vt_map *map)
{
	free(map->slots);
	*map = (struct vt_map){ 0 };
}
