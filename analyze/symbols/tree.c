/* tree.c - see tree.h. */
#include "analyze/symbols/tree.h"

#include <string.h>

#define ON_PATH UINT32_MAX /* a node of the way being followed; 0: not seen; else its depth */

/*
 * Follows the way from `node` up to a settled node, an outermost one, or a node of the way itself (a cycle, cut
 * there), and leaves it in path[0 ...], innermost first. Returns its length.
 */
static uint32_t climb(uint32_t *parents, uint32_t n, uint32_t node, uint32_t *depths, uint32_t *path)
{
	uint32_t length = 0;

	while (!depths[node]) {
		depths[node] = ON_PATH;
		path[length++] = node;
		if (parents[node] >= n || depths[parents[node]] == ON_PATH) {
			parents[node] = VT_TREE_NONE;
			break;
		}
		node = parents[node];
	}
	return length;
}

void vt_tree_settle(uint32_t *parents, uint32_t n, uint32_t *order, uint32_t *depths)
{
	uint32_t done = 0;

	if (!n)
		return;
	memset(depths, 0, n * sizeof(*depths));
	for (uint32_t i = 0; i < n; i++) {
		/* The way is written behind what is settled: it is never longer than what is left. */
		uint32_t *path = order + done;
		uint32_t length = climb(parents, n, i, depths, path);

		for (uint32_t a = 0, b = length; a + 1 < b; a++) {
			uint32_t swapped = path[a];

			path[a] = path[--b];
			path[b] = swapped;
		}
		for (uint32_t k = 0; k < length; k++) {
			uint32_t node = path[k], parent = parents[node];

			if (parent != VT_TREE_NONE && depths[parent] >= VT_TREE_DEPTH_MAX)
				parents[node] = parent = VT_TREE_NONE;
			depths[node] = parent == VT_TREE_NONE ? 1 : depths[parent] + 1;
		}
		done += length;
	}
}
