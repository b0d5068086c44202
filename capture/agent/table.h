/*
 * table.h - a set of 64-bit keys, each with a 32-bit id: lock-free, insert-only, shared by all threads.
 *
 * Open addressing in levels: level 0 is small, each further one four times as big and made when a key finds no room in
 * VT_TABLE_PROBES slots of the one before. A key's places are fixed by its bits and nothing is ever removed, so a key
 * lies at the first slot of its path that was empty when it came, and two threads that bring the same key meet there.
 *
 * A slot goes: key 0 -> key, id BUSY (claimed) -> id published, or VACANT (its definition could not be written; the
 * next who asks claims it again). BUSY is never waited for.
 */
#ifndef VT_AGENT_TABLE_H
#define VT_AGENT_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#define VT_TABLE_LEVELS 6
#define VT_TABLE_PROBES 16

struct vt_table_slot {
	_Atomic uint64_t key;
	_Atomic uint32_t id;
	uint32_t unused;
};

/* All zero is an empty table. Levels hold 2^12 .. 2^22 slots: some 5 million keys, then no more are taken. */
struct vt_table {
	struct vt_table_slot *_Atomic levels[VT_TABLE_LEVELS];
	_Atomic uint32_t next_id; /* ids given out */
};

enum vt_table_result {
	VT_TABLE_FOUND,	  /* *ret_id is the key's id */
	VT_TABLE_CLAIMED, /* the caller defines the key and then calls publish (or vacate) on *ret_slot */
	VT_TABLE_BUSY,	  /* another thread is defining it at this moment: define it a second time, under an own id */
	VT_TABLE_FULL,	  /* no room: the key cannot have an id */
};

/* key must not be 0. */
enum vt_table_result vt_table_find(struct vt_table *table, uint64_t key, uint32_t *ret_id,
				   struct vt_table_slot **ret_slot);

/* A number that no other caller gets; 0 when all are used up. */
uint32_t vt_table_new_id(struct vt_table *table);

/* The definition is committed: others may use the id. */
void vt_table_publish(struct vt_table_slot *slot, uint32_t id);

/* The definition could not be written. */
void vt_table_vacate(struct vt_table_slot *slot);

#endif
