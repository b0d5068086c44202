/* addresses.c - see addresses.h. */
#include "analyze/simulate/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/views/idmap.h"
#include "schema/base/bits.h"
#include "schema/base/err.h"

#define CHUNK (UINT64_C(32) << 20)
/* Made-up ranges lie below the first, reservations from the second on: away from the 57 bits of real addresses. */
#define TOP (UINT64_C(1) << 62)
#define RESERVATIONS (UINT64_C(1) << 60)
/* A hint is taken by the request it was recorded for, or by none. */
#define HINTS_MAX 64u

int vt_addresses_hold(struct vt_addresses *addresses, uint64_t bytes)
{
	uint64_t used = addresses->held_bytes + addresses->outside_bytes;

	if (used > addresses->limit_bytes || bytes > addresses->limit_bytes - used)
		return VT_ADDRESSES_FULL;
	addresses->held_bytes += bytes;
	return 0;
}

void vt_addresses_release(struct vt_addresses *addresses, uint64_t bytes)
{
	addresses->held_bytes -= bytes;
}

static bool take_hint(struct vt_buf *hints, uint64_t bytes, uint64_t *ret)
{
	struct vt_range *list = (struct vt_range *)(void *)hints->data;
	size_t count = hints->bytes / sizeof(*list);

	/* The latest: a library may have asked for as much before, inside the same op. */
	for (size_t i = count; i-- > 0;) {
		if (list[i].bytes != bytes)
			continue;
		*ret = list[i].start;
		memmove(&list[i], &list[i + 1], sizeof(*list) * (count - i - 1));
		hints->bytes -= sizeof(*list);
		return true;
	}
	return false;
}

static int add_hint(struct vt_buf *hints, struct vt_range range)
{
	struct vt_range *list = (struct vt_range *)(void *)hints->data;

	if (hints->bytes / sizeof(*list) == HINTS_MAX) {
		memmove(list, list + 1, sizeof(*list) * (HINTS_MAX - 1));
		hints->bytes -= sizeof(*list);
	}
	return vt_buf_append(hints, &range, sizeof(range));
}

int vt_addresses_hint(struct vt_addresses *addresses, struct vt_range range)
{
	return add_hint(&addresses->hints, range);
}

int vt_addresses_hint_reserve(struct vt_addresses *addresses, struct vt_range range)
{
	return add_hint(&addresses->reserves, range);
}

static int insert_hole(struct vt_addresses *addresses, size_t at, struct vt_range hole)
{
	if (vt_array_reach((void **)&addresses->holes, &addresses->holes_room, addresses->nholes,
			   sizeof(*addresses->holes)) < 0)
		return -VT_E_NOMEM;
	memmove(&addresses->holes[at + 1], &addresses->holes[at], sizeof(hole) * (addresses->nholes - at));
	addresses->holes[at] = hole;
	addresses->nholes++;
	return 0;
}

static void drop_hole(struct vt_addresses *addresses, size_t at)
{
	addresses->nholes--;
	memmove(&addresses->holes[at], &addresses->holes[at + 1], sizeof(*addresses->holes) * (addresses->nholes - at));
}

/* A freed range joins the holes beside it. */
int vt_addresses_give(struct vt_addresses *addresses, uint64_t start, uint64_t bytes)
{
	struct vt_range *holes = addresses->holes;
	size_t at = 0;
	bool left, right;

	/* The driver's own addresses come back as hints. */
	if (!addresses->bottom || start > TOP || start < addresses->bottom)
		return 0;
	while (at < addresses->nholes && holes[at].start < start)
		at++;
	left = at && holes[at - 1].start + holes[at - 1].bytes == start;
	right = at < addresses->nholes && start + bytes == holes[at].start;
	if (left && right) {
		holes[at - 1].bytes += bytes + holes[at].bytes;
		drop_hole(addresses, at);
		return 0;
	}
	if (left)
		holes[at - 1].bytes += bytes;
	if (right)
		holes[at] = (struct vt_range){ start, holes[at].bytes + bytes };
	return left || right ? 0 : insert_hole(addresses, at, (struct vt_range){ start, bytes });
}

int vt_addresses_take(struct vt_addresses *addresses, uint64_t bytes, uint64_t *ret)
{
	size_t at = 0;
	int r;

	if (take_hint(&addresses->hints, bytes, ret))
		return 0;
	while (at < addresses->nholes && addresses->holes[at].bytes < bytes)
		at++;
	if (at == addresses->nholes) {
		uint64_t range = vt_align_up(bytes, CHUNK);

		addresses->bottom = addresses->bottom ? addresses->bottom : TOP;
		addresses->bottom -= range;
		r = vt_addresses_give(addresses, addresses->bottom, range);
		if (r < 0)
			return r;
		at = 0;
	}
	*ret = addresses->holes[at].start;
	addresses->holes[at].start += bytes;
	addresses->holes[at].bytes -= bytes;
	if (!addresses->holes[at].bytes)
		drop_hole(addresses, at);
	return 0;
}

uint64_t vt_addresses_reserve(struct vt_addresses *addresses, uint64_t bytes)
{
	const struct vt_range *hint = (const struct vt_range *)(const void *)addresses->reserves.data;
	uint64_t start = RESERVATIONS + addresses->reserved;

	if (addresses->reserves.bytes && take_hint(&addresses->reserves, hint->bytes, &start))
		return start;
	addresses->reserved += vt_align_up(bytes, CHUNK);
	return start;
}

void vt_addresses_forget(struct vt_addresses *addresses)
{
	vt_buf_clear(&addresses->hints);
}

void vt_addresses_done(struct vt_addresses *addresses)
{
	free(addresses->holes);
	vt_buf_done(&addresses->hints);
	vt_buf_done(&addresses->reserves);
	*addresses = (struct vt_addresses){ .limit_bytes = 0 };
}
