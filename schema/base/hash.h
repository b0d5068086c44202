/*
 * hash.h - a seed, a hash of bytes, and a map from 64-bit numbers to 32-bit ones.
 *
 * Keys come from files: each process seeds its hashes anew, so that no file can be made to hit one place.
 */
#ifndef VT_BASE_HASH_H
#define VT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A number that differs from run to run. */
uint64_t vt_hash_seed(void);
uint64_t vt_hash_bytes(uint64_t seed, const void *data, size_t bytes);

/* Zero-initialised is empty; the holder calls vt_map_done. */
struct vt_map {
	struct vt_map_slot *slots;
	size_t room; /* a power of two, or 0 */
	size_t used;
	uint64_t seed;
};

#define VT_MAP_NONE UINT32_MAX

/* VT_MAP_NONE where the key is absent. */
uint32_t vt_map_find(const struct vt_map *map, uint64_t key);
/* Sets the value of a key, new or not; value below VT_MAP_NONE. 0 or -VT_E_NOMEM. */
int vt_map_put(struct vt_map *map, uint64_t key, uint32_t value);
/* Removes a key and returns its value, or VT_MAP_NONE. */
uint32_t vt_map_take(struct vt_map *map, uint64_t key);
void vt_map_done(struct vt_map *map);

#endif
