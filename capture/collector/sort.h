/*
 * sort.h - puts records in the order of column 1 (their time). Stable: records of equal time keep their order.
 *
 * The input is a few rising runs (one per ring, or pieces sorted before), so this is a natural merge sort: sorted input
 * costs one pass, k runs cost n log k.
 */
#ifndef VT_COLLECTOR_SORT_H
#define VT_COLLECTOR_SORT_H

#include <stdint.h>

#include "schema/base/buf.h"

/* Reusable memory; zero-initialised is empty. Grows with the largest sort: 36 bytes and a record for each record. */
struct vt_sort {
	struct vt_buf keys;
	struct vt_buf merged;
	struct vt_buf runs;
	struct vt_buf records;
};

/* Sorts n records of `size` bytes each, in place. 0, or -VT_E_NOMEM with the records as they were. */
int vt_sort_records(struct vt_sort *sort, void *records, uint32_t n, uint32_t size);
void vt_sort_done(struct vt_sort *sort);

#endif
