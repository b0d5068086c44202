/* lives.c - see lives.h. */
#include "analyze/attribute/lives.h"

#include "schema/base/err.h"

int vt_lives_begin(struct vt_lives *lives, const struct vt_block *block, uint32_t *ret)
{
	const struct vt_life life = { .block = *block };
	uint32_t spare = (uint32_t)(lives->free.bytes / sizeof(uint32_t));

	if (spare) {
		lives->free.bytes -= sizeof(uint32_t);
		*ret = ((const uint32_t *)(const void *)lives->free.data)[spare - 1];
		*vt_lives_at(lives, *ret) = life;
	} else {
		*ret = vt_lives_places(lives);
		if (vt_buf_append(&lives->list, &life, sizeof(life)) < 0)
			return -VT_E_NOMEM;
	}
	return vt_map_put(&lives->by_serial, block->serial, *ret);
}

uint32_t vt_lives_find(const struct vt_lives *lives, uint64_t serial)
{
	uint32_t index = vt_map_find(&lives->by_serial, serial);

	return index == VT_MAP_NONE ? VT_LIFE_NONE : index;
}

struct vt_life *vt_lives_at(const struct vt_lives *lives, uint32_t index)
{
	return (struct vt_life *)(void *)lives->list.data + index;
}

struct vt_life *vt_lives_get(const struct vt_lives *lives, uint32_t index, uint64_t serial)
{
	struct vt_life *life = index < vt_lives_places(lives) ? vt_lives_at(lives, index) : NULL;

	return life && life->block.serial == serial ? life : NULL;
}

uint32_t vt_lives_places(const struct vt_lives *lives)
{
	return (uint32_t)(lives->list.bytes / sizeof(struct vt_life));
}

void vt_lives_close(struct vt_lives *lives, uint32_t index)
{
	(void)vt_map_take(&lives->by_serial, vt_lives_at(lives, index)->block.serial);
}

int vt_lives_end(struct vt_lives *lives, uint32_t index)
{
	struct vt_life *life = vt_lives_at(lives, index);

	vt_lives_close(lives, index);
	life->block.serial = 0;
	return vt_buf_append(&lives->free, &index, sizeof(index));
}

void vt_lives_done(struct vt_lives *lives)
{
	vt_map_done(&lives->by_serial);
	vt_buf_done(&lives->list);
	vt_buf_done(&lives->free);
}
