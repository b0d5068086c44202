/*
 * driver.h - what driver calls make of a process's memory: who holds which address, which physical bytes are behind it,
 * what the stream-ordered pools hold.
 *
 * Rules: physical bytes of cuMemCreate count once, from the create until it is both released and unmapped, however
 * often it is mapped. Reserved addresses, managed memory and memory opened from other processes count nothing. A pool
 * counts what it holds from the device, as the driver said after the call; where that was not read, the blocks in use.
 * Failed calls change nothing, but for what a pool is then said to hold.
 */
#ifndef VT_ANALYZE_DRIVER_H
#define VT_ANALYZE_DRIVER_H

#include <stdbool.h>

#include "schema/base/buf.h"
#include "schema/base/hash.h"
#include "schema/event.h"

struct vt_driver_pool {
	uint32_t device;	 /* the replay's index */
	uint64_t reserved_bytes; /* as read, or the bytes of the blocks in use */
	uint64_t used_bytes;
	uint64_t block_bytes; /* sum of the sizes asked for by live blocks */
	bool read;	      /* the driver's own figures came with some call */
};

/* Zero-initialised is empty; the holder calls vt_driver_done. */
struct vt_driver {
	struct vt_map by_address;	       /* key: process and address -> holdings */
	struct vt_map by_handle;	       /* key: process and handle -> holdings, of cuMemCreate and arrays */
	struct vt_map by_mapping;	       /* key: process and address -> mappings */
	struct vt_map by_pool;		       /* key: device and pool -> pools */
	struct vt_buf holdings;		       /* struct holding */
	struct vt_buf mappings;		       /* struct mapping */
	struct vt_buf pools;		       /* struct vt_driver_pool */
	uint32_t spare_holding, spare_mapping; /* heads of the lists of unused ones, index + 1 */
};

/* What one call did. */
struct vt_driver_effect {
	uint32_t device;			       /* that holds the bytes: for a free, that of the allocation */
	uint64_t bytes;				       /* change of the physical bytes held there, modulo 2^64 */
	uint32_t owner;				       /* caller of the allocation that began, ended or grew */
	bool pool_call;				       /* the pool figures below are set */
	bool pool_alloc;			       /* a block of a stream-ordered pool began */
	bool pool_free;				       /* one ended */
	uint64_t size_bytes;			       /* of that block */
	uint64_t pool;				       /* its pool's handle */
	uint64_t pool_used_bytes, pool_reserved_bytes; /* of the pool, after the call */
};

/* device: the replay's index for the call's own device. 0 or -VT_E_NOMEM. */
int vt_driver_apply(struct vt_driver *driver, uint32_t process, uint32_t device, const struct vt_driver_memory *call,
		    struct vt_driver_effect *ret);
void vt_driver_done(struct vt_driver *driver);

/* Calls whose memory is the host's. */
bool vt_driver_is_host(unsigned api);

#endif
