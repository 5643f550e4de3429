/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Intrusive ordered tree (AVL). Keys live in the node, so a search touches one cache line a level.
 *
 * Equal keys are ordered by `tie`, which callers make unique: the order, and with it every decision,
 * never depends on addresses. A node is in at most one tree.
 */
#ifndef GP__CORE_TREE_H
#define GP__CORE_TREE_H

#include "core/types.h"

struct gp__node {
	struct gp__node *parent, *left, *right;
	s64 key;
	u64 tie : 56;
	u64 height : 8; /* 0: in no tree */
};

struct gp__tree {
	struct gp__node *root, *first, *last;
	u32 count;
};

void gp__tree_insert(struct gp__tree *t, struct gp__node *n, s64 key, u64 tie);
void gp__tree_erase(struct gp__tree *t, struct gp__node *n);
struct gp__node *gp__tree_next(const struct gp__node *n);

static inline bool gp__node_linked(const struct gp__node *n)
{
	return n->height != 0;
}

#endif
