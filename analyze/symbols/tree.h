/*
 * tree.h - the trees of op stacks and Python stacks: nodes with a parent, from a file that may lie. Part of symbols.
 */
#ifndef VT_ANALYZE_TREE_H
#define VT_ANALYZE_TREE_H

#include <stddef.h>
#include <stdint.h>

#define VT_TREE_NONE UINT32_MAX
/* Deeper nodes are taken for outermost ones: no program's stacks are that deep, and readers may recurse. */
#define VT_TREE_DEPTH_MAX 4096u

/*
 * parents[i]: the parent of node i, any number; those that are no node below n become VT_TREE_NONE, as does one link
 * of each cycle and those that go too deep. Fills order[n] with all nodes, parents before their children.
 * depths: n numbers to work with. No recursion, O(n).
 */
void vt_tree_settle(uint32_t *parents, uint32_t n, uint32_t *order, uint32_t *depths);

#endif
